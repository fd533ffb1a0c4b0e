"""The kernel that this process is, if it is one."""

from __future__ import annotations

import asyncio
import sys

from ..discover import own_core
from .facts import Kernel


def url_inside() -> str:
    """Where agents reach the Core of this process; empty where it has none."""
    if "IPython" not in sys.modules:
        return ""
    from ..widgets import kernel_core

    inside = kernel_core.running()
    return "" if inside is None else inside.endpoint.url


def kernel() -> Kernel | None:
    """What this kernel can; None in any other process."""
    if "IPython" not in sys.modules:
        return None
    from ..widgets import kernel_core
    from ..widgets.kernel_abilities import abilities

    can = abilities()
    if can is None:
        return None
    inside = kernel_core.running()
    server = own_core()
    return Kernel(
        name=can.name,
        subshells=can.subshells,
        server="" if server is None else server.url,
        core_inside="" if inside is None else inside.why,
        nested=hasattr(asyncio, "_nest_patched"),
    )
