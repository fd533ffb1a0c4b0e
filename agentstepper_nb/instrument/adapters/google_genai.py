"""Queries of Google's GenAI SDK, whose asynchronous client sends by aiohttp where that is installed.

The seam is that of httpx: the SDK also has an httpx client, and uses this client inside of a run.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, Final

from ..current_run import is_run_expected
from ..patches import Patches

#: An attribute of the SDK's client, once it is made, if the client may send by aiohttp.
_READY: Final = "_async_client_session_request_args"


def install(library: ModuleType, patches: Patches) -> None:
    """Send queries by httpx.

    Args:
        library: `google.genai._api_client`.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.BaseApiClient, "_use_aiohttp", _use_aiohttp)


def _use_aiohttp(use: Any, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    has_httpx = getattr(client, "_async_httpx_client", None) is not None
    if has_httpx and hasattr(client, _READY) and is_run_expected():
        return False
    return use(*args, **kwargs)
