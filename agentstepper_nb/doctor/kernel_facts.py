"""The kernel that this process is, if it is one."""

from __future__ import annotations

import asyncio
import sys

from ..discover import find_own_core
from .facts import KernelFacts


def find_kernel_core_url() -> str:
    """Where agents reach the Core of this process; empty where it has none."""
    if "IPython" not in sys.modules:
        return ""
    from ..widgets import kernel_core

    inside = kernel_core.get_kernel_core()
    return "" if inside is None else inside.endpoint.url


def collect_kernel_facts() -> KernelFacts | None:
    """What this kernel can; None in any other process."""
    if "IPython" not in sys.modules:
        return None
    from ..instrument import is_enabled, list_seams
    from ..sdk.seam_report import describe_seams
    from ..widgets import kernel_core
    from ..widgets.kernel_capabilities import find_capabilities

    can = find_capabilities()
    if can is None:
        return None
    inside = kernel_core.get_kernel_core()
    server = find_own_core()
    seams, is_on = list_seams(), is_enabled()
    return KernelFacts(
        name=can.name,
        subshells=can.subshells,
        server="" if server is None else server.url,
        kernel_core_reason="" if inside is None else inside.reason,
        has_nested_loops=hasattr(asyncio, "_nest_patched"),
        seams=describe_seams(seams) if is_on else None,
        failed_seams=tuple(f"{seam.library}: {seam.reason}" for seam in seams if seam.has_failed),
    )
