"""Edit rules in the agent's process: the edits that they make of what is about to be sent."""

from __future__ import annotations

from msgspec import UNSET, Raw
from msgspec.structs import replace

from ..core.breakpoints import EditRuleEngine, RulePoint
from ..protocol.agent import HaltPointReached
from ..protocol.answers import Answer, ResumeAnswer
from .edits import EditReader
from .run_events import OpenEvent


def apply_edit_rules(
    engine: EditRuleEngine,
    event: OpenEvent,
    point: HaltPointReached,
    reader: EditReader,
) -> HaltPointReached:
    """A halt point with the edit that rules make of it; itself where none matches.

    Rules edit what sticky edits of a prompt have made.

    Args:
        engine: The run's edit rules.
        event: The halt point's event.
        point: The halt point.
        reader: Reads its edits: what the agent can't take isn't set.
    """
    if not engine.may_edit(event.kind, point.side, event.name) or point.data is UNSET:
        return point
    has_sticky_edit = point.edit is not UNSET
    before = point.data if point.edit is UNSET else point.edit
    made = engine.apply(
        RulePoint(event.kind, point.side, event.name, event.label),
        str(before, "utf-8"),
        lambda edit: reader.find_problem(Raw(edit.encode())),
    )
    if made.edit is None:
        return point if made.error is None else replace(point, breakpoint_error=made.error)
    return replace(
        point,
        edit=Raw(made.edit.encode()),
        edit_rules=made.rules,
        has_sticky_edit=True if has_sticky_edit else UNSET,
        breakpoint_error=made.error,
    )


def accept_rule_edit(answer: Answer, point: HaltPointReached) -> Answer:
    """An answer with the edit that rules made, where it leaves that as it is.

    A call that was approved elsewhere than in a view goes on as it was seen there, without it.

    Args:
        answer: The halt point's.
        point: The halt point as it was sent, with the edit.
    """
    is_left = isinstance(answer, ResumeAnswer) and answer.data is UNSET
    if not is_left or point.approval is not None:
        return answer
    return replace(answer, data=point.edit)
