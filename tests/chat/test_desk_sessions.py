"""`Chat`: its conversations, who watches them, and tokens for them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentstepper_nb.chat.service import Right
from agentstepper_nb.errors import CommandError, DiscoveryError
from agentstepper_nb.protocol.chat import Begin, SessionChanged, State
from tests.chat.chats import Make, chats, contents, no_debugger


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    no_debugger(monkeypatch, tmp_path)


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    yield from chats(tmp_path)


# ---- conversations -----------------------------------------------------------------------------------


def test_conversations_are_kept_and_opened_again(make: Make) -> None:
    chat = make(title="First")
    first = chat.session_id
    chat.send("Hello")
    second = chat.new_session("Second")
    assert (chat.session_id, chat.messages) == (second, ())
    chat.send("And here")
    chat.close()
    assert repr(chat) == "<Chat: closed>"

    again = make(title="Third")
    assert [each.title for each in again.sessions()] == ["Third", "Second", "First"]
    assert again.open(first).title == "First"
    assert contents(again.messages) == ["Hello", "You said: Hello"]
    again.send("Again")
    assert again.info.messages == 4
    with pytest.raises(CommandError) as error:
        again.open("nobody's")
    assert error.value.code == "unknown_session"
    assert again.session_id == first


def test_nothing_is_kept_where_that_is_not_wanted(make: Make, tmp_path: Path) -> None:
    chat = make(keep=False)
    chat.send("Hello")
    chat.close()
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_what_happens_can_be_watched(make: Make) -> None:
    chat = make()
    events = chat.watch()
    assert isinstance(next(events), Begin)
    chat.send("Hello", wait=False)
    said = []
    for event in events:
        said.append(event)
        if isinstance(event, SessionChanged) and event.session.state is State.STATE_STOP:
            break
    events.close()  # type: ignore[attr-defined]
    assert any(getattr(each, "message", None) in chat.messages for each in said)


def test_a_backend_is_told_until_it_leaves(make: Make) -> None:
    chat = make()
    told: list[object] = []
    leave = chat.attach(told.append)
    assert isinstance(told[0], Begin)
    chat.send("Hello")
    count = len(told)
    leave()
    chat.send("Again")
    assert len(told) == count > 1


def test_it_serves_views_on_its_own_loop(make: Make) -> None:
    chat = make()
    assert chat.service(Right.WATCH) is not chat.service()
    assert chat.loop.is_running()


# ---- from outside ------------------------------------------------------------------------------------


def test_tokens_are_made_for_its_conversations(make: Make) -> None:
    chat = make()
    token = chat.token(scope=("watch", "talk"), expires_in=60)
    desk = chat._home.outside().tokens
    assert desk.check(token).session_id == chat.session_id
    chat.rotate_keys()
    assert desk.check(token).scope == {"watch", "talk"}
    chat.revoke(token)
    with pytest.raises(CommandError) as error:
        desk.check(token)
    assert error.value.code == "invalid_token"
    other = chat.token("answer", agent_name="friend")
    chat.revoke()
    with pytest.raises(CommandError):
        desk.check(other)
    with pytest.raises(CommandError) as unknown:
        chat.token(session="nobody's")
    assert unknown.value.code == "unknown_session"


def test_without_a_debugger_there_is_no_address(make: Make) -> None:
    with pytest.raises(DiscoveryError):
        assert make().address
