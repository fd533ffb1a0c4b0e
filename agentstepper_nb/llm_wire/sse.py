"""Server-sent events, as the LLM APIs stream them: one `data:` field an event."""

from __future__ import annotations

CONTENT_TYPE = "text/event-stream; charset=utf-8"


def encode_event(data: bytes) -> bytes:
    """Frame one event.

    Args:
        data: UTF-8 text. Line breaks inside become further `data:` lines, as the standard asks.
    """
    lines = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    return b"".join(b"data: %b\n" % line for line in lines) + b"\n"


#: The event after which a Chat Completions stream says nothing more.
DONE = encode_event(b"[DONE]")
