"""Which runs a view may start again: every refusal, and the cell of a notebook."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.hub import AccessRights, Hub, run_restarts
from agentstepper_nb.store import open_store
from tests.hub.harness import MACHINE, FakeConnection, ScriptedAgent, ScriptedView, open_hub

LOCAL = AccessRights(can_control=False, is_local=True)
COMMAND = {"type": "command", "argv": ["python", "x.py"], "folder": "/"}
FUNCTION: dict[str, Any] = {
    "type": "function",
    "module": "m",
    "name": "f",
    "call": {"python": "/bin/python", "folder": "/", "arguments": "[1]"},
}
CELL = {"type": "cell", "source": "agent()\n", "line": "'my agent' --main"}


async def record(hub: Hub, start: Any = None, **hello: Any) -> None:
    """A run that has ended."""
    said = {} if start is None else {"start": start}
    agent = ScriptedAgent(rights=LOCAL, **said, **hello)
    await agent.connect(hub)
    agent.begin("e")
    agent.reach("b", "hi", "e", waits=False)
    agent.send_bye()
    await hub.wait_recorded()


def open_view(hub: Hub, rights: AccessRights) -> ScriptedView:
    """A view of a login with these rights."""
    view = ScriptedView(hub)
    view.connection = FakeConnection()
    view.session = hub.connect_view(view.connection, 2, rights)
    view.send_command("hello", version=2, client="t")
    return view


async def refusal(hub: Hub, view: ScriptedView | None = None, **fields: Any) -> tuple[str, str]:
    answer = await (view or ScriptedView(hub)).request("start_again", run="r", **fields)
    assert answer["type"] == "error", answer
    return answer["body"]["code"], answer["body"]["message"]


@pytest.mark.parametrize("start", [COMMAND, FUNCTION], ids=["command", "function"])
async def test_without_a_login_nothing_is_started(start: Any) -> None:
    hub = await open_hub()
    await record(hub, start)
    view = open_view(hub, AccessRights(has_login=False))
    assert await refusal(hub, view) == ("cannot_start_again", run_restarts.NO_TOKEN)
    assert await refusal(hub, view, row=1) == ("cannot_start_again", run_restarts.NO_TOKEN)
    await hub.close()


async def test_who_may_only_watch_starts_nothing() -> None:
    hub = await open_hub()
    await record(hub, COMMAND)
    code, _ = await refusal(hub, open_view(hub, AccessRights(can_control=False)))
    assert code == "watch_only"
    await hub.close()


async def test_an_imported_run_is_not_started(tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    await record(hub, COMMAND)
    _, data = await hub.export("r", "archive")
    imported = await hub.import_run(data)
    hub.enable_restarts(lambda: CoreEndpoint("ws://127.0.0.1:9"), tmp_path)
    answer = await ScriptedView(hub).request("start_again", run=imported.id, row=1)
    assert answer["body"]["code"] == "cannot_start_again"
    assert "the run was imported" in answer["body"]["message"]
    assert f"fork_run({json.dumps(imported.name)}, 1, agent, …)" in answer["body"]["message"]
    await hub.close()


@pytest.mark.parametrize(
    ("start", "hello", "said"),
    [
        (None, {}, "This Core doesn't know how run r was started"),
        (COMMAND, {"host": "elsewhere"}, "The agent of run r ran on another machine, elsewhere."),
        (COMMAND, {"boot": "other"}, "This Core doesn't know how run r was started"),
        (
            {**COMMAND, "masked": [1]},
            {},
            "were masked when it was recorded: 1 (x.py). Give the whole",
        ),
        (
            {"type": "function", "module": "m", "name": "f"},
            {},
            "Run r is a call of the Python function m.f. Name a command",
        ),
        (
            {"type": "function", "module": "__main__", "name": "f"},
            {},
            "Run r is a call of the Python function __main__.f, which no other process can import.",
        ),
        (
            {**FUNCTION, "call": {**FUNCTION["call"], "masked": ["key"]}},
            {},
            "Arguments of m.f in run r were masked when it was recorded: key. Call the function",
        ),
        (
            {**FUNCTION, "call": {**FUNCTION["call"], "unrecorded": ["client"]}},
            {},
            "Arguments of m.f in run r aren't JSON, and weren't recorded: client. Call the function",
        ),
        (FUNCTION, {"boot": "other"}, "This Core doesn't know how run r was started"),
        (FUNCTION, {}, run_restarts.IN_MEMORY),
        (COMMAND, {}, run_restarts.IN_MEMORY),
        (CELL, {}, run_restarts.IN_MEMORY),
    ],
)
async def test_what_cannot_be_started_says_why(
    start: Any, hello: dict[str, Any], said: str
) -> None:
    hub = await open_hub()
    await record(hub, start, **hello)
    code, message = await refusal(hub, row=1)
    assert code == "cannot_start_again"
    assert said in message
    await hub.close()


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({"row": 1}, "%%step 'my agent' --main --fork r@1"),
        ({"is_replay": True}, "%%step 'my agent' --main --replay r"),
        ({}, "%%step 'my agent' --main"),
    ],
)
async def test_a_cell_is_given_to_be_run(fields: dict[str, Any], line: str, tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    hub.enable_restarts(lambda: CoreEndpoint("ws://127.0.0.1:9"), tmp_path)
    await record(hub, CELL)
    answer = await ScriptedView(hub).request("start_again", run="r", **fields)
    assert (answer["type"], answer["body"]) == ("started_again", {"cell": f"{line}\nagent()\n"})
    await hub.close()


async def test_a_cell_is_not_forked_in_place(tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    hub.enable_restarts(lambda: CoreEndpoint("ws://127.0.0.1:9"), tmp_path)
    await record(hub, CELL)
    said = await refusal(hub, row=1, workspace="in_place")
    assert said == ("cannot_start_again", run_restarts.CELL_IN_PLACE)
    answer = await ScriptedView(hub).request("start_again", run="r", row=1, workspace="fresh")
    assert answer["type"] == "started_again"
    await hub.close()


async def test_no_files_are_restored_under_an_agent_that_works_there() -> None:
    hub = await open_hub()
    await record(hub, COMMAND, workspace="/project")
    working = ScriptedAgent(run="other", workspace="/project")
    await working.connect(hub)
    code, message = await refusal(hub, row=1, workspace="in_place")
    assert (code, "still works in /project" in message) == ("cannot_start_again", True)
    working.send_bye()
    await hub.wait_recorded()
    said = await refusal(hub, row=1, workspace="in_place")
    assert said == ("cannot_start_again", run_restarts.IN_MEMORY)  # the next reason
    await hub.close()


async def test_the_cell_of_a_frozen_run_is_frozen_again(tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    hub.enable_restarts(lambda: CoreEndpoint("ws://127.0.0.1:9"), tmp_path)
    await record(hub, {**CELL, "freezes": True})
    answer = await ScriptedView(hub).request("start_again", run="r", row=1)
    line = "%%step 'my agent' --main --freeze --fork r@1"
    assert answer["body"] == {"cell": f"{line}\nagent()\n"}
    await hub.close()


async def test_a_masked_cell_says_which_line_to_put_above_it() -> None:
    hub = await open_hub()
    await record(hub, {**CELL, "is_masked": True})
    said = run_restarts.MASKED_CELL + "%%step 'my agent' --main"
    assert await refusal(hub) == ("cannot_start_again", said)
    await hub.close()


async def test_a_cell_in_memory_is_only_run_anew() -> None:
    hub = await open_hub()
    await record(hub, CELL)
    answer = await ScriptedView(hub).request("start_again", run="r")
    assert answer["body"] == {"cell": "%%step 'my agent' --main\nagent()\n"}
    await hub.close()


async def test_an_unknown_run() -> None:
    hub = await open_hub()
    assert (await refusal(hub))[0] == "unknown_run"
    await hub.close()


async def test_no_program_starts_where_none_can_connect(tmp_path: Path) -> None:
    def find_core() -> CoreEndpoint:
        raise OSError("this server listens on a UNIX socket")

    hub = await open_hub(open_store(tmp_path))
    hub.enable_restarts(find_core, tmp_path)
    await record(hub, COMMAND)
    code, message = await refusal(hub)
    assert code == "cannot_start_again"
    assert message == "No program starts: this server listens on a UNIX socket."
    assert hub.agent_liveness.machine == MACHINE
    await hub.close()
