"""The services of a worker: their interface, their entry points, and their context."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, Protocol, runtime_checkable

from ..entry_point_loader import EntryPointLoader
from ..rpc.session import RpcCaller, RpcService

#: The isolation of steps; see `ServiceContext.isolation`.
Isolation = Literal["process", "none"]
#: Sessions that have a process at once, where nothing else is said.
DEFAULT_PROCESSES: Final = 32
#: Seconds that a service has to close at the worker's end.
CLOSE_TIMEOUT_S: Final = 4.0
#: The entry points of installed services; each names a function that makes one.
ENTRY_POINT_GROUP: Final = "agentstepper_nb.services"


@dataclass(frozen=True)
class ServiceContext:
    """The context of a service in a worker.

    Args:
        data_dir: The folder of the Core's runs, in which services make folders of their own.
        log: The worker's log, which is part of the Core's log.
        core_caller: The connection to the Core; None: the service is made without a Core.
        lease_s: The lease of claimed agents and actions, in seconds; claims expire unless renewed.
        poll_s: Seconds after which a dispatcher polls for actions without being woken.
        isolation: Where steps of background agents run if their moniker isn't cooperative: in a process
            per session, or on this process' event loop.
        processes: The most sessions that have a process at once.
        labels: The worker's labels. Sessions that require a label go only to workers with this label.
        max_sessions: The most sessions of the worker; None: no limit.
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


#: The function that makes a service; the value of an entry point.
Factory = Callable[[ServiceContext], RpcService]


@runtime_checkable
class DrainableService(Protocol):
    """A service that can hand over what it does, so that its worker ends without breaking that off."""

    async def drain(self, timeout_s: float) -> None:
        """Accept no new work, finish the work under way, and hand over the rest.

        Args:
            timeout_s: Seconds after which unfinished work is cancelled.
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
