"""`agentstepper code` in a real terminal."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import pexpect
import pytest

from agentstepper_nb.hub import AgentStepperCore
from tests.cli.code_command import PipedCommand, make_code_folder
from tests.cli.terminals import Terminal
from tests.helpers.sampling import select_sample
from tests.sdk.person import LiveView

CODE = [sys.executable, "-m", "agentstepper_nb", "code"]

Start = Callable[..., pexpect.spawn]


@pytest.fixture(autouse=True)
def folder(home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return make_code_folder(home, monkeypatch)


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts it on a terminal."""
    with ExitStack() as stack:

        def started(*arguments: str) -> pexpect.spawn:
            terminal = Terminal([*CODE, *arguments])
            stack.callback(terminal.close, force=True)
            return terminal

        yield started


def ends(terminal: pexpect.spawn, code: int) -> None:
    terminal.expect(pexpect.EOF)
    assert terminal.wait() == code


@pytest.fixture
def piped(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> PipedCommand:
    return PipedCommand(capsys, monkeypatch)


PROMPT: Final = "m>"  # the space behind it is a move of the cursor
ALWAYS: Final = r"\[a always\]: .*:"
CONFIRM: Final = "High risk: type “run_command” and Enter to approve; any other text cancels:"

# ---- a conversation ----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_conversation_with_every_answer_to_an_approval(
    start: Start, folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    editor = home / "editor.py"
    editor.write_text(
        "import sys, pathlib\npath = pathlib.Path(sys.argv[1])\n"
        "path.write_text(path.read_text().replace('build', 'kept'))\n"
    )
    monkeypatch.setenv("EDITOR", f"{sys.executable} {editor}")
    terminal = start()
    terminal.expect("Session ([0-9a-f-]{36})")
    terminal.expect("No debugger: No AgentStepper Core is running.")
    terminal.expect(PROMPT)
    terminal.sendline("hello")
    terminal.expect("You said 1 things.")
    terminal.expect("Done · 1 query · .* tokens")

    terminal.expect(PROMPT)
    terminal.sendline("run rm -rf build")
    terminal.expect("Asks for approval · high risk")
    terminal.expect(r"\[a always\]: the command `rm -rf build` in this workspace:")
    terminal.sendline("what?")
    terminal.expect("let it happen")
    terminal.expect(ALWAYS)
    for stray in (
        "",
        " ",
        "s",
        "step",
        "c",
        "continue",
        "next",
        "always",
        "a please",
        "run_command",
    ):
        terminal.sendline(stray)
        terminal.expect(ALWAYS)
    for first, second in (
        ("a", "a"),
        ("y", "y"),
        ("a always", "a always"),
        ("yes", ""),
        ("a", "s"),
    ):
        terminal.sendline(first)
        terminal.expect(CONFIRM)
        terminal.sendline(second)
        terminal.expect("Nothing was approved")
        terminal.expect(ALWAYS)
    assert (folder / "build").is_dir()
    terminal.sendline("e {broken")
    terminal.expect("The arguments aren't JSON: line 1")
    terminal.expect(ALWAYS)
    terminal.sendline('e {"command": "\\ud800"}')
    terminal.expect("The arguments aren't JSON: ")
    terminal.expect(ALWAYS)
    terminal.sendline("n keep it")
    terminal.expect("denied: keep it")
    terminal.expect("✗ A person denied this: keep it")
    terminal.expect("Then I won't.")
    assert (folder / "build").is_dir()

    terminal.expect(PROMPT)
    terminal.sendline("run rm -rf build")
    terminal.expect(ALWAYS)
    terminal.sendline("e")
    terminal.expect(r"now: run_command\(command=rm -rf kept\)")
    terminal.expect(ALWAYS)
    terminal.sendline("y")
    terminal.expect(CONFIRM)
    terminal.sendline("run_command")
    terminal.expect("edited: ")
    terminal.expect("I did it.")
    assert (folder / "build").is_dir()

    terminal.expect(PROMPT)
    terminal.sendline("run rm -rf build")
    terminal.expect(ALWAYS)
    terminal.sendline("a always")
    terminal.expect(CONFIRM)
    terminal.sendline("run_command")
    terminal.expect("approved")
    terminal.expect("I did it.")
    assert not (folder / "build").exists()
    terminal.expect(PROMPT)
    terminal.sendline("run rm -rf build")  # the rule
    terminal.expect("✓")
    terminal.expect("I did it.")

    terminal.expect(PROMPT)
    terminal.send("\x1b[200~two\nlines\x1b[201~\n")  # as pasted
    terminal.expect("You said 19 things.")
    terminal.expect(PROMPT)
    terminal.sendline("three")
    terminal.expect("You said 21 things.")
    terminal.expect(PROMPT)
    terminal.sendline("/help")
    terminal.expect("twice, it ends")
    terminal.sendline("")
    terminal.expect(PROMPT)
    terminal.sendline("/quit")
    ends(terminal, 0)


@pytest.mark.slow
def test_a_session_is_resumed_and_listed(start: Start, folder: Path, piped: PipedCommand) -> None:
    code, out, _ = piped("one")
    assert code == 0
    assert "You said 1 things." in out
    terminal = start("--resume")
    for shown in ("> one", "You said 1 things.", "Session "):
        terminal.expect(shown)
    _, listed, _ = piped("--list")
    assert listed.split(maxsplit=4)[3] == "open"
    terminal.expect(PROMPT)
    terminal.sendline("two")
    terminal.expect("You said 3 things.")
    terminal.expect(PROMPT)
    terminal.sendeof()
    ends(terminal, 0)
    _, listed, _ = piped("--list")
    (line,) = listed.splitlines()
    _, _, id, state, prompt, place = line.split(maxsplit=5)
    assert (state, prompt) == ("kept", "one")
    assert place.startswith(f"({folder}, scripted ")
    _, out, _ = piped("three", "--resume", id[:20])
    assert "You said 5 things." in out
    code, _, error = piped("four", "--resume", "nothing")
    assert code == 1
    assert "No session's id begins" in error


@pytest.mark.slow
def test_ctrl_c_cancels_an_answer_and_twice_it_ends(start: Start) -> None:
    terminal = start()
    terminal.expect(PROMPT)
    terminal.sendline("hold on")
    terminal.expect("Wait")
    terminal.sendintr()
    terminal.expect("Cancelling the answer; Ctrl\\+C again exits.")
    terminal.expect("Cancelled · 1 query")
    terminal.expect(PROMPT)
    terminal.sendline("hello")
    terminal.expect("You said 2 things.")
    terminal.expect(PROMPT)
    terminal.sendintr()
    terminal.expect("Ctrl\\+C again, or Ctrl\\+D, exits.")
    terminal.expect(PROMPT)
    terminal.sendintr()
    ends(terminal, 130)


@pytest.mark.soak  # the one before has Ctrl+C at an answer
def test_ctrl_c_at_an_approval_takes_the_question_back(start: Start) -> None:
    terminal = start("run rm -rf build")
    terminal.expect(r"\[a\]pprove")
    terminal.sendintr()
    terminal.expect("already answered elsewhere, or the agent's answer was cancelled")
    terminal.expect("Cancelled · 1 query")
    ends(terminal, 130)


@pytest.mark.soak  # tests/cli/test_step types on a terminal
def test_a_line_is_edited_completed_and_remembered(start: Start, home: Path) -> None:
    terminal = start("--data", str(home / "data"))
    terminal.expect(PROMPT)
    terminal.send("/zp\x1b[Da\r")  # Left
    terminal.expect_exact("There is no command /zap")
    terminal.expect(PROMPT)
    terminal.send("\x1b[A\r")  # Up
    terminal.expect_exact("There is no command /zap")
    terminal.expect(PROMPT)
    terminal.setwinsize(20, 60)
    terminal.send("/he\t\r")
    terminal.expect_exact("twice, it ends")
    terminal.expect(PROMPT)
    terminal.send("one\x1b\rtwo\r")  # Alt+Enter
    terminal.expect_exact("You said 1 things.")
    terminal.expect(PROMPT)
    terminal.send("my token=abcdef123456\r")
    terminal.expect_exact("You said 3 things.")
    terminal.expect(PROMPT)
    terminal.send("/quit\r")
    ends(terminal, 0)
    history = home / "data" / "prompts.history"
    assert history.stat().st_mode & 0o777 == 0o600
    text = history.read_text()
    assert "+one\n+two\n" in text and "abcdef" not in text


@pytest.mark.slow
def test_an_unknown_command_is_refused_and_not_told_to_the_model(start: Start) -> None:
    terminal = start()
    terminal.expect(PROMPT)
    for typed, like in (("/hlep", " Did you mean “help”"), ("/", ""), ("/zap it now", "")):
        terminal.sendline(typed)
        name = typed.split()[0]
        terminal.expect_exact(f"There is no command {name}: /help lists the commands.{like}")
        terminal.expect(PROMPT)
    for count, typed in ((1, "/etc/hosts is what?"), (3, " /zap is what?")):
        terminal.sendline(typed)
        terminal.expect_exact(f"You said {count} things.")
        terminal.expect(PROMPT)
    terminal.sendline("/quit")
    ends(terminal, 0)


@pytest.mark.slow
@pytest.mark.parametrize("how", select_sample((signal.SIGHUP, signal.SIGTERM), signal.SIGHUP))
def test_a_terminal_that_is_closed_leaves_no_command(
    start: Start, folder: Path, how: signal.Signals
) -> None:
    os.mkfifo(folder / "pipe")
    (folder / "hang.py").write_text(
        "import signal\nfile = open('pipe', 'w')\nprint('here', file=file, flush=True)\n"
        "signal.pause()\n"
    )
    terminal = start("run python3 hang.py", "--yes")
    with (folder / "pipe").open() as pipe:
        assert pipe.readline() == "here\n"
        terminal.kill(how)
        ends(terminal, 130)
        assert pipe.read() == ""  # once nobody has its other end


# ---- beside a debugger -------------------------------------------------------------------------------


@pytest.fixture
def person(core: AgentStepperCore, monkeypatch: pytest.MonkeyPatch) -> Iterator[LiveView]:
    monkeypatch.setenv("AGENTSTEPPER_URL", f"ws://127.0.0.1:{core.client_port}")
    with LiveView(core.ui_port) as person:
        yield person


@pytest.mark.slow
def test_the_debugger_answers_first(start: Start, person: LiveView, folder: Path) -> None:
    terminal = start("run rm -rf build")
    terminal.expect("In the debugger: Run #1 of code repo")
    terminal.expect(r"\[a\]pprove")
    person.approve({"Tool": "run_command", "Argument": {"command": "true"}})
    terminal.expect("already answered elsewhere")
    terminal.expect("approved")
    terminal.expect(r"edited: run_command\(command=true\)")
    person.resume()
    terminal.expect("Done")
    ends(terminal, 0)
    assert (folder / "build").is_dir()


def test_it_begins_stepping_and_is_stopped(start: Start, person: LiveView) -> None:
    terminal = start("hello", "--step")
    terminal.expect("In the debugger: ")
    person.wait_until_halted()
    person.stop()
    terminal.expect("Cancelled")
    terminal.expect("A person pressed Stop in the debugger.")
    ends(terminal, 130)
    assert person.wait_until_ended().ending == "stopped"
