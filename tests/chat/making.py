"""Messages and sessions for tests, and the first bytes of pictures."""

from __future__ import annotations

from typing import Any, Final
from uuid import uuid4

import msgspec

from agentstepper_nb.protocol.chat import Message, Piece, SessionInfo, State

PNG: Final = b"\x89PNG\r\n\x1a\n"
JPEG: Final = b"\xff\xd8\xff\xe0"
GIF: Final = b"GIF89a"
WEBP: Final = b"RIFF\x00\x00\x00\x00WEBP"
PICTURES: Final = {"image/png": PNG, "image/jpeg": JPEG, "image/gif": GIF, "image/webp": WEBP}


def message(content: str = "", **fields: Any) -> Message:
    """A message of a session "s", with fields that are given."""
    given = {"id": "m1", "session_id": "s", "role": "assistant", "created_at": 1.0, **fields}
    return Message(content=content, **given)


def numbered(count: int, **fields: Any) -> list[Message]:
    """Messages one after another, "text 0" and so on."""
    return [message(f"text {n}", id=f"m{n}", created_at=2.0 + n, **fields) for n in range(count)]


def session(**fields: Any) -> SessionInfo:
    """A session that is new."""
    given = {"id": str(uuid4()), "title": "T", "state": State.STATE_INIT}
    return SessionInfo(**{**given, "created_at": 1.0, "updated_at": 1.0, **fields})


def said(piece: Piece, **fields: Any) -> Message:
    """The message that a piece would be."""
    given = msgspec.structs.asdict(piece)
    del given["anew"]  # says how it is put together, not what it is
    return message(**{**given, **fields})
