"""A Core of its own, without Jupyter: two WebSocket ports, as AgentStepper has them."""

from __future__ import annotations

import asyncio
import logging
import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

from websockets.asyncio.server import Server, ServerConnection, serve

from ..discover import (
    CoreEndpoint,
    CoreTokens,
    add_process_core,
    load_core_tokens,
    remove_process_core,
)
from ..protocol.envelope import MAX_MESSAGE_BYTES
from ..protocol.records import RunHistory
from ..protocol.store_info import Durability
from ..store import MemoryStore, Store, archive, open_store
from .access import (
    AGENT_TOKEN,
    CONTROL_TOKEN,
    WORKER_TOKEN,
    AsyncAccessCheck,
    find_chat_id,
    get_bearer_token,
    get_path,
    get_token,
    has_token,
    is_loopback,
    make_chat_check,
    make_logged_check,
    make_path_check,
    make_program_check,
    make_view_check,
    select_subprotocol,
)
from .connection import VERSION_1_RIGHTS, AccessRights, PeerSession
from .core_control import CoreControl
from .extensions import Extension
from .hub import Hub
from .model_summaries import attach_model_summaries
from .retention import UNLIMITED, RetentionLimits
from .runtime import MethodRight
from .runtime_host import STORE_VARIABLE, RuntimeHost, check_store_location
from .socket_listeners import ACCEPTS_PER_TURN, AcceptErrorLog, enlarge_backlog, stop_accepting
from .sockets import SocketConnection, make_fair_scheduler, serve_connection
from .worker_process import COMMAND, WorkerProcess, make_environment

#: Seconds that a connection has to open and to close before it is cut; `stop` waits no longer.
_OPEN_TIMEOUT_S = 10.0
_CLOSE_TIMEOUT_S = 5.0
#: Addresses that mean "wherever I can be reached", and so also the loopback.
_ALL_INTERFACES = {"0.0.0.0", "::", ""}
#: Paths beside the agents' and the UIs': for workers, and for who controls agents that run on their own.
_WORKER_PATH = "/worker"
_RUNTIME_PATH = "/runtime"


class AgentStepperCore(CoreControl):
    """A debugger for agents on two WebSocket ports, one for agents and one for UIs.

    Both speak version 2 where the peer offers it with the right token, and version 1 where it sends
    none, so that the original's agents and its web UI work. A wrong token is refused. The Core runs on a
    thread of its own.

    Args:
        host: The address to listen on. One that other machines reach demands tokens of both versions.
        client_port: The agents' port; 0 takes a free one, which the attribute then tells.
        ui_port: The UIs' port; 0 likewise. None has none: whoever hosts the Core brings UIs in.
        model: The name of a model that puts each step and commit into a sentence, at the endpoint that
            the environment names. It is sent what the agents send. None, or no endpoint: summaries are
            made by rule, and nothing is sent anywhere.
        logger: Gets one line a connection, run, commit and refusal.
        data: The folder that keeps the runs; it belongs to one Core at a time. None keeps them in
            memory: they are gone with the Core.
        token: The agent token. None: the data folder's.
        ui_origins: Origins of web pages that may connect as UIs; no others may.
        extensions: What it is extended by. None takes the extensions that are installed.
        durability: When what is kept outlives what: `relaxed`, `durable` or `sync`.
        retention: How long runs are kept in the folder.
        worker: Whether a worker is started where agents that run on their own need one.
        worker_token: The worker token. None: the data folder's.
        runtime_store: Where agents that run on their own are kept: `sqlite`, beside the runs, or
            `lance:` and a folder.
        program: What this is, for whoever wants the same folder.
        control_token: The token of UIs, and of programs that control. None: the data folder's.

    Attributes:
        tokens: The three tokens. Those that the data folder keeps are known once the Core is started;
            a Core without a folder makes them.

    Raises:
        ValueError: A port can't be, a token can't be sent, or two of them are the same.
            From `start()`: two of the extensions name the same.
        StoreError: From `start()`: the folder belongs to another Core, or can't be used.
    """

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
        runtime_store: str = "sqlite",
        program: str = "an AgentStepperCore",
        control_token: str | None = None,
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
        self._store_location = check_store_location(runtime_store)
        self._hub: Hub | None = None
        self._host: RuntimeHost | None = None
        self._servers: list[Server] = []
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._lifecycle_lock = threading.RLock()  # one start or stop at a time

    @property
    def hub(self) -> Hub:
        """The Core's hub, once started; to be used on the Core's loop only.

        Raises:
            RuntimeError: The Core isn't started.
        """
        if self._hub is None:
            raise RuntimeError("The Core isn't started: call start().")
        return self._hub

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        """The Core's event loop, once started.

        Raises:
            RuntimeError: The Core isn't started.
        """
        if self._loop is None:
            raise RuntimeError("The Core isn't started: call start().")
        return self._loop

    # ---- life ---------------------------------------------------------------------------------------

    def start(self) -> None:
        """Start, and return once its ports listen. Does nothing when started.

        Raises:
            StoreError: The folder belongs to another Core, or can't be used.
            OSError: A port is taken, or the address isn't this machine's.
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
        self.log.info("agents: ws://%s:%d", self.host, self.client_port)
        if self.ui_port is not None:
            self.log.info("UIs:    ws://%s:%d", self.host, self.ui_port)

    def _announce_here(self) -> None:
        """Let this process's own programs find this Core, and its tokens."""
        ui_url = "" if self.ui_port is None else self.url(self.ui_port)
        folder = "" if self._folder is None else str(self._folder)
        add_process_core(self.url(self.client_port), self.tokens, ui_url, folder)

    def url(self, port: int) -> str:
        """Where programs of this machine reach a port of the Core's."""
        host = "127.0.0.1" if self.host in _ALL_INTERFACES else self.host
        return f"ws://[{host}]:{port}" if ":" in host else f"ws://{host}:{port}"

    def stop(self) -> None:
        """Close its ports and every connection, and join the thread. Does nothing when stopped."""
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
                store, logger=self.log, extensions=self._extensions, retention=self._retention
            )
        except BaseException:
            store.close()
            raise
        host: RuntimeHost | None = None
        try:
            attach_model_summaries(hub, self._model)
            host = self._open_host()
            await hub.start()
            await self._listen(hub, host)
            await host.start()
        except BaseException:
            if host is not None:
                await host.close()
            await self._close_servers()
            await hub.close()
            raise
        self._hub, self._host = hub, host

    def _open_host(self) -> RuntimeHost:
        starter = None
        if self._worker:
            data = () if self._folder is None else ("--data", str(self._folder))
            starter = WorkerProcess(self.log, self._workers_environment, (*COMMAND, *data))
        return RuntimeHost(self._folder, self._durability, self._store_location, self.log, starter)

    def _workers_environment(self) -> dict[str, str]:
        agents = CoreEndpoint(self.url(self.client_port), self.tokens.agent)
        return make_environment(agents, self.tokens.worker) | {STORE_VARIABLE: self._store_location}

    async def _listen(self, hub: Hub, host: RuntimeHost) -> None:
        tokens, is_token_required = self.tokens, not is_loopback(self.host)
        runtime = make_program_check((tokens.control,), CONTROL_TOKEN)
        others = {
            _WORKER_PATH: make_program_check((tokens.worker,), WORKER_TOKEN),
            _RUNTIME_PATH: runtime,
        }
        programs = make_program_check(
            (tokens.agent, tokens.control), AGENT_TOKEN, is_token_required=is_token_required
        )
        self.client_port = await self._serve(
            self.client_port,
            make_chat_check(host.chats, make_path_check(others, programs)),
            lambda socket: self._on_agents_port(hub, host, socket),
            hub,
        )
        if self.ui_port is not None:
            views = make_view_check(
                tokens.control, self._ui_origins, is_token_required=is_token_required
            )
            self.ui_port = await self._serve(
                self.ui_port,
                make_path_check({_RUNTIME_PATH: runtime}, views),
                lambda socket: self._on_ui_port(hub, host, socket),
                hub,
            )

    def _open_store(self) -> Store:
        if self._folder is None:
            return MemoryStore()
        return open_store(self._folder, self._durability, self._program)

    async def _serve(
        self,
        port: int,
        gate: AsyncAccessCheck,
        connect: Callable[[ServerConnection], PeerSession],
        hub: Hub,
    ) -> int:
        """Listen on a port: returns its number, which is another where `port` is 0."""
        # Two address families would each take a free port of their own.
        host = "127.0.0.1" if self.host == "localhost" and port == 0 else self.host
        server = await serve(
            lambda socket: serve_connection(socket, connect(socket), make_fair_scheduler(hub)),
            host,
            port,
            process_request=make_logged_check(gate, self.log),
            select_subprotocol=select_subprotocol,
            compression=None,
            max_size=MAX_MESSAGE_BYTES,
            backlog=ACCEPTS_PER_TURN,
            open_timeout=_OPEN_TIMEOUT_S,
            close_timeout=_CLOSE_TIMEOUT_S,
            # A busy agent may not answer for long; on this machine the system tells when it is gone.
            ping_timeout=None if is_loopback(self.host) else 60,
        )
        enlarge_backlog(server)
        self._servers.append(server)
        return int(next(iter(server.sockets)).getsockname()[1])

    async def _stop_servers(self) -> None:
        hub, self._hub = self.hub, None
        host, self._host = self._host, None
        if host is not None:
            await host.close()
        await hub.close()
        await self._close_servers()

    async def _close_servers(self) -> None:
        await stop_accepting(self._servers)
        for server in self._servers:
            server.close()  # each session has said why by now
        for server in self._servers:
            await server.wait_closed()
        self._servers.clear()

    # The gates have checked the tokens.

    def _on_agents_port(self, hub: Hub, host: RuntimeHost, socket: ServerConnection) -> PeerSession:
        connection = SocketConnection(socket)
        request = connection.request
        path = get_path(request)
        if path == _WORKER_PATH:
            return host.workers.connect(connection)
        if path == _RUNTIME_PATH:
            return host.connect(connection, MethodRight.CONTROL)
        if chat := find_chat_id(path):
            return host.chats.connect(connection, chat, get_bearer_token(request))
        rights = AccessRights(can_control=has_token(request, self.tokens.control))
        return hub.connect_agent(connection, connection.version, rights)

    def _on_ui_port(self, hub: Hub, host: RuntimeHost, socket: ServerConnection) -> PeerSession:
        connection = SocketConnection(socket)
        if get_path(connection.request) == _RUNTIME_PATH:
            return host.connect(connection, MethodRight.CONTROL)
        rights = VERSION_1_RIGHTS if get_token(connection.request) is None else AccessRights()
        return hub.connect_view(connection, connection.version, rights)

    # ---- runs of files ------------------------------------------------------------------------------

    def import_file(self, path: Path) -> None:
        """List the run of a file. May be called from any thread.

        Raises:
            ProtocolError: The file is damaged, above a bound, or of a newer version.
            CommandError: `store_failed`.
            OSError: It can't be read.
        """
        self.import_history(archive.load_run_file(archive.read_run_file(path), self.hub.new_id()))

    def import_history(self, history: RunHistory) -> None:
        """List a run that was read from a file. May be called from any thread.

        Args:
            history: The run, by an id of its own.

        Raises:
            CommandError: `store_failed`.
        """
        imported = self.hub.import_history(history)
        asyncio.run_coroutine_threadsafe(imported, self.loop).result()


def _end(loop: asyncio.AbstractEventLoop, thread: threading.Thread) -> None:
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
