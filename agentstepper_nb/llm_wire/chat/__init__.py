"""The Chat Completions API.

`wire` has its values as they are sent and served, `request` turns a conversation into a request and
back, `stream` reads answers as they come.
"""

from .request import LimitName, decode_model_request, encode_model_request
from .stream import Stream
from .wire import (
    Choice,
    Chunk,
    ChunkChoice,
    Completion,
    Delta,
    Error,
    FinishReason,
    FunctionCall,
    FunctionDelta,
    Message,
    Model,
    ModelList,
    Request,
    StreamOptions,
    ToolCall,
    ToolCallDelta,
    Usage,
    assistant,
    chunks,
    decode_request,
    encode,
    encode_error,
    encode_question,
)

__all__ = [
    "Choice",
    "Chunk",
    "ChunkChoice",
    "Completion",
    "Delta",
    "Error",
    "FinishReason",
    "FunctionCall",
    "FunctionDelta",
    "LimitName",
    "Message",
    "Model",
    "ModelList",
    "Request",
    "Stream",
    "StreamOptions",
    "ToolCall",
    "ToolCallDelta",
    "Usage",
    "assistant",
    "chunks",
    "decode_model_request",
    "decode_request",
    "encode",
    "encode_error",
    "encode_model_request",
    "encode_question",
]
