"""The tree of forks that a view is given: where each was forked, what was changed, how it came out."""

from __future__ import annotations

import asyncio
from typing import Any

from agentstepper_nb.hub import Hub, fork_trees
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub

MARK = {"role": "forked", "event": "e"}


async def record(
    hub: Hub, run: str, parent: str | None = None, row: int | None = 2, **bye: Any
) -> ScriptedAgent:
    """A run with a query and a call, which a fork has with another argument."""
    origin: dict[str, Any] = {}
    if parent is not None:
        origin["forked_from"] = {"run": parent, **({} if row is None else {"row": row})}
    agent = ScriptedAgent(run=run, **origin)
    await agent.connect(hub)
    agent.begin("q")
    agent.reach("q1", "hi", "q", waits=False)
    agent.begin("t", kind="tool_invocation", name="look_up")
    call = {"Tool": "look_up", "Argument": {"word": "a"}}
    edited = {"edit": {"Tool": "look_up", "Argument": {"word": "b"}}, "replay": MARK}
    agent.reach("t1", call, "t", waits=False, **(edited if row == 2 and parent else {}))
    agent.reach("t2", "A", "t", waits=False, side="end", outcome="ok")
    if bye:
        agent.send_bye(**bye)
    await hub.wait_recorded()
    return agent


async def list_forks(hub: Hub, run: str) -> dict[str, Any]:
    answer = await ScriptedView(hub, control=False).request("list_forks", run=run)
    assert answer["type"] == "forks", answer
    body: dict[str, Any] = answer["body"]
    return body


async def test_a_tree_has_where_each_run_was_forked_and_how_it_came_out() -> None:
    hub = await open_hub()
    await record(hub, "r", ending="finished")
    agent = await record(hub, "f", "r")
    change = {"path": "a.py", "kind": "added", "added": 1}
    agent.send("commit", id="k", at=1.0, title="Change a", ruled=True, changes=[change])
    agent.send_bye("crashed", failure={"type": "KeyError", "message": "x"})
    await record(hub, "s", "f", row=None, ending="finished")
    await hub.wait_recorded()
    for shown in "rfs":  # who looks may only watch
        body = await list_forks(hub, shown)
        root, fork, replay = body["nodes"]
        assert [node["run"]["id"] for node in body["nodes"]] == ["r", "f", "s"]
        assert (root["point"], root["edit"], root["outcome"]) == ("", "", "finished")
        assert fork["point"] == "tool call look_up"
        assert fork["edit"] == "Argument.word: “a” → “b”"
        assert (fork["outcome"], fork["changed_files"]) == ("crashed", 1)
        assert fork["run"]["forked_from"] == {"run": "r", "row": 2, "is_live": False}
        assert (replay["point"], replay["changed_files"]) == ("", 0)
        assert (body["more"], body["restored"]) == (0, [])
    await hub.close()


async def test_what_a_live_fork_does_next_is_seen_when_asked_again() -> None:
    hub = await open_hub()
    await record(hub, "r", ending="finished")
    agent = await record(hub, "f", "r", row=3)  # which it hasn't reached
    fork = (await list_forks(hub, "f"))["nodes"][1]
    assert (fork["outcome"], fork["point"], fork["edit"]) == ("running", "tool result look_up", "")
    agent.begin("u", kind="tool_invocation", name="write")
    agent.reach("u1", {"Tool": "write", "Argument": 1}, "u", replay=MARK)
    await hub.wait_recorded()
    view = ScriptedView(hub)
    edit = '{"Tool": "write", "Argument": 2}'
    await view.request("step", run="f", breakpoint="u1", revision=1, edit=edit)
    agent.send_bye()
    await hub.wait_recorded()
    fork = (await list_forks(hub, "f"))["nodes"][1]
    assert (fork["outcome"], fork["point"]) == ("finished", "tool call write")
    assert fork["edit"] == "Argument: 1 → 2"
    await hub.close()


async def test_a_tree_that_is_too_large_says_how_many_more_there_are() -> None:
    hub = await open_hub()
    await record(hub, "r", ending="finished")
    forks = [f"f{at:03}" for at in range(fork_trees.MAX_NODES + 5)]
    for run in forks:
        await record(hub, run, "r", ending="finished")
    body = await list_forks(hub, forks[-1])
    listed = [node["run"]["id"] for node in body["nodes"]]
    assert len(listed) == fork_trees.MAX_NODES
    assert (listed[0], listed[-1], body["more"]) == ("r", forks[-1], 6)
    await hub.close()


async def test_a_parent_that_was_deleted_and_a_run_that_never_was() -> None:
    hub = await open_hub()
    await record(hub, "r", ending="finished")
    await record(hub, "f", "r", ending="finished")
    view = ScriptedView(hub)
    reading = asyncio.ensure_future(view.request("list_forks", run="f"))
    await view.request("delete_run", run="r")
    answered = (await reading)["body"]["nodes"]  # before or after, but an answer
    assert [node["run"]["id"] for node in answered][-1] == "f"
    (alone,) = (await list_forks(hub, "f"))["nodes"]
    assert alone["point"] == "tool call look_up"  # it is the fork's own row as well
    answer = await view.request("list_forks", run="r")
    assert (answer["type"], answer["body"]["code"]) == ("error", "unknown_run")
    await hub.close()
