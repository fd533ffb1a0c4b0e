"""What has to outlive a power cut before anybody acts on it."""

from __future__ import annotations

from collections.abc import Sequence

from ..core import Output, Reply, Saved
from ..protocol.records import BreakpointEdited, BreakpointSaved
from ..protocol.values import AnswerKind, Approval, Breakpoint


def asks_for_durable(outputs: Sequence[Output]) -> bool:
    """Whether people are told of a halt by these, or what one of them decided is kept or acted on."""
    for output in outputs:
        match output:
            case Saved(record=BreakpointSaved(breakpoint=Breakpoint(answer=None))):
                return True
            case Saved(record=BreakpointEdited()) | Reply(breakpoint=Breakpoint(edit=str())):
                return True
            case Reply(breakpoint=Breakpoint(approval=Approval())) | Reply(answer=AnswerKind.DENY):
                return True
    return False
