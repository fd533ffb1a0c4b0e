"""`agentstepper chat` in a real terminal and through pipes."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pexpect
import pytest

from agentstepper_nb.cli import main
from tests.cli.terminals import Terminal

CHAT = [sys.executable, "-m", "agentstepper_nb", "chat"]

#: Agents of a module in the folder.
AGENTS = """\
import asyncio
from agentstepper_nb.chat.connector import InterpreterABC
from agentstepper_nb.chat.outputs import code, confirmation, console


def echo(message):
    return f"You said: {message}"


def asks(message):
    yield code("rm -r build", "sh")
    choice = yield confirmation("Run it?", ["Yes", "No"])
    if choice == "Yes":
        yield console("gone\\n")
    yield f"So: {choice}."


def fails(message):
    raise ZeroDivisionError("too small")


class Slow(InterpreterABC):
    name = "slow"

    async def chat(self, message, turn):
        yield "One moment"
        await asyncio.Event().wait()


slow = Slow()
"""

#: The model of the coding agent: it runs what it is told, and says that it did.
SCRIPT = """\
from agentstepper_nb.models.scripted import *

def run(request):
    words = [message.text for message in request.messages if message.role == "user"][-1].split()
    return ScriptedCall("run_command", {"command": " ".join(words[-2:])})

done = where("done", lambda request: request.messages[-1].role == "tool")
script = Script("obey", [ScriptRule(done, say("I did it.")), ScriptRule(always, run)])
"""

Start = Callable[..., pexpect.spawn]
Piped = Callable[..., tuple[int, str, str]]


@pytest.fixture(autouse=True)
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (home / "here").mkdir()
    (home / "here" / "agents_of_tests.py").write_text(AGENTS)
    (home / "script.py").write_text(SCRIPT)
    monkeypatch.chdir(home / "here")
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.delitem(sys.modules, "agents_of_tests", raising=False)
    return home / "here"


@pytest.fixture
def piped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Piped:
    """Runs it in this process, with a pipe for input; gives exit code, output and error output."""

    def run(*arguments: str, given: str = "") -> tuple[int, str, str]:
        reading, writing = os.pipe()
        with os.fdopen(writing, "w") as pipe:
            pipe.write(given)
        with os.fdopen(reading) as stdin:
            monkeypatch.setattr(sys, "stdin", stdin)
            code = main(["chat", *arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return run


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts it on a terminal."""
    with ExitStack() as stack:

        def started(*arguments: str) -> pexpect.spawn:
            terminal = Terminal([*CHAT, *arguments])
            stack.callback(terminal.close, force=True)
            return terminal

        yield started


# ---- through pipes -----------------------------------------------------------------------------------


def test_lines_of_a_pipe_are_said_one_after_the_other(piped: Piped) -> None:
    assert piped("agents_of_tests:echo", given="Hello\n\nBye") == (
        0,
        "You said: Hello\nYou said: Bye\n",
        "",
    )


def test_a_pipe_may_choose(piped: Piped) -> None:
    code, out, _ = piped("agents_of_tests:asks", given="Go\n1\n")
    assert (code, out.splitlines()) == (
        0,
        [
            "┌─ sh",
            "│ rm -r build",
            "└─",
            "? Run it?",
            "  1  Yes",
            "  2  No",
            "  → Yes",
            "  gone",
            "So: Yes.",
        ],
    )


@pytest.mark.parametrize("line", ["/fly", "/open nothing"])
def test_a_last_line_that_is_refused_has_failed(piped: Piped, line: str) -> None:
    code, out, _ = piped("agents_of_tests:echo", given=f"Hello\n{line}\n")
    assert code == 1 and out.startswith("You said: Hello\n")
    assert piped("agents_of_tests:echo", given=f"{line}\nHello\n")[0] == 0


def test_a_pipe_that_ends_before_it_has_chosen_has_failed(piped: Piped) -> None:
    code, out, _ = piped("agents_of_tests:asks", given="Go\n")
    assert code == 1 and "  2  No\n" in out


def test_an_error_is_told_and_fails(piped: Piped) -> None:
    code, out, _ = piped("agents_of_tests:fails", given="Go\n")
    assert code == 1 and "too small" in out


def test_it_goes_on_by_itself_where_it_may(piped: Piped) -> None:
    code, out, _ = piped("agents_of_tests:echo", "--auto", "1", given="Hello\n")
    assert (code, out.count("You said")) == (0, 2)


def test_conversations_are_listed_and_opened_again(piped: Piped) -> None:
    piped("agents_of_tests:echo", "--title", "Birds", given="Hello\n")
    code, out, _ = piped("--list")
    *connectors, kept = out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in connectors] == ["coding", "endpoint", "session"]
    id, title = kept.split()[:2]
    assert title == "Birds"
    code, out, _ = piped("agents_of_tests:echo", "--session", id[:13], given="Again\n")
    assert (code, out) == (0, "> Hello\nYou said: Hello\nYou said: Again\n")


@pytest.mark.slow
def test_the_coding_agent_answers_and_asks(piped: Piped, home: Path) -> None:
    model = ["--provider", "scripted", "--model", str(home / "script.py")]
    code, out, _ = piped("coding", *model, given="Please run: touch done\nYes\n")
    assert "touch done" in out and "I did it." in out
    assert code == 0
    assert (home / "here" / "done").exists()


def test_what_is_wrong_is_said_in_a_line(piped: Piped, home: Path) -> None:
    (home / "here" / "broken_of_tests.py").write_text("1 / 0")
    for arguments, said in [
        ((), "No agent is named. Name one: agentstepper chat coding"),
        (("nobody",), "There is no connector 'nobody': choose coding, endpoint, session"),
        (("coding",), "The connector coding needs the option 'model': add --model NAME, or set"),
        (("coding", "-o", "wings=2"), "has no option 'wings'; its options are workspace"),
        (("coding", "-o", "wings"), "The option 'wings' has no value: write --option NAME=VALUE."),
        (("agents_of_tests:nobody",), "can't be imported from here"),
        (("broken_of_tests:agent",), "ZeroDivisionError"),
        (("agents_of_tests:echo", "--session", "x"), "No conversation begins with 'x'"),
    ]:
        code, out, err = piped(*arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("agentstepper chat: ") and said in err and err.count("\n") == 1


def test_what_is_no_agent_is_refused(piped: Piped) -> None:
    code, _, err = piped("agents_of_tests:AGENTS", given="")
    assert code == 2
    code, _, err = piped("agents_of_tests:echo", "agents_of_tests:echo")
    assert code == 1 and "echo" in err


# ---- in a terminal -----------------------------------------------------------------------------------


def test_a_conversation_in_a_terminal(start: Start) -> None:
    terminal = start("agents_of_tests:asks", "agents_of_tests:echo")
    terminal.expect(r"asks \(AGENT_EXECUTOR\) · new >")
    terminal.sendline("Go")
    terminal.expect("Choose 1-2:")
    terminal.sendline("no")
    terminal.expect_exact("So: No.")
    terminal.expect("your turn >")
    terminal.sendline("/to echo")
    terminal.expect(r"echo \(AGENT_EXECUTOR\) · your turn >")
    terminal.sendline("Hi")
    terminal.expect_exact("You said: Hi")
    terminal.expect("your turn >")
    terminal.sendeof()
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 0


def test_ctrl_c_stops_the_turn_and_the_second_ends(start: Start) -> None:
    terminal = start("agents_of_tests:slow")
    terminal.expect("new >")
    terminal.sendline("Go")
    terminal.expect_exact("One moment")
    terminal.sendintr()
    terminal.expect_exact("Stopped.")
    terminal.expect("your turn >")
    terminal.sendintr()
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 130


def test_what_is_pasted_is_one_message(start: Start) -> None:
    terminal = start("agents_of_tests:echo")
    terminal.expect("new >")
    terminal.send("\x1b[200~one\ntwo\x1b[201~\n")
    terminal.expect_exact("You said: one\r\ntwo\r\n")


@pytest.mark.slow
def test_a_line_is_edited_completed_and_remembered(start: Start, home: Path) -> None:
    terminal = start("agents_of_tests:echo", "agents_of_tests:asks", "--data", str(home / "d"))
    terminal.expect("new >")
    terminal.send("Hi\x1b[D\x08O\r")  # Left, Backspace
    terminal.expect_exact("You said: Oi")
    terminal.expect("your turn >")
    terminal.send("\x1b[A\x1b\rBye\r")  # Up, Alt+Enter
    terminal.expect_exact("You said: Oi\r\nBye")
    terminal.expect("your turn >")
    terminal.send("/to\tas\t\r")
    terminal.expect(r"asks \(AGENT_EXECUTOR\) · your turn >")
    terminal.send("/stpo\r")
    terminal.expect_exact(
        "There is no command /stpo: /help lists the commands. Did you mean “stop”?"
    )
    terminal.expect("your turn >")
    terminal.send("Run it, password: abcdef1\r")
    terminal.expect("Choose 1-2:")
    terminal.send("\x1b[A2\r")  # an answer has no history
    terminal.expect_exact("So: No.")
    terminal.expect("your turn >")
    terminal.send("/quit\r")
    terminal.expect(pexpect.EOF)
    history = home / "d" / "chat.history"
    assert history.stat().st_mode & 0o777 == 0o600
    text = history.read_text()
    assert "+Oi\n+Bye\n" in text
    assert "abcdef" not in text and "+2\n" not in text


def test_it_ends_while_an_agent_blocks(start: Start, folder: Path) -> None:
    (folder / "stuck_of_tests.py").write_text(
        "import threading\n\n\ndef stuck(message):\n    yield 'Wait'\n    threading.Event().wait()\n"
    )
    terminal = start("stuck_of_tests:stuck")
    terminal.expect("new >")
    terminal.sendline("Go")
    terminal.expect_exact("Wait")
    terminal.sendline("/quit")
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == 0
