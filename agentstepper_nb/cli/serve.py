"""`agentstepper serve`: a debugger of its own, without Jupyter."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import sys
import threading
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from .. import discover
from ..errors import CommandError, ProtocolError, StoreError
from ..hub import AgentStepperCore, Keep
from ..protocol.values import Run
from ..store import archive
from . import FAILED, OK, USAGE
from .log_lines import log_to_stderr
from .options import OptionError, Options, gather

_GLANCE: Final = 1.0  # seconds


def run(given: Namespace) -> int:
    """Run the command.

    Args:
        given: What the command line set, and nothing else.

    Returns:
        The exit code.
    """
    try:
        options = gather(given)
        core = _core(options)
    except (OptionError, ValueError) as error:
        return _fail(str(error), USAGE)
    with _told_to_stop() as stop:
        if options.until_eof:
            threading.Thread(target=_wait_for_eof, args=(stop,), daemon=True).start()
        return _serve(core, options, stop)


def _serve(core: AgentStepperCore, options: Options, stop: threading.Event) -> int:
    try:
        core.start()
    except StoreError as error:
        return _fail(str(error), FAILED)
    except OSError as error:
        return _fail(_why(error, core), FAILED)
    try:
        for path in options.runs:
            _import(core, Path(path), stop)
        assert core.ui_port is not None
        announcement = discover.write_runtime_file(
            url=core.url(core.client_port),
            ui_url=core.url(core.ui_port),
            data_dir=_folder(options),
            name="agentstepper serve",
        )
        print(f"agents: {core.url(core.client_port)}")
        print(f"UIs:    {core.url(core.ui_port)}", flush=True)
        _wait(stop)
        discover.remove_runtime_file(announcement)
    except (CommandError, ProtocolError, OSError) as error:
        return _fail(str(error), FAILED)
    finally:
        core.stop()
    return OK


def _core(options: Options) -> AgentStepperCore:
    _log(options.log_level)
    return AgentStepperCore(
        options.host,
        options.client_port,
        options.ui_port,
        options.model,
        data=_folder(options),
        token=options.token,
        control_token=options.control_token,
        ui_origins=options.ui_origin,
        durability=options.durability,
        keep=Keep(options.keep_days, options.keep_gib),
        worker=options.worker,
        worker_token=options.worker_token,
        runtime_store=options.runtime_store,
        what="agentstepper serve",
    )


def _folder(options: Options) -> Path:
    return Path(options.data) if options.data else discover.data_dir()


def _log(level: str) -> None:
    log_to_stderr(level, "%(asctime)s %(levelname)s %(message)s")
    logging.getLogger("websockets").setLevel(max(logging.WARNING, logging.root.level))


class _Stopped(Exception):
    """A signal came while files were read."""


def _import(core: AgentStepperCore, path: Path, stop: threading.Event) -> None:
    """List a run's file, unless the data folder has it from an earlier start.

    A file that can't be read is no reason not to start: a warning says which, and why.
    """

    def check() -> None:
        if stop.is_set():
            raise _Stopped

    try:
        history = archive.load_any(archive.read(path), core.hub.new_id(), check=check)
        if _is_listed(history.run, core):
            core.log.info("%s is listed already", path)
        else:
            core.import_history(history)
    except (ProtocolError, OSError) as error:
        core.log.warning("%s is not listed: %s", path, error)
    except _Stopped:
        core.log.info("%s is not listed: the Core stops", path)


def _is_listed(run: Run, core: AgentStepperCore) -> bool:
    """Whether a run of this program, name and start is listed; imports get a new id each time."""

    async def runs() -> list[Run]:
        return core.hub.runs()

    listed = asyncio.run_coroutine_threadsafe(runs(), core.loop).result()
    return any(
        (each.program, each.name, each.started_at) == (run.program, run.name, run.started_at)
        for each in listed
    )


@contextmanager
def _told_to_stop() -> Iterator[threading.Event]:
    """An event that the first SIGINT or SIGTERM sets; a second one ends the process at once."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def told(*_: object) -> None:
        stop.set()
        for number in signals:
            signal.signal(number, signal.SIG_DFL)

    before = [signal.signal(number, told) for number in signals]
    try:
        yield stop
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _wait(stop: threading.Event) -> None:
    """Wait, and hear every signal.

    One that comes just before this thread falls asleep, or that another thread takes, doesn't wake it.
    """
    while not stop.wait(_GLANCE):
        pass


def _wait_for_eof(stop: threading.Event) -> None:
    """Read standard input to its end, and then tell the process to stop."""
    with suppress(OSError):  # there is none
        while os.read(sys.stdin.fileno(), 1024):
            pass
    stop.set()


def _why(error: OSError, core: AgentStepperCore) -> str:
    ports = [port for port in (core.client_port, core.ui_port) if port]
    named = [port for port in ports if f", {port}" in str(error)]  # asyncio's text has the address
    what = " or ".join(map(str, named or ports))
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {what} of {core.host} is taken, perhaps by another `agentstepper serve`: "
            "choose others with --client-port and --ui-port."
        )
    return f"Can't listen on port {what} of {core.host}: {error.strerror or error}."


def _fail(message: str, code: int) -> int:
    print(f"agentstepper: {message}", file=sys.stderr)
    return code
