"""The Jupyter server extension: makes the Hub, routes to it, announces it, closes it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from jupyter_server.extension.application import ExtensionApp
from jupyter_server.serverapp import ServerApp
from traitlets import Int, Unicode, default

from .. import discover, static_files
from ..hub import Hub
from ..protocol.frame import MAX_MESSAGE
from ..store import MemoryStore
from .announce import agent_url, announced
from .page import App
from .rest import AllRuns, Export, Import, OneRun
from .sockets import AgentSocket, UiSocket


class AgentStepperExtension(ExtensionApp):
    """The debugger for LLM agents, inside the Jupyter server."""

    name = "agentstepper"
    extension_url = "/agentstepper/app"
    load_other_extensions = True

    data_dir = Unicode(
        help="The folder that keeps the agents' token and the runs that ended. "
        "Default: agentstepper/ in Jupyter's data folder."
    ).tag(config=True)
    agent_token = Unicode(
        help="The token that agents present; never Jupyter's own. "
        "Default: made once and kept in data_dir, readable by you alone."
    ).tag(config=True)
    max_message = Int(
        MAX_MESSAGE,
        min=1024,
        help="The largest message taken from an agent or a view, and the largest .run file, "
        "in bytes.",
    ).tag(config=True)

    @default("data_dir")
    def _default_data_dir(self) -> str:
        return str(discover.data_dir())

    @default("agent_token")
    def _default_agent_token(self) -> str:
        return discover.load_or_create_token(Path(self.data_dir))

    @default("static_paths")
    def _default_static_paths(self) -> list[str]:
        return [str(static_files.STATIC)]

    def initialize_settings(self) -> None:
        """Make the Hub; Jupyter calls this once, before it listens."""
        self.hub = Hub(MemoryStore(Path(self.data_dir) / "logs"), logger=self.log)
        self._announced = ExitStack()

    def initialize_handlers(self) -> None:
        """Route; Jupyter puts its base_url before each path."""
        runs = {"hub": self.hub, "max_message": self.max_message}
        run = r"/agentstepper/api/runs/([^/]+)"
        self.handlers.extend(
            [
                (r"/agentstepper/agent", AgentSocket, {**runs, "token": self.agent_token}),
                (r"/agentstepper/ui", UiSocket, runs),
                (r"/agentstepper/app", App, {"static_url": self.static_url_prefix}),
                (r"/agentstepper/api/runs", AllRuns, runs),
                (r"/agentstepper/api/runs/import", Import, runs),
                (run, OneRun, runs),
                (run + "/export", Export, runs),
            ]
        )

    async def _start_jupyter_server_extension(self, serverapp: ServerApp) -> None:
        """Announce the Core; Jupyter calls this when it listens."""
        url = agent_url(serverapp)
        if url is None:
            self.log.warning(
                "AgentStepper: this server listens on a UNIX socket, where agents can't connect. "
                "Start it with a port, or run `agentstepper serve` beside it."
            )
            return
        self._announced.enter_context(announced(serverapp, url, self.agent_token))
        self.log.info("AgentStepper: agents connect to %s", url)

    async def stop_extension(self) -> None:
        """Withdraw the announcement and close the Hub."""
        self._announced.close()
        self.hub.close()
