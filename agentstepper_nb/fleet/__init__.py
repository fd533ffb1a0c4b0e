"""Workers and agents on a Dask cluster. Dask places processes; the Core has the queue and the runs.

Imports `protocol`, `discover`, `rpc`, `sdk`, `instrument`, `breakpoints`; distributed and cloudpickle.
Begin reading in `fleet`; `worker_slots` has the worker processes of one machine, `agent_process` the
process of one mapped agent.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from .fleet import Fleet
    from .mapped_agents import LostAgentError, MappedAgent, MappedAgents, UnreadableResultError

__all__ = ["Fleet", "LostAgentError", "MappedAgent", "MappedAgents", "UnreadableResultError"]

#: Imported on use: an agent's process needs neither Dask nor the rest.
_HOMES: Final = {"Fleet": ".fleet"}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        return getattr(import_module(_HOMES.get(name, ".mapped_agents"), __name__), name)
    except ModuleNotFoundError as error:
        if error.name != "distributed":
            raise
        raise ImportError(
            "Dask isn't installed: install it by pip install 'agentstepper_nb[dask]'."
        ) from None
