"""Whether this kernel can receive a view's messages while a cell blocks its main thread."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final

from IPython.core.getipython import get_ipython

#: The name of the feature in a kernel's kernel_info_reply.
_SUBSHELLS: Final = "kernel subshells"


@dataclass(frozen=True)
class KernelCapabilities:
    """The capabilities of a kernel.

    Args:
        name: The kernel's implementation and its version, for a person.
        subshells: Whether comm messages are handled on threads of their own, so that a view's messages
            are received while the main thread is blocked. A front end may not use this.
    """

    name: str
    subshells: bool


def find_capabilities() -> KernelCapabilities | None:
    """Find the capabilities of this process's kernel; None if this process isn't a kernel."""
    kernel: Any = getattr(_shell(), "kernel", None)
    if kernel is None:
        return None
    info: Any = getattr(kernel, "kernel_info", None) or {}
    # What implements it: ipykernel gives IPython's version for its own.
    package = type(kernel).__module__.partition(".")[0]
    version = getattr(sys.modules.get(package), "__version__", "")
    return KernelCapabilities(
        f"{package} {version}".strip(), _SUBSHELLS in info.get("supported_features", ())
    )


def handle_on_subshell_thread(comm: Any) -> None:
    """Handle a comm's messages on the thread to which the front end sent them.

    ipykernel 7.4 passes them to the thread that last published on the comm, usually the main one.

    Args:
        comm: A widget's comm.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, default: default


def _shell() -> Any:
    return get_ipython()
