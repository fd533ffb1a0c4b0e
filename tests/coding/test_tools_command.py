"""`run_command`: what it runs, and that nothing of it is left."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.coding.tool_results import shorten_result
from agentstepper_nb.coding.tools import command_process, make_default_tools
from agentstepper_nb.coding.tools.command_process import BoundedOutput
from tests.coding.tool_workspace import ToolWorkspace

PYTHON: Final = sys.executable


@pytest.fixture
def tool_workspace(tmp_path: Path) -> ToolWorkspace:
    return ToolWorkspace(tmp_path)


@pytest.fixture
def plain(tool_workspace: ToolWorkspace) -> ToolWorkspace:
    """One without a shell."""
    tool_workspace.tools = make_default_tools(shell=False)
    return tool_workspace


def run(tool_workspace: ToolWorkspace, command: str, **args: Any) -> ToolResult:
    return tool_workspace.call("run_command", command=command, **args)


def output(result: ToolResult) -> str:
    assert result.ok, result.error
    text: str = result.data["output"]
    return text


def refused(result: ToolResult) -> str:
    assert not result.ok and result.data is None
    return result.error or ""


# ---- what it runs ----------------------------------------------------------------------------------


def test_words_are_parted_as_by_a_shell_and_none_reads_them(plain: ToolWorkspace) -> None:
    assert output(run(plain, "echo 'a  b' \"c\" d\\ e '|' '$HOME' *")) == "a  b c d e | $HOME *\n"


def test_both_streams_are_one_and_there_is_no_input(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write(
        "p.py", "import sys; print(1, flush=True); print(sys.stdin.read(), file=sys.stderr)"
    )
    assert output(run(tool_workspace, f"{PYTHON} p.py")) == "1\n\n"


def test_it_runs_where_it_is_told(tool_workspace: ToolWorkspace) -> None:
    assert output(run(tool_workspace, "pwd")) == f"{tool_workspace.root}\n"
    assert output(run(tool_workspace, "pwd", folder="inside")) == f"{tool_workspace.root}/src\n"
    for folder in ("out", "..", "/", "a.txt", "missing"):
        assert "There is no folder" in refused(run(tool_workspace, "pwd", folder=folder))


def test_a_failure_says_how_it_ended_and_what_it_printed(tool_workspace: ToolWorkspace) -> None:
    failed = run(tool_workspace, "echo bad; exit 3")
    assert (failed.ok, failed.error) == (False, "It ended with exit code 3.")
    assert failed.data == {"exit_code": 3, "output": "bad\n"}
    killed = run(tool_workspace, "kill -KILL $$")
    assert killed.error == f"It was ended by signal {signal.SIGKILL.value}."


@pytest.mark.parametrize(
    ("command", "says"),
    [
        (" ", "is empty"),
        ("''", "is empty"),
        ("echo 'a", "can't be read: No closing quotation"),
        ("no-such-program x", "There is no program 'no-such-program'"),
        ("./a.txt", "isn't executable"),
        ("echo a\0b", "NUL"),
        ("ls | wc", "'|' is a plain word"),
        ("ls && ls", "'&&' is a plain word"),
        ("ls > x", "'>' is a plain word"),
        ("ls 2>&1", "'2>&1' is a plain word"),
        ("A=1 ls", "put `env` before it"),
    ],
)
def test_what_cannot_be_run(plain: ToolWorkspace, command: str, says: str) -> None:
    assert says in refused(run(plain, command))


def test_a_shell_reads_a_command_as_models_write_them(tool_workspace: ToolWorkspace) -> None:
    assert output(run(tool_workspace, "cd src && echo *.py 2>&1 | tr b c")) == "c.py\n"
    assert "pipes, `&&`" in tool_workspace.tool("run_command").description
    assert (
        output(run(tool_workspace, "echo a", shell=False)) == "a\n"
    )  # an argument of older models' logs


def test_without_a_shell_the_description_says_so(plain: ToolWorkspace) -> None:
    assert "no pipes" in plain.tool("run_command").description


def test_a_program_that_is_missing_is_a_failure_of_the_shell(tool_workspace: ToolWorkspace) -> None:
    failed = run(tool_workspace, "no-such-program x")
    assert failed.data["exit_code"] == 127
    assert "not found" in failed.data["output"]


@pytest.mark.parametrize(
    ("folder", "says"),
    [
        ("relative", "not an absolute path"),
        ("/tmp/../tmp", "not an absolute path"),
        ("LINK", "without links"),
        ("/no/such/folder", "no folder '/no/such/folder'"),
        ("/a\0b", "can't be used"),
    ],
)
def test_folders_to_be_changed_are_named_as_they_are(
    tool_workspace: ToolWorkspace, folder: str, says: str
) -> None:
    folder = folder.replace("LINK", str(tool_workspace.root / "out"))
    assert says in refused(run(tool_workspace, "echo a", writable=[folder]))


def test_without_anything_that_holds_commands_none_is_run(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.ctx.session_sandbox = None
    assert "no sandbox" in refused(run(tool_workspace, "echo a > made.txt"))
    assert not (tool_workspace.root / "made.txt").exists()


def test_the_environment_has_no_secrets(
    tool_workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = ("OPENAI_API_KEY", "MY_TOKEN", "aws_secret", "DB_PASSWORD", "AGENTSTEPPER_URL")
    for name in (*secret, "GIT_DIR", "PLAIN"):
        monkeypatch.setenv(name, "value")
    names = {line.partition("=")[0] for line in output(run(tool_workspace, "env")).splitlines()}
    assert not names & {*secret, "GIT_DIR"}
    assert {"PLAIN", "PATH", "NO_COLOR"} <= names


# ---- how it ends -----------------------------------------------------------------------------------


class CommandWithGrandchild:
    """A command whose grandchild outlives its child: a pipe says when the last of them is gone.

    Args:
        desk: Where.
    """

    def __init__(self, tool_workspace: ToolWorkspace) -> None:
        path = tool_workspace.root / "pipe"
        os.mkfifo(path)
        self.read_end = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        # Deaf to being asked to end, and with the output's pipe in its hands.
        alone = "trap '' TERM HUP INT; echo >&9; sleep 1000; sleep 1000"
        self.command = f'sh -c "{alone}" & sh -c "{alone}" 9>pipe'.replace(" &", " 9>pipe &", 1)

    async def is_there(self) -> None:
        """Wait until both have written."""
        await self._read_until(lambda seen: len(seen) >= 2)

    async def is_gone(self) -> None:
        """Wait until nobody has the pipe any more."""
        await self._read_until(lambda seen: False)
        os.close(self.read_end)

    async def _read_until(self, enough: Callable[[bytes], bool]) -> None:
        loop = asyncio.get_running_loop()
        over = loop.create_future()
        seen = bytearray()

        def readable() -> None:
            data = os.read(self.read_end, 100)
            seen.extend(data)
            if (not data or enough(bytes(seen))) and not over.done():
                over.set_result(None)

        loop.add_reader(self.read_end, readable)
        await over
        loop.remove_reader(self.read_end)


def test_a_cancelled_call_ends_all_that_it_started(tool_workspace: ToolWorkspace) -> None:
    async def scene() -> ToolResult:
        family = CommandWithGrandchild(tool_workspace)
        args = {"command": family.command}
        call = asyncio.create_task(tool_workspace.acall("run_command", args))
        await family.is_there()
        tool_workspace.ctx.cancellation.set()
        result = await call
        await family.is_gone()
        return result

    result = asyncio.run(scene())
    assert result.error == "It was ended, for the call was cancelled."
    assert result.data["exit_code"] is None


async def test_a_cancelled_task_ends_all_that_it_started(tool_workspace: ToolWorkspace) -> None:
    family = CommandWithGrandchild(tool_workspace)
    args = {"command": family.command}
    call = asyncio.create_task(tool_workspace.acall("run_command", args))
    await family.is_there()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    await family.is_gone()


def test_a_time_out_ends_all_that_it_started(
    tool_workspace: ToolWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scene() -> ToolResult:
        family = CommandWithGrandchild(tool_workspace)
        wait = command_process._wait_for_first

        async def out_of_time(seconds: float, *waiting: Any) -> bool:
            if seconds != 1000.0:
                return await wait(seconds, *waiting)
            await family.is_there()  # the time is over when they run, however long that takes
            return await wait(0.0, *waiting)

        monkeypatch.setattr(command_process, "_wait_for_first", out_of_time)
        tool_workspace.ctx.command_timeout_s = 2000.0
        args = {"command": family.command, "timeout": 1000}
        result = await tool_workspace.acall("run_command", args)
        await family.is_gone()
        return result

    result = asyncio.run(scene())
    assert result.error == "It took more than 1000 seconds and was ended."


def test_time_runs_out(tool_workspace: ToolWorkspace) -> None:
    result = run(tool_workspace, "echo early; exec sleep 1000", timeout=0.3)
    assert result.error == "It took more than 0.3 seconds and was ended."


def test_nobody_gets_more_time_than_the_session_allows(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.ctx.command_timeout_s = 0.1
    assert (
        run(tool_workspace, "sleep 1000", timeout=500).error
        == "It took more than 0.1 seconds and was ended."
    )


def test_what_is_left_in_the_background_is_ended(tool_workspace: ToolWorkspace) -> None:
    async def scene() -> ToolResult:
        family = CommandWithGrandchild(tool_workspace)
        # Both in the background; the shell goes when both are there, and leaves them.
        tool_workspace.write("go", "")
        command = family.command + " & while [ -e go ]; do sleep 0.01; done"
        call = asyncio.create_task(tool_workspace.acall("run_command", {"command": command}))
        await family.is_there()
        (tool_workspace.root / "go").unlink()
        result = await call
        await family.is_gone()
        return result

    assert asyncio.run(scene()).ok


# ---- what it prints --------------------------------------------------------------------------------


def test_a_flood_is_bounded_while_it_flows(tool_workspace: ToolWorkspace) -> None:
    line = "x" * 99 + "\n"
    tool_workspace.write(
        "flood.py", f"print('first'); print({line!r} * 200_000, end=''); print('last')"
    )
    result = run(tool_workspace, f"{PYTHON} flood.py")
    text = output(result)
    assert len(text) < command_process.HEAD_BYTES + command_process.TAIL_BYTES + 100
    assert text.startswith("first\nxxx") and text.endswith("xxx\nlast\n")
    dropped = 20_000_011 - command_process.HEAD_BYTES - command_process.TAIL_BYTES
    assert f"\n[… {dropped:,} bytes were dropped …]\n" in text
    short = shorten_result(
        result, tool_workspace.ctx.output_limit_bytes, tool_workspace.ctx.outputs
    ).data
    assert (
        len(short["output"].encode()) < tool_workspace.ctx.output_limit_bytes
        and "output:1" in short["output"]
    )


def test_what_is_kept() -> None:
    for size in (1, 3, 7, 1000):
        kept = BoundedOutput(head=10, tail=5)
        data = bytes(range(65, 91)) * 4
        for at in range(0, len(data), size):
            kept.add(data[at : at + size])
        assert kept.text() == "ABCDEFGHIJ\n[… 89 bytes were dropped …]\nVWXYZ"
    kept = BoundedOutput(head=10, tail=5)
    kept.add(b"ABCDEFGHIJKLMNO")
    assert kept.text() == "ABCDEFGHIJKLMNO"


def test_what_is_no_utf8_is_printed_all_the_same(tool_workspace: ToolWorkspace) -> None:
    tool_workspace.write("p.py", "import sys; sys.stdout.buffer.write(b'\\xff\\x1b[1m')")
    assert output(run(tool_workspace, f"{PYTHON} p.py")) == "\ufffd\x1b[1m"
