"""A real `agentstepper serve` that is killed, and started again on the same folder."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentstepper_nb.protocol.data_model import AnswerKind, RunEnding, RunState
from tests.helpers.serve_process import ServeProcess
from tests.sdk.both_steppers import run
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S


class CoreProcess:
    """One data folder, and the Core that serves it just now."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self.ports = ("0", "0")
        self.start()

    def start(self, *, elsewhere: bool = False) -> None:
        """Start a Core; on the same ports, or on others."""
        agents, uis = ("0", "0") if elsewhere else self.ports
        self.core = ServeProcess(
            [
                *(sys.executable, "-m", "agentstepper_nb", "serve", "--data", str(self._folder)),
                *("--client-port", agents, "--ui-port", uis, "--log-level", "warning"),
            ]
        )
        self._stack.callback(self.kill)
        agents, uis = self.core.agents, self.core.uis
        self.ports = (agents.rpartition(":")[2], uis.rpartition(":")[2])

    def kill(self) -> None:
        """SIGKILL."""
        self.core.process.kill()
        self.core.process.communicate(timeout=TIMEOUT_S)

    def person(self) -> LiveView:
        return LiveView(int(self.ports[1]))


@pytest.fixture
def core_process(tmp_path: Path) -> Iterator[CoreProcess]:
    with ExitStack() as stack:
        yield CoreProcess(tmp_path / "data", stack)


async def scenario(dbg: Any) -> list[Any]:
    prompt = await dbg.begin_llm_query_breakpoint("p")
    return [prompt, await dbg.end_llm_query_breakpoint("r")]


@pytest.mark.parametrize(
    ("stepper_kind", "elsewhere"),
    [
        pytest.param("sync", False, id="sync on the same port"),
        pytest.param("async", True, id="async on another port"),
        pytest.param("sync", True, id="sync on another port", marks=pytest.mark.soak),
        pytest.param("async", False, id="async on the same port", marks=pytest.mark.soak),
    ],
)
def test_a_halted_agent_is_still_halted_with_its_edit(
    core_process: CoreProcess, stepper_kind: str, elsewhere: bool
) -> None:
    with ThreadPoolExecutor(1) as pool:
        where = SimpleNamespace(port=int(core_process.ports[0]))
        working = pool.submit(run, stepper_kind, where, scenario, stop_on_entry=False)
        with core_process.person() as person:
            halted_at = person.wait_until_halted()
            person.edit("edited before the kill")
            core_process.kill()
        core_process.start(elsewhere=elsewhere)
        with core_process.person() as person:
            found = person.wait_until(lambda run: run.state is RunState.HALTED)
            assert found.pending == (halted_at,)
            person.step(revision=2)
            assert person.wait_until_halted() != halted_at
            person.step("the response's edit")
            assert working.result(TIMEOUT_S) == ["edited before the kill", "the response's edit"]
            over = person.wait_until_ended()
            rows = person.list_rows()
    assert (over.ending, over.failure) == (RunEnding.FINISHED, None)
    assert list(person.runs) == [over.id], "it is one run"
    # Its start, its query's two halt points, its end.
    assert [row.seq for row in rows] == [1, 2, 3, 4], "nothing is lost or doubled"
    assert [row.edited for row in rows] == [False, True, True, False]
    assert {row.answer for row in rows[1:3]} == {AnswerKind.RESUME}


@pytest.mark.slow
def test_an_agent_that_goes_on_catches_up(core_process: CoreProcess) -> None:
    with ThreadPoolExecutor(1) as pool:
        options = {"stop_on_entry": False, "on_disconnect": "continue"}
        where = SimpleNamespace(port=int(core_process.ports[0]))
        working = pool.submit(run, "sync", where, scenario, **options)
        with core_process.person() as person:
            person.wait_until_halted()
            core_process.kill()
        core_process.start()
        assert working.result(TIMEOUT_S) == ["p", "r"]
    with core_process.person() as person:
        over = person.wait_until_ended()
        rows = person.list_rows()
    assert (over.ending, over.rows) == (RunEnding.FINISHED, 4)
    assert rows[1].answer is AnswerKind.WITHDRAWN
