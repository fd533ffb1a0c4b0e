"""What this kernel can: whether it hears a view while a cell keeps its main thread."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any, Final

from IPython.core.getipython import get_ipython

#: As kernels say it in their kernel_info_reply.
_SUBSHELLS: Final = "kernel subshells"


@dataclass(frozen=True)
class KernelCapabilities:
    """What a kernel can.

    Args:
        name: The kernel's implementation and its version, for a person.
        subshells: Whether comm messages are handled on threads of their own, so that a view is heard
            while the main thread is blocked. Whether a front end sends them there is its own matter.
    """

    name: str
    subshells: bool


def find_capabilities() -> KernelCapabilities | None:
    """What the kernel of this process can; None where this process is no kernel."""
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
    """Let messages be handled where the front end sent them: on a thread of their own.

    ipykernel 7.4 hands them to the thread that last published on the comm, which is the main one.

    Args:
        comm: A widget's.
    """
    if hasattr(comm, "_reply_subshell_for"):
        comm._reply_subshell_for = lambda data, default: default


def _shell() -> Any:
    return get_ipython()
