"""Exceptions by which a framework goes on or ends are no failures, of an event or of a run.

`tests/frameworks` raises the frameworks' own; here are classes of their names.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide, RunEnding
from agentstepper_nb.sdk.framework_signals import is_framework_signal
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S


def make_class(module: str, name: str, base: type[BaseException] = Exception) -> Any:
    return type(name, (base,), {"__module__": module})


Flow = make_class("minisweagent.exceptions", "InterruptAgentFlow")
Submitted = make_class("minisweagent.exceptions", "Submitted", Flow)
LimitsExceeded = make_class("minisweagent.exceptions", "LimitsExceeded", Flow)
BubbleUp = make_class("langgraph.errors", "GraphBubbleUp")
Interrupt = make_class("langgraph.errors", "GraphInterrupt", BubbleUp)
Interrupted = make_class("google.adk.workflow._errors", "NodeInterruptedError", BaseException)


@pytest.mark.parametrize(
    ("error", "is_signal"),
    [
        (Submitted(), True),
        (Interrupt(), True),
        (Interrupted(), True),
        (BaseExceptionGroup("tasks", [Interrupt(), Interrupted()]), True),
        (BaseExceptionGroup("tasks", [Interrupt(), ValueError()]), False),
        (LimitsExceeded(), False),
        (make_class("minisweagent.exceptions", "TimeExceeded", LimitsExceeded)(), False),
        (make_class("my.own", "GraphInterrupt")(), False),
        (ValueError(), False),
        (KeyboardInterrupt(), False),
    ],
    ids=repr,
)
def test_signals_are_known_by_their_class_and_its_bases(
    error: BaseException, is_signal: bool
) -> None:
    assert is_framework_signal(error) is is_signal


@pytest.mark.parametrize("kind", [Submitted, Interrupted])
@pytest.mark.parametrize("is_block", [False, True], ids=["function", "block"])
def test_a_call_that_ends_by_a_signal_has_not_failed(
    kind: Any, is_block: bool, live: AgentStepperCore, person: LiveView
) -> None:
    def submit() -> None:
        raise kind("done")

    def call() -> None:
        with AgentStepper("T", "127.0.0.1", live.client_port, stop_on_entry=False) as dbg:
            if not is_block:
                dbg.traced_tool(submit)()
            with dbg.tool("submit", {}):
                submit()

    with ThreadPoolExecutor() as pool:
        called = pool.submit(call)
        person.step()  # into the call; its end halts nobody
        assert isinstance(called.exception(TIMEOUT_S), kind)
    assert person.wait_until_ended().ending is RunEnding.FINISHED
    ends = [row for row in person.list_rows() if row.kind is EventKind.TOOL_INVOCATION][1:]
    assert [(row.side, row.outcome, row.failure, row.summary) for row in ends] == [
        (EventSide.END, EventOutcome.OK, None, f"{kind.__name__}('done')")
    ]


@pytest.mark.parametrize(
    ("error", "ending"),
    [
        (Submitted("done"), RunEnding.FINISHED),
        (Interrupt("wait"), RunEnding.FINISHED),
        (LimitsExceeded("too dear"), RunEnding.CRASHED),
    ],
    ids=repr,
)
def test_a_run_that_ends_by_a_signal_has_finished(
    error: Exception, ending: RunEnding, live: AgentStepperCore, person: LiveView
) -> None:
    with (
        pytest.raises(type(error)),
        AgentStepper("T", "127.0.0.1", live.client_port, stop_on_entry=False),
    ):
        raise error
    run = person.wait_until_ended()
    assert run.ending is ending
    assert (run.failure is None) is (ending is RunEnding.FINISHED)
