from __future__ import annotations

import io
import json
import signal
import socket
import subprocess
import sys
import threading
from argparse import Namespace
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from websockets.exceptions import ConnectionClosedError, ConnectionClosedOK, InvalidStatus
from websockets.sync.client import connect

from agentstepper_nb import discover
from agentstepper_nb.cli import serve as serve_command
from tests.helpers.auth_headers import bearer_headers, view_headers
from tests.helpers.forked_python import run_python
from tests.helpers.sampling import select_sample

from .agent import SocketAgent
from .conftest import COMMAND, RECORDED, ServeProcess

Serve = Callable[..., ServeProcess]


def runs(url: str) -> list[dict[str, object]]:
    """The runs of a Core, as a UI of version 1 is told."""
    with connect(url, proxy=None, additional_headers=view_headers(url)) as ui:
        state = json.loads(ui.recv(timeout=30))
    assert state["event"] == "init_app_state"
    found: list[dict[str, object]] = state["content"]["runs"]
    return found


def control_token() -> str | None:
    return discover.read_token(file=discover.CONTROL_TOKEN_FILE)


@pytest.mark.parametrize("number", select_sample((signal.SIGINT, signal.SIGTERM), signal.SIGINT))
def test_it_serves_until_it_is_told_to_stop(number: int, serve: Serve) -> None:
    served = serve()
    agent = SocketAgent(served.agents, "demo")
    with connect(served.uis, proxy=None, additional_headers=view_headers(served.uis)) as ui:
        assert json.loads(ui.recv(timeout=30))["content"]["runs"][0]["programName"] == "demo"
        errors = served.stop(number)
        with pytest.raises((ConnectionClosedOK, ConnectionClosedError)) as closed:
            while True:
                ui.recv(timeout=30)
    assert closed.value.rcvd and closed.value.rcvd.code == 1001
    assert served.process.returncode == 0
    assert "Traceback" not in errors
    assert "of demo started" in errors
    agent.close()


@pytest.mark.slow
def test_it_ends_with_whoever_holds_its_input() -> None:
    command = [*COMMAND, "serve", "--until-eof", "--client-port", "0", "--ui-port", "0"]
    holder = (
        "import subprocess, sys, time\n"
        "serve = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE)\n"
        "time.sleep(600)"
    )
    with subprocess.Popen(
        [sys.executable, "-c", holder, *command], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        assert process.stdout.readline().startswith("agents: ")
        assert len(list(discover.list_announced_cores())) == 1
        process.kill()
        assert process.stdout.read().startswith("UIs: ")  # to its end: nobody writes there any more
    assert list(discover.list_announced_cores()) == []


@pytest.mark.slow
@pytest.mark.parametrize("number", select_sample((signal.SIGINT, signal.SIGTERM), signal.SIGTERM))
def test_a_signal_is_a_lost_connection_to_the_originals_agents(number: int, serve: Serve) -> None:
    """Code 1001 would be the usual end to them, after which they wait for their answer for ever."""
    served = serve()
    with connect(served.agents, proxy=None) as agent, connect(served.uis, proxy=None) as ui:
        event = {"uuid": "e", "type": "PROGRAM_STARTED", "time": 1.0, "data": "demo"}
        agent.send(json.dumps({"message": "event", "data": event}))
        point = {"uuid": "b", "event_id": "e", "time": 1.0, "original_data": "demo"}
        agent.send(json.dumps({"message": "breakpoint", "data": point}))
        while json.loads(ui.recv(timeout=30))["content"].get("haltedAt") != "b":
            pass
        served.stop(number)
        with pytest.raises(ConnectionClosedError):
            agent.recv(timeout=30)


@pytest.mark.slow
def test_where_no_file_can_be_opened_it_says_so_once_and_goes_on_later(home: Path) -> None:
    limited = ["sh", "-c", 'ulimit -n 64; exec "$@"', "sh", *COMMAND]
    ports = ["--client-port", "0", "--ui-port", "0"]
    served = ServeProcess([*limited, "serve", *ports, "--data", str(home / "data")])
    try:
        assert served.process.stderr
        said = []
        with ExitStack() as connections:
            for _ in range(100):
                connections.enter_context(socket.create_connection(_address(served.agents)))
            while not said or "accept" not in said[-1]:
                said.append(served.process.stderr.readline())
        with connect(served.agents, proxy=None, open_timeout=60):
            pass
    finally:
        said += served.stop().splitlines()
    (line,) = (line for line in said if "accept" in line)
    assert (
        "Too many open files. Close other connections, or start the Core with a higher limit"
        in line
    )
    assert "Traceback" not in "\n".join(said)


def _address(url: str) -> tuple[str, int]:
    where = urlsplit(url)
    assert where.hostname
    assert where.port
    return where.hostname, where.port


def test_agents_find_it_while_it_runs(serve: Serve) -> None:
    served = serve()
    found = discover.discover()
    assert found == discover.CoreEndpoint(served.agents, discover.read_token())
    assert discover.find_view_endpoint(served.uis) == discover.CoreEndpoint(
        served.uis, control_token()
    )
    for url in (served.agents.replace("localhost", "127.0.0.1"), served.agents):
        assert discover.discover(url) == found
    served.stop()
    assert list(discover.list_announced_cores()) == []


@pytest.mark.slow
def test_runs_and_run_files_are_listed_once_also_after_a_restart(serve: Serve, home: Path) -> None:
    options = ["--data", str(home / "data"), "--runs", str(RECORDED)]
    first = serve(*options)
    (listed,) = runs(first.uis)
    assert listed["programName"] == "Recorder"
    SocketAgent(first.agents, "keeper").send_bye()
    first.stop()
    names = [run["name"] for run in runs(serve(*options).uis)]
    assert sorted(map(str, names)) == sorted(map(str, ("Run #1 of keeper", listed["name"])))


@pytest.mark.slow
def test_a_folder_has_one_owner_and_the_second_says_who(serve: Serve, home: Path) -> None:
    serve("--data", str(home / "data"))
    failed = refused("--data", str(home / "data"), "--client-port", "0", "--ui-port", "0")
    assert failed.returncode == 1
    assert "belong to agentstepper serve (pid " in failed.stderr
    assert "choose another folder with --data" in failed.stderr


@pytest.mark.slow
def test_bad_run_files_are_warnings(home: Path, serve: Serve) -> None:
    bad, missing = home / "bad.run", home / "missing.run"
    bad.write_bytes(b"garbage")
    served = serve("--runs", str(bad), str(missing), str(RECORDED))
    assert [run["programName"] for run in runs(served.uis)] == ["Recorder"]
    errors = served.stop()
    assert served.process.returncode == 0
    for path in (bad, missing):
        warned = [line for line in errors.splitlines() if f"WARNING {path} is not listed: " in line]
        assert len(warned) == 1
    assert "Traceback" not in errors


@pytest.mark.parametrize("option", select_sample(("--client-port", "--ui-port"), "--ui-port"))
def test_a_taken_port_is_named(option: str) -> None:
    other = "--ui-port" if option == "--client-port" else "--client-port"
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        failed = refused(option, str(port), other, "0")
    assert failed.returncode == 1
    assert failed.stdout == ""
    assert failed.stderr.startswith(f"agentstepper: Port {port} of localhost is taken")
    assert failed.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_host_that_is_not_this_machines_fails_with_a_line() -> None:
    failed = refused("--host", "203.0.113.1", "--token", "t")
    assert failed.returncode == 1
    assert failed.stderr.startswith("agentstepper: Can't listen on port 8765 of 203.0.113.1")


@pytest.mark.slow
def test_the_given_token_is_the_agent_token_alone(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "from-the-environment")
    served = serve("--host", "0.0.0.0", "--token", "secret")
    assert served.agents.startswith("ws://127.0.0.1:")
    for url in (served.agents, served.uis):  # other machines reach it
        assert status(url) == 401
    assert "secret" not in served.stop()
    monkeypatch.delenv("AGENTSTEPPER_TOKEN")
    served = serve("--token", "secret")
    assert discover.discover().token == "secret"
    SocketAgent(served.agents, token="secret").close()
    for url in (served.uis, f"{served.uis}/runtime", f"{served.agents}/runtime"):
        assert status(url, "secret") == 401
        assert status(url, control_token()) == 101
    assert status(f"{served.agents}/worker", "secret") == 401


@pytest.mark.slow
def test_the_other_tokens_may_be_given_too(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "from-the-environment")
    monkeypatch.setenv("AGENTSTEPPER_WORKER_TOKEN", "workers")
    served = serve()
    assert status(served.uis, "from-the-environment") == 101
    assert status(f"{served.agents}/worker", "workers") == 101
    served.stop()
    assert status(serve("--control-token", "given").uis, "given") == 101


@pytest.mark.slow
def test_tokens_of_another_core_are_not_taken(
    serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a kernel, whose environment names the Jupyter server's."""
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://127.0.0.1:1/agentstepper/agent")
    monkeypatch.setenv("AGENTSTEPPER_TOKEN", "of-the-server")
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "of-its-person")
    served = serve()
    assert status(served.agents, "of-the-server") == status(served.uis, "of-its-person") == 401
    assert discover.discover(served.agents).token not in (None, "of-the-server")
    served.stop()
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://localhost:0")  # the port that it is given
    assert status(serve().agents, "of-the-server") == 101


def test_the_runtime_file_names_the_folder_where_the_tokens_lie(serve: Serve, home: Path) -> None:
    serve("--data", str(home / "kept"))
    (server,) = discover.list_announced_cores()
    assert server.data_dir == str(home / "kept")
    (file,) = (home / "jupyter_runtime_dir").glob("agentstepper-*.json")
    for name in ("agent", "control", "worker"):
        token = home / "kept" / f"{name}-token"
        assert token.stat().st_mode & 0o777 == 0o600
        assert token.read_text().strip() not in file.read_text()


def status(url: str, token: str | None = None) -> int:
    """What a handshake is answered with."""
    try:
        with connect(url, proxy=None, additional_headers=bearer_headers(token)):
            return 101
    except InvalidStatus as refused:
        return refused.response.status_code


def test_a_signal_that_does_not_wake_the_main_thread_is_heard() -> None:
    """Another thread takes it, while the main thread sleeps."""

    def take() -> None:
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)

    with serve_command._set_on_signal() as stop:
        taker = threading.Thread(target=take)
        taker.start()
        serve_command._wait(stop)
        taker.join()


def test_without_an_input_it_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", None)  # as Python sets it after `<&-`
    stop = threading.Event()
    serve_command._wait_for_eof(stop)
    assert stop.is_set()


class ClosedPipe(io.StringIO):
    """An output whose reader has gone."""

    def flush(self) -> None:
        raise BrokenPipeError


def test_who_cannot_print_is_announced_no_more(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", ClosedPipe())
    ports = {"client_port": 0, "ui_port": 0}
    assert serve_command.run(Namespace(data=str(home / "data"), **ports)) == 1
    assert list((home / "jupyter_runtime_dir").glob("agentstepper-*.json")) == []


@pytest.mark.slow
def test_a_file_sets_the_same_names(serve: Serve, home: Path) -> None:
    (home / "runs").mkdir()
    (home / "runs" / "one.run").write_bytes(RECORDED.read_bytes())
    config = home / "agentstepper.toml"
    config.write_text(
        'host = "127.0.0.1"\nclient-port = 0\nui-port = 1\ndata = "kept"\ncontrol-token = "t"\n'
        'runs = ["runs/one.run"]\nui-origin = ["https://example.org"]\nlog-level = "warning"\n'
    )
    served = serve("--config", str(config), "--ui-port", "0")
    with connect(f"{served.uis}?token=t", origin="https://example.org", proxy=None) as ui:  # type: ignore[arg-type]
        assert len(json.loads(ui.recv(timeout=30))["content"]["runs"]) == 1
    assert served.stop() == ""
    assert (home / "kept" / "store.sqlite").stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_a_model_without_an_endpoint_is_said_to_be_of_no_use(serve: Serve) -> None:
    served = serve("--model", "gpt-x", "--durability", "relaxed")
    assert "summaries are made by rule: the model gpt-x needs OPENAI_API_KEY" in served.stop()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("argument", "variable", "chosen"),
    [
        pytest.param((), None, None, marks=pytest.mark.soak),
        pytest.param((), "theirs", "theirs", marks=pytest.mark.soak),
        (("--model", "mine"), "theirs", "mine"),
    ],
)
def test_a_model_is_chosen_by_its_name(
    argument: tuple[str, ...],
    variable: str | None,
    chosen: str | None,
    serve: Serve,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    if variable:
        monkeypatch.setenv("AGENTSTEPPER_MODEL", variable)
    said = serve(*argument).stop()
    assert ("summaries are made" in said) == (chosen is not None)
    assert chosen is None or f"summaries are made by the model {chosen}" in said


@pytest.mark.slow
def test_the_socket_librarys_own_lines_stay_out(serve: Serve) -> None:
    served = serve("--log-level", "debug")
    SocketAgent(served.agents).send_bye()
    errors = served.stop()
    assert "run" in errors
    assert "connection open" not in errors


def test_the_version_is_told() -> None:
    told = subprocess.run([*COMMAND, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout.startswith("agentstepper_nb 0")


def refused(*arguments: str) -> subprocess.CompletedProcess[str]:
    return run_python([*COMMAND, "serve", *arguments])
