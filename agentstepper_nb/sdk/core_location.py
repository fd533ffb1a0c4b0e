"""An agent's choice of its Core: by address and port, by URL, or by discovery."""

from __future__ import annotations

from typing import Final, NamedTuple

from ..discover import CoreEndpoint, discover, make_endpoint
from .argument_checks import check_optional_text, check_port

#: The URL of no Core: its runs are recorded and shown nowhere.
OFFLINE_URL: Final = "offline:"


class CoreLocation(NamedTuple):
    """The arguments of an AgentStepper that name its Core; all None: the Core is discovered."""

    address: str | None
    port: int | None
    url: str | None
    token: str | None  # the agent token

    def check(self) -> None:
        """Refuse arguments that name no Core.

        Raises:
            TypeError: One is of the wrong type.
            ValueError: No port has this number, or a URL stands beside an address or port.
        """
        check_port("port", self.port)
        for name in ("address", "url", "token"):
            check_optional_text(name, getattr(self, name))
        if self.url is not None and (self.address is not None or self.port is not None):
            raise ValueError(
                "url= was passed together with address or port. Pass either url=, or address "
                "and port."
            )

    def find_endpoint(self) -> CoreEndpoint:
        """Find the Core's endpoint for agents.

        Raises:
            DiscoveryError: The agent names no Core, and no Core runs, or several do.
        """
        if self.url == OFFLINE_URL:
            return CoreEndpoint(OFFLINE_URL)
        if self.address is not None or self.port is not None:
            return make_endpoint(self.address, self.port, self.token)
        return discover(self.url, self.token)
