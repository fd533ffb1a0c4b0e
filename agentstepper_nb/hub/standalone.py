"""`AgentStepperCore`: a Core without Jupyter, on two WebSocket ports as AgentStepper has them."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Sequence
from pathlib import Path

from ..discover import (
    CERTIFICATE_VARIABLE,
    CoreEndpoint,
    CoreTokens,
    add_process_core,
    load_core_tokens,
    make_host_url,
    remove_process_core,
)
from ..protocol.store_info import Durability
from ..store import MemoryStore, Store, open_store
from .core_control import CoreControl
from .core_ports import CorePorts
from .extensions import Extension
from .hub import Hub
from .limits import DEFAULT_HUB_LIMITS
from .model_summaries import attach_model_summaries
from .retention import UNLIMITED, RetentionLimits
from .runtime_host import RuntimeHost, check_store_location
from .runtime_options import DEFAULT_OPTIONS, RuntimeOptions
from .socket_listeners import AcceptErrorLog
from .tls_certificate import TlsCertificate
from .worker_process import (
    DEFAULT_ISOLATION,
    DEFAULT_PROCESSES,
    WorkerProcess,
    make_command,
    make_environment,
)

#: Addresses that mean "wherever I can be reached", and so also the loopback.
_ALL_INTERFACES = {"0.0.0.0", "::", ""}


class AgentStepperCore(CoreControl):
    """A Core for the agents of any program: one WebSocket port for agents, one for UIs.

    Both ports speak version 2 with a peer that offers it with the right token, and version 1 with a
    peer that sends no token. So the original's agents and its web UI work. A wrong token is
    refused. The Core runs on a thread of its own.

    Args:
        host: The address to listen on. With an address that other machines reach, peers of both
            versions need tokens.
        client_port: The port for agents; 0: a free port, which the attribute then holds.
        ui_port: The port for UIs; 0: as for `client_port`. None: no port; the program that hosts
            the Core connects the UIs.
        model: The name of the model that summarises each step and commit, at the endpoint that the
            environment names. The model gets the data that the agents send. Without a model or an
            endpoint, summaries are made by rule, and no data is sent anywhere.
        logger: Gets one line for each connection, run, commit and refusal.
        data: The folder that stores the runs; a folder belongs to one Core at a time. None: the
            runs are held in memory and lost with the Core.
        token: The agent token. None: the data folder's.
        ui_origins: The origins of web pages that may connect as UIs; no other pages may.
        extensions: The Core's extensions. None: the installed ones.
        durability: When recorded data is safe on disk: `relaxed`, `durable` or `sync`.
        retention: How long runs and background agents are kept.
        worker: Whether the Core starts a worker when background agents need one.
        worker_token: The worker token. None: the data folder's.
        worker_isolation: Where that worker runs steps whose moniker isn't cooperative: `process` or
            `none`.
        worker_processes: How many sessions may have a process at once in that worker.
        runtime_store: Where background agents are stored: `sqlite`, beside the runs; or
            `postgresql://USER@HOST:PORT/DATABASE`.
        program: The name of this program, for messages to other programs that want the same folder.
        control_token: The token of UIs, and of programs that control runs. None: the data folder's.
        certfile: A TLS certificate (PEM). With it both ports speak TLS (`wss://`) only.
        keyfile: The certificate's private key (PEM). None: `certfile` contains the key.
        agents: Options for background agents.
        inspect: Whether UIs may see the stacks and locals of halted agents, if the agents allow
            that.

    Attributes:
        tokens: The agent, control and worker tokens. Those that the data folder stores are known
            once the Core is started; a Core without a folder makes them.

    Raises:
        ValueError: A port is out of range, a token can't be sent, two tokens are the same, or the
            certificate can't be used. From `start()`: two extensions define the same name.
        StoreError: From `start()`: the folder belongs to another Core, or can't be used.
    """

    _limits = DEFAULT_HUB_LIMITS

    def __init__(
        self,
        host: str = "localhost",
        client_port: int = 8765,
        ui_port: int | None = 4567,
        model: str | None = None,
        logger: logging.Logger | None = None,
        *,
        data: str | os.PathLike[str] | None = None,
        token: str | None = None,
        ui_origins: Sequence[str] = (),
        extensions: Sequence[Extension] | None = None,
        durability: Durability | str = Durability.DURABLE,
        retention: RetentionLimits = UNLIMITED,
        worker: bool = False,
        worker_token: str | None = None,
        worker_isolation: str = DEFAULT_ISOLATION,
        worker_processes: int = DEFAULT_PROCESSES,
        runtime_store: str = "sqlite",
        program: str = "an AgentStepperCore",
        control_token: str | None = None,
        certfile: str | os.PathLike[str] | None = None,
        keyfile: str | os.PathLike[str] | None = None,
        agents: RuntimeOptions = DEFAULT_OPTIONS,
        inspect: bool = True,
    ) -> None:
        for port in (client_port, ui_port):
            if port is not None and not 0 <= port <= 65535:
                raise ValueError(
                    f"{port} isn't a port. Use a number from 1 to 65535, or 0 for a free port."
                )
        self.host = host
        self.client_port = client_port
        self.ui_port = ui_port
        self.log = logger or logging.getLogger("agentstepper_nb")
        self._given_tokens = CoreTokens(token or "", control_token or "", worker_token or "")
        self.tokens = load_core_tokens(None, self._given_tokens)
        self._model = model
        self._folder = None if data is None else Path(data)
        self._durability = Durability(durability)
        self._retention = retention
        self._program = program
        self._ui_origins = tuple(ui_origins)
        self._extensions = extensions
        self._worker = worker
        self._worker_options = (worker_isolation, worker_processes)
        self._agents, self._inspect = agents, inspect
        self._store_location = check_store_location(runtime_store)
        self._certificate = TlsCertificate.load(certfile, keyfile)
        self._hub: Hub | None = None
        self._host: RuntimeHost | None = None
        self._ports: CorePorts | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lifecycle_lock = threading.RLock()  # one start or stop at a time

    @property
    def hub(self) -> Hub:
        """The Core's hub, once the Core is started; use it on the Core's loop only.

        Raises:
            RuntimeError: The Core isn't started.
        """
        if self._hub is None:
            raise RuntimeError("The Core isn't started: call start().")
        return self._hub

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The Core's event loop, once the Core is started.

        Raises:
            RuntimeError: The Core isn't started.
        """
        if self._loop is None:
            raise RuntimeError("The Core isn't started: call start().")
        return self._loop

    # ---- start and close --------------------------------------------------------------------------

    def start(self) -> None:
        """Start the Core, and return once its ports listen. Does nothing if it is started already.

        Raises:
            StoreError: The folder belongs to another Core, or can't be used.
            OSError: A port is in use, or the address isn't this machine's.
        """
        with self._lifecycle_lock:
            if self._loop is None:
                self._begin()

    def _begin(self) -> None:
        loop = asyncio.new_event_loop()
        loop.set_exception_handler(AcceptErrorLog(self.log).handle)
        thread = threading.Thread(target=loop.run_forever, name="agentstepper-core", daemon=True)
        thread.start()
        try:
            asyncio.run_coroutine_threadsafe(self._start_servers(), loop).result()
        except BaseException:
            _end(loop, thread)
            raise
        self._loop, self._thread = loop, thread
        self._announce_here()
        self.log.info("agents: %s://%s:%d", self._scheme, self.host, self.client_port)
        if self.ui_port is not None:
            self.log.info("UIs:    %s://%s:%d", self._scheme, self.host, self.ui_port)

    def _announce_here(self) -> None:
        """Register this Core and its tokens, so that programs in this process find them."""
        ui_url = "" if self.ui_port is None else self.url(self.ui_port)
        folder = "" if self._folder is None else str(self._folder)
        url = self.url(self.client_port)
        add_process_core(url, self.tokens, ui_url, folder, self.certificate)

    def url(self, port: int) -> str:
        """Return the URL at which programs of this machine reach a port of the Core."""
        host = "127.0.0.1" if self.host in _ALL_INTERFACES else self.host
        return make_host_url(host, port, self._scheme)

    @property
    def certificate(self) -> str:
        """The path of the Core's TLS certificate; "": the Core doesn't speak TLS."""
        return "" if self._certificate is None else str(self._certificate.file)

    @property
    def _scheme(self) -> str:
        return "ws" if self._certificate is None else "wss"

    def stop(self) -> None:
        """Close ports and connections, and join the thread. Does nothing if not started."""
        with self._lifecycle_lock:
            if self._loop is None or self._thread is None:
                return
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
            remove_process_core(self.url(self.client_port))
            asyncio.run_coroutine_threadsafe(self._stop_servers(), loop).result()
            _end(loop, thread)
            self.log.info("stopped")

    def __enter__(self) -> AgentStepperCore:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    async def _start_servers(self) -> None:
        store = self._open_store()
        try:
            if self._folder is not None:  # it is this Core's from here on
                self.tokens = load_core_tokens(self._folder, self._given_tokens)
            hub = Hub(
                store,
                logger=self.log,
                extensions=self._extensions,
                retention=self._retention,
                limits=self._limits,
            )
        except BaseException:
            store.close()
            raise
        host: RuntimeHost | None = None
        ports = CorePorts(
            self.host, self.tokens, self._ui_origins, self._certificate, self._limits, self.log
        )
        try:
            attach_model_summaries(hub, self._model)
            host = self._open_host()
            host.attach(hub)
            hub.allows_inspection = self._inspect
            if self._folder is not None:
                hub.enable_restarts(self._find_own_endpoint, self._folder, self.certificate)
            await hub.start()
            self.client_port = await ports.open_client_port(self.client_port, hub, host)
            if self.ui_port is not None:
                self.ui_port = await ports.open_ui_port(self.ui_port, hub, host)
            await host.start()
        except BaseException:
            if host is not None:
                await host.close()
            await ports.close()
            await hub.close()
            raise
        self._hub, self._host, self._ports = hub, host, ports

    def _open_host(self) -> RuntimeHost:
        starter = None
        if self._worker:
            command = make_command(
                self._folder, *self._worker_options, logs_json=self._agents.logs_json
            )
            starter = WorkerProcess(self.log, self._workers_environment, command)
        where = (self._folder, self._durability, self._store_location)
        return RuntimeHost(*where, self.log, starter, self._agents)

    def _find_own_endpoint(self) -> CoreEndpoint:
        return CoreEndpoint(self.url(self.client_port), self.tokens.agent)

    def _workers_environment(self) -> dict[str, str]:
        return {
            **make_environment(self._find_own_endpoint(), self.tokens.worker),
            CERTIFICATE_VARIABLE: self.certificate,
        }

    def _open_store(self) -> Store:
        if self._folder is None:
            return MemoryStore()
        return open_store(self._folder, self._durability, self._program)

    async def _stop_servers(self) -> None:
        hub, self._hub = self.hub, None
        host, self._host = self._host, None
        if host is not None:
            await host.close()
        await hub.close()
        ports, self._ports = self._ports, None
        if ports is not None:
            await ports.close()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
