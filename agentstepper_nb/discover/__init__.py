"""Where the Core is, and the token that it asks for.

A Core that runs inside a Jupyter server leaves a runtime file beside Jupyter's own, which names the data
folder where its tokens lie. `discover` looks in this order: what the caller says, the environment, the
runtime file of the server whose kernel this is, the only running server of this user. Several are
listed, never guessed among.
"""

from .addresses import (
    DEFAULT_PORT,
    agents_url,
    chat_url,
    host_url,
    is_same,
    runtime_url,
    websocket_url,
    worker_url,
)
from .finding import (
    CONTROL_VARIABLE,
    NAME_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    WORKER_URL_VARIABLE,
    discover,
    discover_control,
    endpoint,
    folder_endpoint,
    own_core,
    running_core,
    runtime_endpoint,
    ui_endpoint,
    worker_endpoint,
)
from .local_cores import add_local_core, local_cores, remove_local_core
from .runtime_files import (
    Endpoint,
    RuntimeFile,
    remove_runtime_file,
    running_servers,
    write_runtime_file,
)
from .tokens import (
    CONTROL_FILE,
    TOKEN_FILE,
    WORKER_FILE,
    Tokens,
    core_tokens,
    data_dir,
    load_or_create_token,
    private_folders,
    read_token,
)

__all__ = [
    "CONTROL_FILE",
    "CONTROL_VARIABLE",
    "DEFAULT_PORT",
    "NAME_VARIABLE",
    "TOKEN_FILE",
    "TOKEN_VARIABLE",
    "URL_VARIABLE",
    "WORKER_FILE",
    "WORKER_TOKEN_VARIABLE",
    "WORKER_URL_VARIABLE",
    "Endpoint",
    "RuntimeFile",
    "Tokens",
    "add_local_core",
    "agents_url",
    "chat_url",
    "core_tokens",
    "data_dir",
    "discover",
    "discover_control",
    "endpoint",
    "folder_endpoint",
    "host_url",
    "is_same",
    "load_or_create_token",
    "local_cores",
    "own_core",
    "private_folders",
    "read_token",
    "remove_local_core",
    "remove_runtime_file",
    "running_core",
    "running_servers",
    "runtime_endpoint",
    "runtime_url",
    "ui_endpoint",
    "websocket_url",
    "worker_endpoint",
    "worker_url",
    "write_runtime_file",
]
