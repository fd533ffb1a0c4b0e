"""`dbg.spawn`: real children of real parents, and how both end."""

from __future__ import annotations

import asyncio
import io
import json
import os
import signal
from collections.abc import Iterator
from contextlib import redirect_stdout, suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import (
    AgentStepper,
    AgentStepperCore,
    AgentStopped,
    AsyncAgentStepper,
    ConnectionLostError,
)
from agentstepper_nb.protocol.data_model import RunEnding
from tests.sdk.both_steppers import both, run
from tests.sdk.child_programs import CHILD, FOREVER, CollectedOutput, make_python_command
from tests.sdk.person import LiveView
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedCore


@pytest.fixture
def dbg(core: ScriptedCore) -> Iterator[AgentStepper]:
    with suppress(AgentStopped), AgentStepper("parent", "127.0.0.1", core.port) as dbg:
        yield dbg
        raise AgentStopped("The test is over, and what it left running ends.")


# ---- what it is told and what it says -----------------------------------------------------------


@both
def test_a_child_knows_the_core_and_its_name(
    stepper_kind: str, core: ScriptedCore, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    program = """
import json, os, sys
names = ["AGENTSTEPPER_URL", "AGENTSTEPPER_NAME", "MINE", "AGENTSTEPPER_TOKEN"]
print(json.dumps([[os.environ.get(name) for name in names], os.getcwd(), sys.argv[1:]]))
print("bad", file=sys.stderr)
sys.exit(3)
"""

    async def scenario(dbg: Any) -> Any:
        command = make_python_command(program, "a b")
        child = await dbg.spawn(command, name="kid", cwd=tmp_path, env={"MINE": "1"})
        waited = child.wait()
        code = await waited if asyncio.iscoroutine(waited) else waited
        return code, child.returncode, repr(child)

    code, returncode, shown = run(stepper_kind, core, scenario)
    assert (code, returncode) == (3, 3)
    assert "'kid'" in shown and "ended with 3" in shown
    out, err = capfd.readouterr()
    assert json.loads(out) == [[core.url, "kid", "1", None], str(tmp_path), ["a b"]]
    assert err == "bad\n"


def test_a_name_of_ours_is_not_the_childs(
    core: ScriptedCore, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_NAME", "ours")
    with AgentStepper("by the program", "127.0.0.1", core.port) as dbg:
        dbg.spawn(
            make_python_command("import os; print(os.environ.get('AGENTSTEPPER_NAME'))")
        ).wait()
    assert dbg.program_name == "ours"
    assert capsys.readouterr().out == "None\n"


def test_its_run_is_its_own_and_is_stepped(live: AgentStepperCore, person: LiveView) -> None:
    with AgentStepper("parent", "127.0.0.1", live.client_port, stop_on_entry=False) as dbg:
        child = dbg.spawn(make_python_command(CHILD), name="kid")
        person.wait_until_halted()
        assert (person.run.program, person.run.pid) == ("kid", child.pid)
        person.step("edited")
        assert child.wait(TIMEOUT_S) == 0
        kid = person.wait_until_ended()
        assert (kid.program, kid.ending) == ("kid", RunEnding.FINISHED)
        assert [run.live for run in person.runs.values()] == [True, False]


def test_output_comes_as_it_is_written(dbg: AgentStepper) -> None:
    program = "import signal; print('no line', end=''); print('more'); signal.pause()"
    with redirect_stdout(CollectedOutput()) as heard:
        child = dbg.spawn(make_python_command(program))
    assert heard.wait_for_text("more\n") == "no linemore\n"  # where it was printed to when it began
    assert child.returncode is None
    child.terminate()
    assert child.wait(TIMEOUT_S) == -signal.SIGTERM


def test_output_is_written_in_the_callers_context(dbg: AgentStepper) -> None:
    """By which ipykernel tells whose cell it is."""
    cell = ContextVar("cell", default="none")
    seen: list[str] = []

    class Asking(io.StringIO):
        def write(self, text: str) -> int:
            seen.append(cell.get())
            return len(text)

    cell.set("the second")
    with redirect_stdout(Asking()):
        assert dbg.spawn(["echo", "x"]).wait(TIMEOUT_S) == 0
    assert set(seen) == {"the second"}


def test_bytes_that_are_no_text_do_not_harm(
    dbg: AgentStepper, capsys: pytest.CaptureFixture[str]
) -> None:
    program = "import os\nfor part in b'\\xc3', b'\\xa9', b'\\xff': os.write(1, part)"
    assert dbg.spawn(make_python_command(program)).wait(TIMEOUT_S) == 0
    assert capsys.readouterr().out == "é\ufffd"


def test_an_output_that_fails_does_not_hold_the_child(
    dbg: AgentStepper, caplog: pytest.LogCaptureFixture
) -> None:
    closed = io.StringIO()
    closed.close()
    with redirect_stdout(closed):
        assert dbg.spawn(make_python_command("print('x' * 1_000_000)")).wait(TIMEOUT_S) == 0
    assert "can't be written" in caplog.text


@pytest.mark.slow
def test_what_it_started_does_not_hold_the_wait(dbg: AgentStepper) -> None:
    """The grandchild has the child's output open, and goes on."""
    with redirect_stdout(CollectedOutput()) as heard:
        assert dbg.spawn(["sh", "-c", "sleep 600 & echo $!"]).wait(TIMEOUT_S) == 0
    os.kill(int(heard.wait_for_text("\n")), signal.SIGKILL)


def test_nobody_types(dbg: AgentStepper, capfd: pytest.CaptureFixture[str]) -> None:
    assert dbg.spawn(make_python_command("input()")).wait(TIMEOUT_S) == 1
    assert "EOFError" in capfd.readouterr().err


# ---- what can't be started ----------------------------------------------------------------------


def test_what_can_not_be_run_is_named(
    dbg: AgentStepper, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "agent.py").write_text("print()")
    (tmp_path / "junk").write_bytes(b"\0\1")
    (tmp_path / "junk").chmod(0o755)
    with pytest.raises(FileNotFoundError, match=r"'no-such-program' on PATH.*sys\.executable"):
        dbg.spawn(["no-such-program"])
    with pytest.raises(FileNotFoundError, match="There is no program"):
        dbg.spawn(["./missing"], cwd=tmp_path)
    with pytest.raises(PermissionError, match=r"\[sys.executable, 'agent.py', …\]"):
        dbg.spawn(["./agent.py"], cwd=tmp_path)
    with pytest.raises(NotADirectoryError, match="cwd="):
        dbg.spawn(["true"], cwd=tmp_path / "missing")
    with pytest.raises(TypeError, match=r"Pass \[sys.executable, 'agent.py'\]"):
        dbg.spawn("agent.py")
    with pytest.raises(ValueError, match="empty"):
        dbg.spawn([])
    assert dbg.spawn(["./junk"], cwd=tmp_path).wait(TIMEOUT_S) == 126
    assert "can't be run: Exec format error" in capfd.readouterr().err


def test_only_an_open_run_has_children(core: ScriptedCore) -> None:
    dbg = AgentStepper("parent", "127.0.0.1", core.port)
    dbg.close()
    with pytest.raises(ConnectionLostError):
        dbg.spawn(["true"])
    with pytest.raises(RuntimeError, match="isn't connected"):
        asyncio.run(AsyncAgentStepper("parent", "127.0.0.1", core.port).spawn(["true"]))


# ---- waiting, and the end of a wait -------------------------------------------------------------


@both
def test_a_wait_that_is_over_leaves_the_child(stepper_kind: str, core: ScriptedCore) -> None:
    async def scenario(dbg: Any) -> Any:
        child = await dbg.spawn(["sleep", "600"])
        with pytest.raises(TimeoutError, match=r"sleep 600 \(pid \d+\) still runs after 0.01"):
            waited = child.wait(0.01)
            await waited
        assert child.returncode is None
        child.kill()
        waited = child.wait(TIMEOUT_S)
        code = await waited if asyncio.iscoroutine(waited) else waited
        child.terminate()  # it has ended: nothing is done
        return code

    assert run(stepper_kind, core, scenario) == -signal.SIGKILL


PARENT = """
import time
with AgentStepper("T", "127.0.0.1", PORT) as dbg:
    child = dbg.spawn([sys.executable, "-c", {child!r}])
    try:
        child.wait()
    except KeyboardInterrupt:
        print("code", child.returncode, flush=True)
        raise
"""
IGNORES = "import signal; signal.signal(signal.{}, signal.SIG_IGN)\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ignored", "ends_by"),
    [
        ([], signal.SIGINT),
        (["SIGINT"], signal.SIGTERM),
        (["SIGINT", "SIGTERM"], signal.SIGKILL),
    ],
)
def test_an_interrupt_ends_the_child(
    core: ScriptedCore, ignored: list[str], ends_by: signal.Signals
) -> None:
    child = "".join(IGNORES.format(name) for name in ignored) + FOREVER
    with agent(core, PARENT.format(child=child)) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)  # the parent alone
        code, out, _ = outcome(process)
    assert (code, out) == (-signal.SIGINT, f"code {-ends_by}\n")
    assert core.wait_for_peer().wait_until_gone().ending is RunEnding.STOPPED  # type: ignore[union-attr]


@pytest.mark.slow
def test_a_child_that_was_interrupted_too_is_not_interrupted_twice(core: ScriptedCore) -> None:
    """As Ctrl+C and Jupyter's button do: the whole group gets the signal."""
    child = """
import signal
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
print("ready", flush=True)
signal.sigwait([signal.SIGINT])
print("again:", signal.sigtimedwait([signal.SIGINT], 0.1), flush=True)
"""
    program = "os.setpgid(0, 0)\n" + PARENT.format(child=child)
    with agent(core, program) as process:
        assert process.stdout and process.stdout.readline() == "ready\n"
        os.killpg(process.pid, signal.SIGINT)
        assert outcome(process)[1] == "again: None\ncode 0\n"


def test_a_cancelled_task_ends_the_child(core: ScriptedCore) -> None:
    async def main() -> int | None:
        async with AsyncAgentStepper("parent", "127.0.0.1", core.port) as dbg:
            with redirect_stdout(CollectedOutput()) as heard:
                child = await dbg.spawn(make_python_command(FOREVER))
            waiting = asyncio.ensure_future(child)
            await asyncio.to_thread(heard.wait_for_text, "ready")
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            return child.returncode

    assert asyncio.run(main()) == -signal.SIGINT
