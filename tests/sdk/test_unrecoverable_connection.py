"""After the connection is lost for good, every method says so, and nothing else."""

from __future__ import annotations

import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper, ConnectionLostError
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import ScriptedCore

Call = Callable[[Any], Awaitable[Any]]


async def enter(block: Any) -> None:
    async with block:
        raise AssertionError("entered")


async def traced(dbg: Any, decorator: str) -> None:
    async def function() -> None:
        raise AssertionError("called")

    await getattr(dbg, decorator)(function)()


async def wrapped(dbg: Any) -> None:
    class Client:
        async def ask(self) -> None:
            raise AssertionError("called")

    client = Client()
    dbg.wrap(client, "ask")
    await client.ask()


CALLS: dict[str, Call] = {
    "begin_llm_query_breakpoint": lambda dbg: dbg.begin_llm_query_breakpoint("p"),
    "end_llm_query_breakpoint": lambda dbg: dbg.end_llm_query_breakpoint("r"),
    "begin_tool_invocation_breakpoint": lambda dbg: dbg.begin_tool_invocation_breakpoint("t", {}),
    "end_tool_invocation_breakpoint": lambda dbg: dbg.end_tool_invocation_breakpoint("r"),
    "commit_agent_changes": lambda dbg: dbg.commit_agent_changes("title"),
    "post_debug_message": lambda dbg: dbg.post_debug_message("m"),
    "spawn": lambda dbg: dbg.spawn([sys.executable, "-c", ""]),
    "llm": lambda dbg: enter(dbg.llm("p")),
    "tool": lambda dbg: enter(dbg.tool("t", {})),
    "event": lambda dbg: enter(dbg.event("retrieval")),
    "traced_llm": lambda dbg: traced(dbg, "traced_llm"),
    "traced_tool": lambda dbg: traced(dbg, "traced_tool"),
    "wrap": wrapped,
}

#: What isn't about the run's going on.
OTHERS = {"agent", "close", "run_id", "seams", "connect", "workspace"}


def test_no_public_method_is_left_out() -> None:
    for kind in (AgentStepper, AsyncAgentStepper):
        public = {name for name in dir(kind) if not name.startswith("_")}
        assert public - OTHERS == CALLS.keys(), kind


@both
@pytest.mark.parametrize("with_workspace", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_every_method_raises_connection_lost_error(
    stepper_kind: str, core: ScriptedCore, tmp_path: Path, name: str, with_workspace: bool
) -> None:
    async def scenario(dbg: Any) -> None:
        await dbg.begin_llm_query_breakpoint("begun, and never ended")
        peer = core.wait_for_peer()
        peer.break_connection()
        with pytest.raises(ConnectionLostError):
            await dbg.begin_llm_query_breakpoint("p")
        with pytest.raises(ConnectionLostError, match="Start the agent again"):
            await CALLS[name](dbg)

    folder = tmp_path if with_workspace else None
    run(stepper_kind, core, scenario, on_disconnect="raise", agent_workspace_path=folder)


def test_a_run_that_its_core_has_lost_is_told_once_what_to_do() -> None:
    with AgentStepperCore("127.0.0.1", 0, 0, token="agents") as core:
        port = core.client_port
        dbg = AgentStepper(
            "T", "127.0.0.1", port, token="agents", mode="continue", stop_on_entry=False
        )
        dbg.post_debug_message("kept")
        assert dbg._timeline() is not None  # so the Core has said that it keeps some of it
    with AgentStepperCore("127.0.0.1", port, 0, token="agents"):
        dbg._current_session().link.closed.result(60)
        with pytest.raises(ConnectionLostError) as caught:
            dbg.post_debug_message("lost")
    assert str(caught.value).casefold().count("start the agent again") == 1
    assert "has no such run" in str(caught.value)
