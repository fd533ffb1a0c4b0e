"""What processes on the cluster need to reach a Core: its address, tokens and certificates."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Protocol, Self
from urllib.parse import urlsplit

from .. import discover
from ..discover import CoreEndpoint, CoreTokens
from ..errors import DiscoveryError
from ..sdk.environment import make_environment

_LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})


class RunningCore(Protocol):
    """A Core of this process: an `AgentStepperCore` that is started."""

    client_port: int
    tokens: CoreTokens

    def url(self, port: int) -> str:
        """Where programs of this machine reach a port of the Core's."""


@dataclass(frozen=True)
class CoreAccess:
    """How processes on other machines reach a Core. It travels to them, and so do the tokens, which no
    log of Dask's shows.

    Args:
        url: Where they reach it: the address for agents.
        agent_token: What agents send; "": nothing.
        worker_token: What workers send.
        certificate: The Core's own certificate (PEM), which alone is accepted; "": as authorities say.
        authorities: A file of certificate authorities (PEM) beside the machine's.
        origin: The name of the machine that made this.
    """

    url: str
    agent_token: str = field(repr=False)
    worker_token: str = field(repr=False)
    certificate: str = field(repr=False)
    authorities: bytes = field(repr=False)
    origin: str

    @classmethod
    def make(cls, url: str, tokens: CoreTokens, own_url: str) -> Self:
        """Collect what another machine can't find by itself.

        Args:
            url: Where the cluster's machines reach the Core.
            tokens: The Core's.
            own_url: Where this process reaches the same Core.
        """
        own = discover.find_certificate(own_url)
        authorities = os.environ.get(discover.CA_FILE_VARIABLE, "")
        return cls(
            url=url,
            agent_token=tokens.agent,
            worker_token=tokens.worker,
            certificate=discover.read_first_certificate(Path(own)) if own else "",
            authorities=Path(authorities).read_bytes() if authorities else b"",
            origin=socket.gethostname(),
        )

    def check_reachable(self) -> None:
        """Refuse an address that means another machine here.

        Raises:
            DiscoveryError: It is the loopback address, and this isn't the Core's machine.
        """
        host = urlsplit(self.url).hostname
        if host in _LOOPBACK and socket.gethostname() != self.origin:
            raise DiscoveryError(
                f"The Core at {self.url} can't be reached from {socket.gethostname()}: it listens on "
                f"{self.origin} alone. Start the Core with --host, and pass its address as node_url=."
            )

    def make_agent_environment(self, folder: Path) -> dict[str, str]:
        """The environment of an agent on this machine; it has no other token than the agent token.

        Args:
            folder: Where files of certificates are written.
        """
        inherited = dict(os.environ)
        for name in (discover.WORKER_TOKEN_VARIABLE, discover.WORKER_URL_VARIABLE):
            inherited.pop(name, None)
        environment = make_environment(inherited, CoreEndpoint(self.url, self.agent_token or None))
        return environment | self._write_certificates(folder)

    def make_worker_environment(self, folder: Path) -> dict[str, str]:
        """The environment of a worker on this machine.

        Args:
            folder: Where files of certificates are written.
        """
        return self.make_agent_environment(folder) | {
            discover.WORKER_URL_VARIABLE: discover.to_worker_url(self.url),
            discover.WORKER_TOKEN_VARIABLE: self.worker_token,
        }

    def _write_certificates(self, folder: Path) -> dict[str, str]:
        named = {
            discover.CERTIFICATE_VARIABLE: ("core.pem", self.certificate.encode()),
            discover.CA_FILE_VARIABLE: ("authorities.pem", self.authorities),
        }
        written = {}
        for variable, (name, content) in named.items():
            if content:
                draft = folder / f"{name}.{os.getpid()}.tmp"
                draft.write_bytes(content)
                written[variable] = str(draft.replace(folder / name))
        return written


def find_core(
    core: str | RunningCore | None, *, needs_worker_token: bool = True
) -> tuple[str, CoreTokens]:
    """Where this process reaches a Core, and its tokens.

    Args:
        core: A Core of this process, the address for agents of another, or None: the running one.
        needs_worker_token: Whether workers are started, which send the worker token.

    Raises:
        DiscoveryError: There is no Core, there are several, or a token isn't known here.
    """
    if core is not None and not isinstance(core, str):
        return core.url(core.client_port), core.tokens
    agents = discover.discover(core)
    control = discover.find_runtime_endpoint(agents.url).token or ""
    worker = _find_worker_token(agents.url) if needs_worker_token else ""
    needed = [("control", control, discover.CONTROL_TOKEN_VARIABLE)]
    if needs_worker_token:
        needed.append(("worker", worker, discover.WORKER_TOKEN_VARIABLE))
    for name, token, variable in needed:
        if not token:
            raise DiscoveryError(
                f"The {name} token of the Core at {agents.url} isn't known here. Set "
                f"{discover.URL_VARIABLE} to that address, and {variable} to the content of the file "
                f"{name}-token in the Core's data folder."
            )
    return agents.url, CoreTokens(agents.token or "", control, worker)


def _find_worker_token(url: str) -> str:
    # Finding the worker's address takes the token out of the environment, where it is needed again.
    inherited = os.environ.get(discover.WORKER_TOKEN_VARIABLE)
    found = discover.find_worker_endpoint(url, inherited)
    if inherited is not None:
        os.environ[discover.WORKER_TOKEN_VARIABLE] = inherited
    return found.token or ""
