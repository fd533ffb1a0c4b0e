"""The methods by which a Python program controls the runs of its Core."""

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
    """The commands of `AgentStepperCore`, as coroutines for the Core's event loop.

    From another thread: `asyncio.run_coroutine_threadsafe(core.step_over(), core.loop).result()`.
    """

    @property
    @abstractmethod
    def hub(self) -> Hub:
        """The Core's hub; use it on the Core's loop only."""

    @property
    @abstractmethod
    def loop(self) -> asyncio.AbstractEventLoop:
        """The Core's event loop."""

    async def continue_execution(self, run: str | None = None) -> None:
        """Continue a run. A call that asks for an approval still waits.

        Args:
            run: The run's id; None: the run that halted or started last.

        Raises:
            CommandError: The run doesn't exist, or has ended.
        """
        self.hub.perform(self.hub.commands.resume(self._meant(run).id, self.hub.clock()))

    async def halt_execution(self, run: str | None = None) -> None:
        """Halt a run at its next halt point. Arguments and errors as of `continue_execution`."""
        self.hub.perform(self.hub.commands.halt(self._meant(run).id))

    async def step_over(self, data: Any = None, run: str | None = None) -> None:
        """Resume a run's oldest halt point that asks for no approval, and halt at the next one.

        A debugger's step over is `step("over")`.

        Args:
            data: A JSON value to set as the edit first; None: an edit that is set already stays.
            run: The run's id; None: the run that halted or started last.

        Raises:
            RuntimeError: The run isn't halted, or no run is live.
            NeedsApprovalError: All pending halt points of the run ask for an approval, which a step
                never gives: `approve` or `deny` the call.
            CommandError: The run doesn't exist.
            ProtocolError: The edit hasn't the form that the agent needs.
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
        """Step a run as a debugger does, from its oldest halt point that asks for no approval.

        A breakpoint or an approval halts the run on the way.

        Args:
            kind: How far to step. "into": to the next halt point of the agent, task or thread that
                is stepped. "over": from an event's begin to its own end; from an end to the next
                event that is no deeper. "out": to the end of the enclosing event, or of the run if
                no event encloses it. "to": to the next halt point of the given event kind, side and
                name.
            run: The run's id; None: the run that halted or started last.
            event_kind: For "to": the kind of event, as "llm_query"; None: any.
            side: For "to": "begin" or "end"; None: either.
            name: For "to": the name of the tool, the model or the custom event's type; None: any.
            freeze_others: Whether other agents, tasks and threads wait at their next halt points.

        Raises:
            ValueError: `kind`, `event_kind` or `side` is invalid.
            NeedsApprovalError: All pending halt points of the run ask for an approval.
            CommandError: The run doesn't exist, or has ended.
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
        """Return the pending calls that ask for an approval, oldest first.

        Args:
            run: A run's id; None: all runs.

        Raises:
            CommandError: The run doesn't exist.
        """
        runs = self.hub.runs() if run is None else [self.hub.run(run)]
        pending = (point for each in runs for point in self.hub.debugger.pending(each.id))
        return [point for point in pending if point.approval is not None]

    async def approve(
        self, call: HaltPoint, data: Any = None, *, always: bool = False, confirmed: bool = False
    ) -> None:
        """Approve a call in the state in which the caller has seen it.

        Args:
            call: One of `approvals()`.
            data: The call to make, `{"Tool": …, "Argument": …}`; None: the call as it stands.
            always: Whether the agent needs no approval for similar calls from now on.
            confirmed: Whether a person confirmed the approval by a second action; a call of high
                risk needs that.

        Raises:
            CommandError: `stale`: the call was answered or edited meanwhile. `needs_confirmation`:
                the call has a high risk and isn't confirmed. The run doesn't exist, or has ended.
            ProtocolError: `data` is no call, or the agent can't accept it.
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
            call: One of `approvals()`, or another pending halt point at an event's begin.
            reason: The reason that the agent gets.

        Raises:
            CommandError: `stale`: the call was answered or edited meanwhile. `cannot_deny`: the
                halt point isn't at an event's begin. The run doesn't exist, or has ended.
        """
        hub, now = self.hub, self.hub.clock()
        hub.perform(hub.commands.deny(call.run, now, call.id, call.revision, reason))

    def _meant(self, run: str | None) -> Run:
        return self.hub.active_run() if run is None else self.hub.run(run)

    # ---- runs of files ------------------------------------------------------------------------------

    def import_file(self, path: Path) -> None:
        """Import a run from a file. May be called from any thread.

        Raises:
            ProtocolError: The file is damaged, too large, or of a newer version.
            CommandError: `store_failed`.
            OSError: The file can't be read.
        """
        self.import_history(archive.load_run_file(archive.read_run_file(path), self.hub.new_id()))

    def import_history(self, history: RunHistory) -> None:
        """Import a run that was read from a file. May be called from any thread.

        Args:
            history: The run; its id must be new.

        Raises:
            CommandError: `store_failed`.
        """
        imported = self.hub.import_history(history)
        asyncio.run_coroutine_threadsafe(imported, self.loop).result()
