"""`Chat`: a conversation from a thread that has no event loop, or a busy one."""

from __future__ import annotations

import asyncio
import signal
import threading
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import agentstepper_nb
from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.chat.remote.tokens import ChatTokens
from agentstepper_nb.chat.service import ChatRight
from agentstepper_nb.errors import CommandError, DiscoveryError, ProtocolError
from agentstepper_nb.protocol.chat import (
    AUTO_CHAT_MAX,
    ChatSessionChanged,
    ChatSessionSnapshot,
    Message,
    MessageType,
    State,
    TurnEnding,
)
from tests.chat.chats import FunctionTestAgent, Make, contents
from tests.chat.harness import expect_refusal


async def ask_twice(message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
    yield "Two questions."
    for number in (1, 2):
        yield f"You chose {await turn.confirm(f'Question {number}?', ['Yes', 'No'])}."


def test_two_lines_are_a_conversation(tmp_path: Path) -> None:
    chat = agentstepper_nb.Chat(lambda message: f"You said: {message}", store=False, debugger=False)
    assert contents(chat.send("Hello!")) == ["You said: Hello!"]
    chat.close()


def test_what_was_said_is_there(make: Make) -> None:
    chat = make(title="Birds")
    assert (chat.state, chat.messages, chat.pending_confirmation) == (State.STATE_INIT, (), None)
    assert chat.is_awaiting_user
    said = chat.send("Hello")
    assert [(each.role, each.agent_name, each.final) for each in said] == [
        ("assistant", "parrot", True)
    ]
    assert contents(chat.messages) == ["Hello", "You said: Hello"]
    assert (chat.state, chat.info.ending) == (State.STATE_STOP, TurnEnding.DONE)
    assert repr(chat) == "<Chat 'Birds' with parrot: STATE_STOP, 2 messages>"


def test_a_message_goes_to_the_agent_that_is_named(make: Make) -> None:
    chat = make(FunctionTestAgent(name="one"), FunctionTestAgent(name="two"), default_agent="two")
    assert [each.agent_name for each in chat.send("Hi")] == ["two"]
    assert [each.agent_name for each in chat.send("Hi", agent="one")] == ["one"]
    with expect_refusal("unknown_agent"):
        chat.send("Hi", agent="three")


def test_send_comes_back_where_a_confirmation_waits(make: Make) -> None:
    chat = make(FunctionTestAgent(ask_twice))
    said = chat.send("Go")
    assert [(each.type, each.content) for each in said] == [
        (MessageType.MESSAGE, "Two questions."),
        (MessageType.CONFIRMATION, "Question 1?"),
    ]
    assert chat.pending_confirmation == said[-1]
    assert chat.state is State.STATE_RUNNING and chat.is_awaiting_user
    assert "waits for a choice" in repr(chat)
    with expect_refusal("session_busy"):
        chat.send("And?")
    assert contents(chat.choose("Yes")) == ["Question 1?", "You chose Yes.", "Question 2?"]
    assert contents(chat.choose("No"))[-1] == "You chose No."
    assert chat.pending_confirmation is None
    with expect_refusal("not_waiting", "No confirmation waits"):
        chat.choose("Yes")


def test_send_comes_back_once_auto_chat_has_gone_as_far_as_it_may(make: Make) -> None:
    chat = make(auto_chat=True, auto_chat_max=2)
    said = chat.send("Hello")
    went_on = ["Go on.", "You said: Go on."]
    assert contents(said) == ["You said: Hello", *went_on, *went_on]
    assert chat.info.auto_turns == 2
    chat.auto_chat = False
    assert contents(chat.send("Again")) == ["You said: Again"]
    chat.auto_chat_max = 5
    assert (chat.auto_chat, chat.auto_chat_max) == (False, 5)


def test_a_turn_that_fails_says_so(make: Make) -> None:
    async def fail(message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield "I try"
        raise ZeroDivisionError("too small")

    chat = make(FunctionTestAgent(fail))
    *_, error = chat.send("Go")
    assert error.format == "error" and "too small" in error.content
    assert chat.info.ending is TurnEnding.ERROR


class BlockingAgent:
    """An agent's function that says something, and then waits until it is cancelled."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.ended = threading.Event()

    async def answer(self, message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        try:
            yield "One moment"
            self.reached.set()
            await asyncio.Event().wait()
        finally:
            self.ended.set()


def test_without_waiting_the_program_goes_on(make: Make) -> None:
    stuck = BlockingAgent()
    chat = make(FunctionTestAgent(stuck.answer))
    assert chat.send("Hello", wait=False) == []
    stuck.reached.wait()
    assert chat.state is State.STATE_RUNNING and not chat.is_awaiting_user
    chat.stop()
    assert chat.info.ending is TurnEnding.STOPPED
    assert contents(chat.messages) == ["Hello", "One moment"]
    chat.stop()  # nothing is under way: nothing happens


def test_an_interrupt_stops_the_turn(make: Make) -> None:
    stuck = BlockingAgent()
    chat = make(FunctionTestAgent(stuck.answer))

    def interrupt() -> None:
        stuck.reached.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    interrupter = threading.Thread(target=interrupt)
    interrupter.start()
    with pytest.raises(KeyboardInterrupt):
        chat.send("Hello")
    interrupter.join()
    assert stuck.ended.is_set()
    assert chat.info.ending is TurnEnding.STOPPED
    assert contents(chat.messages) == ["Hello", "One moment"]


def test_it_is_used_from_a_thread_with_an_event_loop(make: Make) -> None:
    async def main() -> list[Message]:
        return make().send("Hello")

    assert contents(asyncio.run(main())) == ["You said: Hello"]


def test_its_own_agent_can_read_it_but_not_wait_for_it(make: Make) -> None:
    async def reach(message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield f"{len(chat.messages)} messages"
        yield outputs.text(f" in {chat.info.title}")
        chat.send("Hello, me")

    chat = make(FunctionTestAgent(reach), title="Loops")
    said = contents(chat.send("Hello"))
    assert said[0] == "1 messages in Loops"
    assert "A chat can't wait for an answer on its own event loop" in said[-1]


def test_its_own_agent_on_a_thread_is_refused_and_not_held_up(make: Make) -> None:
    def reach(message: str) -> str:
        return f"{chat.send('Hello, me')}"

    chat = make(reach)
    (error,) = chat.send("Hello")
    assert (error.format, error.content[:21]) == ("error", "A turn is under way: ")


def test_of_those_who_speak_at_once_one_is_answered_at_a_time(make: Make) -> None:
    """Each is answered, or told that somebody else is; nobody waits for another."""
    chat, start = make(), threading.Barrier(8)

    def speak(number: int) -> bool:
        start.wait()
        try:
            return f"You said: {number}" in contents(chat.send(f"{number}"))
        except CommandError as error:
            assert error.code == "session_busy"
            return False

    with ThreadPoolExecutor(8) as pool:
        answered = list(pool.map(speak, range(8)))
    assert any(answered)
    assert len(chat.messages) == 2 * sum(answered)


@pytest.mark.parametrize("turns", [-1, 1001, 2**70, True])
def test_a_number_of_turns_that_there_is_not(make: Make, turns: int) -> None:
    """It isn't taken: what is kept with it could never be read again."""
    chat = make()
    with pytest.raises(ProtocolError, match="choose 0 to 1000"):
        chat.auto_chat_max = turns
    with pytest.raises(ProtocolError, match="choose 0 to 1000"):
        make(auto_chat_max=turns)
    assert chat.auto_chat_max == AUTO_CHAT_MAX


@pytest.mark.parametrize("nothing", ["", " \n"])
def test_an_empty_message_is_for_nobody(make: Make, nothing: str) -> None:
    chat = make()
    with pytest.raises(ProtocolError, match="The message is empty"):
        chat.send(nothing)
    assert chat.messages == ()


def test_nonsense_that_is_revoked_takes_no_token_away(make: Make, tmp_path: Path) -> None:
    chat = make()
    token = chat.issue_token()
    with pytest.raises(ProtocolError):
        chat.revoke("")
    assert ChatTokens(tmp_path).check(token).session_id == chat.session_id


def test_a_connector_by_its_name_is_told_its_model_by_the_environment(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("AGENTSTEPPER_PROVIDER", raising=False)
    monkeypatch.delenv("AGENTSTEPPER_MODEL", raising=False)
    with pytest.raises(CommandError, match=r"needs the option 'model': .* set AGENTSTEPPER_MODEL"):
        make("coding")
    with pytest.raises(CommandError, match="There is no connector 'nobody'"):
        make("nobody")
    monkeypatch.setenv("AGENTSTEPPER_MODEL", "small")
    agents = make("coding", "endpoint").info.agents
    assert [agent.name for agent in agents] == ["coder", "assistant"]


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
    with expect_refusal("unknown_session"):
        again.open("nobody's")
    assert again.session_id == first


def test_nothing_is_kept_where_that_is_not_wanted(make: Make, tmp_path: Path) -> None:
    chat = make(store=False)
    chat.send("Hello")
    chat.close()
    assert list(tmp_path.rglob("*.jsonl")) == []


def test_what_happens_can_be_watched(make: Make) -> None:
    chat = make()
    events = chat.watch()
    assert isinstance(next(events), ChatSessionSnapshot)
    chat.send("Hello", wait=False)
    said = []
    for event in events:
        said.append(event)
        if isinstance(event, ChatSessionChanged) and event.session.state is State.STATE_STOP:
            break
    events.close()  # type: ignore[attr-defined]
    assert any(getattr(each, "message", None) in chat.messages for each in said)


def test_a_watch_may_be_dropped_on_the_chats_own_loop(
    make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a garbage collection there does."""
    failures: list[object] = []
    monkeypatch.setattr("sys.unraisablehook", failures.append)
    chat = make()
    held = [chat.watch()]
    assert isinstance(next(held[0]), ChatSessionSnapshot)
    chat._thread.call(held.clear)
    assert contents(chat.send("Hello")) == ["You said: Hello"]
    assert failures == []


def test_a_backend_is_told_until_it_leaves(make: Make) -> None:
    chat = make()
    told: list[object] = []
    leave = chat.attach(told.append)
    assert isinstance(told[0], ChatSessionSnapshot)
    chat.send("Hello")
    count = len(told)
    leave()
    chat.send("Again")
    assert len(told) == count > 1


def test_it_serves_views_on_its_own_loop(make: Make) -> None:
    chat = make()
    assert chat.make_service(ChatRight.WATCH) is not chat.make_service()
    assert chat.loop.is_running()


# ---- from outside ------------------------------------------------------------------------------------


def test_tokens_are_made_for_its_conversations(make: Make) -> None:
    chat = make()
    token = chat.issue_token(scope=("watch", "talk"), expires_in_s=60)
    chat_tokens = chat._thread.remote_access().tokens
    assert chat_tokens.check(token).session_id == chat.session_id
    chat.rotate_keys()
    assert chat_tokens.check(token).scope == {"watch", "talk"}
    chat.revoke(token)
    with expect_refusal("invalid_token"):
        chat_tokens.check(token)
    other = chat.issue_token("answer", agent_name="friend")
    chat.revoke()
    with pytest.raises(CommandError):
        chat_tokens.check(other)
    with expect_refusal("unknown_session"):
        chat.issue_token(session="nobody's")


def test_without_a_debugger_there_is_no_address(make: Make) -> None:
    with pytest.raises(DiscoveryError):
        assert make().address
