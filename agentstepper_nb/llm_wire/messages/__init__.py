"""Anthropic's Messages API, as a client speaks it.

Imports what `llm_wire` may.
Begin reading in `request`: a conversation to a request and back; `answers` writes and reads
answers.
"""

from .answers import MessagesStream
from .request import DEFAULT_MAX_TOKENS, decode_request, encode_request

__all__ = ["DEFAULT_MAX_TOKENS", "MessagesStream", "decode_request", "encode_request"]
