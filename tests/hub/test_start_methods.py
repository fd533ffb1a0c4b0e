"""Whose word a Core takes on how a run was started, and who gets to see it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentstepper_nb.history import load_run
from agentstepper_nb.hub import AccessRights, Hub
from agentstepper_nb.hub.connection import NO_CONTROL, is_same_machine
from agentstepper_nb.protocol.start_methods import CommandStart, ForkOrigin
from agentstepper_nb.store import MemoryStore, open_store
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub

START = {"type": "command", "argv": ["python", "the-agents-own-script.py"], "folder": "/x"}
LOCAL = AccessRights(can_control=False, is_local=True)


async def run_agent(hub: Hub, rights: AccessRights, **hello: object) -> ScriptedAgent:
    """An agent that says how it was started, asks once, and ends."""
    agent = ScriptedAgent(rights=rights, start=START, **hello)
    await agent.connect(hub)
    agent.begin("e")
    agent.reach("b", "hi", "e", waits=False)
    agent.send_bye()
    await hub.wait_recorded()
    return agent


async def find_start(hub: Hub) -> object:
    credentials = await hub.store.agent_credentials("r")
    assert credentials is not None
    return credentials.start or None


async def test_the_word_of_an_agent_of_this_machine_is_taken() -> None:
    hub = await open_hub()
    await run_agent(hub, LOCAL)
    assert await find_start(hub) == CommandStart(argv=tuple(START["argv"]), folder="/x")
    await hub.close()


@pytest.mark.parametrize(
    ("rights", "hello"),
    [
        (NO_CONTROL, {}),  # which says that it is of this machine, and connected from another
        (AccessRights(), {}),  # with the control token
        (LOCAL, {"boot": "another"}),  # through a tunnel
        (LOCAL, {"boot": ""}),
        (LOCAL, {"host": "another"}),
    ],
)
async def test_the_word_of_an_agent_elsewhere_is_not(
    rights: AccessRights, hello: dict[str, str]
) -> None:
    hub = await open_hub()
    await run_agent(hub, rights, **hello)
    assert await find_start(hub) is None
    await hub.close()


@pytest.mark.parametrize(
    ("peer", "own", "same"),
    [
        ("127.0.0.1", "127.0.0.1", True),
        ("::1", "::1", True),
        ("::ffff:127.0.0.1", None, True),
        ("192.0.2.7", "192.0.2.7", True),
        ("192.0.2.8", "192.0.2.7", False),
        ("", None, False),
        (None, None, False),
        ("localhost", "localhost", False),  # a name is nobody's address
    ],
)
def test_which_two_ends_are_of_one_machine(peer: str | None, own: str | None, same: bool) -> None:
    assert is_same_machine(peer, own) is same


@pytest.mark.parametrize("format", ["run", "archive", "log"])
async def test_no_export_and_no_import_has_it(format: str, tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    await run_agent(hub, LOCAL)
    _, data = await hub.export("r", format)
    assert b"the-agents-own-script" not in data
    if format != "log":
        imported = await hub.import_run(data)
        assert await hub.store.agent_credentials(imported.id) is None
    await hub.close()


async def test_no_view_is_sent_it() -> None:
    hub = await open_hub()
    view = ScriptedView(hub)
    await run_agent(hub, LOCAL)
    await view.request("open_run", run="r")
    await view.request("get_overview", run="r")
    assert "the-agents-own-script" not in json.dumps(view.connection.sent)
    await hub.close()


async def test_it_outlives_the_core(tmp_path: Path) -> None:
    hub = await open_hub(open_store(tmp_path))
    await run_agent(hub, LOCAL, forked_from={"run": "parent", "row": 7})
    await hub.close()
    run = load_run("r", tmp_path)
    start = run.start_method()
    assert isinstance(start, CommandStart)
    assert start.argv[1] == "the-agents-own-script.py"
    assert run.forked_from == ForkOrigin(run="parent", row=7)
    hub = await open_hub(open_store(tmp_path))
    assert await find_start(hub) == start
    await hub.close()


async def test_a_run_in_memory_has_it() -> None:
    hub = await open_hub(MemoryStore())
    await run_agent(hub, LOCAL, forked_from={"run": "parent"})
    assert hub.run("r").forked_from == ForkOrigin(run="parent")
    await hub.close()
