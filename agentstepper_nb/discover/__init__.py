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
from .core_info import (
    CoreEndpoint,
    CoreInfo,
    list_announced_cores,
    remove_core_info,
    write_core_info,
)
from .core_lookup import (
    AGENT_TOKEN_VARIABLE,
    CONTROL_TOKEN_VARIABLE,
    PROGRAM_NAME_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    WORKER_URL_VARIABLE,
    discover,
    discover_control_endpoint,
    find_folder_endpoint,
    find_own_core,
    find_running_core,
    find_runtime_endpoint,
    find_view_endpoint,
    find_worker_endpoint,
    make_endpoint,
)
from .process_cores import add_process_core, list_process_cores, remove_process_core
from .tokens import (
    AGENT_TOKEN_FILE,
    CONTROL_TOKEN_FILE,
    WORKER_TOKEN_FILE,
    CoreTokens,
    data_dir,
    list_private_folders,
    load_core_tokens,
    load_or_create_token,
    read_token,
)

__all__ = [
    "AGENT_TOKEN_FILE",
    "AGENT_TOKEN_VARIABLE",
    "CONTROL_TOKEN_FILE",
    "CONTROL_TOKEN_VARIABLE",
    "DEFAULT_PORT",
    "PROGRAM_NAME_VARIABLE",
    "URL_VARIABLE",
    "WORKER_TOKEN_FILE",
    "WORKER_TOKEN_VARIABLE",
    "WORKER_URL_VARIABLE",
    "CoreEndpoint",
    "CoreInfo",
    "CoreTokens",
    "add_process_core",
    "data_dir",
    "discover",
    "discover_control_endpoint",
    "find_folder_endpoint",
    "find_own_core",
    "find_running_core",
    "find_runtime_endpoint",
    "find_view_endpoint",
    "find_worker_endpoint",
    "is_same_url",
    "list_announced_cores",
    "list_private_folders",
    "list_process_cores",
    "load_core_tokens",
    "load_or_create_token",
    "make_chat_url",
    "make_endpoint",
    "make_host_url",
    "read_token",
    "remove_core_info",
    "remove_process_core",
    "to_agents_url",
    "to_runtime_url",
    "to_websocket_url",
    "to_worker_url",
    "write_core_info",
]
