"""Control of a Core from the Python program that has it: step, continue, halt, approve and deny."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any

from ..protocol.data_model import HaltPoint, Run

if TYPE_CHECKING:
    from .hub import Hub


class CoreControl(ABC):
    """The commands of `AgentStepperCore`. They run on the Core's event loop:
    `asyncio.run_coroutine_threadsafe(core.step_over(), core.loop).result()`.
    """

    @property
    @abstractmethod
    def hub(self) -> Hub:
        """The Core's hub, to be used on its loop only."""

    async def continue_execution(self, run: str | None = None) -> None:
        """Continue a run. A call that asks for an approval still waits.

        Args:
            run: Its id; None means the run that halted or started last.

        Raises:
            CommandError: There is no such run, or it has ended.
        """
        self.hub.perform(self.hub.commands.resume(self._meant(run).id, self.hub.clock()))

    async def halt_execution(self, run: str | None = None) -> None:
        """Halt a run at its next halt point. Arguments and errors as `continue_execution`."""
        self.hub.perform(self.hub.commands.halt(self._meant(run).id))

    async def step_over(self, data: Any = None, run: str | None = None) -> None:
        """Answer a run's oldest pending halt point that asks for no approval.

        Args:
            data: A JSON value to set as its edit first; None keeps the edit it has.
            run: The run's id; None means the run that halted or started last.

        Raises:
            RuntimeError: The run isn't halted, or none is live.
            NeedsApprovalError: All that the run is halted at asks for an approval, which a step never
                gives: `approve` or `deny` the call.
            CommandError: There is no such run.
            ProtocolError: The edit is not of the form that the agent needs.
        """
        meant = self.hub.debugger.active if run is None else self.hub.run(run)
        if meant is None or not meant.pending:
            raise RuntimeError("Can't step over: no run is halted.")
        pending = self.hub.debugger.pending(meant.id)
        first = next((each for each in pending if each.approval is None), pending[0])
        edit = None if data is None else json.dumps(data)
        if edit is not None and first.approval is None:
            await self.hub.check_edit(meant.id, first.id, edit, first.revision)
        hub = self.hub
        hub.perform(hub.commands.step(meant.id, hub.clock(), first.id, first.revision, edit))

    async def approvals(self, run: str | None = None) -> list[HaltPoint]:
        """The pending calls that ask for an approval, oldest first.

        Args:
            run: A run's id; None means all runs.

        Raises:
            CommandError: There is no such run.
        """
        runs = self.hub.runs() if run is None else [self.hub.run(run)]
        pending = (point for each in runs for point in self.hub.debugger.pending(each.id))
        return [point for point in pending if point.approval is not None]

    async def approve(
        self, call: HaltPoint, data: Any = None, *, always: bool = False, confirmed: bool = False
    ) -> None:
        """Approve a call, as the caller has seen it.

        Args:
            call: One of `approvals()`.
            data: The call as it is to be made, `{"Tool": …, "Argument": …}`; None keeps it as it stands.
            always: Whether the agent needn't ask the like again.
            confirmed: Whether a person confirmed it by a second gesture; high risk needs that.

        Raises:
            CommandError: `stale`: the call was answered or edited meanwhile. `needs_confirmation`: it is
                of high risk, and not confirmed. There is no such run, or it has ended.
            ProtocolError: `data` is no call, or the agent can't take it.
        """
        edit = None if data is None else json.dumps(data)
        if edit is not None:
            await self.hub.check_edit(call.run, call.id, edit, call.revision)
        said = {"always": always, "confirmed": confirmed}
        hub, now = self.hub, self.hub.clock()
        hub.perform(hub.commands.approve(call.run, now, call.id, call.revision, edit, **said))

    async def deny(self, call: HaltPoint, reason: str) -> None:
        """Deny a call that is about to be made.

        Args:
            call: One of `approvals()`, or another pending halt point at which something begins.
            reason: What the agent is told.

        Raises:
            CommandError: `stale`: the call was answered or edited meanwhile. `cannot_deny`: nothing
                begins there. There is no such run, or it has ended.
        """
        hub, now = self.hub, self.hub.clock()
        hub.perform(hub.commands.deny(call.run, now, call.id, call.revision, reason))

    def _meant(self, run: str | None) -> Run:
        return self.hub.active_run() if run is None else self.hub.run(run)
