"""Where the Core is, and the token that it asks for.

Imports nothing of the other packages.
Begin reading in `core_lookup`: it looks at the caller's arguments, the environment, the runtime
file of the server whose kernel this is, and the only running server of this user, in this order.
"""

from .addresses import (
    DEFAULT_PORT,
    is_same_url,
    make_chat_url,
    make_host_url,
    to_agents_url,
    to_runtime_url,
    to_websocket_url,
    to_worker_url,
)
from .core_lookup import (
    CONTROL_VARIABLE,
    NAME_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    WORKER_URL_VARIABLE,
    discover,
    discover_control,
    find_folder_endpoint,
    find_own_core,
    find_running_core,
    find_runtime_endpoint,
    find_view_endpoint,
    find_worker_endpoint,
    make_endpoint,
)
from .local_cores import add_local_core, list_local_cores, remove_local_core
from .runtime_files import (
    CoreEndpoint,
    RuntimeFile,
    list_running_servers,
    remove_runtime_file,
    write_runtime_file,
)
from .tokens import (
    CONTROL_FILE,
    TOKEN_FILE,
    WORKER_FILE,
    CoreTokens,
    data_dir,
    list_private_folders,
    load_core_tokens,
    load_or_create_token,
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
    "CoreEndpoint",
    "CoreTokens",
    "RuntimeFile",
    "add_local_core",
    "data_dir",
    "discover",
    "discover_control",
    "find_folder_endpoint",
    "find_own_core",
    "find_running_core",
    "find_runtime_endpoint",
    "find_view_endpoint",
    "find_worker_endpoint",
    "is_same_url",
    "list_local_cores",
    "list_private_folders",
    "list_running_servers",
    "load_core_tokens",
    "load_or_create_token",
    "make_chat_url",
    "make_endpoint",
    "make_host_url",
    "read_token",
    "remove_local_core",
    "remove_runtime_file",
    "to_agents_url",
    "to_runtime_url",
    "to_websocket_url",
    "to_worker_url",
    "write_runtime_file",
]
