"""A Core inside this process: for a kernel whose Jupyter server has none.

It is the standalone Core without a port for UIs: views reach it by comm, through `kernel_widget`. Runs
are in the kernel's memory and gone with it.
"""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from typing import Final

from ..discover import AGENT_TOKEN_VARIABLE, CONTROL_TOKEN_VARIABLE, URL_VARIABLE, CoreEndpoint
from ..hub import AccessRights, AgentStepperCore, Connection, PeerSession
from ..protocol.data_model import Run

#: Why there is one, in words for a person; the view shows them.
REASON_NO_SERVER: Final = (
    "This kernel's Jupyter server has no AgentStepper Core, so one runs in the kernel."
)
REASON_REQUESTED: Final = "A Core was requested in the kernel, so one runs there."

#: Its own, so that what the Core notes goes to who set up logging, and not below some cell.
_log = logging.getLogger("agentstepper_nb.kernel_core")
_log.addHandler(logging.NullHandler())


class KernelCore:
    """The Core of this process, which listens to agents on the loopback address.

    Args:
        reason: Why it is here, in words for a person.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self._core = AgentStepperCore("127.0.0.1", client_port=0, ui_port=None, logger=_log)
        self._core.start()
        self._subshell_message_count = 0

    @property
    def endpoint(self) -> CoreEndpoint:
        """Where agents reach it, and the agent token."""
        return CoreEndpoint(self._core.url(self._core.client_port), self._core.tokens.agent)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """Its event loop, which runs on a thread of its own.

        Raises:
            RuntimeError: It was stopped.
        """
        return self._core.loop

    @property
    def subshell_message_count(self) -> int:
        """How many messages of views came on another thread than the main one, which may be blocked."""
        return self._subshell_message_count

    def runs(self) -> list[Run]:
        """The headers of all runs, oldest first. From any thread but the loop's."""

        async def read() -> list[Run]:
            return self._core.hub.runs()

        return asyncio.run_coroutine_threadsafe(read(), self.loop).result()

    def export(self, run_id: str) -> bytes:
        """A run's `.run` file. From any thread but the loop's.

        Raises:
            CommandError: There is no such run.
        """

        async def read() -> bytes:
            return (await self._core.hub.export(run_id))[1]

        return asyncio.run_coroutine_threadsafe(read(), self.loop).result()

    def connect_view(self, connection: Connection) -> PeerSession:
        """Bring in a UI of version 2, which may control. To be called on the loop.

        Args:
            connection: Where the Core's messages go.
        """
        return self._core.hub.connect_view(connection, 2, AccessRights())

    def record_view_message(self) -> None:
        """Note that a view's message came, on this thread."""
        if threading.current_thread() is not threading.main_thread():
            self._subshell_message_count += 1

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._core.stop()


_running: KernelCore | None = None
_lock = threading.Lock()


def get_kernel_core() -> KernelCore | None:
    """This process's Core, where it has one."""
    return _running


def start_kernel_core(reason: str = REASON_REQUESTED) -> KernelCore:
    """This process's Core, started where it has none. It ends with the process.

    What looks for a Core from now on finds this one, processes that are started from here included:
    its address and the agent token are put into the environment. The control token stays in this
    process.

    Args:
        reason: Why it is wanted, in words for a person.
    """
    global _running
    with _lock:
        if _running is None:
            _running = KernelCore(reason)
            found = _running.endpoint
            os.environ[URL_VARIABLE] = found.url
            os.environ[AGENT_TOKEN_VARIABLE] = found.token or ""
            os.environ.pop(CONTROL_TOKEN_VARIABLE, None)  # another Core's
        return _running


def close_kernel_core() -> None:
    """Stop this process's Core and take it out of the environment. Its runs are gone."""
    global _running
    with _lock:
        core, _running = _running, None
        if core is None:
            return
        own = core.endpoint
        # Each by itself: the token must not go to a Core that somebody has named since.
        for variable, value in ((URL_VARIABLE, own.url), (AGENT_TOKEN_VARIABLE, own.token)):
            if os.environ.get(variable) == value:
                del os.environ[variable]
        core.stop()


def _leave_to_parent() -> None:
    """In a forked child: the Core, its thread and its runs are the parent's."""
    global _running, _lock
    _running = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_leave_to_parent)
