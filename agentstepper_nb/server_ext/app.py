"""The Jupyter server extension: makes the Hub, routes to it, announces it, closes it."""

from __future__ import annotations

import os
from contextlib import ExitStack
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
from jupyter_server.extension.application import ExtensionApp
from jupyter_server.serverapp import ServerApp
from traitlets import (
    CaselessStrEnum,
    Dict,
    Float,
    Int,
    List,
    TraitError,
    Unicode,
    default,
    validate,
)

from .. import discover, static_files
from ..hub import Hub, RetentionLimits
from ..hub.coding_request_policy import CodingRequestPolicy, CodingRoots
from ..hub.model_summaries import MODEL_VARIABLE, attach_model_summaries
from ..hub.runtime_host import STORE_VARIABLE, RuntimeHost, check_store_location
from ..hub.worker_process import COMMAND, WorkerProcess, make_environment
from ..protocol.coding_settings import FIELDS, CodingSettings
from ..protocol.envelope import MAX_MESSAGE_BYTES
from ..protocol.store_info import Durability
from ..store import Store, folder_lock, open_store
from . import coding_handlers, runtime_handlers
from .announcement import announce_server, find_agent_url
from .app_handler import AppHandler
from .chat_socket import ChatSocketHandler
from .run_handlers import (
    RunExportHandler,
    RunHandler,
    RunImportHandler,
    RunRowsHandler,
    RunsHandler,
    SearchHandler,
)
from .runtime_socket import RuntimeSocketHandler
from .sockets import AgentSocketHandler, ViewSocketHandler, WorkerSocketHandler


class AgentStepperExtension(ExtensionApp):
    """The debugger for LLM agents, inside the Jupyter server."""

    name = "agentstepper"
    extension_url = "/agentstepper/app"
    load_other_extensions = True

    data_dir = Unicode(
        help="The folder that stores the tokens and the runs. One server uses the folder at a "
        "time; a second server uses its subfolder 2, and so on. Default: agentstepper/ "
        "in Jupyter's data folder."
    ).tag(config=True)
    durability = CaselessStrEnum(
        [each.value for each in Durability],
        default_value=Durability.DURABLE.value,
        help="How soon data is safe. relaxed: soon safe from a kill; durable: safe from a "
        "power cut before a person or an agent relies on it; sync: always safe from a "
        "power cut.",
    ).tag(config=True)
    keep_days = Float(
        None,
        allow_none=True,
        help="Delete runs without a tag this many days after they ended. Default: never.",
    ).tag(config=True)
    keep_gib = Float(
        None,
        allow_none=True,
        help="Delete the oldest runs without a tag while all runs take more GiB than this. "
        "Default: never.",
    ).tag(config=True)
    model = Unicode(
        help="A model that summarizes each step and commit, at the endpoint of OPENAI_API_KEY "
        "or OPENAI_BASE_URL; the model receives the agents' data. Default: "
        "AGENTSTEPPER_MODEL, else none: summaries are made by rule."
    ).tag(config=True)
    agent_token = Unicode(
        help="The agent token; never Jupyter's own. The token is stored in data_dir, readable "
        "only by you. Default: the token in data_dir, else a new one."
    ).tag(config=True)
    control_token = Unicode(
        help="The control token, by which programs control agents, set breakpoints and "
        "prices, and import runs; the agent token doesn't allow this. Stored and created "
        "like the agent token."
    ).tag(config=True)
    worker_token = Unicode(help="The worker token. Stored and created like the agent token.").tag(
        config=True
    )
    max_message_bytes = Int(
        MAX_MESSAGE_BYTES,
        min=1024,
        help="The largest message accepted from an agent or a view, and the largest .run "
        "file, in bytes.",
    ).tag(config=True)

    runtime_store = Unicode(
        help="Where background agents are stored: sqlite, beside the runs, or lance: and a "
        "folder. Default: AGENTSTEPPER_RUNTIME_STORE, else sqlite."
    ).tag(config=True)
    coding_roots = List(
        Unicode(),
        help="Folders that coding sessions and background agents of the moniker coding may work in, "
        "besides the server's root_dir.",
    ).tag(config=True)

    coding_defaults = Dict(
        help="Default settings of coding sessions, and of background agents of the moniker coding, "
        "such as {'max_iterations': 50}. The settings are "
        f"{', '.join(FIELDS)}."
    ).tag(config=True)
    coding_limits = Dict(
        help="Limits for requests of coding sessions, and of background agents of the moniker "
        "coding, with the names of coding_defaults: a number is the maximum, False "
        "forbids True, and any other value is the only one allowed."
    ).tag(config=True)

    @default("data_dir")
    def _default_data_dir(self) -> str:
        return str(discover.data_dir())

    @default("model")
    def _default_model(self) -> str:
        return os.environ.get(MODEL_VARIABLE, "")

    @default("runtime_store")
    def _default_runtime_store(self) -> str:
        return os.environ.get(STORE_VARIABLE) or "sqlite"

    @default("static_paths")
    def _default_static_paths(self) -> list[str]:
        return [str(static_files.STATIC_FOLDER)]

    def initialize_settings(self) -> None:
        """Make the Hub; Jupyter calls this once, before it listens."""
        self._announced = ExitStack()
        store = self._open_store()
        try:
            self.host = self._open_host()
            retention = RetentionLimits(days=self.keep_days, gib=self.keep_gib)
            self.hub = Hub(store, logger=self.log, retention=retention)
        except BaseException:
            store.close()
            raise
        attach_model_summaries(self.hub, self.model)

    def _open_host(self) -> RuntimeHost:
        folder = self._folder_and_lock[0]
        command = (*COMMAND, "--data", str(folder))
        self.worker = WorkerProcess(self.log, self._workers_environment, command)
        durability = Durability(self.durability)
        return RuntimeHost(folder, durability, self.runtime_store, self.log, self.worker)

    def _open_store(self) -> Store:
        folder, lock = self._folder_and_lock
        return open_store(folder, Durability(self.durability), self._lock_owner, lock)

    @cached_property
    def _folder_and_lock(self) -> tuple[Path, folder_lock.FolderLock]:
        """The folder, or the next one that is free where another server has it, and its lock.

        Taken at the first use.
        """
        wanted = Path(self.data_dir)
        holder = folder_lock.find_lock_holder(wanted)
        folder, lock = folder_lock.lock_first_free_folder(wanted, self._lock_owner)
        if folder != wanted:
            self.log.warning(
                "AgentStepper: the runs in %s belong to %s. This server stores its own runs in %s.",
                wanted,
                holder or "another process",
                folder,
            )
        return folder, lock

    def _workers_environment(self) -> dict[str, str]:
        url = find_agent_url(self.serverapp) if self.serverapp else None
        if url is None:
            raise OSError("this server listens on a UNIX socket, where workers can't connect")
        agents = discover.CoreEndpoint(url, self.tokens.agent)
        return make_environment(agents, self.tokens.worker) | {STORE_VARIABLE: self.runtime_store}

    @cached_property
    def tokens(self) -> discover.CoreTokens:
        """What agents, programs that control, and workers present."""
        given = discover.CoreTokens(self.agent_token, self.control_token, self.worker_token)
        return discover.load_core_tokens(self._folder_and_lock[0], given)

    @property
    def _lock_owner(self) -> str:
        return f"the Jupyter server in {self.serverapp.root_dir}" if self.serverapp else "Jupyter"

    @validate("keep_days", "keep_gib")
    def _validate_positive(self, proposal: Any) -> float | None:
        value: float | None = proposal["value"]
        if value is not None and not value > 0:
            raise TraitError(f"{proposal['trait'].name} must be above 0, not {value:g}.")
        return value

    @validate("runtime_store")
    def _validate_runtime_store(self, proposal: Any) -> str:
        try:
            return check_store_location(proposal["value"])
        except ValueError as error:
            raise TraitError(str(error)) from None

    @validate("coding_defaults", "coding_limits")
    def _validate_coding_settings(self, proposal: Any) -> dict[str, Any]:
        value: dict[str, Any] = proposal["value"]
        try:
            msgspec.convert(value, CodingSettings)
        except msgspec.ValidationError as error:
            raise TraitError(f"{proposal['trait'].name}: {error}.") from None
        return value

    def initialize_handlers(self) -> None:
        """Route; Jupyter puts its base_url before each path."""
        runs = {"hub": self.hub, "max_message_bytes": self.max_message_bytes}
        tokens = {"token": self.tokens.agent, "control_token": self.tokens.control}
        run = r"/agentstepper/api/runs/([^/]+)"
        root = self.serverapp.root_dir if self.serverapp else ""
        roots = CodingRoots([root, *self.coding_roots])
        policy = CodingRequestPolicy(
            roots, *map(_as_settings, (self.coding_defaults, self.coding_limits))
        )
        self.host.runtime.check_agent = policy.check_agent
        sessions = {
            **runs,
            "workers": self.host.workers,
            "roots": roots,
            "policy": policy,
            "control_token": self.tokens.control,
            "data_dir": self._folder_and_lock[0],
        }
        workers = {**runs, "token": self.tokens.worker, "workers": self.host.workers}
        agents = {**runs, "runtime": self.host.runtime}
        chats = {**runs, "chats": self.host.chats}
        self.handlers.extend(
            [
                (r"/agentstepper/agent", AgentSocketHandler, {**runs, **tokens}),
                (r"/agentstepper/worker", WorkerSocketHandler, workers),
                (
                    r"/agentstepper/runtime",
                    RuntimeSocketHandler,
                    {**runs, **tokens, "host": self.host},
                ),
                (r"/agentstepper/chat/([\w-]{1,100})", ChatSocketHandler, chats),
                (r"/agentstepper/ui", ViewSocketHandler, runs),
                (r"/agentstepper/app", AppHandler, {"static_url": self.static_url_prefix}),
                (r"/agentstepper/api/runs", RunsHandler, runs),
                (r"/agentstepper/api/runs/import", RunImportHandler, runs),
                (run, RunHandler, runs),
                (rf"{run}/rows", RunRowsHandler, runs),
                (run + "/export", RunExportHandler, runs),
                (r"/agentstepper/api/search", SearchHandler, runs),
                *coding_handlers.make_coding_routes(sessions),
                *runtime_handlers.make_runtime_routes(agents),
            ]
        )

    async def _start_jupyter_server_extension(self, serverapp: ServerApp) -> None:
        """Begin, and announce the Core; Jupyter calls this when it listens."""
        await self.hub.start()
        url = find_agent_url(serverapp)
        if url is None:
            self.log.warning(
                "AgentStepper: this server listens on a UNIX socket, where agents can't connect. "
                "Start it with a port, or run `agentstepper serve` beside it."
            )
            return
        self._announced.enter_context(
            announce_server(serverapp, url, self.tokens.agent, self._folder_and_lock[0])
        )
        self.log.info("AgentStepper: agents connect to %s", url)
        await self.host.start()  # a worker that this starts finds what was announced

    async def stop_extension(self) -> None:
        """Withdraw the announcement and close the Hub."""
        if hasattr(self, "hub"):  # else its folder couldn't be used, and Jupyter still has to stop
            self._announced.close()
            await self.host.close()
            await self.hub.close()


def _as_settings(trait: dict[str, Any]) -> CodingSettings:
    return msgspec.convert(trait, CodingSettings)
