"""Control of a Core from the Python program that has it: step, continue, halt, approve and deny."""

from __future__ import annotations

import asyncio
import json
from abc import ABC, abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..protocol.data_model import EventKind, EventSide, HaltPoint, Run
from ..protocol.records import RunHistory
from ..protocol.step_targets import StepKind, StepTarget
from ..store import archive

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

    @property
    @abstractmethod
    def loop(self) -> asyncio.AbstractEventLoop:
        """The Core's event loop."""

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
        """Answer a run's oldest pending halt point that asks for no approval, and halt at the next.

        A debugger's step over is `step("over")`.

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

    async def step(
        self,
        kind: StepKind | str = StepKind.INTO,
        run: str | None = None,
        *,
        event_kind: EventKind | str | None = None,
        side: EventSide | str | None = None,
        name: str | None = None,
        freeze_others: bool = False,
    ) -> None:
        """Step a run as a debugger does: answer its oldest pending halt point that asks no approval.

        A breakpoint or an approval halts on the way.

        Args:
            kind: How far. "into": to the next halt point of the agent, task or thread that is stepped.
                "over": from the begin of an event to its own end; from an end to the next event that is
                no deeper. "out": to the end of the event around it; where there is none, of the run.
                "to": to the next halt point that has the event kind, the side and the name.
            run: The run's id; None means the run that halted or started last.
            event_kind: Of a step "to", as "llm_query"; None means any.
            side: Of a step "to", "begin" or "end"; None means either.
            name: Of a step "to", the tool, the model or the custom event's type; None means any.
            freeze_others: Whether other agents, tasks and threads wait at their next halt points.

        Raises:
            ValueError: There is no such kind of step, of event, or side.
            NeedsApprovalError: All that the run is halted at asks for an approval.
            CommandError: There is no such run, or it has ended.
        """
        target = StepTarget(
            kind=StepKind(kind),
            freeze_others=freeze_others,
            event_kind=None if event_kind is None else EventKind(event_kind),
            side=None if side is None else EventSide(side),
            name=name,
        )
        commands, meant = self.hub.commands, self._meant(run)
        self.hub.perform(commands.step(meant.id, self.hub.clock(), target=target))

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

    # ---- runs of files ------------------------------------------------------------------------------

    def import_file(self, path: Path) -> None:
        """List the run of a file. May be called from any thread.

        Raises:
            ProtocolError: The file is damaged, above a bound, or of a newer version.
            CommandError: `store_failed`.
            OSError: It can't be read.
        """
        self.import_history(archive.load_run_file(archive.read_run_file(path), self.hub.new_id()))

    def import_history(self, history: RunHistory) -> None:
        """List a run that was read from a file. May be called from any thread.

        Args:
            history: The run, by an id of its own.

        Raises:
            CommandError: `store_failed`.
        """
        imported = self.hub.import_history(history)
        asyncio.run_coroutine_threadsafe(imported, self.loop).result()
