"""`KernelCore`: a Core inside of the kernel's process, if the kernel's Jupyter server has none.

It is the standalone Core without a port for UIs: views reach it by comm, through `kernel_widget`.
Runs are held in the kernel's memory and are lost with it.
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

#: Reasons for a Core in the kernel, for a person; the view shows them.
REASON_NO_SERVER: Final = (
    "This kernel's Jupyter server has no AgentStepper Core, so one runs in the kernel."
)
REASON_REQUESTED: Final = "A Core was requested in the kernel, so one runs there."

#: A logger of its own: the Core's records go to configured logging, and not to a cell's output.
_log = logging.getLogger("agentstepper_nb.kernel_core")
_log.addHandler(logging.NullHandler())


class KernelCore:
    """The Core of this process, which listens to agents on the loopback address.

    Args:
        reason: Why the Core was started, in words for a person.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self._core = AgentStepperCore("127.0.0.1", client_port=0, ui_port=None, logger=_log)
        self._core.start()
        self._subshell_message_count = 0

    @property
    def endpoint(self) -> CoreEndpoint:
        """The address for agents, and the agent token."""
        return CoreEndpoint(self._core.url(self._core.client_port), self._core.tokens.agent)

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The Core's event loop, which runs on a thread of its own.

        Raises:
            RuntimeError: The Core was stopped.
        """
        return self._core.loop

    @property
    def subshell_message_count(self) -> int:
        """The number of view messages received outside the main thread, which may be blocked."""
        return self._subshell_message_count

    def runs(self) -> list[Run]:
        """Return the headers of all runs, oldest first. Call it from any thread but the loop's."""

        async def read() -> list[Run]:
            return self._core.hub.runs()

        return asyncio.run_coroutine_threadsafe(read(), self.loop).result()

    def export(self, run_id: str) -> bytes:
        """Return a run's `.run` file. Call it from any thread but the loop's.

        Raises:
            CommandError: The run doesn't exist.
        """

        async def read() -> bytes:
            return (await self._core.hub.export(run_id))[1]

        return asyncio.run_coroutine_threadsafe(read(), self.loop).result()

    def connect_view(self, connection: Connection) -> PeerSession:
        """Connect a UI of version 2 that may control runs. Call it on the loop.

        Args:
            connection: Sends the Core's messages to the UI.
        """
        return self._core.hub.connect_view(connection, 2, AccessRights())

    def record_view_message(self) -> None:
        """Count a view's message if this thread isn't the main one."""
        if threading.current_thread() is not threading.main_thread():
            self._subshell_message_count += 1

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._core.stop()


_running: KernelCore | None = None
_lock = threading.Lock()


def get_kernel_core() -> KernelCore | None:
    """Return this process's Core; None if it has none."""
    return _running


def start_kernel_core(reason: str = REASON_REQUESTED) -> KernelCore:
    """Return this process's Core, and start it if there is none. The Core ends with the process.

    Discovery finds this Core from now on, also in processes that are started from here: the Core's
    address and the agent token are set in the environment. The control token stays in this process.

    Args:
        reason: Why the Core is needed, in words for a person.
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
    """Stop this process's Core and remove it from the environment. Its runs are lost."""
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
    """Forget the Core in a forked child: its thread and its runs belong to the parent."""
    global _running, _lock
    _running = None
    _lock = threading.Lock()


os.register_at_fork(after_in_child=_leave_to_parent)
