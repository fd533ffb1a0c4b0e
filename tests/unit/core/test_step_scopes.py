"""The rules of a step's scope and of two targets of one step, alone."""

from __future__ import annotations

import pytest

from agentstepper_nb.core.breakpoints.step_targets import (
    choose_later_target,
    end_step_scope,
    find_step_scope,
)
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget

FIRST, SECOND = ("task:1",), ("task:2",)


@pytest.mark.parametrize(
    ("path", "scope"),
    [
        ((), ()),
        (("tool:call_1",), ()),
        (("task:1", "tool:call_1"), ("task:1",)),
        (
            ("agent:a:1", "tool:x:1", "agent:b:2", "tool:y:1"),
            ("agent:a:1", "tool:x:1", "agent:b:2"),
        ),
        (("agent:a\nb:1",), ("agent:a\nb:1",)),
        (("pool:3", "thread:2"), ("pool:3", "thread:2")),
        # A framework's label: nothing tells when that agent ends.
        (("task:1", "agent:writer"), ("task:1",)),
        (("tool:task:1",), ()),
    ],
)
def test_the_scope_of_a_step(path: tuple[str, ...], scope: tuple[str, ...]) -> None:
    assert find_step_scope(path) == scope


def test_what_is_stepped_out_of_goes_on_where_its_scope_ends() -> None:
    out = StepTarget(kind=StepKind.OUT, scope=FIRST, point="p")
    assert end_step_scope(out, FIRST, lambda id: None) is None
    assert end_step_scope(out, SECOND, lambda id: None) == out
    over = StepTarget(kind=StepKind.OVER, scope=FIRST, depth=1, point="p")
    assert end_step_scope(over, FIRST, lambda id: None) == StepTarget(
        kind=StepKind.OVER, scope=(), depth=1, point="p"
    )
    assert end_step_scope(None, FIRST, lambda id: None) is None


def test_the_later_of_two_targets_of_one_step() -> None:
    over = StepTarget(kind=StepKind.OVER, scope=FIRST, event="e")
    into = StepTarget(kind=StepKind.INTO, scope=("task:1", "thread:1"))
    assert choose_later_target(over, into) == choose_later_target(into, over) == into
    assert choose_later_target(None, into) is choose_later_target(into, None) is None
    around = StepTarget(kind=StepKind.INTO, scope=FIRST)
    assert choose_later_target(into, around) == choose_later_target(around, into) == around
