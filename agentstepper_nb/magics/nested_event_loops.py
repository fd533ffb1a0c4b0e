"""`%agentstepper nest on`."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec


def nest_event_loops() -> str:
    """Allow nested event loops; only a restart of the kernel undoes this.

    Returns:
        What was done, for a person.
    """
    name = "nest_asyncio2" if find_spec("nest_asyncio2") else "nest_asyncio"
    import_module(name).apply()
    return (
        f"{name} is applied: asyncio.run now works in cells, but anyio.run doesn't. "
        "Restart the kernel to undo this; cells under %%step don't need it."
    )
