"""Chats for tests, as programs make them: without a debugger, and closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat.desk import Chat
from agentstepper_nb.protocol.chat import Message
from tests.chat.talking import Agent

Make = Callable[..., Chat]


def no_debugger(monkeypatch: pytest.MonkeyPatch, home: Path) -> None:
    """No debugger of whoever runs the tests is found."""
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home / name.lower()))
    for name in ("AGENTSTEPPER_URL", "AGENTSTEPPER_WORKER_URL"):
        monkeypatch.delenv(name, raising=False)


def chats(folder: Path) -> Iterator[Make]:
    """Makes chats that aren't debugged, and closes them at the end: a fixture's body."""
    made: list[Chat] = []

    def make(*agents: Any, **how: Any) -> Chat:
        chat = Chat(*(agents or (Agent(),)), **{"debugger": False, "data_dir": folder, **how})
        made.append(chat)
        return chat

    yield make
    for chat in made:
        chat.close()


def contents(messages: list[Message] | tuple[Message, ...]) -> list[str]:
    """What messages say."""
    return [message.content for message in messages]
