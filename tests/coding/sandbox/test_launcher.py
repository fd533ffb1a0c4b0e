"""The launcher: a command ends as the program ended, and nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from typing import Final

import pytest

from agentstepper_nb.coding.tools.command_process import CommandResult, prepare_command, run_process
from tests.coding.sandbox.agent import ForkedAgent
from tests.coding.sandbox.process_holders import DAEMON, FileHolders
from tests.coding.sandbox.scenes import access_to, make_sandbox
from tests.helpers.sampling import select_sample

PYTHON: Final = sys.executable
SIGNALS: Final = ["KILL", "TERM", "INT", "QUIT", "SEGV", "PIPE", "USR1", "ABRT"]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    folder.mkdir()
    (folder / "daemon.py").write_text(DAEMON)
    return folder


@pytest.fixture
def held(workspace: Path) -> FileHolders:
    return FileHolders(workspace / "pipe")


async def arun(workspace: Path, *words: str, cancel: asyncio.Event | None = None) -> CommandResult:
    async with prepare_command(
        make_sandbox("none"), words, workspace, access_to(workspace)
    ) as launch:
        return await run_process(launch, workspace, 100.0, cancel or asyncio.Event())


def ended(workspace: Path, *words: str) -> CommandResult:
    return asyncio.run(arun(workspace, *words))


@pytest.mark.parametrize("code", select_sample([0, 1, 3, 125, 126, 127, 255], 0, 3, 255))
def test_an_exit_code_is_passed_on(workspace: Path, code: int) -> None:
    assert ended(workspace, "sh", "-c", f"exit {code}").exit_code == code


@pytest.mark.parametrize("name", select_sample(SIGNALS, "KILL", "TERM", "SEGV"))
def test_a_signal_is_passed_on_and_leaves_no_core_file(workspace: Path, name: str) -> None:
    number = getattr(signal, f"SIG{name}")
    assert ended(workspace, "sh", "-c", f"kill -{name} $$").exit_code == -number
    assert sorted(os.listdir(workspace)) == ["daemon.py"]


def test_a_program_finds_its_signals_as_a_shell_leaves_them(workspace: Path) -> None:
    ignored = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
    lines = ended(workspace, "sh", "-c", ignored).output.split()
    # Of the C library: whoever started the tests may ignore them, and nobody can change that.
    own = 0b11 << 31
    assert [int(mask, 16) & ~own for mask in lines[1::2]] == [0, 0]


def test_a_program_inherits_the_standard_streams_alone(workspace: Path) -> None:
    code = "import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])"
    assert ended(workspace, PYTHON, "-c", code).output == "[0, 1, 2]\n"


def test_a_script_without_its_interpreter_is_a_failure_that_says_so(workspace: Path) -> None:
    script = workspace / "run"
    script.write_text("#!/no/such/program\n")
    script.chmod(0o755)
    result = ended(workspace, "./run")
    assert result.exit_code == 127
    assert result.output == "agentstepper: './run' was not started: No such file or directory\n"


def test_a_daemon_ends_with_the_command_that_made_it(workspace: Path, held: FileHolders) -> None:
    assert ended(workspace, PYTHON, "daemon.py", "pipe").exit_code == 0
    held.wait_for(2)
    held.wait_until_free()


def cancelled(workspace: Path, held: FileHolders, count: int, line: str) -> CommandResult:
    """Run a line of a shell, and cancel it when so many bytes were written to the pipe."""

    async def scene() -> CommandResult:
        cancel = asyncio.Event()
        call = asyncio.create_task(arun(workspace, "sh", "-c", line, cancel=cancel))
        await asyncio.to_thread(held.wait_for, count)
        cancel.set()
        return await call

    return asyncio.run(scene())


@pytest.mark.slow
def test_a_cancelled_command_takes_its_daemon_with_it(workspace: Path, held: FileHolders) -> None:
    line = f"trap '' TERM; {PYTHON} daemon.py pipe; sleep 1000"
    assert cancelled(workspace, held, 2, line).exit_code is None
    held.wait_until_free()


def test_who_is_asked_to_end_has_the_time_to_do_so(workspace: Path, held: FileHolders) -> None:
    line = "trap 'echo cleaned; exit' TERM; echo ready >pipe; while :; do sleep 0.01; done"
    assert cancelled(workspace, held, 6, line).output.endswith("cleaned\n")


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["none", "landlock", "bubblewrap"])
@pytest.mark.parametrize("victim", ["agent", "launcher"])
def test_a_killed_agent_or_launcher_takes_all_of_a_command_with_it(
    workspace: Path, held: FileHolders, sandbox: str, victim: str
) -> None:
    make_sandbox(sandbox)  # or it is skipped
    line = f"{PYTHON} daemon.py pipe; exec sleep 1000"
    with ForkedAgent(sandbox, workspace, "sh", "-c", line) as agent:
        held.wait_for(2)
        os.kill(agent.pid if victim == "agent" else agent.launcher_pid, signal.SIGKILL)
        held.wait_until_free()
