"""`%agentstepper chat`: whose chat a name is, and what may stand there."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.error import UsageError

from agentstepper_nb import Chat, ChatWidget
from agentstepper_nb.magics import chat_magic as magic
from agentstepper_nb.magics.completion import list_candidates


@pytest.fixture
def shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[list[ChatWidget]]:
    """The widgets that were shown; their chats are closed when the test ends."""
    for name in ("JUPYTER_DATA_DIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.delenv("AGENTSTEPPER_URL", raising=False)
    widgets: list[ChatWidget] = []
    monkeypatch.setattr(magic, "_display", widgets.append)
    yield widgets
    for widget in widgets:
        widget.close()
        widget.chat.close()


def test_a_chat_is_shown_as_it_is(shown: list[ChatWidget], tmp_path: Path) -> None:
    chat = Chat(lambda message: message, data_dir=tmp_path, debugger=False)
    magic.show_chat({"mine": chat}, ["mine"])
    assert [widget.chat for widget in shown] == [chat]


def test_a_function_and_a_connector_get_a_chat(
    shown: list[ChatWidget], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_MODEL", "small")

    def helper(message: str) -> str:
        return message

    magic.show_chat({"helper": helper}, ["helper"])
    magic.show_chat({}, ["endpoint"])
    names = [[agent.name for agent in widget.chat.info.agents] for widget in shown]
    assert names == [["helper"], ["assistant"]]


@pytest.mark.parametrize(
    ("names", "words", "said"),
    [
        ({}, [], "The name of the chat is missing: .* There are: coding, endpoint, session."),
        ({}, ["one", "two"], "The name of the chat is missing"),
        ({}, ["nobody"], "There is no chat or agent 'nobody'"),
        ({"x": 3}, ["x"], "x: 3 is not an agent"),
        ({}, ["session"], "session: .*create"),
    ],
)
def test_what_is_nobody_is_refused(
    shown: list[ChatWidget], names: dict[str, Any], words: list[str], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        magic.show_chat(names, words)
    assert shown == []


def test_the_tab_key_offers_whom_there_is(tmp_path: Path) -> None:
    with Chat(data_dir=tmp_path, debugger=False) as chat:
        names = {"mine": chat, "_": chat, "other": 3}
        offered = magic.list_chat_names(names)
    assert offered == ["mine", "coding", "endpoint", "session"]
    assert list_candidates("%agentstepper chat e", lambda: offered) == ["endpoint"]
    assert list_candidates("%agentstepper ch") == ["chat", "check"]
