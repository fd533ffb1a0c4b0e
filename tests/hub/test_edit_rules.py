"""Edit rules and answers in a call's place, between people and agents, over one hub."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agentstepper_nb.hub import AccessRights
from agentstepper_nb.protocol.store_info import Durability
from agentstepper_nb.store import open_store
from tests.hub.breakpoint_fields import start_leased_agent
from tests.hub.harness import FakeConnection, Json, ScriptedView, open_hub

RULE = {
    "id": "x",
    "kind": "llm_query",
    "side": "begin",
    "path": "/n",
    "change": {"kind": "set", "value": "5"},
}
FULL = {"program": "*", "agent": None, "name": None, "once": False, "enabled": True} | RULE


async def test_every_ui_and_every_agent_is_told() -> None:
    hub = await open_hub()
    first, second = ScriptedView(hub), ScriptedView(hub, control=False)
    hello = await first.connection.receive("hello")
    assert "edit_rules" not in hello
    await second.connection.receive("hello")
    agent = await start_leased_agent(hub)
    assert (await first.request("set_edit_rule", rule=RULE))["type"] == "ok"
    assert (await agent.connection.receive("lease"))["edit_rules"] == [FULL]
    assert (await first.request("delete_edit_rule", rule="x"))["type"] == "ok"
    assert "edit_rules" not in await agent.connection.receive("lease")
    for person in (first, second):
        told = [each for each in person.connection.sent if each["type"].startswith("edit_rule")]
        assert [(each["type"], each["body"]) for each in told] == [
            ("edit_rule", {"rule": FULL}),
            ("edit_rule_gone", {"rule": "x"}),
        ]
    await first.request("set_edit_rule", rule=RULE)
    later = await ScriptedView(hub).connection.receive("hello")
    assert later["edit_rules"] == [FULL]
    await hub.close()


@pytest.mark.parametrize(
    ("command", "body", "code"),
    [
        ("set_edit_rule", {"rule": RULE | {"path": "n"}}, "invalid_message"),
        (
            "set_edit_rule",
            {"rule": RULE | {"change": {"kind": "set", "value": "{"}}},
            "invalid_edit_rule",
        ),
        ("delete_edit_rule", {"rule": "none"}, "unknown_edit_rule"),
        (
            "try_edit_rule",
            {"rule": RULE | {"change": {"kind": "replace", "pattern": "("}}},
            "invalid_edit_rule",
        ),
        ("try_edit_rule", {"rule": RULE, "run": "none"}, "unknown_run"),
        ("export_edit_rule", {"rule": RULE | {"kind": "program_started"}}, "invalid_edit_rule"),
    ],
    ids=range(6),
)
async def test_what_is_refused(command: str, body: Json, code: str) -> None:
    hub = await open_hub()
    assert (await ScriptedView(hub).request(command, **body))["body"]["code"] == code
    assert hub.debugger.edit_rules == ()
    await hub.close()


async def test_who_may_only_watch_may_try_and_export() -> None:
    hub = await open_hub()
    agent = await start_leased_agent(hub)
    agent.reach("b", data={"n": 9, "m": 1.0})
    watcher = ScriptedView(hub, control=False)
    for command in ("set_edit_rule", "delete_edit_rule", "skip", "raise", "guide"):
        body = {"rule": RULE if command == "set_edit_rule" else "x"}
        point = {"run": "r", "breakpoint": "b", "revision": 1, "result": "1"}
        body |= point | {"message": "m", "text": "t"}
        assert (await watcher.request(command, **body))["body"]["code"] == "watch_only"
    tried = (await watcher.request("try_edit_rule", rule=RULE))["body"]["outcomes"]
    assert tried == [
        {
            "run": "r",
            "rows": 1,
            "edits": [{"seq": 1, "before": "9", "after": "5"}],
            "total": 1,
            "error": None,
        }
    ]
    code = (await watcher.request("export_edit_rule", rule=RULE))["body"]["code"]
    assert "def edit_prompt(prompt):" in code
    await hub.close()


async def test_a_program_with_the_control_token_is_told_no_contents() -> None:
    hub = await open_hub()
    agent = await start_leased_agent(hub)
    agent.reach("b", data={"n": 9})
    for control, says in ((False, "error"), (True, "edit_rule_tried")):
        connection = FakeConnection()
        session = hub.connect_agent(connection, 2, AccessRights(control))
        question = {"n": 1, "type": "try_edit_rule", "id": "q", "body": {"rule": RULE}}
        session.receive(json.dumps(question))
        answer = await connection.receive(says)
        if control:
            assert answer["outcomes"][0]["edits"] == [{"seq": 1}]
        else:
            assert answer["code"] == "watch_only"
    await hub.close()


async def test_answers_reach_an_agent_that_was_away(tmp_path: Path) -> None:
    store = open_store(tmp_path, durability=Durability.DURABLE)
    hub = await open_hub(store)
    person, agent = ScriptedView(hub), await start_leased_agent(hub)
    for number in range(2):
        agent.reach(f"b{number}", data={"messages": []})
    agent.disconnect()
    point = {"run": "r", "revision": 1}
    skipped = await person.request("skip", breakpoint="b0", result='{"x": 1.0}', **point)
    failed = await person.request(
        "raise", breakpoint="b1", message="no", type="ValueError", **point
    )
    assert (skipped["type"], failed["type"]) == ("ok", "ok")
    await hub.close()
    hub = await open_hub(open_store(tmp_path, durability=Durability.DURABLE))
    await agent.connect(hub, waiting=["b0", "b1"])
    answers = {}
    for _ in range(2):
        answer = await agent.connection.receive("answer")
        answers[answer["breakpoint"]] = answer["answer"]
    assert answers == {
        "b0": {"kind": "skip", "result": {"x": 1.0}},
        "b1": {"kind": "raise", "message": "no", "type": "ValueError"},
    }
    body = (await ScriptedView(hub).request("get_message", run="r", message="b1"))["body"]
    assert body["raised"] == {"type": "ValueError", "message": "no"}
    await hub.close()


async def test_a_guide_is_told_as_one() -> None:
    hub = await open_hub()
    person, agent = ScriptedView(hub), await start_leased_agent(hub)
    agent.reach("b", data={"messages": []})
    await person.request("open_run", run="r")
    point = {"run": "r", "breakpoint": "b", "revision": 1}
    assert (await person.request("guide", text="Look.", **point))["type"] == "ok"
    body = (await person.request("get_message", run="r", message="b"))["body"]
    assert (body["guides"], body["revision"]) == (["Look."], 2)
    stale = await person.request("guide", text="Again.", **point)
    assert stale["body"]["code"] == "stale"
    answered = await person.request("step", run="r", breakpoint="b", revision=2)
    assert answered["type"] == "ok"
    answer = (await agent.connection.receive("answer"))["answer"]
    assert answer["data"] == {"messages": [{"role": "user", "content": "Look."}]}
    await hub.close()
