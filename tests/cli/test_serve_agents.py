"""`agentstepper serve` and its workers: paths, the worker that it starts, one by hand, and its end."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from agentstepper_nb import Agents, discover
from agentstepper_nb.errors import ConnectionLostError
from agentstepper_nb.hub import AgentStepperCore
from tests.helpers.certificates import CertificateAuthority
from tests.helpers.forked_python import run_python, start_python
from tests.worker.processes import gone

from .conftest import COMMAND, ServeProcess

Serve = Callable[..., ServeProcess]

#: Seconds in which something has to happen that takes one or two.
SOON = 60.0


class WorkerCommand:
    """`agentstepper worker`, started by a person."""

    def __init__(self, *arguments: str) -> None:
        self.process = start_python(
            [*COMMAND, "worker", *arguments], stderr=subprocess.PIPE, text=True
        )

    def wait_for_line(self, text: str) -> str:
        """Read what it says, until it says this."""
        assert self.process.stderr
        said = []
        for line in self.process.stderr:
            said.append(line)
            if text in line:
                return line
        raise AssertionError(f"not a word of {text!r}: {said}")

    def close(self) -> None:
        self.process.terminate()
        self.process.communicate(timeout=SOON)


@pytest.fixture
def by_hand() -> Iterator[Callable[..., WorkerCommand]]:
    with ExitStack() as stack:

        def start(*arguments: str) -> WorkerCommand:
            worker = WorkerCommand(*arguments)
            stack.callback(worker.close)
            return worker

        yield start


@pytest.fixture(autouse=True)
def no_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("WORKER_URL", "WORKER_TOKEN", "RUNTIME_STORE", "CONTROL_TOKEN"):
        monkeypatch.delenv(f"AGENTSTEPPER_{name}", raising=False)


def worker_token() -> str:
    """What the runtime file says."""
    (server,) = discover.list_announced_cores()
    assert server.tokens.worker
    return server.tokens.worker


def control_bearer() -> dict[str, str]:
    (server,) = discover.list_announced_cores()
    return {"Authorization": f"Bearer {server.tokens.control}"}


def status(url: str, **headers: str) -> int:
    """What a handshake is answered with."""
    try:
        with connect(url, proxy=None, additional_headers=headers):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def children(pid: int) -> list[int]:
    threads = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for thread in threads for child in thread.read_text().split()]


@pytest.mark.slow
def test_the_doors(serve: Serve) -> None:
    served = serve()
    bearer = {"Authorization": f"Bearer {worker_token()}"}
    assert status(f"{served.agents}/worker") == 401
    assert status(f"{served.agents}/worker", Authorization="Bearer wrong") == 401
    assert status(f"{served.agents}/worker", **bearer) == 101
    assert status(f"{served.agents}/worker", **bearer, Origin="http://localhost") == 403
    control = control_bearer()
    for url in (served.agents, served.uis):
        assert status(f"{url}/runtime") == 401
        assert status(f"{url}/runtime", **bearer) == 401
        assert status(f"{url}/runtime", **control) == 101
        assert status(f"{url}/runtime?x=1", **control) == 101
        for origin in ("http://evil.example", "http://localhost:1", "http://localhost"):
            assert status(f"{url}/runtime", **control, Origin=origin) == 403
    (file,) = Path(os.environ["JUPYTER_RUNTIME_DIR"]).glob("agentstepper-*.json")
    assert file.stat().st_mode & 0o777 == 0o600


def test_our_own_programs_find_the_control_token(serve: Serve) -> None:
    served = serve("--token", "secret", "--worker-token", "workers")
    assert worker_token() == "workers"
    with Agents.connect() as agents:  # found, with its token
        assert agents.states() == []
    with Agents.connect(served.agents) as agents:
        assert agents.states() == []
    for wrong in ("wrong", "secret", "workers"):
        with pytest.raises(ConnectionLostError, match=r"\(401\)"):
            Agents.connect(served.agents, wrong)


@pytest.mark.slow
def test_the_first_use_starts_a_worker_and_another_where_it_is_killed(
    serve: Serve, home: Path
) -> None:
    served = serve("--data", str(home / "data"), "--worker-isolation", "none")
    assert children(served.process.pid) == []
    with Agents.connect() as agents:
        session = agents.create_agent("joker", "joke", {"interval_s": 0.01})
        before = agents.wait_for(session, iteration=1, timeout=SOON)
        (worker,) = children(served.process.pid)
        os.kill(worker, signal.SIGKILL)
        after = agents.wait_for(
            session,
            lambda state: state.epoch > before.epoch and state.iteration > 3,
            timeout=SOON,
        )
        assert after.epoch == before.epoch + 1
        (other,) = children(served.process.pid)
        assert other != worker
        agents.destroy(session_id=session)
        ended = agents.wait_for(session, status="stopped", timeout=SOON)
        steps = agents.list_agent_steps(session, limit=1000)
        assert [step.iteration for step in steps] == list(range(ended.iteration))
    served.stop()
    assert gone(other)


@pytest.mark.soak  # tests/runtime/test_killing kills a worker and a Core
def test_one_by_hand_stays_while_the_core_is_killed_and_comes_back(
    serve: Serve, by_hand: Callable[..., WorkerCommand], home: Path
) -> None:
    options = ["--no-worker", "--data", str(home / "data")]
    first = serve(*options)
    ports = [re.sub(r".*:", "", url) for url in (first.agents, first.uis)]
    worker = by_hand("--data", str(home / "data"), "--poll", "0.2", "--lease", "60")
    with Agents.connect() as agents:
        session = agents.create_agent("joker", "joke", {"interval_s": 0.01})
        agents.wait_for(session, iteration=1, timeout=SOON)
        assert children(first.process.pid) == []
        first.process.kill()
        first.process.communicate()
        first.process.returncode = 0  # as it was meant
        second = serve_again(serve, ports, options)
        iteration = agents.state(session).iteration
        after = agents.wait_for(session, iteration=iteration + 3, timeout=SOON)
        assert after.epoch == 1  # it never left its worker
        steps = agents.list_agent_steps(session, limit=1000)
        assert [step.iteration for step in steps] == list(range(len(steps)))
        worker.close()
    second.stop()


def serve_again(serve: Serve, ports: list[str], options: list[str]) -> ServeProcess:
    return serve("--client-port", ports[0], "--ui-port", ports[1], *options)


@pytest.mark.slow
def test_a_worker_that_is_not_taken_says_why(
    serve: Serve, by_hand: Callable[..., WorkerCommand]
) -> None:
    served = serve()
    worker = by_hand("--url", served.agents, "--token", "wrong")
    line = worker.wait_for_line("refused this connection (401)")
    assert "send the worker token" in line
    assert worker.process.wait(SOON) == 1
    worker = by_hand("--url", f"{served.agents}/worker", "--token", worker_token())
    worker.wait_for_line("connected to the Core")


@pytest.mark.slow
def test_without_a_core_a_worker_says_so(by_hand: Callable[..., WorkerCommand]) -> None:
    worker = by_hand()
    assert "Start `agentstepper serve`, or JupyterLab" in worker.wait_for_line(
        "No AgentStepper Core"
    )
    assert worker.process.wait(SOON) == 1


def test_postgresql_without_its_client_says_what_to_install(tmp_path: Path) -> None:
    hidden = "import sys; sys.modules['psycopg'] = None"
    program = f"{hidden}; from agentstepper_nb.cli import main; sys.exit(main())"
    place = ["--data", str(tmp_path), "--runtime-store", "postgresql://127.0.0.1/agents"]
    command = [sys.executable, "-c", program, "serve", *place]
    failed = run_python(command, timeout=SOON)
    assert failed.returncode != 0
    assert "Background agents can't be stored in PostgreSQL: " in failed.stderr
    assert 'pip install "agentstepper_nb[postgres]"' in failed.stderr
    assert "Traceback" not in failed.stderr


@pytest.mark.slow
def test_a_core_starts_where_postgresql_cannot_be_reached(serve: Serve) -> None:
    """Runs and breakpoints need no database."""
    served = serve("--runtime-store", "postgresql://127.0.0.1:1/agents")
    assert served.process.stderr is not None
    told = next(line for line in served.process.stderr if "can't be stored in" in line)
    assert "postgresql://127.0.0.1:1/agents: " in told


def test_a_place_for_agents_that_is_none() -> None:
    command = [*COMMAND, "serve", "--runtime-store", "postgres:x"]
    failed = run_python(command, timeout=SOON)
    assert failed.returncode == 2
    assert failed.stderr == (
        "agentstepper: 'postgres:x' isn't a place to store background agents. "
        "Use sqlite, or postgresql://USER@HOST:PORT/DATABASE.\n"
    )


# ---- TLS, and the end of workers that nobody needs ---------------------------------------------------


@pytest.mark.slow
def test_with_a_certificate_everybody_of_this_user_finds_it(serve: Serve, tmp_path: Path) -> None:
    """Also the worker that it starts, though the certificate names another host."""
    authority = CertificateAuthority(tmp_path)
    certificate = authority.sign("core", "DNS:core.example")
    files = ("--certfile", str(certificate.certfile), "--keyfile", str(certificate.keyfile))
    served = serve(*files)
    assert served.agents.startswith("wss://")
    assert served.uis.startswith("wss://")
    with Agents.connect() as agents:
        assert agents.url == f"{served.agents}/runtime"
        session = agents.create_agent("a", "joke", {"interval_s": 0.01})
        agents.wait_for(session, iteration=2)
        run = agents.state(session).run_id
    assert run  # it was debugged there


@pytest.mark.slow
def test_a_worker_ends_by_itself_where_nobody_needs_it(
    serve: Serve, by_hand: Callable[..., WorkerCommand]
) -> None:
    serve("--no-worker")
    worker = by_hand("--orphan-timeout", "0.5")
    assert worker.process.wait(SOON) == 0


@pytest.mark.slow
def test_a_worker_ends_when_the_core_says_so(
    by_hand: Callable[..., WorkerCommand], monkeypatch: pytest.MonkeyPatch
) -> None:
    with AgentStepperCore("127.0.0.1", 0, 0) as core:
        token = core.tokens.worker
        monkeypatch.setenv("AGENTSTEPPER_URL", core.url(core.client_port))
        monkeypatch.setenv("AGENTSTEPPER_TOKEN", core.tokens.agent)
        worker = by_hand("--url", core.url(core.client_port), "--token", token)
        worker.wait_for_line("connected to the Core")
        assert core._host is not None
        workers = core._host.workers
        with Agents.connect(core.url(core.client_port)) as agents:
            session = agents.create_agent("a", "joke", {"interval_s": 0.01})
            agents.wait_for(session, iteration=2)
            ended = workers.call("runtime", "end", None, type(None))
            asyncio.run_coroutine_threadsafe(ended, core.loop).result()
            assert worker.process.wait(SOON) == 0
            assert agents.state(session).status == "running"  # and anybody's
