"""A Core that speaks TLS: who reaches it, whom it is trusted by, and what is said where it isn't."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from queue import SimpleQueue

import pytest

from agentstepper_nb import Agents, AgentStepper, discover
from agentstepper_nb.breakpoints import add_breakpoint, list_breakpoints
from agentstepper_nb.cli.core_connection import (
    ConnectionEvent,
    CoreConnected,
    CoreConnection,
    CoreConnectionRefused,
)
from agentstepper_nb.discover import CoreEndpoint
from agentstepper_nb.errors import ConnectionLostError, DiscoveryError
from agentstepper_nb.hub import AgentStepperCore
from agentstepper_nb.rpc.connection import RpcRefusedError, open_connection
from agentstepper_nb.sdk.environment import make_environment
from agentstepper_nb.sdk.handshake import probe
from tests.helpers.certificates import CertificateAuthority, SignedCertificate

LOG = logging.getLogger("agentstepper_nb.test")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Nothing of whoever runs the tests is found."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    for name in ("URL", "TOKEN", "CONTROL_TOKEN", "CA_FILE", "CERTIFICATE"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)
    return tmp_path


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> CertificateAuthority:
    return CertificateAuthority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(scope="module")
def local(authority: CertificateAuthority) -> SignedCertificate:
    return authority.sign("local", "IP:127.0.0.1", "DNS:localhost")


@pytest.fixture(scope="module")
def foreign(authority: CertificateAuthority) -> SignedCertificate:
    return authority.sign("foreign", "DNS:core.example")


@contextmanager
def serving(certificate: SignedCertificate | None) -> Iterator[AgentStepperCore]:
    """A Core on the loopback address."""
    files = {} if certificate is None else certificate._asdict()
    with AgentStepperCore("127.0.0.1", 0, 0, **files) as core:
        yield core


@contextmanager
def serving_elsewhere(certificate: SignedCertificate | None) -> Iterator[AgentStepperCore]:
    """A Core that this process doesn't know, as one of another machine."""
    with serving(certificate) as core:
        discover.remove_process_core(core.url(core.client_port))
        yield core


def connect_everybody(core: AgentStepperCore) -> None:
    """An agent, a program that controls, a client of background agents, a worker and a view."""
    url, tokens = core.url(core.client_port), core.tokens
    assert url.startswith("wss://")
    with AgentStepper("agent", url=url, token=tokens.agent, stop_on_entry=False) as dbg:
        assert [run.id for run in core.hub.runs()] == [dbg.run_id]
    with Agents.connect(url, tokens.control) as agents:
        assert agents.states() == []
    events: SimpleQueue[ConnectionEvent] = SimpleQueue()
    view = CoreConnection(CoreEndpoint(core.url(core.ui_port or 0), tokens.control), events.put)
    view.start()
    assert isinstance(events.get(timeout=60), CoreConnected)
    view.close()


async def connect_worker(core: AgentStepperCore) -> None:
    endpoint = CoreEndpoint(core.url(core.client_port) + "/worker", core.tokens.worker)
    connection = await open_connection(endpoint, {}, LOG)
    await connection.close()


def test_whoever_trusts_the_authority_connects(
    authority: CertificateAuthority, local: SignedCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(discover.CA_FILE_VARIABLE, str(authority.file))
    with serving_elsewhere(local) as core:
        connect_everybody(core)


async def test_a_worker_connects(
    authority: CertificateAuthority, local: SignedCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(discover.CA_FILE_VARIABLE, str(authority.file))
    with serving_elsewhere(local) as core:
        await connect_worker(core)


def test_a_core_of_this_process_is_known_by_its_certificate(
    foreign: SignedCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever host it names, and without its authority."""
    with serving(foreign) as core:
        connect_everybody(core)
        monkeypatch.setenv(discover.URL_VARIABLE, core.url(core.client_port))
        add = add_breakpoint("before tool x")
        assert list_breakpoints() == [add]


def test_a_core_of_this_user_is_known_by_its_certificate(foreign: SignedCertificate) -> None:
    with serving_elsewhere(foreign) as core:
        url = core.url(core.client_port)
        file = discover.write_core_info(url=url, data_dir=None, certificate=core.certificate)
        assert discover.find_certificate(url + "/worker") == str(foreign.certfile)
        probe(CoreEndpoint(url, core.tokens.agent))
        discover.remove_core_info(file)
        with pytest.raises(DiscoveryError, match="isn't trusted"):
            probe(CoreEndpoint(url, core.tokens.agent))


def test_another_certificate_than_the_known_one_is_refused(
    local: SignedCertificate, foreign: SignedCertificate
) -> None:
    """Also where the authority is the same: who has the port now is somebody else."""
    with serving_elsewhere(local) as core:
        url = core.url(core.client_port)
        discover.write_core_info(url=url, data_dir=None, certificate=str(foreign.certfile))
        with pytest.raises(DiscoveryError, match=r"isn't trusted: .*AGENTSTEPPER_CA_FILE"):
            probe(CoreEndpoint(url, core.tokens.agent))


def test_what_is_started_for_a_core_knows_its_certificate(
    foreign: SignedCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(foreign) as core:
        endpoint = CoreEndpoint(core.url(core.client_port), core.tokens.agent)
        environment = make_environment({}, endpoint)
        assert environment[discover.CERTIFICATE_VARIABLE] == str(foreign.certfile)
        discover.remove_process_core(endpoint.url)
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        probe(discover.discover())


def test_without_its_authority_a_core_is_not_trusted(local: SignedCertificate) -> None:
    with serving_elsewhere(local) as core:
        url, token = core.url(core.client_port), core.tokens.control
        with pytest.raises(DiscoveryError, match=r"isn't trusted: .*AGENTSTEPPER_CA_FILE"):
            AgentStepper("agent", url=url, token=core.tokens.agent)
        with pytest.raises(RpcRefusedError, match=r"isn't trusted: .*AGENTSTEPPER_CA_FILE"):
            Agents.connect(url, token)
        events: list[ConnectionEvent] = []
        view = CoreConnection(CoreEndpoint(core.url(core.ui_port or 0), token), events.append)
        view.run()
        (refused,) = events
        assert isinstance(refused, CoreConnectionRefused)
        assert "isn't trusted" in refused.reason


def test_a_certificate_of_another_host_is_refused(
    authority: CertificateAuthority, foreign: SignedCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(discover.CA_FILE_VARIABLE, str(authority.file))
    with serving_elsewhere(foreign) as core:
        url = core.url(core.client_port)
        for named in (url, url.replace("127.0.0.1", "localhost")):
            with pytest.raises(DiscoveryError, match=r"names another host: .*Use a host that"):
                AgentStepper("agent", url=named, token=core.tokens.agent)


def test_a_file_without_certificates_is_named(
    local: SignedCertificate, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving_elsewhere(local) as core:
        url = core.url(core.client_port)
        for content in (None, "nothing"):
            if content:
                (home / "ca.pem").write_text(content)
            monkeypatch.setenv(discover.CA_FILE_VARIABLE, str(home / "ca.pem"))
            with pytest.raises(DiscoveryError, match=r"ca\.pem can't be used: "):
                AgentStepper("agent", url=url, token=core.tokens.agent)
            with pytest.raises(ConnectionLostError, match=r"ca\.pem can't be used: "):
                Agents.connect(url, core.tokens.control)


def test_tls_and_none_do_not_meet(
    authority: CertificateAuthority, local: SignedCertificate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(discover.CA_FILE_VARIABLE, str(authority.file))
    with serving_elsewhere(None) as core:
        url = core.url(core.client_port).replace("ws://", "wss://")
        with pytest.raises(DiscoveryError, match=r"doesn't speak TLS .*Use ws://"):
            AgentStepper("agent", url=url, token=core.tokens.agent)
    with serving_elsewhere(local) as core:
        url = core.url(core.client_port).replace("wss://", "ws://")
        with pytest.raises(DiscoveryError):
            AgentStepper("agent", url=url, token=core.tokens.agent)


@pytest.mark.parametrize("missing", ["certfile", "keyfile", "both", "password"])
def test_files_that_cannot_be_used_are_refused_at_once(
    missing: str, local: SignedCertificate, foreign: SignedCertificate, home: Path
) -> None:
    files: dict[str, object] = dict(local._asdict())
    match missing:
        case "certfile":
            files["certfile"] = home / "none.pem"
        case "keyfile":
            files["keyfile"] = foreign.keyfile
        case "both":
            files["certfile"] = None
        case "password":
            sealed = home / "sealed.key"
            sealed.write_text("-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n")
            files["keyfile"] = sealed
    expected = "without a certificate" if missing == "both" else "can't be used with its key"
    with pytest.raises(ValueError, match=expected):
        AgentStepperCore("127.0.0.1", 0, 0, **files)  # type: ignore[arg-type]
