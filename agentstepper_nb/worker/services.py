"""What a worker serves: how its services are found, and what each is given."""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from ..entry_point_loader import EntryPointLoader
from ..rpc.session import RpcCaller, RpcService

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
    """

    data_dir: Path
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("agentstepper_nb.worker"))
    core_caller: RpcCaller | None = None
    lease_s: float = 10.0
    poll_s: float = 1.0


#: Makes a service; what an entry point names.
Factory = Callable[[ServiceContext], RpcService]


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
