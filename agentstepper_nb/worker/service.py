"""What a worker serves, and how it is found."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from importlib.metadata import entry_points
from pathlib import Path
from typing import Final, Protocol

from msgspec import Raw, Struct

#: The entry points of installed services; each names a function that makes one.
GROUP: Final = "agentstepper_nb.services"


class Service(Protocol):
    """Answers requests, on the worker's event loop, which it mustn't block.

    A `CommandError` or `ProtocolError` that it raises goes to who asked; anything else is logged.
    """

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once. Cancelled where nobody wants the answer any more.

        Args:
            method: What is asked.
            params: With what, as JSON.
        """

    def stream(self, method: str, params: Raw) -> AsyncIterator[Struct]:
        """Answer with items: an async generator. It is taken from only as far as its reader has room,
        and closed where its reader is gone.

        Args:
            method: What is asked.
            params: With what, as JSON.
        """

    async def close(self) -> None:
        """The worker ends."""


@dataclass(frozen=True)
class ServiceContext:
    """What a service is given.

    Args:
        data_dir: The folder that the Core keeps its runs in; services take folders of their own there.
        log: The worker's log, which is part of the Core's.
    """

    data_dir: Path
    log: logging.Logger = field(default_factory=lambda: logging.getLogger("agentstepper_nb.worker"))


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
