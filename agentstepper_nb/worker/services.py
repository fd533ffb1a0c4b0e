"""What a worker serves: how its services are found, and what each is given."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol, runtime_checkable

from ..entry_point_loader import EntryPointLoader
from ..rpc.session import RpcCaller, RpcService

#: Where steps run: see `ServiceContext.isolation`.
Isolation = Literal["process", "none"]
#: Sessions that have a process at once, where nothing else is said.
DEFAULT_PROCESSES: Final = 32
#: The entry points of installed services; each names a function that makes one.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.services"


@dataclass(frozen=True)
class ServiceContext:
    """What a service is given.

    Args:
        data_dir: The folder that the Core keeps its runs in; services take folders of their own there.
        log: The worker's log, which is part of the Core's.
        core_caller: The Core; None where a service is made for itself.
        lease_s: Seconds that claims of agents and their actions last unless they are renewed.
        poll_s: Seconds after which a dispatcher looks for actions though nobody has woken it.
        isolation: Where steps of background agents run whose moniker isn't cooperative: each session's
            alone in a process, or on this process' event loop.
        processes: How many sessions have a process at once.
        labels: What this worker is labelled with: sessions that require a label go to workers that have
            it.
        max_sessions: How many sessions it takes at most. None: any number.
    """

    data_dir: Path
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("agentstepper_nb.worker"))
    core_caller: RpcCaller | None = None
    lease_s: float = 10.0
    poll_s: float = 1.0
    isolation: Isolation = "process"
    processes: int = DEFAULT_PROCESSES
    labels: tuple[str, ...] = ()
    max_sessions: int | None = None


#: Makes a service; what an entry point names.
Factory = Callable[[ServiceContext], RpcService]


@runtime_checkable
class DrainableService(Protocol):
    """A service that can hand over what it does, so that its worker ends without breaking that off."""

    async def drain(self, timeout_s: float) -> None:
        """Take nothing new, end what is under way, and hand over the rest.

        Args:
            timeout_s: Seconds after which what is under way is broken off.
        """


def is_any_busy(services: Mapping[str, RpcService]) -> bool:
    """Whether a service has something under way. One that has no `is_busy` never says so.

    Args:
        services: The services by name.
    """
    return any(getattr(service, "is_busy", False) for service in services.values())


def load_services(context: ServiceContext) -> dict[str, RpcService]:
    """Make every installed service. One that fails is logged, and the others are served.

    Args:
        context: What each is given.

    Returns:
        The services by name.
    """
    services: dict[str, RpcService] = {}

    def make(name: str, factory: Factory) -> None:
        services[name] = factory(context)

    EntryPointLoader[Factory](ENTRY_POINT_GROUP, "service").load_each(make, context.log)
    return services
