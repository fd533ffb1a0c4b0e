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
    Bool,
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

from .. import discover, static_files, typed_json
from ..hub import Hub, RetentionLimits
from ..hub.access import METRICS_PATH
from ..hub.coding_request_policy import CodingRequestPolicy, CodingRoots
from ..hub.model_summaries import MODEL_VARIABLE, attach_model_summaries
from ..hub.runtime.admission import DEFAULT_LIMITS, AdmissionLimits
from ..hub.runtime.model_rates import parse_model_rate
from ..hub.runtime_host import STORE_VARIABLE, RuntimeHost, check_store_location
from ..hub.runtime_options import RuntimeOptions
from ..hub.worker_process import (
    DEFAULT_ISOLATION,
    DEFAULT_PROCESSES,
    WorkerProcess,
    make_command,
    make_environment,
)
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
        help="Delete runs without a tag, and background agents' sessions with their actions, steps and "
        "conversations, this many days after they ended. Default: never.",
    ).tag(config=True)
    keep_sessions = Int(
        None,
        allow_none=True,
        help="Delete the oldest ended sessions of background agents, and conversations without one, "
        "above this number of each. Default: never.",
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
    worker_isolation = CaselessStrEnum(
        ("process", "none"),
        DEFAULT_ISOLATION,
        help="Where steps of background agents run whose moniker isn't cooperative: each session's "
        "alone in a process (process), or all on the worker's event loop (none).",
    ).tag(config=True)
    worker_processes = Int(
        DEFAULT_PROCESSES,
        min=1,
        max=1000,
        help="How many sessions of background agents have a process at once; others wait for one.",
    ).tag(config=True)
    max_message_bytes = Int(
        MAX_MESSAGE_BYTES,
        min=1024,
        help="The largest message accepted from an agent or a view, and the largest .run "
        "file, in bytes.",
    ).tag(config=True)

    runtime_store = Unicode(
        help="Where background agents are stored: sqlite, beside the runs; or "
        "postgresql://USER@HOST:PORT/DATABASE. Default: AGENTSTEPPER_RUNTIME_STORE, else sqlite."
    ).tag(config=True)
    max_sessions = Int(
        DEFAULT_LIMITS.sessions,
        min=1,
        help="The live sessions of background agents above which no more are created.",
    ).tag(config=True)
    max_actions = Int(
        DEFAULT_LIMITS.actions,
        min=1,
        help="The open actions of background agents above which no more are accepted, except those "
        "that control a session.",
    ).tag(config=True)
    model_rates = List(
        Unicode(),
        help="How often the background agents of all workers together may call a model: "
        "'MODEL=60/min' for requests, 'MODEL=90000tokens/min' for tokens, or both after a comma. "
        "Default: no limit.",
    ).tag(config=True)
    inspect = Bool(
        True,
        help="Show the stack and the locals of an agent that waits to logins that may execute, where "
        "the agent allows it.",
    ).tag(config=True)
    metrics = Bool(
        False,
        help="Serve figures for Prometheus at /agentstepper/metrics, to whoever may read: a login, or "
        "the server's token. Needs pip install 'agentstepper_nb[metrics]'.",
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
            retention = RetentionLimits(self.keep_days, self.keep_gib, self.keep_sessions)
            self.hub = Hub(store, logger=self.log, retention=retention)
        except BaseException:
            store.close()
            raise
        attach_model_summaries(self.hub, self.model)
        self.hub.allows_inspection = self.inspect
        self.hub.enable_restarts(self._find_own_endpoint, self._folder_and_lock[0])
        if self.serverapp is not None:
            pages = self.serverapp.web_app.settings.setdefault("page_config_data", {})
            pages["agentstepperRoot"] = self.serverapp.root_dir  # where its editor finds files

    def _open_host(self) -> RuntimeHost:
        folder = self._folder_and_lock[0]
        command = make_command(folder, self.worker_isolation, self.worker_processes)
        self.worker = WorkerProcess(self.log, self._workers_environment, command)
        durability = Durability(self.durability)
        options = RuntimeOptions(
            limits=AdmissionLimits(self.max_sessions, self.max_actions),
            model_rates=dict(map(parse_model_rate, self.model_rates)),
            has_metrics=self.metrics,
        )
        return RuntimeHost(folder, durability, self.runtime_store, self.log, self.worker, options)

    def _open_store(self) -> Store:
        folder, lock = self._folder_and_lock
        return open_store(folder, Durability(self.durability), self._lock_owner, lock)

    @cached_property
    def _folder_and_lock(self) -> tuple[Path, folder_lock.FolderLock]:
        """The data folder and its lock; if another server has locked it, the next free folder.

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
        return make_environment(self._find_own_endpoint(), self.tokens.worker)

    def _find_own_endpoint(self) -> discover.CoreEndpoint:
        url = find_agent_url(self.serverapp) if self.serverapp else None
        if url is None:
            raise OSError("this server listens on a UNIX socket, where programs can't connect")
        return discover.CoreEndpoint(url, self.tokens.agent)

    @cached_property
    def tokens(self) -> discover.CoreTokens:
        """The tokens of agents, control programs and workers."""
        given = discover.CoreTokens(self.agent_token, self.control_token, self.worker_token)
        return discover.load_core_tokens(self._folder_and_lock[0], given)

    @property
    def _lock_owner(self) -> str:
        return f"the Jupyter server in {self.serverapp.root_dir}" if self.serverapp else "Jupyter"

    @validate("keep_days", "keep_gib", "keep_sessions")
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

    @validate("model_rates")
    def _validate_model_rates(self, proposal: Any) -> list[str]:
        value: list[str] = proposal["value"]
        try:
            for each in value:
                parse_model_rate(each)
        except ValueError as error:
            raise TraitError(str(error)) from None
        return value

    @validate("coding_defaults", "coding_limits")
    def _validate_coding_settings(self, proposal: Any) -> dict[str, Any]:
        value: dict[str, Any] = proposal["value"]
        try:
            typed_json.convert(value, CodingSettings)
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
        self.host.attach(self.hub)
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
        static_folder = Path(self.static_paths[0])
        page = {"static_url": self.static_url_prefix, "static_folder": static_folder}
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
                (r"/agentstepper/app", AppHandler, page),
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
        if self.host.metrics is not None:
            figures = {"metrics": self.host.metrics}
            self.handlers.append((METRICS_PATH, runtime_handlers.MetricsHandler, figures))

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
    return typed_json.convert(trait, CodingSettings)
