"""One run of one process: who it is, its link, and how it ends."""

from __future__ import annotations

import os
import secrets
import socket
import sys
import weakref
from asyncio import CancelledError
from concurrent.futures import Future, wait
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Final

from .._version import __version__
from ..discover import CoreEndpoint
from ..errors import AgentStopped, ConnectionLostError
from ..protocol.agent import Bye, Hello, ProcessEnded
from ..protocol.frame import VERSION
from ..protocol.values import Failure, RunEnding, RunMode
from .connection_state import OnDisconnect
from .halt_flow import make_id
from .payload import PayloadEncoder, escape_surrogates
from .run_link import RunLink
from .run_protocol import GOODBYE_PATIENCE

#: Seconds that leaving the interpreter may wait for a Core that is there, but takes no goodbye.
EXIT_PATIENCE: Final = 2.0
#: Seconds that close() may wait for the Core, and the interpreter's exit for one that is away, or has
#: yet to take what an agent told that went on; longer while it takes more of that.
CLOSE_PATIENCE: Final = GOODBYE_PATIENCE
#: Seconds that who wants the run's timeline may wait for it.
TIMELINE_PATIENCE: Final = 3.0


class RunSession:
    """A run, from its hello on. It begins to connect at once; `link.opened` tells how that went.

    Args:
        program: The program's name.
        endpoint: Where the Core is.
        packer: Makes values ready to travel.
        workspace: The folder the agent works on.
        on_disconnect: What to do where the Core goes away.
        patient: Whether it may be away from the start, and is known to speak version 2.
        mode: How the run begins.
        notice: What a person must know of the whole run; "" is nothing.
    """

    def __init__(
        self,
        program: str,
        endpoint: CoreEndpoint,
        packer: PayloadEncoder,
        workspace: str | None = None,
        on_disconnect: OnDisconnect = "wait",
        patient: bool = False,
        mode: RunMode = RunMode.STEP,
        notice: str = "",
    ) -> None:
        self.program = escape_surrogates(program)
        self.packer = packer
        self.run = make_id()
        self.pid = os.getpid()
        self._ended = [False]  # popped by whoever ends it; one operation, so that no lock is needed
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
            mode=mode,
            returns=on_disconnect != "raise",
            checks=True,
            shares=True,
            notice=escape_surrogates(notice),
        )
        self.link = RunLink(endpoint, hello, on_disconnect, patient)

    def open(self) -> None:
        """Begin to connect. From here on the interpreter's exit says bye."""
        _sessions.add(self)
        self.link.open()

    @property
    def endpoint(self) -> CoreEndpoint:
        """Where its Core is, or was last."""
        return self.link.endpoint

    @property
    def ended(self) -> bool:
        """Whether this side has ended it."""
        return not self._ended

    def finish(self, error: BaseException | None = None) -> Future[None] | None:
        """End the run: say bye, and how it ended. Idempotent, and safe in a garbage collection.

        Args:
            error: The exception that ends the agent.

        Returns:
            A future for when the connection is closed; None in a process that isn't the run's.
        """
        if self.pid != os.getpid():
            return None
        try:
            self._ended.pop()
        except IndexError:
            return self.link.closed
        _ending.add(self)
        self.link.close(self.bye(error))
        self.link.at_end(partial(_ending.discard, self))
        return self.link.closed

    def bye(self, error: BaseException | None) -> Bye:
        """How the run says that it ends.

        Args:
            error: The exception that ends the agent.
        """
        if error is None or (isinstance(error, SystemExit) and error.code in (None, 0)):
            return Bye(ending=RunEnding.FINISHED)
        if _is_order(error):
            return Bye(ending=RunEnding.STOPPED)
        return Bye(ending=RunEnding.CRASHED, failure=self._failure(error))

    def report_end(self, pid: int, code: int) -> None:
        """Tell the Core how a child process ended, whose own run may have had no time to say so.

        Args:
            pid: The process.
            code: Its exit code, negative where a signal ended it.
        """
        with suppress(ConnectionLostError):  # the run is over: nobody can be told
            self.link.send((ProcessEnded(pid=pid, code=code),))

    def _failure(self, error: BaseException) -> Failure:
        try:
            return self.packer.failure(error)
        except Exception:  # the agent's redact=; the goodbye must not fail by it
            return Failure(type=type(error).__name__, message="")


def _is_order(error: BaseException) -> bool:
    """Whether an exception is an order to end, and nothing went wrong: also of several tasks at once."""
    if isinstance(error, BaseExceptionGroup):
        return all(_is_order(each) for each in error.exceptions)
    return isinstance(error, AgentStopped | KeyboardInterrupt | CancelledError | GeneratorExit)


_sessions: weakref.WeakSet[RunSession] = weakref.WeakSet()
#: Those that say goodbye: the exit waits for them, also where nobody else knows them any more.
_ending: set[RunSession] = set()


def find_newest_run() -> str | None:
    """The id of the run that this process opened last, if it still has one."""
    # Ids are UUIDv7, so that the greatest is the newest.
    return max((session.run for session in list(_sessions)), default=None)


def find_newest_program() -> str | None:
    """The program of the run that `find_newest_run` names."""
    newest = max(list(_sessions), key=lambda session: session.run, default=None)
    return None if newest is None else newest.program


def finish_all_runs() -> None:
    """At interpreter exit: end the runs that are still open, and wait a moment for the goodbyes."""
    error = _uncaught()
    links: list[RunLink] = []
    for session in list(_sessions):
        session.link.exiting()
        if session.finish(error) is not None:
            links.append(session.link)
    before = {link: link.undelivered for link in links}
    wait([link.closed for link in links], EXIT_PATIENCE)
    slow = [link for link in links if link.away or link.undelivered < before[link]]
    while slow:
        before = {link: link.undelivered for link in slow}
        wait([link.closed for link in slow], CLOSE_PATIENCE - EXIT_PATIENCE)
        slow = [link for link in slow if not link.closed.done() and link.undelivered < before[link]]
    for link in links:
        if not link.closed.done():
            link.cut()
        link.report_undelivered()


def _uncaught() -> BaseException | None:
    """What ended the program, where an exception did. IPython keeps exceptions that ended nothing."""
    if "IPython" in sys.modules and sys.modules["IPython"].get_ipython() is not None:
        return None
    return getattr(sys, "last_exc", None) or getattr(sys, "last_value", None)


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        return ""
