"""Edit rules in the agent's process, which edit data before it is sent."""

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
    """A halt point with the edit that rules make of it; the same halt point where no rule matches.

    Rules edit the data after a prompt's sticky edits.

    Args:
        engine: The run's edit rules.
        event: The halt point's event.
        point: The halt point.
        reader: Reads the rules' edits: an edit that the agent can't apply isn't made.
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
    """An answer with the edit that rules made, unless the answer has an edit of its own.

    An approval from outside of a view approves the call as it was shown there, without the rules' edit.

    Args:
        answer: The answer to the halt point.
        point: The halt point as it was sent, with the rules' edit.
    """
    is_left = isinstance(answer, ResumeAnswer) and answer.data is UNSET
    if not is_left or point.approval is not None:
        return answer
    return replace(answer, data=point.edit)
