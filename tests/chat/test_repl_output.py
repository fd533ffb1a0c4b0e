"""The chat in a terminal: what is shown of each message, and what never gets through."""

from __future__ import annotations

import asyncio
import io
import threading
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.chat import outputs
from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.chat.terminal.view import MessageWriter
from agentstepper_nb.cli.screen import Screen
from agentstepper_nb.protocol.chat import Message
from tests.chat.chats import FunctionTestAgent
from tests.chat.harness import PNG, message
from tests.chat.terminals import Start

HOSTILE = "\x1b[31mred\x1b]0;title\x07 \x9b2J\r\b\u202e<b>&amp;"


def saying(*items: Item, **how: Any) -> FunctionTestAgent:
    """An agent that says these."""

    async def write(message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        for item in items:
            yield item

    return FunctionTestAgent(write, **how)


# ---- what is shown -----------------------------------------------------------------------------------


def test_it_says_who_is_spoken_to_and_how_the_session_is(start: Start) -> None:
    terminal = start()
    assert terminal.last_line == "parrot (AGENT_EXECUTOR) · new > "
    assert terminal.type_line("Hello") == (
        "You said: Hello\nparrot (AGENT_EXECUTOR) · your turn > "
    )


def test_text_is_shown_as_it_comes(start: Start) -> None:
    reached, go = threading.Event(), asyncio.Event()

    async def write(asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield "One moment"
        reached.set()
        await go.wait()
        yield ", please."

    terminal = start(FunctionTestAgent(write))
    terminal.repl.handle_line("Hello")
    reached.wait()
    terminal.show()
    assert terminal.text.endswith("One moment")
    terminal.chat.loop.call_soon_threadsafe(go.set)
    terminal.update_prompt()
    assert "One moment, please.\nparrot" in terminal.text


def test_each_type_of_message_has_its_look(start: Start, tmp_path: Path) -> None:
    (tmp_path / "plot.png").write_bytes(PNG + b"x")
    terminal = start(
        saying(
            outputs.code("def f():\n    return 1\n", "python"),
            outputs.code("1", "python", format="result"),
            outputs.console("installed\nwith a warning\n"),
            outputs.image(PNG + b"x" * 12_280, alt="a plot"),
            outputs.image("plot.png"),
            outputs.code_file("src/a.py", "python"),
            outputs.call("read_file", {"path": "a b.txt", "lines": [1, 2]}, call_id="1"),
            outputs.result("1", {"text": "hello\nworld"}),
            outputs.call("fail", {}, call_id="2"),
            outputs.result("2", "no such thing", ok=False),
        )
    )
    shown = terminal.type_line("Show me")
    assert shown.splitlines()[:-1] == [
        "┌─ python",
        "│ def f():",
        "│     return 1",
        "└─",
        "┌─ python (result)",
        "│ 1",
        "└─",
        "  installed",
        "  with a warning",
        "[image 12 KB, image/png: a plot]",
        "[image plot.png]",
        "┌─ python",
        "│ in the file src/a.py",
        "└─",
        '→ read_file(path="a b.txt", lines=[1, 2])',
        '  ✓ {"text": "hello\\nworld"}',
        "→ fail()",
        '  ✗ "no such thing"',
    ]


def test_several_agents_are_told_apart(start: Start) -> None:
    terminal = start(saying("One here."), saying("Two here.", name="two"))
    assert terminal.type_line("Hi").startswith("parrot (AGENT_EXECUTOR):\nOne here.\n")
    terminal.type_line("/to two")
    assert terminal.last_line == "two (AGENT_EXECUTOR) · your turn > "
    assert terminal.type_line("Hi").startswith("two (AGENT_EXECUTOR):\nTwo here.\n")


def test_an_error_is_shown_and_the_conversation_goes_on(start: Start) -> None:
    async def fail(asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield "I try"
        raise ZeroDivisionError("too small")

    terminal = start(FunctionTestAgent(fail))
    shown = terminal.type_line("Go")
    assert shown.startswith("I try\n") and "too small" in shown
    assert terminal.repl.has_failed and not terminal.repl.is_over


def test_what_is_said_elsewhere_is_shown(start: Start) -> None:
    terminal = start()
    terminal.chat.send("From a script")
    terminal.show()
    assert "> From a script\nYou said: From a script\n" in terminal.text


def test_auto_chat_shows_what_it_says(start: Start) -> None:
    terminal = start(auto_chat_max=1)
    assert "continues by itself for at most 1 turn." in terminal.type_line("/auto on")
    assert terminal.type_line("Hello").splitlines() == [
        "You said: Hello",
        "· Go on.",
        "You said: Go on.",
        "parrot (AGENT_EXECUTOR) · your turn, auto > ",
    ]


def test_what_was_edited_while_it_grew_is_said_anew() -> None:
    out = io.StringIO()
    flow = MessageWriter(Screen(out, is_coloured=False, terminal=True))
    flow.write(message("One", final=False))
    flow.append("m1", " two")
    flow.write(message("Other", final=True))
    assert out.getvalue() == "One two\nThe message was edited, and now reads:\nOther\n"


def test_what_grows_beside_another_message_is_shown_at_its_end() -> None:
    out = io.StringIO()
    flow = MessageWriter(Screen(out, is_coloured=False, terminal=True))
    flow.write(message("One", final=False))
    flow.write(message("", id="m2", final=False))
    flow.append("m2", "Two")
    flow.append("m1", "!")
    flow.write(message("One!"))
    flow.write(message("Two", id="m2"))
    assert out.getvalue() == "One!\nTwo\n"


def test_calls_that_cross_are_told_apart() -> None:
    out = io.StringIO()
    flow = MessageWriter(Screen(out, is_coloured=False, terminal=True))
    for id in "ab":
        flow.write(message(id=id, type="FUNCTION", name=id, arguments={}, final=False))
    for id in "ab":
        flow.write(message(id=id, type="FUNCTION", name=id, arguments={}, result=id, ok=True))
    assert out.getvalue() == "→ a()\n→ b()\n→ a()\n  ✓ a\n→ b()\n  ✓ b\n"


# ---- what never gets through -------------------------------------------------------------------------


def test_nothing_of_a_message_is_an_order_to_the_terminal(start: Start) -> None:
    async def write(asked: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        yield HOSTILE
        yield outputs.code(HOSTILE, HOSTILE)
        yield outputs.console(HOSTILE)
        yield outputs.image(PNG, alt=HOSTILE)
        yield outputs.image(HOSTILE.replace("\x00", ""))
        yield outputs.call(HOSTILE, {HOSTILE: HOSTILE}, call_id="1")
        yield outputs.result("1", [HOSTILE])
        await turn.confirm(HOSTILE, [HOSTILE, "No"])

    terminal = start(FunctionTestAgent(write), title=HOSTILE)
    terminal.type_line("Go")
    terminal.type_line("2")
    terminal.type_line("/sessions")
    terminal.type_line("/agents")
    shown = terminal.text.replace("\n", "")
    assert shown.isprintable(), [each for each in shown if not each.isprintable()]


@given(st.text(), st.sampled_from(["MESSAGE", "CODE", "CONSOLE", "IMAGE", "FUNCTION"]))
def test_no_text_is_an_order_to_the_terminal(text: str, type: str) -> None:
    out = io.StringIO()
    flow = MessageWriter(Screen(out, is_coloured=False, terminal=True))
    fields = {"type": type, "language": text, "name": text, "path": text, "ok": True}
    grown = message("", final=False, **fields)
    flow.write(grown)
    for character in text:
        flow.append("m1", character)
    flow.write(message(text, result={text: text}, **fields))
    shown = out.getvalue()
    controls = {chr(code) for code in (*range(32), *range(127, 160))} - {"\n"}
    assert not controls & set(shown)


def test_a_message_is_given_out_as_lines(start: Start) -> None:
    terminal = start()
    assert terminal.repl.convert_out(message("x", type="CODE", language="c")) == "┌─ c\n│ x\n└─"
