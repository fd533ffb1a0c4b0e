"""One run of one process: its identity, its link, and its end."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import sys
import weakref
from asyncio import CancelledError
from collections.abc import Callable
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from msgspec import UNSET

from .._version import __version__
from ..discover import CoreEndpoint
from ..errors import AgentStopped, ConnectionLostError, ProtocolError
from ..protocol.agent import Bye, GetTimeline, Hello, ProcessEnded, Timeline
from ..protocol.data_model import Failure, RunEnding, RunMode
from ..protocol.envelope import VERSION
from .connection_state import DEFAULT_LINK_LIMITS, LinkLimits, OnDisconnect
from .core_location import OFFLINE_URL
from .environment_replays import OpenedReplay, take_environment_replay
from .framework_signals import is_framework_signal
from .frozen_values import freeze, is_freezing
from .inspection import permission
from .payload import PayloadEncoder, escape_surrogates
from .record_payloads import pack_failure
from .replay_source import ReplaySource
from .run_events import RunEvents, make_id
from .run_link import RunLink
from .scopes import open_root, wrap_creation
from .seam_report import SeamReport, make_report
from .start_methods import take_start

log = logging.getLogger("agentstepper_nb.sdk")

#: Seconds that the interpreter's exit waits for a connected Core that doesn't accept the goodbye.
EXIT_TIMEOUT_S: Final = 2.0
#: Seconds that the exit waits for a Core that is away, or that still receives an agent's queued
#: messages; longer while the Core receives more of these.
DISCONNECTED_EXIT_TIMEOUT_S: Final = 10.0
#: Seconds to wait for the run's timeline.
TIMELINE_TIMEOUT_S: Final = 3.0


class RunSession:
    """A run, from its hello on. The run connects at once; `link.opened` has the outcome.

    Args:
        program: The program's name.
        endpoint: The Core's endpoint.
        encoder: Encodes values for sending.
        workspace: The folder that the agent works on.
        on_disconnect: The agent's behaviour where the Core goes away.
        is_open_deferred: Whether the Core may be away from the start, and is known to speak version 2.
        mode: The mode that the run begins in.
        notice: A warning about the whole run; "": no warning.
        limits: Limits of the bytes that wait for the Core, and of the goodbye's time.
        is_inspection_allowed: Whether people who control the run may inspect the agent's stack; None:
            the environment decides, else whether the Core is on this machine.
    """

    def __init__(
        self,
        program: str,
        endpoint: CoreEndpoint,
        encoder: PayloadEncoder,
        workspace: str | None = None,
        on_disconnect: OnDisconnect = "wait",
        is_open_deferred: bool = False,
        mode: RunMode = RunMode.STEP,
        notice: str = "",
        limits: LinkLimits = DEFAULT_LINK_LIMITS,
        is_inspection_allowed: bool | None = None,
    ) -> None:
        self.program = escape_surrogates(program)
        self.workspace = workspace
        self.encoder = encoder
        self.run = _next_run_ids.pop() if _next_run_ids else make_id()
        self.pid = os.getpid()
        self.events = RunEvents(self.run, open_root())
        self._end_token = [
            False
        ]  # popped by whoever ends it; one operation, so that no lock is needed
        replay = _take_replay(self.program)
        hello = Hello(
            version=VERSION,
            sdk=f"agentstepper_nb {__version__}",
            program=self.program,
            run=self.run,
            secret=secrets.token_urlsafe(32),
            pid=self.pid,
            host=socket.gethostname(),
            boot=_boot_id(),
            workspace=None if workspace is None else escape_surrogates(workspace),
            mode=mode if replay.source is None else RunMode.CONTINUE,
            can_reconnect=on_disconnect != "raise",
            can_check_edits=True,
            can_stick_edits=True,
            inspects=permission.is_inspection_allowed(is_inspection_allowed, endpoint),
            samples=True,
            shares_connection=True,
            wants_hash_key=True,
            start=take_start() or UNSET,
            forked_from=replay.origin or UNSET,
            notice=escape_surrogates(notice),
        )
        #: Answers the run's events, where it is a replay.
        self.replay = replay.source
        self.link = RunLink(
            endpoint,
            hello,
            on_disconnect,
            is_open_deferred,
            limits,
            encoder,
            self.events.root.live,
        )

    def open(self) -> None:
        """Begin to connect. From here on the interpreter's exit says bye."""
        wrap_creation()
        if is_freezing() and self.events.root.frozen is None:
            seed = self.run if self.replay is None else self.replay.origin.run
            freeze(self.events.root, self.run, seed)
        _sessions.add(self)
        _last_opened[:] = [(self.run, self.workspace)]
        self.link.open()

    @property
    def is_offline(self) -> bool:
        """Whether the run is recorded and shown nowhere."""
        return self.endpoint.url == OFFLINE_URL

    @property
    def endpoint(self) -> CoreEndpoint:
        """The Core's endpoint, or its last one."""
        return self.link.endpoint

    @property
    def is_ended(self) -> bool:
        """Whether this side has ended the run."""
        return not self._end_token

    def finish(self, error: BaseException | None = None) -> Future[None] | None:
        """End the run with a bye that states the outcome. Idempotent, and safe in a garbage collection.

        Args:
            error: The exception that ends the agent.

        Returns:
            A future for when the connection is closed; None in a process that isn't the run's.
        """
        if self.pid != os.getpid():
            return None
        try:
            self._end_token.pop()
        except IndexError:
            return self.link.closed
        self.events.root.is_closed = True
        _ending.add(self)
        self.link.close(self.make_bye(error))
        self.link.add_end_callback(partial(_ending.discard, self))
        return self.link.closed

    def make_bye(self, error: BaseException | None) -> Bye:
        """Make the message that states how the run ended.

        Args:
            error: The exception that ends the agent.
        """
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            return Bye(ending=RunEnding.FINISHED)
        if is_framework_signal(error):
            return Bye(ending=RunEnding.FINISHED)
        if _is_end_request(error):
            return Bye(ending=RunEnding.STOPPED)
        return Bye(ending=RunEnding.CRASHED, failure=self._failure(error))

    def read_timeline(self, timeout_s: float = TIMELINE_TIMEOUT_S) -> Timeline | None:
        """Read the run's timeline from its Core, after all messages that were sent before. Blocks.

        Args:
            timeout_s: Seconds to wait for the timeline.

        Returns:
            The timeline; None where the Core is of version 1, gone, too slow, or refuses.
        """
        id = make_id()
        try:
            return self.link.request(GetTimeline(), id).result(timeout_s)
        except (ConnectionLostError, ProtocolError, TimeoutError) as error:
            log.info("The timeline of run %s could not be read: %r", self.run, error)
            return None
        finally:
            self.link.forget(id)

    def report_child_exit(self, pid: int, code: int) -> None:
        """Report a child process's exit to the Core: its own run may have had no time to do so.

        Args:
            pid: The id of the process.
            code: The exit code, negative where a signal ended the process.
        """
        with suppress(ConnectionLostError):  # the run is over: nobody can be told
            self.link.send((ProcessEnded(pid=pid, code=code),))

    def _failure(self, error: BaseException) -> Failure:
        try:
            return pack_failure(self.encoder, error)
        except Exception:  # the agent's redact=; the goodbye must not fail by it
            return Failure(type=type(error).__name__, message="")


def _is_end_request(error: BaseException) -> bool:
    """Whether an exception is an order to end, and nothing went wrong: also of several tasks at once."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_end_request(each) for each in error.exceptions)
    return isinstance(error, AgentStopped | KeyboardInterrupt | CancelledError | GeneratorExit)


def set_next_run_id(id: str) -> None:
    """Give the next run of this process an id that was chosen before; the Core accepts an id once.

    Args:
        id: A UUIDv7.
    """
    _next_run_ids.append(id)


def set_next_replay(source: ReplaySource) -> Callable[[], None]:
    """Let the next run of this process be a replay.

    Args:
        source: Answers the run's events.

    Returns:
        A function that undoes this call, unless a run has begun meanwhile.
    """
    _next_replays[:] = [source]
    return _next_replays.clear


def _take_replay(program: str) -> OpenedReplay:
    """Take the replay that the run which begins is to execute."""
    if _next_replays:
        source = _next_replays.pop()
        return OpenedReplay(source, source.origin)
    return take_environment_replay(program)


_next_run_ids: list[str] = []
_next_replays: list[ReplaySource] = []
_sessions: weakref.WeakSet[RunSession] = weakref.WeakSet()
#: Sessions that say goodbye: the exit waits for them, even if no other code refers to them.
_ending: set[RunSession] = set()


def find_newest_run() -> str | None:
    """The id of the run that this process opened last, if it still has one."""
    # Ids are UUIDv7, so that the greatest is the newest.
    return max((session.run for session in list(_sessions)), default=None)


#: The id of the run that was opened last, ended or not, and its workspace.
_last_opened: list[tuple[str, str | None]] = []


def find_last_run() -> tuple[str, str | None] | None:
    """The id and the workspace of the run that this process opened last, ended or not."""
    return _last_opened[0] if _last_opened else None


def find_newest_program() -> str | None:
    """The program of the run that `find_newest_run` names."""
    newest = max(list(_sessions), key=lambda session: session.run, default=None)
    return None if newest is None else newest.program


def make_newest_report() -> SeamReport:
    """The seams of this process, with the tools of the run that `find_newest_run` names."""
    newest = max(list(_sessions), key=lambda session: session.run, default=None)
    return make_report(() if newest is None else newest.events.seams.tools)


def finish_all_runs(
    timeout_s: float = EXIT_TIMEOUT_S,
    disconnected_timeout_s: float = DISCONNECTED_EXIT_TIMEOUT_S,
) -> None:
    """End the open runs at the interpreter's exit, and wait a moment for the goodbyes.

    Args:
        timeout_s: Seconds to wait for a connected Core that doesn't accept the goodbye.
        disconnected_timeout_s: Seconds to wait, in total, for a Core that is away, or that still
            receives an agent's queued messages.
    """
    error = _find_uncaught_error()
    links: list[RunLink] = []
    for session in list(_sessions):
        session.link.mark_exiting()
        if session.finish(error) is not None:
            links.append(session.link)
    before = {link: link.undelivered_count for link in links}
    wait([link.closed for link in links], timeout_s)
    slow = [link for link in links if link.is_disconnected or link.undelivered_count < before[link]]
    while slow:
        before = {link: link.undelivered_count for link in slow}
        wait([link.closed for link in slow], disconnected_timeout_s - timeout_s)
        slow = [
            link
            for link in slow
            if not link.closed.done() and link.undelivered_count < before[link]
        ]
    for link in links:
        if not link.closed.done():
            link.give_up()
        link.report_undelivered()


def finish_with_multiprocessing() -> None:
    """Say goodbye where multiprocessing leaves a forked child: it skips the interpreter's own exit."""
    if "multiprocessing.util" in sys.modules:
        sys.modules["multiprocessing.util"].Finalize(None, finish_all_runs, exitpriority=0)


def _find_uncaught_error() -> BaseException | None:
    """The exception that ended the program, if any. IPython stores exceptions that ended nothing."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        return None
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
