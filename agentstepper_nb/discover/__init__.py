"""Where the Core is, and the token its agents need.

A Core that runs inside a Jupyter server leaves a runtime file beside Jupyter's own; agents read it.
`discover` looks in this order: what the caller says, the environment, the runtime file of the server
whose kernel this is, the only running server of this user. Several are listed, never guessed among.
"""

from .finding import (
    CONTROL_VARIABLE,
    DEFAULT_PORT,
    NAME_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    WORKER_URL_VARIABLE,
    agents_url,
    chat_url,
    discover,
    discover_control,
    endpoint,
    own_core,
    runtime_endpoint,
    runtime_url,
    websocket_url,
    worker_endpoint,
    worker_url,
)
from .runtime_files import (
    Endpoint,
    RuntimeFile,
    remove_runtime_file,
    running_servers,
    write_runtime_file,
)
from .tokens import CONTROL_FILE, TOKEN_FILE, data_dir, load_or_create_token, read_token

__all__ = [
    "CONTROL_FILE",
    "CONTROL_VARIABLE",
    "DEFAULT_PORT",
    "NAME_VARIABLE",
    "TOKEN_FILE",
    "TOKEN_VARIABLE",
    "URL_VARIABLE",
    "WORKER_TOKEN_VARIABLE",
    "WORKER_URL_VARIABLE",
    "Endpoint",
    "RuntimeFile",
    "agents_url",
    "chat_url",
    "data_dir",
    "discover",
    "discover_control",
    "endpoint",
    "load_or_create_token",
    "own_core",
    "read_token",
    "remove_runtime_file",
    "running_servers",
    "runtime_endpoint",
    "runtime_url",
    "websocket_url",
    "worker_endpoint",
    "worker_url",
    "write_runtime_file",
]
