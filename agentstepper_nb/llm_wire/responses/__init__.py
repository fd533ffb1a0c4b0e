"""OpenAI's Responses API, as a client speaks it.

`request` turns a conversation into a request and back, `stream` reads answers as they come.
"""

from .request import decode_request, encode_request
from .stream import Stream

__all__ = ["Stream", "decode_request", "encode_request"]
