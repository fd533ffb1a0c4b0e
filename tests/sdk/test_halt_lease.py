"""What a lease decides of the agent's halt points, without a Core."""

from __future__ import annotations

import pytest
from msgspec import Raw
from msgspec.structs import replace

from agentstepper_nb.core.breakpoints import BreakpointEngine, BreakpointResult, ObservedPoint
from agentstepper_nb.protocol.agent import AgentMessage, EventBegun, HaltPointReached, LeaseMessage
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.protocol.edit_rules import EditRuleDefinition, SetValue
from agentstepper_nb.sdk.outbox import HaltLease
from agentstepper_nb.sdk.send_queue import PendingFutures
from tests.sdk.lease_helpers import CONTINUE_LEASE, HALT, make_continue_lease
from tests.sdk.test_decision_order import AgentOutbox

TOOL, QUERY = EventKind.TOOL_INVOCATION, EventKind.LLM_QUERY
BEGIN, END = EventSide.BEGIN, EventSide.END
LIMIT = EditRuleDefinition(
    id="limit", kind=TOOL, side=BEGIN, path="/Argument/limit", change=SetValue(value="5")
)


@pytest.fixture
def outbox() -> AgentOutbox:
    return AgentOutbox()


@pytest.fixture
def leasehold(outbox: AgentOutbox) -> HaltLease:
    return HaltLease("T", outbox, PendingFutures())  # type: ignore[arg-type]


def make_messages(id: str, kind: EventKind = QUERY) -> tuple[EventBegun, HaltPointReached]:
    begun = EventBegun(id=id, kind=kind, at=0.0, clock=0.0, name="t")
    point = HaltPointReached(
        id=f"b {id}", event=id, side=BEGIN, waits=True, at=0.0, clock=0.0, data=Raw(b"{}")
    )
    return begun, point


def send(leasehold: HaltLease, messages: tuple[AgentMessage, ...]) -> bool:
    """Send a halt point; whether the agent waits there."""
    return leasehold.send(messages, messages[-1].id) is not None  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("lease", "may_halt"),
    [
        (None, [True, True, True]),
        (HALT, [True, True, True]),
        (CONTINUE_LEASE, [False, False, False]),
        (make_continue_lease(BreakpointRule(id="s", kind=TOOL)), [False, True, True]),
        (replace(CONTINUE_LEASE, edit_rules=(LIMIT,)), [False, True, False]),
    ],
    ids=["no lease yet", "step", "continue", "breakpoint", "edit rule"],
)
def test_only_what_no_rule_of_the_lease_is_about_goes_on_unseen(
    leasehold: HaltLease, lease: LeaseMessage | None, may_halt: list[bool]
) -> None:
    if lease is not None:
        leasehold.accept_lease(lease)
    points = [(QUERY, BEGIN), (TOOL, BEGIN), (TOOL, END)]
    assert [leasehold.may_halt(kind, side, "t") for kind, side in points] == may_halt


def test_a_halt_point_of_an_event_that_was_never_told_is_left_to_the_core(
    leasehold: HaltLease, outbox: AgentOutbox
) -> None:
    leasehold.accept_lease(CONTINUE_LEASE)
    _, point = make_messages("unknown")
    assert send(leasehold, (point,))
    assert list(outbox.sent) == [point]


def test_the_first_lease_s_edit_rules_leave_a_halt_point_made_before_it_to_the_core(
    leasehold: HaltLease, outbox: AgentOutbox
) -> None:
    messages = make_messages("made before", TOOL)
    leasehold.accept_lease(replace(CONTINUE_LEASE, edit_rules=(LIMIT,)))
    assert send(leasehold, messages)
    assert tuple(outbox.sent) == messages  # of epoch 0: the Core makes the edits
    begun, point = make_messages("made after", TOOL)
    assert not send(leasehold, (begun, replace(point, epoch=1)))


def test_a_finalizer_that_takes_up_the_lease_first_takes_it_up_once(
    leasehold: HaltLease, outbox: AgentOutbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    send(leasehold, make_messages("early"))
    evaluate = BreakpointEngine.evaluate

    def finalizes(self: BreakpointEngine, point: ObservedPoint) -> BreakpointResult:
        monkeypatch.undo()
        assert not send(leasehold, make_messages("of the finalizer"))
        return evaluate(self, point)

    monkeypatch.setattr(BreakpointEngine, "evaluate", finalizes)
    leasehold.accept_lease(CONTINUE_LEASE)
    assert not send(leasehold, make_messages("after it"))
    leasehold.accept_lease(HALT)
    assert send(leasehold, make_messages("under the next"))
    points = [each for each in outbox.sent if isinstance(each, HaltPointReached)]
    assert [(point.epoch, point.waits) for point in points] == [
        (0, True),
        (1, False),
        (1, False),
        (2, True),
    ]
