"""The step of a run in its agent: follows the lease's target from halt point to halt point."""

from __future__ import annotations

from msgspec import UNSET, UnsetType

from ..core.breakpoints import StepPoint, advance_step, end_step_scope
from ..core.breakpoints.step_targets import (
    FindOpenEvent,
    SteppableEvent,
    choose_later_target,
)
from ..protocol.agent import HaltPointReached
from ..protocol.field_types import ScopePath
from ..protocol.step_targets import StepTarget
from .live_scopes import LiveScopes


class StepLease:
    """The target of a run's step. Call the methods under the lock of `outbox.HaltLease`.

    Args:
        scopes: The run's scopes that haven't ended.
        find_open: Finds the run's open events.
    """

    def __init__(self, scopes: LiveScopes, find_open: FindOpenEvent) -> None:
        self._scopes = scopes
        self._find_open = find_open
        #: The step's target; None: the step halts at each halt point.
        self.target: StepTarget | None = None
        self._point: str | None = None  # by which the step is known that the target is of

    def accept(self, leased: StepTarget | UnsetType) -> None:
        """Accept a lease.

        Args:
            leased: The lease's target. If the same step has a later target here, the later target stays.
        """
        target = None if leased is UNSET else leased
        point = None if target is None else target.point
        if point is not None and point == self._point:
            self.target = choose_later_target(self.target, target)
        else:
            self.target, self._point = target, point

    def halts_at(self, message: HaltPointReached, event: SteppableEvent) -> bool:
        """Whether the step halts at a halt point: call this for each halt point while there is a target.

        Args:
            message: The halt point.
            event: The halt point's event.
        """
        point = StepPoint(
            message.event,
            message.side,
            event.kind,
            event.name,
            event.depth,
            event.scope,
            message.waits,
        )
        halts, self.target = advance_step(self.target, point, self._find_open)
        return halts

    def skip_ended_scopes(self) -> list[ScopePath]:
        """Go on around what has ended.

        Returns:
            The scopes that the target was in and that have ended, the innermost first.
        """
        ended: list[ScopePath] = []
        while self.target is not None and self.target.scope:
            scope = self.target.scope
            if scope in self._scopes:
                break
            ended.append(scope)
            self.target = end_step_scope(self.target, scope, self._find_open)
        return ended
