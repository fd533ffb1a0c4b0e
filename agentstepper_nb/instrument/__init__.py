"""Zero-line attaching: agents halt at each LLM query without a line of theirs changed.

Imports `sdk`, `llm_wire` and `protocol`; httpx, httpx2 and frameworks only once an agent imports these.
Begin reading in `http_seam`, then in `http_query`: one query on its way through the seam.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..protocol.seams import Seam
from .endpoints import register_endpoint
from .seams import disable, enable, is_enabled, list_seams

if TYPE_CHECKING:
    from .custom_transport import trace_request, trace_request_async

__all__ = [
    "Seam",
    "disable",
    "enable",
    "is_enabled",
    "list_seams",
    "register_endpoint",
    "trace_request",
    "trace_request_async",
]


def __getattr__(name: str) -> Any:
    """Load the functions that need the SDK on first use: `%load_ext` needs no SDK at first."""
    if name not in ("trace_request", "trace_request_async"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import custom_transport

    return getattr(custom_transport, name)
