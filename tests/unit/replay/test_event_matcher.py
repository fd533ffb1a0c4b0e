"""Which recorded outcome an event of a replay gets."""

from __future__ import annotations

import random

import pytest

from agentstepper_nb.protocol.data_model import EventKind
from agentstepper_nb.protocol.field_types import ScopePath
from agentstepper_nb.replay.event_matcher import (
    EventKey,
    EventMatcher,
    RecordedEvent,
    ReplayAction,
    ReplayDepth,
    ReplayMode,
)

QUERY, TOOL = EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION


def key(content: str, *scope: str, kind: EventKind = QUERY, name: str = "m") -> EventKey:
    return EventKey(scope, kind, name, content)


def recorded(seq: int, key: EventKey, **fields: object) -> RecordedEvent:
    return RecordedEvent(id=f"e{seq}", seq=seq, key=key, request="{}", result=f'"r{seq}"', **fields)  # type: ignore[arg-type]


def served(matcher: EventMatcher, key: EventKey) -> str:
    """The result that an event is served."""
    decision = matcher.decide(key)
    assert decision.action is ReplayAction.SERVE
    assert decision.recorded is not None and decision.recorded.result is not None
    return decision.recorded.result


def test_the_same_request_twice_is_served_in_its_order() -> None:
    matcher = EventMatcher([recorded(1, key("same")), recorded(3, key("same"))])
    assert [served(matcher, key("same")), served(matcher, key("same"))] == ['"r1"', '"r3"']
    assert matcher.list_unmatched() == ()


def test_equal_requests_of_two_scopes_are_kept_apart() -> None:
    events = [recorded(1, key("same", "task:1")), recorded(3, key("same", "task:2"))]
    matcher = EventMatcher(events)
    assert served(matcher, key("same", "task:2")) == '"r3"'
    assert served(matcher, key("same", "task:1")) == '"r1"'


def test_an_outcome_of_another_scope_is_served_and_said_to_be() -> None:
    matcher = EventMatcher([recorded(1, key("x", "task:1"))])
    decision = matcher.decide(key("x", "task:9"))
    assert (decision.action, decision.is_relocated) == (ReplayAction.SERVE, True)


def test_a_strict_replay_diverges_and_names_what_was_expected() -> None:
    events = [recorded(1, key("a")), recorded(3, key("ls", kind=TOOL)), recorded(5, key("b"))]
    matcher = EventMatcher(events)
    served(matcher, key("a"))
    decision = matcher.decide(key("changed"))
    assert decision.action is ReplayAction.DIVERGE
    assert decision.recorded is events[2]  # of its kind, in its scope


def test_a_strict_replay_diverges_where_the_recording_has_ended() -> None:
    decision = EventMatcher([]).decide(key("a"))
    assert (decision.action, decision.recorded) == (ReplayAction.DIVERGE, None)
    assert "have happened already" in decision.reason


def test_what_cannot_be_served_is_refused_strictly_and_called_in_a_fork() -> None:
    events = [recorded(1, key("a"), refusal="Its result has secrets.")]
    strict = EventMatcher(events).decide(key("a"))
    assert (strict.action, strict.reason) == (ReplayAction.DIVERGE, "Its result has secrets.")
    fork = EventMatcher(events, ReplayMode.FORK).decide(key("a"))
    assert fork.action is ReplayAction.LIVE


def test_a_fork_serves_what_precedes_it() -> None:
    events = [recorded(1, key("a")), recorded(3, key("b")), recorded(5, key("c"))]
    matcher = EventMatcher(events, ReplayMode.FORK, fork_at="e3")
    served(matcher, key("a"))
    assert matcher.decide(key("b")).action is ReplayAction.FORK
    assert matcher.decide(key("c"), has_forked=True).action is ReplayAction.LIVE


def test_a_fork_serves_the_scopes_beside_it() -> None:
    events = [recorded(1, key("a", "task:1")), recorded(3, key("a", "task:2"))]
    matcher = EventMatcher(events, ReplayMode.FORK, fork_at="e1")
    assert matcher.decide(key("a", "task:1")).action is ReplayAction.FORK
    assert served(matcher, key("a", "task:2")) == '"r3"'


@pytest.mark.parametrize("depth", ReplayDepth)
def test_a_sub_agent_is_served_whole_or_by_its_leaves(depth: ReplayDepth) -> None:
    events = [
        recorded(1, key("research", kind=TOOL)),
        recorded(2, key("q", "tool:1"), parent="e1"),
    ]
    decision = EventMatcher(events, depth=depth).decide(key("research", kind=TOOL))
    wanted = {ReplayDepth.WHOLE: ReplayAction.SERVE, ReplayDepth.LEAVES: ReplayAction.ENTER}
    assert decision.action is wanted[depth]


def test_a_fork_inside_of_a_sub_agent_enters_what_is_around_it() -> None:
    events = [
        recorded(1, key("research", kind=TOOL)),
        recorded(2, key("dig", "tool:1", kind=TOOL), parent="e1"),
        recorded(3, key("q", "tool:1", "tool:2"), parent="e2"),
    ]
    matcher = EventMatcher(events, ReplayMode.FORK, fork_at="e3")
    assert matcher.decide(key("research", kind=TOOL)).action is ReplayAction.ENTER
    assert matcher.decide(key("dig", "tool:1", kind=TOOL)).action is ReplayAction.ENTER
    assert matcher.decide(key("q", "tool:1", "tool:2")).action is ReplayAction.FORK


def test_an_outer_event_that_cannot_be_served_is_entered() -> None:
    events = [
        recorded(1, key("research", kind=TOOL), refusal="Its result is no strict JSON."),
        recorded(2, key("q", "tool:1"), parent="e1"),
    ]
    matcher = EventMatcher(events)
    assert matcher.decide(key("research", kind=TOOL)).action is ReplayAction.ENTER
    assert served(matcher, key("q", "tool:1")) == '"r2"'


def test_what_is_inside_of_a_served_event_is_not_missing() -> None:
    events = [
        recorded(1, key("research", kind=TOOL)),
        recorded(2, key("dig", "tool:1", kind=TOOL), parent="e1"),
        recorded(3, key("q", "tool:1", "tool:2"), parent="e2"),
    ]
    matcher = EventMatcher(events)
    assert matcher.find_missing() is events[0]
    served(matcher, key("research", kind=TOOL))
    assert matcher.find_missing() is None


def test_a_leaf_that_an_entered_event_leaves_out_is_missing() -> None:
    events = [
        recorded(1, key("research", kind=TOOL)),
        recorded(2, key("q", "tool:1"), parent="e1"),
    ]
    matcher = EventMatcher(events, depth=ReplayDepth.LEAVES)
    assert matcher.decide(key("research", kind=TOOL)).action is ReplayAction.ENTER
    assert matcher.find_missing() is events[1]


@pytest.mark.parametrize("seed", range(50))
def test_whatever_the_order_of_scopes_each_event_gets_its_own_outcome(seed: int) -> None:
    """Scopes interleave differently in each execution; within a scope the order stays."""
    chance = random.Random(seed)
    scopes: list[ScopePath] = [(f"task:{number}",) for number in range(chance.randint(1, 5))]
    # Few contents, so that many requests are the same.
    wanted = {scope: [f"p{chance.randint(1, 2)}" for _ in range(4)] for scope in scopes}
    order = [scope for scope in scopes for _ in range(4)]

    def run(chance: random.Random) -> list[tuple[ScopePath, int]]:
        """The places of events in their scopes, in the order in which they begin."""
        shuffled = chance.sample(order, len(order))
        seen = dict.fromkeys(scopes, -1)
        places = []
        for scope in shuffled:
            seen[scope] += 1
            places.append((scope, seen[scope]))
        return places

    first = run(chance)
    events = [
        recorded(seq, key(wanted[scope][at], *scope)) for seq, (scope, at) in enumerate(first, 1)
    ]
    results = {place: event.result for place, event in zip(first, events, strict=True)}
    matcher = EventMatcher(events)
    for scope, at in run(chance):
        assert served(matcher, key(wanted[scope][at], *scope)) == results[scope, at]
    assert matcher.list_unmatched() == ()


def test_by_contents_alone_equal_requests_get_each_others_outcomes() -> None:
    """Without scope paths the property above fails: it can."""
    events = [recorded(1, key("same")), recorded(3, key("same"))]  # of two tasks
    matcher = EventMatcher(events)
    assert served(matcher, key("same")) == '"r1"'  # the second task's, which came first this time
