"""What a worker serves, and how it is found."""

from __future__ import annotations

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Protocol, TypeVar

from msgspec import Raw, Struct

#: The entry points of installed services; each names a function that makes one.
GROUP: Final = "agentstepper_nb.services"

Value = TypeVar("Value")


class Service(Protocol):
    """Answers requests, on the worker's event loop, which it mustn't block.

    A `CommandError` or `ProtocolError` that it raises goes to who asked; anything else is logged.
    """

    async def call(self, method: str, params: Raw) -> Struct | Raw | None:
        """Answer once; a `Raw` is JSON already. Cancelled where nobody wants the answer any more.

        Args:
            method: What is asked.
            params: With what, as JSON.
        """

    def stream(self, method: str, params: Raw) -> AsyncIterator[Struct | Raw]:
        """Answer with items: an async generator. It is taken from only as far as its reader has room,
        and closed where its reader is gone.

        Args:
            method: What is asked.
            params: With what, as JSON.
        """

    async def close(self) -> None:
        """The worker ends."""


class CoreDoor(Protocol):
    """By which a service asks the Core, over whatever connection of this worker stands."""

    async def connected(self) -> None:
        """Wait until there is a connection; at once where there is one."""

    async def call(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> Value:
        """Ask for a result.

        Args:
            service: A service of the Core's.
            method: What.
            params: With what.
            kind: The answer's class; `type(None)` where there is none.

        Raises:
            CommandError: It was refused; `worker_lost`: there is no connection, or it broke before the
                answer came, so that nobody knows whether it was done.
        """

    def stream(
        self, service: str, method: str, params: Struct | None, kind: type[Value]
    ) -> AsyncGenerator[Value, None]:
        """Ask for a stream of items; closing it cancels. Arguments and errors as `call`."""


@dataclass(frozen=True)
class ServiceContext:
    """What a service is given.

    Args:
        data_dir: The folder that the Core keeps its runs in; services take folders of their own there.
        log: The worker's log, which is part of the Core's.
        core: The Core; None where a service is made for itself.
        lease_s: Seconds that claims of agents and their actions last unless they are renewed.
        poll_s: Seconds after which a dispatcher looks for actions though nobody has woken it.
    """

    data_dir: Path
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("agentstepper_nb.worker"))
    core: CoreDoor | None = None
    lease_s: float = 10.0
    poll_s: float = 1.0


#: Makes a service; what an entry point names.
Factory = Callable[[ServiceContext], Service]


def load_services(context: ServiceContext) -> dict[str, Service]:
    """Make every installed service. One that fails is logged, and the others are served.

    Args:
        context: What each is given.

    Returns:
        The services by name.
    """
    services: dict[str, Service] = {}
    for entry in entry_points(group=GROUP):
        try:
            factory: Factory = entry.load()
            services[entry.name] = factory(context)
        except Exception:
            context.log.exception("the service %s (%s) can't be used", entry.name, entry.value)
    return services
