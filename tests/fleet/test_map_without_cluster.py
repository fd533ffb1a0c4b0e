"""What `Fleet.map` leaves behind where it fails, and results that can't be read here: no cluster."""

from __future__ import annotations

import sys
import threading
from types import ModuleType
from typing import Any

import cloudpickle
import pytest

from agentstepper_nb.fleet import Fleet, UnreadableResultError
from agentstepper_nb.fleet.agent_outcome import AgentOutcome
from agentstepper_nb.hub import AgentStepperCore


class FinishedTask:
    """A task of Dask that is over, or whose result raises; its callbacks run on another thread."""

    def __init__(self, outcome: AgentOutcome | BaseException) -> None:
        self._outcome = outcome

    def result(self) -> AgentOutcome:
        if isinstance(self._outcome, BaseException):
            raise self._outcome
        return self._outcome

    def add_done_callback(self, callback: Any) -> None:
        threading.Thread(target=callback, args=(self,)).start()


@pytest.fixture
def fleet(client: Any, core: AgentStepperCore) -> Fleet:
    return Fleet(client, core, workers_per_node=0)


def work(number: int) -> int:
    return number


@pytest.fixture
def pickled(monkeypatch: pytest.MonkeyPatch) -> bytes:
    """An exception of a module that isn't here."""
    module = ModuleType("only_there")
    exec("class Found(Exception): pass", vars(module))
    with monkeypatch.context() as patch:
        patch.setitem(sys.modules, module.__name__, module)
        return cloudpickle.dumps(module.Found("answer"))


class Exit:
    """Exits where it is read, as the import of a program without a guard may."""

    def __reduce__(self) -> Any:
        return sys.exit, (3,)


def test_a_result_of_a_module_that_is_not_here(fleet: Fleet, client: Any, pickled: bytes) -> None:
    client.map.return_value = [
        FinishedTask(AgentOutcome(value=pickled)),
        FinishedTask(AgentOutcome(error=pickled)),
    ]
    agents = fleet.map(work, [1, 2])
    assert len(agents.wait(20)) == 2
    for agent, verb in zip(agents, ("returned", "raised"), strict=True):
        with pytest.raises(UnreadableResultError) as caught:
            agent.result()
        assert str(caught.value) == (
            f"What the agent {agent.program} {verb} can't be read here: ModuleNotFoundError: No module "
            "named 'only_there'. Install the module only_there in this Python and call "
            f"cloudpickle.loads(error.pickled), or look at its run {agent.run_id} in the debugger."
        )
        assert isinstance(caught.value.__cause__, ModuleNotFoundError)
        assert caught.value.pickled == pickled
        assert agent.status == "failed"


def test_a_result_that_cannot_be_read_for_another_reason(
    fleet: Fleet, client: Any, pickled: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "only_there", ModuleType("only_there"))  # another version
    values = [pickled, cloudpickle.dumps(Exit())]
    client.map.return_value = [FinishedTask(AgentOutcome(value=each)) for each in values]
    agents = fleet.map(work, [1, 2])
    assert len(agents.wait(20)) == 2
    for agent, cause in zip(agents, ("AttributeError: Can't get", "SystemExit: 3"), strict=True):
        with pytest.raises(UnreadableResultError, match=cause) as caught:
            agent.result()
        assert "Install the modules of the agent, in its versions, in this" in str(caught.value)


def test_an_error_that_cannot_be_pickled(fleet: Fleet, client: Any) -> None:
    error = OSError("no workspace", threading.Lock())
    client.map.return_value = [FinishedTask(error)]
    with pytest.raises(OSError, match="no workspace") as caught:
        fleet.map(work, [1]).results(20)
    assert caught.value is error


@pytest.mark.parametrize("is_agent", [True, False])
def test_what_cannot_be_pickled_leaves_nothing_behind(
    is_agent: bool, fleet: Fleet, client: Any, core: AgentStepperCore
) -> None:
    lock = threading.Lock()
    agent, given = (lambda number: lock, 1) if is_agent else (work, lock)
    with pytest.raises(TypeError, match="cannot pickle"):
        fleet.map(agent, [0, given], breakpoints=["before llm"])
    client.map.assert_not_called()
    assert core.hub.debugger.breakpoints == ()
    assert fleet._agents == []


def test_agents_that_cannot_be_submitted_leave_nothing_behind(
    fleet: Fleet, client: Any, core: AgentStepperCore
) -> None:
    seen: list[int] = []

    def fail(*_: Any, **__: Any) -> None:
        seen.append(len(core.hub.debugger.breakpoints))
        raise OSError("the scheduler is gone")

    client.map.side_effect = fail
    with pytest.raises(OSError, match="the scheduler is gone"):
        fleet.map(work, [1], breakpoints=["before llm", "before tool"])
    assert seen == [2]
    assert core.hub.debugger.breakpoints == ()
    assert fleet._agents == []
