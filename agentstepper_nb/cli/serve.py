"""`agentstepper serve`: a debugger of its own, without Jupyter."""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import sys
import threading
import tomllib
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from .. import discover, typed_json
from ..discover import (
    AGENT_TOKEN_VARIABLE,
    CONTROL_TOKEN_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    is_same_url,
    make_host_url,
)
from ..errors import CommandError, ProtocolError, StoreError
from ..hub import AgentStepperCore, RetentionLimits
from ..hub.runtime.admission import DEFAULT_LIMITS, AdmissionLimits
from ..hub.runtime.model_rates import parse_model_rate
from ..hub.runtime_host import STORE_VARIABLE
from ..hub.runtime_options import RuntimeOptions
from ..models.provider import MODEL_VARIABLE
from ..protocol.data_model import Run
from ..store import archive
from . import EXIT_FAILURE, EXIT_OK, EXIT_USAGE_ERROR
from .terminal_text import log_to_stderr

_SIGNAL_CHECK_S: Final = 1.0  # seconds


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The options that the command line sets, without defaults.

    Returns:
        The exit code.
    """
    try:
        options = collect_options(namespace)
        core = _core(options)
    except (ServeOptionError, ValueError) as error:
        return _fail(str(error), EXIT_USAGE_ERROR)
    with _set_on_signal() as stop:
        if options.until_eof:
            threading.Thread(target=_wait_for_eof, args=(stop,), daemon=True).start()
        return _serve(core, options, stop)


def _serve(core: AgentStepperCore, options: ServeOptions, stop: threading.Event) -> int:
    try:
        core.start()
    except StoreError as error:
        return _fail(str(error), EXIT_FAILURE)
    except OSError as error:
        return _fail(_explain_error(error, core), EXIT_FAILURE)
    try:
        for path in options.runs:
            _import(core, Path(path), stop)
        assert core.ui_port is not None
        announcement = discover.write_core_info(
            url=core.url(core.client_port),
            ui_url=core.url(core.ui_port),
            data_dir=_folder(options),
            name="agentstepper serve",
            certificate=core.certificate,
        )
        try:
            print(f"agents: {core.url(core.client_port)}")
            print(f"UIs:    {core.url(core.ui_port)}", flush=True)
            _wait(stop)
        finally:
            discover.remove_core_info(announcement)
    except (CommandError, ProtocolError, OSError) as error:
        return _fail(str(error), EXIT_FAILURE)
    finally:
        core.stop()
    return EXIT_OK


def _core(options: ServeOptions) -> AgentStepperCore:
    _log(options)
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
        retention=RetentionLimits(options.keep_days, options.keep_gib, options.keep_sessions),
        worker=options.worker,
        worker_token=options.worker_token,
        worker_isolation=options.worker_isolation,
        worker_processes=options.worker_processes,
        runtime_store=options.runtime_store,
        program="agentstepper serve",
        certfile=options.certfile,
        keyfile=options.keyfile,
        agents=RuntimeOptions(
            limits=AdmissionLimits(options.max_sessions, options.max_actions),
            model_rates=dict(map(parse_model_rate, options.model_rate)),
            has_metrics=options.metrics,
            logs_json=options.log_json,
        ),
        inspect=options.inspect,
    )


def _folder(options: ServeOptions) -> Path:
    return Path(options.data) if options.data else discover.data_dir()


def _log(options: ServeOptions) -> None:
    log_format = "%(asctime)s %(levelname)s %(message)s"
    log_to_stderr(options.log_level, log_format, is_json=options.log_json)
    logging.getLogger("websockets").setLevel(max(logging.WARNING, logging.root.level))


class _Stopped(Exception):
    """A signal was received while files were read."""


def _import(core: AgentStepperCore, path: Path, stop: threading.Event) -> None:
    """Import a run's file, unless the data folder has it from an earlier start.

    A file that can't be read doesn't prevent the start: a warning names the file and the reason.
    """

    def check() -> None:
        if stop.is_set():
            raise _Stopped

    try:
        history = archive.load_run_file(archive.read_run_file(path), core.hub.new_id(), check=check)
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
def _set_on_signal() -> Iterator[threading.Event]:
    """Make an event that the first SIGINT or SIGTERM sets; a second one ends the process at once."""
    stop = threading.Event()
    signals = (signal.SIGINT, signal.SIGTERM)

    def handle_signal(*_: object) -> None:
        stop.set()
        for number in signals:
            signal.signal(number, signal.SIG_DFL)

    before = [signal.signal(number, handle_signal) for number in signals]
    try:
        yield stop
    finally:
        for number, handler in zip(signals, before, strict=True):
            signal.signal(number, handler)


def _wait(stop: threading.Event) -> None:
    """Wait in intervals, so that every signal is handled.

    A signal just before this thread sleeps, or one that another thread receives, doesn't wake it.
    """
    while not stop.wait(_SIGNAL_CHECK_S):
        pass


def _wait_for_eof(stop: threading.Event) -> None:
    """Read standard input to its end, and then stop the process; without one, at once."""
    with suppress(OSError):
        while sys.stdin is not None and os.read(sys.stdin.fileno(), 1024):
            pass
    stop.set()


def _explain_error(error: OSError, core: AgentStepperCore) -> str:
    ports = [port for port in (core.client_port, core.ui_port) if port]
    named = [port for port in ports if f", {port}" in str(error)]  # asyncio's text has the address
    what = " or ".join(map(str, named or ports))
    if error.errno == errno.EADDRINUSE:
        return (
            f"Port {what} of {core.host} is taken, perhaps by another `agentstepper "
            "serve`: choose others with --client-port and --ui-port."
        )
    return f"Can't listen on port {what} of {core.host}: {error.strerror or error}."


def _fail(message: str, code: int) -> int:
    print(f"agentstepper: {message}", file=sys.stderr)
    return code


Port = Annotated[int, Meta(ge=0, le=65535)]
PositiveNumber = Annotated[float, Meta(gt=0)]


#: The environment variable of each option that has one.
_VARIABLES: Final = {
    "token": AGENT_TOKEN_VARIABLE,
    "control_token": CONTROL_TOKEN_VARIABLE,
    "model": MODEL_VARIABLE,
    "worker_token": WORKER_TOKEN_VARIABLE,
    "runtime_store": STORE_VARIABLE,
}


class ServeOptionError(Exception):
    """An invalid option; the message is for a person."""


class ServeOptions(Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """The options, by their names in the command line and the options file."""

    host: str = "localhost"
    client_port: Port = 8765
    ui_port: Port = 4567
    data: str | None = None  # None: agentstepper/ in Jupyter's data folder
    ui_origin: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    token: str | None = None  # the agent token; None: the data folder's, as of the other two
    control_token: str | None = None
    durability: Literal["relaxed", "durable", "sync"] = "durable"
    keep_days: PositiveNumber | None = None  # None: for ever
    keep_gib: PositiveNumber | None = None
    keep_sessions: Annotated[int, Meta(ge=1)] | None = None
    model: str | None = None
    worker: bool = True  # whether one is started where agents need it
    worker_token: str | None = None
    worker_isolation: Literal["process", "none"] = "process"
    worker_processes: Annotated[int, Meta(ge=1, le=1000)] = 32
    runtime_store: str = "sqlite"
    certfile: str | None = None  # None: no TLS
    keyfile: str | None = None  # None: the certificate's file has the key
    max_sessions: Annotated[int, Meta(ge=1)] = DEFAULT_LIMITS.sessions
    max_actions: Annotated[int, Meta(ge=1)] = DEFAULT_LIMITS.actions
    model_rate: tuple[str, ...] = ()  # see `parse_model_rate`
    metrics: bool = False
    inspect: bool = True
    log_json: bool = False
    until_eof: bool = False  # whether the end of standard input ends it
    log_level: Literal["debug", "info", "warning", "error"] = "info"


def collect_options(namespace: Namespace) -> ServeOptions:
    """Collect the options of the command line, the environment and the options file.

    Args:
        namespace: The options that the command line sets, without defaults.

    Raises:
        ServeOptionError: The options file can't be read, or an option is invalid.
    """
    said: dict[str, Any] = {**vars(namespace)}
    said.pop("command", None)
    config = said.pop("config", None)
    options = read_options_file(Path(config)) if config else ServeOptions()
    for name in ("ui_origin", "runs", "model_rate"):
        if name in said:
            said[name] = tuple(said[name])
    options = replace(options, **said)
    found = {name: os.environ.get(variable) for name, variable in _VARIABLES.items()}
    if _names_another_core(options):
        found |= {"token": None, "control_token": None}
    environment = {name: value for name, value in found.items() if value and name not in said}
    return replace(options, **environment)


def _names_another_core(options: ServeOptions) -> bool:
    """Whether AGENTSTEPPER_URL names another Core, to which the environment's tokens then belong: in a
    kernel and its subprocesses, the Jupyter server's.
    """
    url = os.environ.get(URL_VARIABLE)
    scheme = "ws" if options.certfile is None else "wss"
    return bool(url) and not is_same_url(
        url or "", make_host_url(options.host, options.client_port, scheme)
    )


def read_options_file(path: Path) -> ServeOptions:
    """Read options from a TOML file; its relative paths start at its folder.

    Args:
        path: The file.

    Raises:
        ServeOptionError: The file can't be read, or has an invalid option.
    """
    try:
        options = typed_json.convert(tomllib.loads(path.read_text(encoding="utf-8")), ServeOptions)
    except OSError as error:
        raise ServeOptionError(f"{path} can't be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise ServeOptionError(f"{path} isn't TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise ServeOptionError(f"{path}: {error}.") from None
    return replace(
        options,
        data=options.data and str(path.parent / options.data),
        runs=tuple(str(path.parent / run) for run in options.runs),
        certfile=options.certfile and str(path.parent / options.certfile),
        keyfile=options.keyfile and str(path.parent / options.keyfile),
    )
