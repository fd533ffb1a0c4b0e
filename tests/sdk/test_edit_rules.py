"""Edit rules in the agent: what it does by itself is what the record has, and what a dry run says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb import AgentStepper, AgentStepperCore
from agentstepper_nb.core.breakpoints import dry_run_edit_rule
from agentstepper_nb.hub import agent_messages
from agentstepper_nb.protocol.agent import EventBegun, HaltPointReached, LeaseMessage
from agentstepper_nb.protocol.data_model import EventKind, EventSide, RunMode
from agentstepper_nb.protocol.edit_rules import EditRuleDefinition, ReplaceText, SetValue
from agentstepper_nb.protocol.records import RunHistory
from tests.helpers.debugger_harness import DebuggerHarness, replay_states, round_trip
from tests.helpers.histories import fold_records
from tests.sdk.lease_helpers import make_timeline_answerer
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S, AgentPeer, ScriptedCore

TOOL, QUERY = EventKind.TOOL_INVOCATION, EventKind.LLM_QUERY
BEGIN, END = EventSide.BEGIN, EventSide.END
LIMIT = EditRuleDefinition(
    id="limit", kind=TOOL, side=BEGIN, path="/Argument/limit", change=SetValue(value="5")
)


@pytest.fixture
def agent(live: AgentStepperCore) -> Iterator[AgentStepper]:
    with AgentStepper("agent", "127.0.0.1", live.client_port, stop_on_entry=False) as agent:
        yield agent


def make_search(agent: AgentStepper, seen: list[Any]) -> Any:
    @agent.traced_tool
    def search(text: str, limit: int) -> str:
        seen.append(limit)
        return f"{text}: {limit}"

    return search


def wait_for_rules(agent: AgentStepper) -> None:
    """Wait until the agent has read what the Core sent before."""
    assert agent._timeline(TIMEOUT_S) is not None


# ---- one rule at a real Core ------------------------------------------------------------------------


def test_a_call_that_continues_is_made_with_the_edit(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    seen: list[Any] = []
    search = make_search(agent, seen)
    person.wait_until(lambda run: True)
    person.set_edit_rule(LIMIT)
    wait_for_rules(agent)
    working = pool.submit(search, "a", 9)
    person.wait_until_halted()
    assert [row.edit_rules for row in person.list_rows()[-1:]] == [("limit",)]
    person.resume()
    assert working.result(TIMEOUT_S) == "a: 5"
    wait_for_rules(agent)
    assert (search("b", 7), search("c", 5), seen) == ("b: 5", "c: 5", [5, 5, 5])
    wait_for_rules(agent)
    begins = [row for row in person.list_rows() if row.kind is TOOL and row.side is BEGIN]
    assert [row.edit_rules for row in begins] == [("limit",), ("limit",), agent_messages.UNSET]
    body = person.get_body(begins[1])
    assert json.loads(body.data)["Argument"] == {"text": "b", "limit": 7}
    assert json.loads(str(body.edit))["Argument"] == {"text": "b", "limit": 5}
    outcome = person.dry_run_edit_rule(LIMIT)
    assert [(edit.seq, edit.before, edit.after) for edit in outcome.edits] == [
        (begins[0].seq, "9", "5"),
        (begins[1].seq, "7", "5"),
    ]


def test_a_person_takes_the_edit_back_or_goes_on_from_it(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    search = make_search(agent, [])
    person.wait_until(lambda run: True)
    person.set_edit_rule(LIMIT)
    wait_for_rules(agent)
    working = pool.submit(search, "a", 9)
    person.edit({"Tool": "search", "Argument": {"text": "a", "limit": 9}})
    person.step(revision=2)
    person.step()
    assert working.result(TIMEOUT_S) == "a: 9"
    working = pool.submit(search, "b", 9)
    person.step({"Tool": "search", "Argument": {"text": "c", "limit": 5}})
    person.step()
    assert working.result(TIMEOUT_S) == "c: 5"


def test_a_stream_is_read_whole_where_a_rule_edits_its_end(
    agent: AgentStepper, person: LiveView
) -> None:
    rule = EditRuleDefinition(
        id="r", kind=TOOL, side=END, path="", change=ReplaceText(pattern="b+")
    )

    @agent.traced_tool
    def letters() -> Iterator[str]:
        yield from ["ab", "bb", "c"]

    person.wait_until(lambda run: True)
    person.set_edit_rule(rule)
    person.resume()
    wait_for_rules(agent)
    assert list(letters()) == ["a", "", "c"]


@dataclass
class Order:
    """What a tool takes."""

    count: int

    def __post_init__(self) -> None:
        if self.count > 100:
            raise ValueError("count is at most 100")


def test_an_edit_that_the_agents_type_refuses_halts_and_says_why(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    @agent.traced_tool
    def buy(order: Order) -> int:
        return order.count

    person.wait_until(lambda run: True)
    too_many = SetValue(value="500")
    person.set_edit_rule(
        EditRuleDefinition(
            id="r", kind=TOOL, side=BEGIN, path="/Argument/order/count", change=too_many
        )
    )
    person.resume()
    wait_for_rules(agent)
    working = pool.submit(buy, Order(1))
    person.wait_until_halted()
    row = person.list_rows()[-1]
    assert not row.edited
    assert row.breakpoint_error is not None
    assert "count is at most 100" in row.breakpoint_error
    person.resume()
    assert working.result(TIMEOUT_S) == 1


def test_a_sticky_edit_stays_a_persons_where_a_rule_edits_too(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    seen: list[Any] = []

    @agent.traced_llm
    def ask(messages: list[str], heat: int) -> str:
        seen.append((messages, heat))
        return "yes"

    person.wait_until(lambda run: True)
    cool = SetValue(value="0")
    person.set_edit_rule(
        EditRuleDefinition(id="r", kind=QUERY, side=BEGIN, path="/heat", change=cool)
    )
    wait_for_rules(agent)
    working = pool.submit(ask, ["a", "b"], 1)
    person.edit({"messages": ["A", "b"], "heat": 0}, sticky=True)
    person.step(revision=2)
    person.resume()
    working.result(TIMEOUT_S)
    wait_for_rules(agent)
    ask(["a", "b", "c"], 1)
    assert seen == [(["A", "b"], 0), (["A", "b", "c"], 0)]


# ---- live = past = resumed --------------------------------------------------------------------------


def record(peer: AgentPeer) -> DebuggerHarness:
    """A Core that heard all that the agent said."""
    harness = DebuggerHarness()
    harness.start("run", program="T")
    for message in peer.received:
        match message:
            case EventBegun():
                event = agent_messages.decode_event(message, "run")
                harness.perform(harness.debugger.begin_event(event))
            case HaltPointReached():
                point = agent_messages.decode_point(message, "run")
                leased = message.epoch > 0
                harness.perform(harness.debugger.reach_halt_point(point, 0, leased=leased))
    return harness


def replay_for_version_1(history: RunHistory, rules: list[EditRuleDefinition]) -> RunHistory:
    """The same calls by an agent for which the Core makes the edits."""
    harness = DebuggerHarness()
    for rule in rules:
        harness.perform(harness.debugger.commands.rules.set_edit_rule(rule))
    harness.start("run", program="T", mode=RunMode.CONTINUE, can_stop=False)
    events = {event.id: event for event in history.events}
    for point in history.halt_points:
        event = events[point.event]
        if point.side is BEGIN:
            harness.begin(event.kind, id=event.id, name=event.name)
        harness.reach(point.event, point.side, point.data, id=point.id, failure=point.failure)
    return fold_records(harness.records)


def work(agent: AgentStepper, calls: list[tuple[str, Any]]) -> None:
    for tool, value in calls:
        with agent.tool(tool, {"limit": value, "text": str(value)}) as block:
            block.result = {"text": f"{tool} {block.args}"}


RULES = st.lists(
    st.builds(
        EditRuleDefinition,
        id=st.sampled_from("abc"),
        kind=st.just(TOOL),
        side=st.just(BEGIN),
        path=st.sampled_from(["/Argument/limit", "/Argument/text", "/Argument", "/Argument/none"]),
        change=st.sampled_from(
            [
                SetValue(value="5"),
                SetValue(value='"5"'),
                ReplaceText(pattern="[0-4]", replacement="x"),
            ]
        ),
        name=st.sampled_from([None, "ls", "l*"]),
        once=st.booleans(),
        enabled=st.sampled_from([True, True, False]),
        program=st.sampled_from(["*", "T", "other"]),
    )
    | st.builds(
        EditRuleDefinition,
        id=st.sampled_from("de"),
        kind=st.just(TOOL),
        side=st.just(END),
        path=st.sampled_from(["", "/text"]),
        change=st.sampled_from([SetValue(value='{"text":"x"}'), ReplaceText(pattern="s.")]),
    ),
    max_size=4,
    unique_by=lambda rule: rule.id,
)
CALLS = st.lists(
    st.tuples(st.sampled_from(["ls", "cat"]), st.sampled_from([5, 12, "5", "33", None])), max_size=6
)


@pytest.mark.slow
@given(rules=RULES, calls=CALLS)
def test_what_a_rule_does_live_it_does_on_the_record_and_in_the_core(
    rules: list[EditRuleDefinition], calls: list[tuple[str, Any]]
) -> None:
    with ScriptedCore() as core:
        in_force = tuple(rule for rule in rules if rule.enabled and rule.program != "other")
        lease = LeaseMessage(epoch=1, mode=RunMode.CONTINUE, edit_rules=in_force)
        core.requests = make_timeline_answerer(lease)
        with AgentStepper("T", "127.0.0.1", core.port) as agent:
            wait_for_rules(agent)
            work(agent, calls)
        peer = core.wait_for_peer()
        assert peer.wait_until_gone() is not None
    harness = record(peer)
    live = fold_records(harness.records)
    made = [(point.edit, point.edit_rules) for point in live.halt_points]
    past = replay_for_version_1(live, rules)
    # The program's start is told before the lease, and no rule is for it.
    assert [(point.edit, point.edit_rules) for point in past.halt_points] == made
    assert replay_states(round_trip(harness.records)) == harness.debugger._runs
    if len(in_force) == 1:
        trial = dry_run_edit_rule(in_force[0], live)
        edited = [point.seq for point in live.halt_points if point.edit_rules]
        assert [edit.seq for edit in trial.edits] == edited


def test_a_core_that_starts_again_has_the_rules_and_what_they_did(tmp_path: Path) -> None:
    options: Any = {"client_port": 0, "ui_port": 0, "data": tmp_path / "data"}
    with AgentStepperCore("127.0.0.1", **options) as core, LiveView(core.ui_port) as person:
        person.set_edit_rule(LIMIT)
        with AgentStepper("agent", "127.0.0.1", core.client_port, stop_on_entry=False) as agent:
            person.wait_until(lambda run: True)
            person.resume()
            wait_for_rules(agent)
            make_search(agent, [])("a", 9)
        person.wait_until_ended()
        before = [(row.edited, row.edit_rules, row.summary) for row in person.list_rows()]
    with AgentStepperCore("127.0.0.1", **options) as core, LiveView(core.ui_port) as person:
        assert core is not None
        after = [(row.edited, row.edit_rules, row.summary) for row in person.list_rows()]
        assert after == before
        assert ("limit",) in [rules for _, rules, _ in after]
        assert person.dry_run_edit_rule(LIMIT).total == 1
