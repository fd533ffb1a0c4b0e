"""`dbg.spawn`: runs an agent in a child process and prints the child's output here."""

from __future__ import annotations

import asyncio
import atexit
import os
import shlex
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import wait as wait_for
from functools import partial
from typing import Any, Final, TypeVar

from ..discover import CoreEndpoint
from . import child_process
from .child_output import copy_output
from .drivers import run_in_thread, wait_result
from .environment import make_environment
from .start_methods import make_command_start, put_start

#: Seconds that a child has, one after the other, to end by itself (an interrupt of this process may
#: have interrupted it as well), by SIGINT, and by SIGTERM. `%%step` gives an interrupted cell three.
_SELF_EXIT_S: Final = 0.5
_SIGNALS: Final = ((signal.SIGINT, 1.0), (signal.SIGTERM, 1.0))
#: Seconds that a child's output is read after its end, while processes that it started keep it open.
_DRAIN_S: Final = 1.0
_POLL_S: Final = 1.0


class ChildAgent:
    """A child process that runs an agent. Wait for it with `SyncChildAgent` or `AsyncChildAgent`.

    Args:
        process: The process; its output is not read yet.
        name: The child's name in messages.
        report_exit: Called with the process id and the exit code when the process has ended, on a
            thread.
    """

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        name: str,
        report_exit: Callable[[int, int], None] = lambda pid, code: None,
    ) -> None:
        self._process = process
        self._name = name
        self._report_exit = report_exit
        self._parent = os.getpid()
        self._ended: Future[int] = Future()
        self._ended.set_running_or_notify_cancel()  # an awaiting task that gives up can't cancel it
        _children.add(self)  # its threads keep it alive
        threading.Thread(
            target=self._reap, args=(copy_output(process),), name="agentstepper-child", daemon=True
        ).start()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        """The exit code; negative if a signal ended the process; None while the process runs."""
        return self._ended.result() if self._ended.done() else None

    @property
    def is_running(self) -> bool:
        """Whether the process is a child of this process and runs."""
        return self._parent == os.getpid() and not self._ended.done()

    def terminate(self) -> None:
        """Ask the process to end, by SIGTERM. Does nothing once it has ended."""
        self._send(signal.SIGTERM)

    def kill(self) -> None:
        """End the process at once, by SIGKILL. Does nothing once it has ended."""
        self._send(signal.SIGKILL)

    def _send(self, number: int) -> None:
        if self.is_running:
            self._process.send_signal(number)

    def _reap(self, output: threading.Thread) -> None:
        code = self._process.wait()
        output.join(_DRAIN_S)
        self._report_exit(self.pid, code)
        self._ended.set_result(code)

    def _late(self, timeout: float | None) -> TimeoutError:
        return TimeoutError(
            f"{self._name} (pid {self.pid}) still runs after {timeout or 0:g} seconds. "
            "Wait again, or end the process with terminate()."
        )

    def __repr__(self) -> str:
        code = self.returncode
        state = "runs" if code is None else f"ended with {code}"
        return f"<{type(self).__name__} {self._name!r}, pid {self.pid}, {state}>"


class SyncChildAgent(ChildAgent):
    """A child process that `AgentStepper.spawn` started."""

    def wait(self, timeout: float | None = None) -> int:
        """Wait until the process has ended and its output has been printed.

        An exception that interrupts the wait (KeyboardInterrupt, AgentStopped) ends the child: if
        it doesn't end by itself, it gets SIGINT, a second later SIGTERM, then SIGKILL. A second
        interrupt kills it.

        Args:
            timeout: The most seconds to wait; None: without limit. The child goes on after a
                timeout.

        Returns:
            The exit code; negative if a signal ended the process.

        Raises:
            TimeoutError: The process still runs.
        """
        try:
            if timeout is None:
                return wait_result(self._ended)
            over = _wait_until_ended([self], timeout)
        except BaseException:
            end_children([self])
            raise
        if not over:
            raise self._late(timeout)
        return self._ended.result()


class AsyncChildAgent(ChildAgent):
    """A child process that `AsyncAgentStepper.spawn` started; `await child` waits for its end."""

    async def wait(self, timeout: float | None = None) -> int:
        """Wait as `SyncChildAgent.wait` does; cancelling the waiting task ends the child, too."""
        try:
            return await asyncio.wait_for(asyncio.wrap_future(self._ended), timeout)
        except TimeoutError:
            raise self._late(timeout) from None
        except GeneratorExit:
            raise
        except BaseException:
            await run_in_thread(partial(end_children, [self]))
            raise

    def __await__(self) -> Generator[Any, None, int]:
        return self.wait().__await__()


def start_child(
    endpoint: CoreEndpoint,
    argv: Sequence[str | os.PathLike[str]],
    name: str | None,
    cwd: str | os.PathLike[str] | None,
    env: Mapping[str, str] | None,
) -> tuple[subprocess.Popen[bytes], str]:
    """Start a program as an agent of a Core; returns its process and name. Errors as `spawn`'s."""
    if isinstance(argv, str | bytes | os.PathLike):
        raise TypeError(
            "argv must be a list, since no shell splits a text. Pass [sys.executable, "
            f"{os.fspath(argv)!r}], for example."
        )
    program = [os.fspath(word) for word in argv]
    if not program:
        raise ValueError("argv is empty. Pass the program to run as its first item.")
    environment = make_environment({**os.environ, **(env or {})}, endpoint, name)
    # A Python that writes into a pipe keeps its output back until it is a lot, or the end.
    environment.setdefault("PYTHONUNBUFFERED", "1")
    folder = None if cwd is None else os.fspath(cwd)
    environment = put_start(environment, make_command_start(program, folder, env or (), name=name))
    return child_process.start_process(program, folder, environment), name or shlex.join(program)


# ---- ending -----------------------------------------------------------------------------------------


def end_children(children: Iterable[ChildAgent]) -> None:
    """End children as an interrupt does, and wait for their ends; a second interrupt kills them."""
    running = [child for child in children if child.is_running]
    try:
        if _wait_until_ended(running, _SELF_EXIT_S):
            return
        for number, timeout_s in _SIGNALS:
            for child in running:
                child._send(number)
            if _wait_until_ended(running, timeout_s):
                return
    finally:
        for child in running:
            child.kill()
    _wait_until_ended(running)


def _wait_until_ended(children: Sequence[ChildAgent], timeout_s: float | None = None) -> bool:
    """Wait until children have ended, open to interrupts; whether all ended within the timeout."""
    waiting = {child._ended for child in children}
    until = None if timeout_s is None else time.monotonic() + timeout_s
    while waiting:
        left = _POLL_S if until is None else min(_POLL_S, until - time.monotonic())
        if left <= 0:
            return False
        waiting = wait_for(waiting, left).not_done
    return True


_children: weakref.WeakSet[ChildAgent] = weakref.WeakSet()

# Before the SDK's own handler, which was registered before: the runs of this process end after them.
atexit.register(lambda: end_children(list(_children)))


C = TypeVar("C", bound=ChildAgent)


class ChildAgents:
    """The child processes that an AgentStepper started: they end before its run does."""

    def __init__(self) -> None:
        self._all: list[ChildAgent] = []

    def add(self, child: C) -> C:
        """Add a child, and forget the children that have ended."""
        self._all = [*(each for each in self._all if each.is_running), child]
        return child

    def join(self, error: BaseException | None) -> None:
        """Wait for all children; end them if an exception ends the agent, before or during the wait.

        Args:
            error: The exception.
        """
        running = [
            child for child in self._all if child.is_running and isinstance(child, SyncChildAgent)
        ]
        try:
            for child in running if error is None else ():
                child.wait()
        finally:
            end_children(running)

    async def ajoin(self, error: BaseException | None) -> None:
        """The asynchronous form of `join`."""
        running = [
            child for child in self._all if child.is_running and isinstance(child, AsyncChildAgent)
        ]
        try:
            for child in running if error is None else ():
                await child.wait()
        finally:
            if any(child.is_running for child in running):
                await run_in_thread(partial(end_children, running))
