"""An AgentStepper and an AsyncAgentStepper that are open at once: one run, at a real Core."""

from __future__ import annotations

import asyncio
import json
import multiprocessing
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import (
    AgentStepper,
    AgentStepperCore,
    AsyncAgentStepper,
    ConnectionLostError,
    DiscoveryError,
)
from agentstepper_nb.protocol.agent import CommitMade
from agentstepper_nb.protocol.data_model import EventKind, RunEnding
from agentstepper_nb.sdk import set_current_stepper
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import ScriptedCore


def texts(person: LiveView) -> list[Any]:
    return [
        person.get_data(row) for row in person.list_rows() if row.kind is EventKind.DEBUG_MESSAGE
    ]


def use_tool(dbg: AgentStepper) -> None:
    with dbg.tool("inside", {}) as t:
        t.result = 1


async def joined(core: AgentStepperCore, first: AgentStepper, **options: Any) -> None:
    async with AsyncAgentStepper("agent", "127.0.0.1", core.client_port, **options) as second:
        assert second.run_id == first.run_id
        async with second.llm("p") as q:
            use_tool(first)
            q.response = "r"


def test_the_asynchronous_one_joins_and_its_end_ends_nothing(
    live: AgentStepperCore, person: LiveView
) -> None:
    where = ("127.0.0.1", live.client_port)
    with AgentStepper("agent", *where, stop_on_entry=False, mode="continue") as first:
        asyncio.run(joined(live, first, mode="continue"))
        first.post_debug_message("the run goes on")
    run = person.wait_until_ended()
    assert len(person.runs) == 1
    assert run.ending is RunEnding.FINISHED
    depths = {row.kind: row.depth for row in person.list_rows()}
    assert depths[EventKind.TOOL_INVOCATION] == depths[EventKind.LLM_QUERY] + 1
    assert texts(person) == ["the run goes on"]


def test_the_synchronous_one_joins_and_the_first_s_end_ends_both(
    live: AgentStepperCore, person: LiveView
) -> None:
    async def main() -> AgentStepper:
        async with AsyncAgentStepper(
            "agent", port=live.client_port, stop_on_entry=False, mode="continue"
        ) as first:
            second = await asyncio.to_thread(AgentStepper, "agent", port=live.client_port)
            second.close()
            assert second.run_id == first.run_id
            await first.post_debug_message("the run goes on")
        return second

    second = asyncio.run(main())
    with pytest.raises(ConnectionLostError, match="its run has ended"):
        second.post_debug_message("too late")
    assert person.wait_until_ended().ending is RunEnding.FINISHED
    assert len(person.runs) == 1


def test_an_exception_that_leaves_the_second_ends_no_run(
    live: AgentStepperCore, person: LiveView
) -> None:
    async def fail() -> None:
        async with AsyncAgentStepper("agent", port=live.client_port):
            raise LookupError

    with AgentStepper("agent", port=live.client_port, stop_on_entry=False, mode="continue") as dbg:
        with pytest.raises(LookupError):
            asyncio.run(fail())
        dbg.post_debug_message("the run goes on")
    assert person.wait_until_ended().ending is RunEnding.FINISHED


def test_arguments_of_the_run_are_the_first_s(live: AgentStepperCore, person: LiveView) -> None:
    with AgentStepper("agent", port=live.client_port, stop_on_entry=False, mode="continue") as dbg:
        asyncio.run(joined(live, dbg, notice="No sandbox: careful", on_disconnect="raise"))
    run = person.wait_until_ended()
    assert run.notice == ""
    assert texts(person) == [
        "This AsyncAgentStepper joined the run that an AgentStepper of the same program began, and "
        "these arguments of it are ignored: mode=, on_disconnect=, notice=."
    ]


def test_each_encodes_its_own_values(core: ScriptedCore) -> None:
    async def second() -> None:
        async with AsyncAgentStepper(
            "agent", port=core.port, redact=lambda word, value: "hidden"
        ) as dbg:
            async with dbg.llm("secret") as q:
                q.response = "secret"

    with AgentStepper("agent", port=core.port) as dbg:
        asyncio.run(second())
        with dbg.llm("open"):
            pass
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    said = [json.loads(bytes(point.data)) for point in peer.halt_points[1:]]
    assert said == ["hidden", "hidden", "open", None]


def test_others_are_runs_of_their_own(core: ScriptedCore) -> None:
    """Of another program, of another Core, of the same form, and where it isn't clear which."""

    async def connect(name: str, port: int) -> str:
        async with AsyncAgentStepper(name, port=port) as dbg:
            return dbg.run_id

    with AgentStepper("agent", port=core.port) as dbg, ScriptedCore() as elsewhere:
        assert asyncio.run(connect("another", core.port)) != dbg.run_id
        assert asyncio.run(connect("agent", elsewhere.port)) != dbg.run_id
        with AgentStepper("agent", port=core.port) as same_form:
            assert same_form.run_id != dbg.run_id
            assert asyncio.run(connect("agent", core.port)) not in (dbg.run_id, same_form.run_id)
        assert asyncio.run(connect("agent", core.port)) == dbg.run_id
    assert asyncio.run(connect("agent", core.port)) != dbg.run_id, "that has ended"


def test_one_core_by_two_names_of_it(live: AgentStepperCore) -> None:
    async def connect() -> str:
        async with AsyncAgentStepper("agent") as dbg:  # discovered
            return dbg.run_id

    where = ("127.0.0.1", live.client_port)
    with AgentStepper("agent", *where, stop_on_entry=False, mode="continue") as dbg:
        assert asyncio.run(connect()) == dbg.run_id


def test_a_workspace_of_both_is_watched_once(core: ScriptedCore, folder: Path) -> None:
    async def second(other: Path) -> None:
        async with AsyncAgentStepper("agent", port=core.port, agent_workspace_path=other) as dbg:
            (other / "a.txt").write_text("a")
            assert await dbg.commit_agent_changes("Add a")

    other = folder.parent / "other"
    other.mkdir()
    with AgentStepper("agent", port=core.port, agent_workspace_path=folder) as dbg:
        asyncio.run(second(folder))
        assert not dbg.commit_agent_changes("Nothing is left")
        asyncio.run(second(other))
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    titles = [message.title for message in peer.received if isinstance(message, CommitMade)]
    assert titles == ["Initialized repository", "Add a", "Initialized repository", "Add a"]


def test_a_forked_child_has_one_run_for_both(core: ScriptedCore) -> None:
    async def agent() -> None:
        async with AsyncAgentStepper("agent", port=core.port) as second:

            def child() -> None:
                assert second._current_session() is first._current_session()
                first.post_debug_message("from the child")

            process = multiprocessing.get_context("fork").Process(target=child)
            process.start()
            await asyncio.to_thread(process.join)
            assert process.exitcode == 0

    with AgentStepper("agent", port=core.port) as first:
        asyncio.run(agent())
    assert len(core.peers) == 2


def test_in_a_cell_the_cell_s_run_is_joined_without_a_core_s_address(core: ScriptedCore) -> None:
    async def agent() -> str:
        async with AsyncAgentStepper("agent", mode="continue") as dbg:
            return dbg.run_id

    with AgentStepper("Cell", port=core.port) as cell:
        with set_current_stepper(cell):
            assert asyncio.run(agent()) == cell.run_id
        with pytest.raises(DiscoveryError):
            asyncio.run(agent())
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert len(peer.events) == 1, "nothing is said of arguments"
