"""Limits how long a cell blocks the main thread if the kernel's Core couldn't receive view messages."""

from __future__ import annotations

import threading
from typing import Final

from ..cli.core_connection import ConnectionEvent, CoreConnected, CoreMessageReceived
from ..protocol import ui
from ..protocol.data_model import Run
from ..widgets.kernel_capabilities import KernelCapabilities
from ..widgets.kernel_core import KernelCore
from .local_connection import LocalConnection

#: Seconds after the first halt in which a view must have been heard on a thread of its own.
VIEW_TIMEOUT_S: float = 5.0

_NO_SUBSHELLS: Final = (
    "This cell continues in the background, since {kernel} can't receive messages of the "
    "view while a cell waits (ipykernel 7.1 and newer can). Step or stop the cell in the "
    "view."
)
_NO_VIEW: Final = (
    "This cell continues in the background, since no view answered while the cell "
    "waited. Step or stop the cell in the view, or with %agentstepper --input."
)


class ViewWait:
    """Waits for a cell, until it is certain that no view can answer the cell's halt point.

    Args:
        core: The Core in this kernel.
        run: The cell's run.
        capabilities: The kernel's capabilities.
    """

    def __init__(self, core: KernelCore, run: str, capabilities: KernelCapabilities) -> None:
        self._core = core
        self._run = run
        self._capabilities = capabilities
        self._messages_before = core.subshell_message_count
        self._halted = False  # once
        self._done = threading.Event()
        #: The message for the person after `wait` returned before the cell's end; empty at its end.
        self.detach_reason = ""
        self._link = LocalConnection(core, self._handle)

    def wait(self) -> None:
        """Wait for the cell's end, or until waiting is of no use."""
        try:
            self._done.wait()
        finally:
            self._link.close()

    def notify_ended(self) -> None:
        """Handle the cell's end. From any thread."""
        self._done.set()

    # ---- on the Core's loop -------------------------------------------------------------------------

    def _handle(self, event: ConnectionEvent) -> None:
        match event:
            case CoreConnected(hello=hello):
                for run in hello.runs:
                    self._check_run(run)
            case CoreMessageReceived(message=ui.RunChanged(run=run)):
                self._check_run(run)

    def _check_run(self, run: Run) -> None:
        if run.id != self._run or not run.pending or self._halted:
            return
        self._halted = True
        if not self._capabilities.subshells:
            self._give_up(_NO_SUBSHELLS.format(kernel=self._capabilities.name))
        else:
            self._core.loop.call_later(VIEW_TIMEOUT_S, self._check)

    def _check(self) -> None:
        if self._core.subshell_message_count == self._messages_before:
            self._give_up(_NO_VIEW)

    def _give_up(self, notice: str) -> None:
        if not self._done.is_set():
            self.detach_reason = notice
            self._done.set()
