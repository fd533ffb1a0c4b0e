"""What `agentstepper run` refuses before it starts a program, and what it says then."""

from __future__ import annotations

import socket
import subprocess
from http.server import BaseHTTPRequestHandler, HTTPServer
from threading import Thread

import pytest

from agentstepper_nb import discover
from agentstepper_nb.cli import main
from tests.sdk.scripted_core import ScriptedCore


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["python", "agent.py", "--fast"], "agentstepper run -- python agent.py --fast\n"),
        (["python", "--", "agent.py"], "agentstepper run -- python agent.py\n"),
        (["--name", "x", "--"], "put -- before the program"),
        ([], "put -- before the program: agentstepper run -- python agent.py\n"),
    ],
)
def test_the_two_dashes_are_asked_for(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments]) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--workspace", "nowhere"], "--workspace: there is no folder nowhere."),
        (
            ["--fork", "a@1", "--workspace", "."],
            "--workspace of a fork is one of fresh, in_place, none.",
        ),
    ],
)
def test_a_workspace_that_is_none_is_refused(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["run", *arguments, "--", "true"]) == 2
    assert capsys.readouterr().err == f"agentstepper run: {said}\n"


def test_an_unknown_option_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["run", "--nmae", "x", "--", "true"])
    assert caught.value.code == 2
    assert "--nmae" in capsys.readouterr().err


# ---- no Core ------------------------------------------------------------------------------------


def refusal(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """What it says where it doesn't start the program; were it started, this test would be gone."""
    assert main(["run", *arguments, "--", "true"]) == 125
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("agentstepper run: ")
    assert "Traceback" not in said.err
    return said.err


def test_no_core_says_how_to_start_one(capsys: pytest.CaptureFixture[str]) -> None:
    assert "`agentstepper serve`" in refusal(capsys)


def test_several_cores_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    with subprocess.Popen(["sleep", "600"]) as one, subprocess.Popen(["sleep", "600"]) as two:
        discover.write_core_info(url="ws://one", data_dir=None, pid=one.pid)
        discover.write_core_info(url="ws://two", data_dir=None, pid=two.pid)
        said = refusal(capsys)
        one.kill()
        two.kill()
    assert "ws://one" in said and "ws://two" in said


def test_nobody_listens_there(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    said = refusal(capsys, "--url", f"ws://127.0.0.1:{port}")
    assert f"No Core listens at ws://127.0.0.1:{port}" in said


def test_a_wrong_token_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedCore(token="of-the-core") as core:
        said = refusal(capsys, "--url", core.url, "--token", "of-another")
    assert "the token is missing or wrong" in said
    assert "of-the-core" not in said and "of-another" not in said


class NoCore(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.close_connection = True
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


def test_a_server_that_is_no_core_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    with HTTPServer(("127.0.0.1", 0), NoCore) as server:
        thread = Thread(target=server.handle_request)
        thread.start()
        said = refusal(capsys, "--url", f"ws://127.0.0.1:{server.server_port}")
        thread.join()
    assert f"127.0.0.1:{server.server_port} answered 200 instead of a Core" in said
    assert "Check that agentstepper_nb is installed there" in said


def test_a_core_that_hangs_is_given_up(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("agentstepper_nb.sdk.handshake.probe.__defaults__", (0.2,))
    with socket.create_server(("127.0.0.1", 0)) as silent:
        said = refusal(capsys, "--url", f"ws://127.0.0.1:{silent.getsockname()[1]}")
    assert "No Core answered" in said and "0.2 seconds" in said
