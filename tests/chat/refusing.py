"""Desks of tokens for tests, the key that they sign with, and why they refuse a token."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat.outside.keys import KEYS_FILE
from agentstepper_nb.chat.outside.tokens import TokenDesk
from agentstepper_nb.errors import CommandError

HOUR = 3600.0

#: Why a token is refused that no key of the desk has signed, or not so.
NONE = "is none of this chat's"


def refusal(desk: TokenDesk, token: Any, **options: Any) -> str:
    """Why a token is refused."""
    with pytest.raises(CommandError) as caught:
        desk.check(token, **options)
    assert caught.value.code == "invalid_token"
    assert caught.value.message.endswith("Ask for a new one where the chat runs: chat.token().")
    return caught.value.message.removeprefix("The chat token ").partition(".")[0]


def at(folder: Path, seconds: float) -> TokenDesk:
    """A desk whose clock is off."""
    return TokenDesk(folder, clock=lambda: time.time() + seconds)


def secret(folder: Path) -> bytes:
    """The key that signs, as who reads the folder has it."""
    kept = json.loads((folder / KEYS_FILE).read_text())
    return base64.b64decode(kept["keys"][-1]["secret"])
