"""Anthropic's Messages API, as a client speaks it.

`request` turns a conversation into a request and back, `stream` reads answers as they come.
"""

from .request import MAX_TOKENS, decode_request, encode_request
from .stream import Stream

__all__ = ["MAX_TOKENS", "Stream", "decode_request", "encode_request"]
