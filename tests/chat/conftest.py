"""A debugger that sessions find, and a person who looks at it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb import AgentStepperCore
from agentstepper_nb.chat.remote.tokens import ChatTokens
from tests.chat.chats import Make, chats, no_debugger
from tests.chat.remote_harness import announce_to_chat, make_core, no_core
from tests.chat.terminals import Start, terminals
from tests.coding.debugged_agent import AsyncLiveView


@pytest.fixture
def core(monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
        yield core


@pytest.fixture
def view(core: AgentStepperCore) -> Iterator[AsyncLiveView]:
    with AsyncLiveView(core.ui_port) as view:
        yield view


@pytest.fixture
def worker_core(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[AgentStepperCore]:
    """A Core that is found by who looks for one that takes workers, and chats with them."""
    no_core(monkeypatch, tmp_path)
    with make_core(tmp_path) as core:
        announce_to_chat(monkeypatch, core)
        yield core


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    """Makes chats that aren't debugged, and closes them at the end."""
    no_debugger(monkeypatch, tmp_path)
    yield from chats(tmp_path)


@pytest.fixture
def chat_tokens(tmp_path: Path) -> ChatTokens:
    """Issues and checks tokens."""
    return ChatTokens(tmp_path)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Starts a chat in a terminal."""
    yield from terminals(tmp_path)
