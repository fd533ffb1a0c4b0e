"""Arguments of the wrong type: the error names them, and nothing of them is sent."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from tests.sdk.both_steppers import both, run
from tests.sdk.scripted_core import ScriptedCore


async def enter(make: Callable[[], Any]) -> None:
    async with make():
        raise AssertionError("entered")


async def decorate(make: Callable[[], Any]) -> None:
    make()


CALLS: list[tuple[str, Callable[[Any], Awaitable[Any]]]] = [
    ("The tool's name must", lambda dbg: dbg.begin_tool_invocation_breakpoint(5, {})),
    ("The tool's name must", lambda dbg: dbg.begin_tool_invocation_breakpoint(None, {})),
    ("The tool's name must", lambda dbg: enter(lambda: dbg.tool(5, {}))),
    ("model must", lambda dbg: enter(lambda: dbg.llm("p", model=5))),
    ("The event's type must", lambda dbg: enter(lambda: dbg.event(5))),
    ("commit_summary must", lambda dbg: dbg.commit_agent_changes(5)),
    ("commit_description must", lambda dbg: dbg.commit_agent_changes("s", 5)),
    ("name must", lambda dbg: decorate(lambda: dbg.traced_tool(name=5)(print))),
    ("model must", lambda dbg: decorate(lambda: dbg.traced_llm(model=5)(print))),
    ("name must", lambda dbg: decorate(lambda: dbg.wrap(Path, "exists", name=5))),
]


@both
@pytest.mark.parametrize(("named", "call"), CALLS, ids=range(len(CALLS)))
def test_an_argument_of_the_wrong_type_is_named(
    stepper_kind: str, core: ScriptedCore, tmp_path: Path, named: str, call: Any
) -> None:
    async def scenario(dbg: Any) -> None:
        with pytest.raises(TypeError, match=f"^{named} be a text \\(str\\), not (5|None) \\("):
            await call(dbg)
        assert await dbg.begin_llm_query_breakpoint("goes on") == "goes on"

    run(stepper_kind, core, scenario, agent_workspace_path=tmp_path)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    assert [event.kind for event in peer.events] == ["program_started", "llm_query"]


WRONG: list[tuple[str, dict[str, Any]]] = [
    ("program_name must be a text", {"program_name": 42}),
    ("program_name must be a text", {"program_name": None}),
    ("address must be a text", {"address": 42}),
    ("port must be a number", {"port": "8765"}),
    ("port=70000 isn't a port", {"port": 70000}),
    ("token must be a text", {"token": 42}),
    ("url must be a text", {"url": 42, "address": None, "port": None}),
    ("notice must be a text", {"notice": None}),
    ("notice has 1,001 characters, and 1,000 are the limit", {"notice": "x" * 1001}),
    ("agent_workspace_path must be a folder's path", {"agent_workspace_path": 42}),
]


@pytest.mark.parametrize("kind", [AgentStepper, AsyncAgentStepper])
@pytest.mark.parametrize(("said", "wrong"), WRONG, ids=range(len(WRONG)))
def test_an_agentstepper_is_refused_before_anything_is_sent(
    core: ScriptedCore, kind: Any, said: str, wrong: dict[str, Any]
) -> None:
    right = {"program_name": "T", "address": "127.0.0.1", "port": core.port}
    with pytest.raises((TypeError, ValueError), match=f"^{said}"):
        kind(**{**right, **wrong})
    assert core.peers == []


def test_a_core_takes_its_folder_as_a_text(tmp_path: Path) -> None:
    with (
        AgentStepperCore("127.0.0.1", 0, 0, data=str(tmp_path / "data")) as core,
        AgentStepper("T", "127.0.0.1", core.client_port, mode="continue", stop_on_entry=False),
    ):
        pass
    assert any((tmp_path / "data").iterdir())
