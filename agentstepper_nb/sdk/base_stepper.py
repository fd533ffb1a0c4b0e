"""The base class of both AgentSteppers: finds and opens the run, traces functions, ends the run."""

from __future__ import annotations

import atexit
import logging
import os
import threading
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import ClassVar, Literal, get_args

from ..discover import PROGRAM_NAME_VARIABLE, CoreEndpoint
from ..errors import WorkspaceError
from ..protocol.agent import Timeline
from ..protocol.data_model import Commit, RunMode
from . import close_callbacks
from .argument_checks import (
    check_choice,
    check_folder,
    check_notice,
    check_optional_bool,
    check_text,
)
from .call_tracing import CallTracer
from .child_agents import ChildAgents
from .connection_state import DEFAULT_LINK_LIMITS, OnDisconnect
from .core_location import CoreLocation
from .drivers import run_flow, wait_result
from .flow_effects import Flow
from .halt_flow import HaltFlow
from .open_runs import OpenRuns, describe_ignored_arguments
from .payload import PayloadEncoder, Redact
from .run_session import (
    TIMELINE_TIMEOUT_S,
    RunSession,
    finish_all_runs,
    finish_with_multiprocessing,
)
from .scopes import enter_agent
from .seam_report import SeamReport, make_report
from .value_hooks import FromJson, ToJson, ValueHooks
from .workspace import Workspace
from .workspace_redirect import find_workspace_folder, find_workspace_notice
from .workspace_tracker import WorkspaceTracker

log = logging.getLogger("agentstepper_nb.sdk")

#: The mode that a run begins in.
InitialMode = Literal["step", "continue"]


@dataclass
class RunContext:
    """The run of this process that a stepper belongs to, and the run's workspace."""

    session: RunSession | None = None
    workspace_tracker: WorkspaceTracker | None = None
    flow: HaltFlow | None = None  # its own in this run, once it was needed


#: Held while a forked child opens its run; a new one in each child.
_reopening = threading.Lock()


def _renew_lock() -> None:
    global _reopening
    _reopening = threading.Lock()


os.register_at_fork(after_in_child=_renew_lock)
atexit.register(finish_all_runs)


class BaseStepper(CallTracer):
    """The base class of `AgentStepper` and `AsyncAgentStepper`, with the same arguments."""

    _is_async: ClassVar[bool]
    _limits = DEFAULT_LINK_LIMITS

    def __init__(
        self,
        program_name: str,
        address: str | None = None,
        port: int | None = None,
        agent_workspace_path: str | os.PathLike[str] | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        stop_on_entry: bool = True,
        mode: InitialMode = "step",
        on_disconnect: OnDisconnect = "wait",
        redact: Redact | None = None,
        to_json: ToJson | None = None,
        from_json: FromJson | None = None,
        require_clean: bool = False,
        notice: str = "",
        inspect: bool | None = None,
    ) -> None:
        check_text("program_name", program_name)
        check_folder("agent_workspace_path", agent_workspace_path)
        self._location = CoreLocation(address, port, url, token)
        self._location.check()
        check_notice(notice)
        check_optional_bool("inspect", inspect)
        check_choice("on_disconnect", on_disconnect, get_args(OnDisconnect))
        check_choice("mode", mode, get_args(InitialMode))
        # `agentstepper run --name` and `spawn(name=)` call runs as their caller wants.
        self.program_name = os.environ.get(PROGRAM_NAME_VARIABLE) or program_name
        self._folder = find_workspace_folder(agent_workspace_path)
        self._stop_on_entry = stop_on_entry
        self._mode = RunMode(mode)
        self._on_disconnect: OnDisconnect = on_disconnect
        self._encoder = PayloadEncoder(redact, ValueHooks(to_json, from_json))
        self._require_clean = require_clean
        self._notice = notice or find_workspace_notice()
        self._inspect = inspect
        self._context = RunContext()
        self._opening: RunSession | None = None  # its hello is on its way, or answered
        self._find_lender: Callable[[], BaseStepper | None] = lambda: None  # whose run it joined
        self._is_borrowed = False  # the run is another stepper's, which ends it
        self._is_of_context = False  # the run is, or was, a context's: a cell's
        self._children = ChildAgents()

    # ---- opening ------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Find or open the run, without its start. Blocks."""
        if (lender := _open_runs.find_joinable_run(self)) is not None:
            self._join(lender)
        own_watch = self._open_watch(self.program_name, require_clean=self._require_clean)
        try:
            if self._context.session is None:
                self._open_session(self._location.find_endpoint(), self.program_name)
        except BaseException:
            if own_watch is not None:
                own_watch.close()
            raise
        if own_watch is not None:
            self._current_session().link.add_end_callback(own_watch.close)

    def _join(self, lender: BaseStepper) -> None:
        """Join a run that another stepper began and will end."""
        session, tracker = lender._current_session(), lender._context.workspace_tracker
        self._context = RunContext(session, tracker)
        self._find_lender = weakref.ref(lender)
        self._is_borrowed, self._is_of_context = True, lender._is_of_context
        self._encoder.max_message_bytes = lender._encoder.max_message_bytes
        if self._folder is not None and tracker and tracker.folder == self._folder.resolve():
            self._folder = None  # its changes are sent already

    def _open_watch(self, program: str, require_clean: bool = False) -> WorkspaceTracker | None:
        """Track the changes in this stepper's own folder; None without a folder or a Core."""
        session = self._context.session
        if self._folder is None or (session is not None and session.is_offline):
            return None
        workspace = Workspace(self._folder, program, require_clean=require_clean)
        self._context.workspace_tracker = WorkspaceTracker(workspace)
        return self._context.workspace_tracker

    def _open_session(
        self, where: CoreEndpoint, program: str, is_open_deferred: bool = False
    ) -> None:
        folder = None if self._folder is None else str(self._folder.resolve())
        session = RunSession(
            program,
            where,
            self._encoder,
            folder,
            self._on_disconnect,
            is_open_deferred,
            self._mode,
            self._notice,
            self._limits,
            self._inspect,
        )
        self._opening = session
        try:
            session.open()
            wait_result(session.link.opened)
        except BaseException as error:
            session.finish(error)  # an interrupt: it may open yet, and then says bye, once
            raise
        self._encoder.max_message_bytes = session.link.max_message_bytes
        self._context.session, self._context.flow = session, None
        _open_runs.add(self)
        weakref.finalize(self, session.finish).atexit = False

    def _start(self) -> Flow[None]:
        """Send the start of an own run; for a joined run, the arguments that differ from the run's."""
        first = self._initial_commit()
        if self._is_borrowed:
            return self._start_joined(first)
        stops = self._stop_on_entry and self._current_session().replay is None
        return self._flow().start(stops, first)

    def _start_joined(self, first: Commit | None) -> Flow[None]:
        if first is not None:
            yield from self._flow().commit(first)
        lender = self._find_lender()
        if lender is not None and (ignored := describe_ignored_arguments(self, lender)):
            yield from self._flow().post_debug_message(ignored)

    def _initial_commit(self) -> Commit | None:
        """The first commit of this stepper's own folder; a lender has sent the commit of its own."""
        tracker = self._context.workspace_tracker
        return None if tracker is None or self._folder is None else tracker.initial_commit()

    # ---- the run ------------------------------------------------------------------------------------

    @property
    def run_id(self) -> str:
        """The id of the stepper's run, as views and commands name it."""
        return self._current_session().run

    @property
    def workspace(self) -> Path | None:
        """The folder that the run works on, with links resolved; in a fork, the fork's own folder.

        None: the run has no workspace.
        """
        tracker = self._context.workspace_tracker
        return self._folder if tracker is None else tracker.folder

    def _is_open(self) -> bool:
        return self._context.session is not None and not self._context.session.is_ended

    def _is_closed(self) -> bool:
        return self._context.session is not None and self._context.session.is_ended

    def _find_run_of_call(self) -> BaseStepper | None:
        """The AgentStepper whose run a call of a wrapped function belongs to; None: no run is open.

        A cell's wrappers outlive its run: their calls halt in the run of the cell that makes the call.
        """
        if not self._is_of_context:
            return None if self._is_closed() else self
        context = _open_runs.find_context()
        return context or (_open_runs.find_current() if self._is_closed() else self)

    def _find_watched_workspace(self, folder: Path) -> Workspace | None:
        """The workspace of a folder whose changes are tracked already."""
        tracker = self._context.workspace_tracker
        return tracker.workspace if tracker and tracker.folder == folder.resolve() else None

    def _owns_run(self, run: str) -> bool:
        """Whether a run id names the run of this process."""
        session = self._context.session
        return session is not None and session.run == run and session.pid == os.getpid()

    def _current_session(self) -> RunSession:
        """The run of this process.

        Raises:
            RuntimeError: The run wasn't opened yet.
        """
        session = self._context.session
        if session is None:
            raise RuntimeError(
                "This AsyncAgentStepper isn't connected. Use `async with`, or `await "
                "AsyncAgentStepper.connect(…)`."
            )
        return session if session.pid == os.getpid() else self._reopen(session)

    def _reopen(self, parents: RunSession) -> RunSession:
        """Open a new run in a forked child; the parent process keeps its run."""
        lender = self._find_lender()
        if lender is not None and self._folder is None:  # it opens the child's
            self._join(lender)
            return self._context.session or parents
        with _reopening:
            session = self._context.session
            if session is not None and session.pid == os.getpid():
                return session
            if parents.is_ended:
                return parents
            program = f"{parents.program} (child {os.getpid()})"
            self._is_borrowed = False
            self._context.workspace_tracker = None
            own_watch = self._open_watch(program)
            # The Core may be away just now, as it may for any other halt point.
            self._open_session(parents.endpoint, program, is_open_deferred=parents.link.can_resume)
            session = self._current_session()
            if own_watch is not None:
                session.link.add_end_callback(own_watch.close)
            first = self._initial_commit()
            # Its first halt point halts anyway: one halt is enough.
            run_flow(session.link, self._flow().start(waits=False, commit=first))
            finish_with_multiprocessing()
            return session

    def _flow(self) -> HaltFlow:
        """The flows of the stepper's run, even after the run's end."""
        session, context = self._current_session(), self._context
        if context.flow is None:
            link, workspace_tracker = session.link, context.workspace_tracker
            flow = HaltFlow(session.run, session.program, self._encoder, session.events)
            flow.find_hash_key, flow.edit_rules = lambda: link.hash_key, link.edit_rules
            flow.replay = session.replay
            if workspace_tracker is not None and link.has_snapshots:
                flow.take_snapshot = partial(workspace_tracker.snapshot, link, flow)
            context.flow = flow
        return context.flow

    def _make_commit(self, summary: str, description: str) -> bool:
        """Commit the agent's changes, and send the commit. Blocks."""
        check_text("commit_summary", summary)
        check_text("commit_description", description)
        session, workspace_tracker = self._open_run(), self._context.workspace_tracker
        if workspace_tracker is None:
            log.warning("No changes to commit: this AgentStepper watches no workspace.")
            return False
        try:
            return workspace_tracker.commit(session.link, self._flow(), summary, description)
        except WorkspaceError:
            session.link.raise_if_ended()  # the end of a run ends the watch, too
            raise

    def _open_run(self) -> RunSession:
        """The stepper's run, while it is open.

        Raises:
            ConnectionLostError: The run is over.
        """
        session = self._current_session()
        session.link.raise_if_ended()
        return session

    def _open_flow(self) -> HaltFlow:
        """The flows of the stepper's open run; raises as `_open_run`."""
        self._current_session().link.raise_if_ended()
        return self._context.flow or self._flow()

    def seams(self) -> SeamReport:
        """Report which libraries' calls halt in this process without a change to the agent.

        Returns:
            A report that prints as a table. `seams` has each seam with its library's version,
            whether it is active, and if not, why. `tools` has each of the run's tools with the
            method that found it.

        Raises:
            RuntimeError: The stepper isn't connected yet.
        """
        return make_report(self._current_session().events.seams.tools)

    def agent(self, name: str) -> AbstractContextManager[object]:
        """Give all events inside of a block an agent's name: `with dbg.agent("researcher"):`.

        The timeline shows, filters and halts the events by that name. Agents of supported
        frameworks need no block. In `async` code, too, it is a plain `with`.

        Args:
            name: The agent's name.
        """
        check_text("name", name)
        return enter_agent(self._current_session().events.root, name)

    # ---- ending -------------------------------------------------------------------------------------

    def _timeline(self, timeout_s: float = TIMELINE_TIMEOUT_S) -> Timeline | None:
        """Read the timeline as `RunSession.read_timeline` does."""
        return self._current_session().read_timeline(timeout_s)

    def _call_close_callbacks(self, error: BaseException | None) -> None:
        """Call the close callbacks, if this stepper ends the run. Blocks.

        Args:
            error: The exception that ends the agent.
        """
        session = self._context.session
        if session is None or session.is_ended or self._is_borrowed or session.pid != os.getpid():
            return
        close_callbacks.call_callbacks(self, session.make_bye(error))

    def _finish(self, error: BaseException | None) -> Future[None] | None:
        """End the run, unless another stepper owns it; returns a future of the end."""
        if self._is_borrowed:
            return None
        if self._context.session is not None:
            return self._context.session.finish(error)
        if self._opening is not None:  # an interrupt: nobody waits until it is open
            self._opening.finish(error)
        return None

    def __repr__(self) -> str:
        session = self._context.session
        state = "not connected" if session is None else "closed" if session.is_ended else "open"
        return f"<{type(self).__name__} {self.program_name!r}, {state}>"


_open_runs: OpenRuns[BaseStepper] = OpenRuns()
set_current_stepper = _open_runs.set_current
find_current_stepper = _open_runs.find_current
find_context_stepper = _open_runs.find_context
