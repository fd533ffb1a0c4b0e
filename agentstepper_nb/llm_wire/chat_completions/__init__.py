"""The Chat Completions API.

Imports what `llm_wire` may.
Begin reading in `request`: a conversation to a request and back; `wire` has the values as they are
sent and served, `stream` reads answers.
"""

from .request import LimitName, decode_model_request, encode_model_request
from .stream import ChatCompletionStream
from .wire import (
    ApiError,
    ChatCompletion,
    ChatCompletionChoice,
    ChatCompletionChunk,
    ChatCompletionChunkChoice,
    ChatCompletionDelta,
    ChatCompletionMessage,
    ChatCompletionRequest,
    ChatCompletionUsage,
    ChatFunctionCall,
    ChatFunctionDelta,
    ChatStreamOptions,
    ChatToolCall,
    ChatToolCallDelta,
    FinishReason,
    ModelInfo,
    ModelList,
    decode_request,
    encode_error,
    encode_json,
    encode_request_for_hash,
    make_assistant_message,
    split_completion,
)

__all__ = [
    "ApiError",
    "ChatCompletion",
    "ChatCompletionChoice",
    "ChatCompletionChunk",
    "ChatCompletionChunkChoice",
    "ChatCompletionDelta",
    "ChatCompletionMessage",
    "ChatCompletionRequest",
    "ChatCompletionStream",
    "ChatCompletionUsage",
    "ChatFunctionCall",
    "ChatFunctionDelta",
    "ChatStreamOptions",
    "ChatToolCall",
    "ChatToolCallDelta",
    "FinishReason",
    "LimitName",
    "ModelInfo",
    "ModelList",
    "decode_model_request",
    "decode_request",
    "encode_error",
    "encode_json",
    "encode_model_request",
    "encode_request_for_hash",
    "make_assistant_message",
    "split_completion",
]
