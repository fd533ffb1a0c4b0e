"""The chat in a terminal: what is typed, and what interrupts it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from agentstepper_nb.chat.terminal import view
from agentstepper_nb.chat.terminal.repl import Repl
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.chat import (
    ChatSessionChanged,
    ChatSessionInfo,
    ChatSessionSnapshot,
    State,
)
from tests.chat.chats import FunctionTestAgent
from tests.chat.harness import message
from tests.chat.terminals import BlockingAgent, Start, confirm_deletion

# ---- confirmations -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "choice"), [("3", "No"), ("no", "No"), ("N", "No"), ("yes, S", "Yes, some")]
)
def test_a_confirmation_is_answered_by_number_or_word(start: Start, line: str, choice: str) -> None:
    terminal = start(FunctionTestAgent(confirm_deletion))
    assert terminal.type_line("Go") == (
        "? Delete all?\n  1  Yes, all\n  2  Yes, some\n  3  No\nChoose 1-3: "
    )
    assert terminal.type_line(line).startswith(f"  → {choice}\nSo: {choice}.\n")


def test_none_of_the_choices_is_refused_and_asked_again(start: Start) -> None:
    terminal = start(FunctionTestAgent(confirm_deletion))
    terminal.type_line("Go")
    for line in ("4", "0", "yes", "perhaps"):
        shown = terminal.type_line(line)
        assert "from 1 to 3" in shown and shown.endswith("Choose 1-3: ")
    assert terminal.repl.has_failed  # nobody has chosen


@pytest.mark.parametrize("line", ["", " ", "s", "step", "c", "a", "/help"])
def test_no_stray_key_chooses(start: Start, line: str) -> None:
    terminal = start(FunctionTestAgent(confirm_deletion))
    terminal.type_line("Go")
    waiting = terminal.chat.pending_confirmation
    for _ in range(3):
        terminal.repl.handle_line(line)
        terminal.show()
    assert terminal.chat.pending_confirmation == waiting is not None


def test_a_confirmation_that_is_answered_elsewhere_waits_no_longer(start: Start) -> None:
    terminal = start(FunctionTestAgent(confirm_deletion))
    terminal.type_line("Go")
    terminal.chat.choose("No")
    terminal.show()
    assert terminal.text.endswith("  → No\nSo: No.\nparrot (AGENT_EXECUTOR) · your turn > ")


def test_a_stopped_turn_withdraws_its_question(start: Start) -> None:
    terminal = start(FunctionTestAgent(confirm_deletion))
    terminal.type_line("Go")
    terminal.repl.handle_line("/stop")
    while terminal.chat.state is State.STATE_RUNNING:
        terminal.show_next()
    terminal.show()
    assert "The question was withdrawn." in terminal.text and "Stopped." in terminal.text


@given(st.lists(st.text(min_size=1), min_size=1, max_size=5, unique=True), st.data())
def test_each_choice_can_be_made_by_its_number_and_nothing_else_is_one(
    choices: list[str], data: st.DataObject
) -> None:
    repl = Repl.__new__(Repl)  # what it converts needs no chat
    repl._confirmation = message("?", type="CONFIRMATION", choices=tuple(choices), final=False)
    number = data.draw(st.integers(1, len(choices)))
    assert repl.convert_in(f" {number} ").content == choices[number - 1]
    with pytest.raises(ProtocolError):
        repl.convert_in("1" * 5000)
    line = data.draw(st.text())
    try:
        assert repl.convert_in(line).content in choices
    except ProtocolError as error:
        assert error.code == "invalid_message"


# ---- commands ----------------------------------------------------------------------------------------


def test_conversations_are_listed_begun_and_opened(start: Start) -> None:
    terminal = start(title="First")
    first = terminal.chat.session_id
    terminal.type_line("Hello")
    terminal.type_line("/new Second")
    assert terminal.last_line == "parrot (AGENT_EXECUTOR) · new > "
    listed = terminal.type_line("/sessions")
    assert "Second  (0 messages)" in listed and "First  (2 messages)" in listed
    opened = terminal.type_line(f"/open {first[:13]}")
    assert "> Hello\nYou said: Hello\n" in opened
    assert "No conversation begins with" in terminal.type_line("/open nobody")
    assert "No conversation begins" in terminal.type_line("/open")


def test_it_says_how_it_is_and_who_is_there(start: Start) -> None:
    terminal = start(FunctionTestAgent(), FunctionTestAgent(name="two"))
    terminal.type_line("Hello")
    state = terminal.type_line("/state")
    assert "STATE_STOP, the last turn: done" in state and "2 messages" in state
    agents = terminal.type_line("/agents")
    assert "* parrot  AGENT_EXECUTOR  TOOL_CALLING" in agents and "  two " in agents
    assert "no agent 'three' here: choose parrot, two" in terminal.type_line("/to three")
    assert "No debugger shows this conversation" in terminal.type_line("/debug")
    assert all(f"/{name}" in terminal.type_line("/help") for name in ("stop", "auto", "quit"))


def test_auto_chat_is_set(start: Start) -> None:
    terminal = start()
    terminal.type_line("/auto 5")
    assert (terminal.chat.auto_chat, terminal.chat.auto_chat_max) == (True, 5)
    terminal.type_line("/auto off")
    assert not terminal.chat.auto_chat
    assert "AutoChat is off" in terminal.type_line("/auto")
    assert "/auto on, /auto off" in terminal.type_line("/auto perhaps")
    assert "/auto on, /auto off" in terminal.type_line("/auto " + "1" * 5000)
    assert "choose 0 to 1000" in terminal.type_line("/auto 1001")


def test_what_is_no_command_is_refused_and_quit_ends(start: Start) -> None:
    terminal = start()
    assert "There is no command /fly" in terminal.type_line("/fly away")
    assert "Did you mean “sessions”?" in terminal.type_line("/sesions")
    terminal.type_line("/quit")
    assert terminal.repl.is_over


def test_how_a_run_is_opened_in_the_debugger() -> None:
    info = ChatSessionInfo(id="s", title="", state=State.STATE_STOP, created_at=0, updated_at=0)
    assert "after its first message" in " ".join(view.format_debug_hint(info))
    running = ChatSessionInfo(
        id="s", title="", state=State.STATE_STOP, run_id="r1", created_at=0, updated_at=0
    )
    assert "agentstepper step --run r1" in " ".join(view.format_debug_hint(running))


def test_a_turn_that_is_halted_in_the_debugger_says_so_once(start: Start) -> None:
    terminal = start(FunctionTestAgent(["Yes."]))
    running = replace(terminal.repl.info, state=State.STATE_RUNNING, halted=True, run_id="r1")
    begin = len(terminal.text)
    for title in ("one", "two"):
        terminal.repl.show(ChatSessionChanged(session=replace(running, title=title)))
    said = terminal.text[begin:]
    assert said.count("Halted in the debugger") == 1
    assert "agentstepper step --run r1" in said


def test_a_conversation_that_is_removed_elsewhere_is_followed_by_a_new_one(start: Start) -> None:
    terminal = start()
    terminal.type_line("Hello")
    before = terminal.chat.session_id
    terminal.chat._thread.wait(lambda: terminal.chat._interpreter.remove(before))
    terminal.repl.update_prompt()  # before that is shown
    terminal.update_prompt()
    assert "This conversation was deleted: a new one begins." in terminal.text
    assert terminal.chat.session_id != before
    assert terminal.type_line("Hello again").startswith("You said: Hello again\n")


def test_what_is_taken_out_of_a_conversation_is_said(start: Start) -> None:
    terminal = start()
    terminal.type_line("Hello")
    terminal.repl.show(
        ChatSessionSnapshot(session=terminal.chat.info, messages=terminal.chat.messages[:1])
    )
    terminal.update_prompt()
    assert "edited some of these messages in the debugger" in terminal.text
    assert terminal.text.count("You said: Hello") == 1


# ---- interrupts, and programs ------------------------------------------------------------------------


def test_an_interrupt_stops_the_turn_and_the_second_ends(start: Start) -> None:
    stuck = BlockingAgent()
    terminal = start(FunctionTestAgent(stuck.answer))
    terminal.repl.handle_line("Hello")
    stuck.reached.wait()
    terminal.show()
    terminal.repl.handle_interrupt()
    terminal.update_prompt()
    assert "Stopping" in terminal.text and "Stopped." in terminal.text
    assert not terminal.repl.is_over
    terminal.repl.handle_interrupt()
    assert terminal.repl.is_over


def test_an_interrupt_at_rest_says_how_to_end(start: Start) -> None:
    terminal = start()
    terminal.repl.handle_interrupt()
    assert "Ctrl+C again" in terminal.text and not terminal.repl.is_over
    terminal.type_line("Hello")  # it counts anew
    terminal.repl.handle_interrupt()
    assert not terminal.repl.is_over


def test_a_program_is_listened_to_once_it_was_answered(start: Start) -> None:
    terminal = start(FunctionTestAgent(confirm_deletion), terminal=False)
    assert terminal.repl.accepts_line
    terminal.repl.handle_line("Go")
    assert not terminal.repl.accepts_line
    terminal.update_prompt()
    assert terminal.repl.accepts_line and terminal.text.endswith("  3  No\n")
    terminal.type_line("3")
    assert terminal.text.endswith("So: No.\n")  # no prompts
    assert not terminal.repl.has_failed


def test_a_message_while_somebody_answers_is_refused(start: Start) -> None:
    stuck = BlockingAgent()
    terminal = start(FunctionTestAgent(stuck.answer))
    terminal.repl.handle_line("Hello")
    stuck.reached.wait()
    terminal.repl.handle_line("And?")
    assert "A turn is under way" in terminal.text
