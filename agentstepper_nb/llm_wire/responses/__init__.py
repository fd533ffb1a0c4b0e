"""OpenAI's Responses API, as a client speaks it.

Imports what `llm_wire` may.
Begin reading in `request`: a conversation to a request and back; `answers` writes and reads
answers.
"""

from .answers import ResponsesStream
from .request import decode_request, encode_request

__all__ = ["ResponsesStream", "decode_request", "encode_request"]
