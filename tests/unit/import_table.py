"""Who may import whom: a row for each package, as docs/design/0001-architecture.md has it."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Row:
    """What one package, or module right below it, may import beside itself and the standard library."""

    # Packages, or single modules of one: "core" or "core.breakpoints".
    packages: tuple[str, ...] = ()
    # The same, but only where importing costs nothing until used: in a function, or for types.
    on_use: tuple[str, ...] = ()
    # Packages of others, each with the one module that may name it, "" for the whole package.
    third_party: dict[str, str] = field(default_factory=dict)
    # A package without I/O, time or chance: those are passed in.
    pure: bool = False


ANYTHING = "*"
# Leaves that every package may import.
EVERYWHERE = (
    "errors",
    "entry_point_loader",
    "json_log",
    "own_queries",
    "suggestions",
    "typed_json",
    "_version",
)
# Who may import the protocol handles its values, and those are msgspec's.
WITH_PROTOCOL = "msgspec"

TABLE = {
    "_version": Row(),
    "errors": Row(),
    "entry_point_loader": Row(),
    "json_log": Row(),
    "own_queries": Row(pure=True),
    "suggestions": Row(pure=True),
    "typed_json": Row(third_party={"msgspec": ""}),
    "protocol": Row(third_party={"msgspec": "", "regex": "protocol.text_escaping"}, pure=True),
    "core": Row(packages=("protocol",), third_party={"regex": "core.breakpoints"}, pure=True),
    "llm_wire": Row(packages=("protocol",), pure=True),
    "store": Row(
        packages=("protocol",),
        third_party={
            "sqlite3": "",
            "filelock": "store.folder_lock",
            "lancedb": "store.lance",
            "pyarrow": "store.lance",
            "psycopg": "store.runtime.postgres",
            "croniter": "store.runtime.schedules",
        },
    ),
    "discover": Row(third_party={"jupyter_core": "", "filelock": "discover.tokens"}),
    # Where the built JavaScript lies.
    "static_files": Row(),
    # Logs and transcripts, of which each line is written as it comes.
    "line_file": Row(third_party={"filelock": ""}),
    "sdk": Row(
        packages=("protocol", "core.breakpoints", "discover", "llm_wire", "rpc.backoff"),
        on_use=("models.provider",),
        third_party={"websockets": "", "wrapt": "", "uuid_utils": ""},
    ),
    # Frameworks and HTTP libraries are wrapped once an agent imports them; none is imported here.
    "instrument": Row(
        packages=("protocol", "sdk", "llm_wire"),
        third_party={
            "wrapt": "",
            "tornado": "instrument.proxy",
            "httpx": "instrument.proxy",
            "httpx2": "instrument.proxy",
            "agent_framework": "instrument.adapters.agent_framework",
            "agents": "instrument.adapters.openai_agents",
            "anthropic": "instrument.adapters.anthropic",
            "google": "instrument.adapters.google_adk",
            "langchain_core": "instrument.adapters.langchain",
            "langgraph": "instrument.adapters.langchain",
            "mcp": "instrument.adapters.mcp",
            "pydantic_ai": "instrument.adapters.pydantic_ai",
            "crewai": "instrument.adapters.crewai",
            "minisweagent": "instrument.adapters.mini_swe_agent",
            "smolagents": "instrument.adapters.smolagents",
        },
    ),
    "auto": Row(packages=("instrument",)),
    "models": Row(
        packages=("protocol", "llm_wire"),
        third_party={
            "openai": "models.openai",
            "anthropic": "models.anthropic",
            "xllamacpp": "models.local",
        },
    ),
    "hub": Row(
        packages=(
            "protocol",
            "core",
            "store",
            "discover",
            "models.provider",
            "rpc",
        ),
        on_use=("replay",),
        third_party={
            "websockets": "",
            "uuid_utils": "",
            "genai_prices": "hub.model_info",
            "prometheus_client": "hub.metrics",
        },
    ),
    # Runs that are kept, for notebooks: pandas costs nothing until a table is asked for.
    "history": Row(
        packages=("protocol", "core", "store", "discover", "sdk.handshake"),
        third_party={"pandas": "", "uuid_utils": ""},
    ),
    # Agents run again on what was recorded of them.
    "replay": Row(
        packages=(
            "protocol",
            "core.next_actions",
            "sdk",
            "history",
            "discover",
            "store.atomic_files",
        ),
        on_use=("instrument",),
    ),
    # pytest's own plugin loads it in each process: the rest costs nothing until a test is marked.
    "pytest_plugin": Row(on_use=("replay",), third_party={"pytest": ""}),
    # What people set for runs to come, for notebooks: it asks the Core, as agents reach it.
    "breakpoints": Row(
        packages=("protocol", "core.breakpoints", "discover"), on_use=("sdk.handshake",)
    ),
    # The public names that extensions need.
    "extend": Row(packages=("protocol", "core", "hub")),
    "runtime": Row(
        packages=("protocol", "sdk", "store", "models", "llm_wire", "rpc", "worker", "discover"),
    ),
    # Processes that dial in and serve what the Core's own must not run.
    "worker": Row(
        packages=("protocol", "discover", "rpc"), third_party={"websockets": "worker.run_relay"}
    ),
    # Requests both ways over one connection: for workers and for clients.
    "rpc": Row(packages=("protocol", "discover"), third_party={"websockets": ""}),
    # Workers and agents on a Dask cluster.
    "fleet": Row(
        packages=("protocol", "discover", "rpc", "sdk", "instrument", "breakpoints"),
        third_party={"distributed": "", "cloudpickle": ""},
    ),
    "coding": Row(
        packages=(
            *("protocol", "sdk", "models", "llm_wire", "rpc", "worker", "runtime", "discover"),
            "line_file",
        ),
        third_party={
            "regex": "coding.tools.search",
            "pathspec": "coding.tools.search",
            "filelock": "",
        },
    ),
    "chat": Row(
        packages=(
            *("protocol", "sdk", "models", "llm_wire", "rpc", "worker", "runtime", "discover"),
            "line_file",
        ),
        third_party={"jwt": "chat.remote.tokens", "filelock": ""},
    ),
    # traitlets is how the Jupyter server and widgets are configured and synced.
    "server_ext": Row(
        packages=("protocol", "hub", "store", "discover", "static_files"),
        third_party={"jupyter_server": "", "tornado": "", "traitlets": ""},
    ),
    # The hub is for a Core inside the kernel.
    "widgets": Row(
        packages=(
            "protocol",
            "discover",
            "static_files",
            "hub",
            "rpc",
            "runtime.client",
            "chat",
        ),
        third_party={
            "anywidget": "",
            "ipywidgets": "",
            "traitlets": "",
            "IPython": "",
            "websockets": "widgets.core_relay",
        },
    ),
    # What it examines it imports when it gets there: the rest works where that is missing or broken.
    "doctor": Row(
        packages=("discover", "static_files"), on_use=(ANYTHING,), third_party={"jupyter_core": ""}
    ),
    "magics": Row(packages=(ANYTHING,)),
    "cli": Row(packages=(ANYTHING,)),
    "__main__": Row(packages=(ANYTHING,)),
    # The public names, each imported when first asked for.
    "__init__": Row(on_use=(ANYTHING,)),
}
