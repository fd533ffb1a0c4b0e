"""Discovery: the environment of kernels and the runtime file, while the server runs."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from agentstepper_nb.errors import StoreError
from agentstepper_nb.protocol import ui as ui_wire
from agentstepper_nb.server_ext import AgentStepperExtension
from agentstepper_nb.server_ext.announcement import find_agent_url
from agentstepper_nb.store import open_store
from tests.server.conftest import AGENT_TOKEN, CONTROL_TOKEN


def server(**traits: Any) -> Any:
    """A server with these traits."""
    standard = {"sock": "", "certfile": "", "ip": "localhost", "port": 8888, "base_url": "/"}
    return SimpleNamespace(**(standard | traits))


@pytest.mark.parametrize(
    ("traits", "url"),
    [
        ({}, "ws://127.0.0.1:8888/agentstepper/agent"),
        ({"base_url": "/user/a%40b/"}, "ws://127.0.0.1:8888/user/a%40b/agentstepper/agent"),
        ({"ip": ""}, "ws://127.0.0.1:8888/agentstepper/agent"),
        ({"ip": "0.0.0.0"}, "ws://127.0.0.1:8888/agentstepper/agent"),
        ({"ip": "::"}, "ws://127.0.0.1:8888/agentstepper/agent"),
        ({"ip": "192.0.2.7"}, "ws://192.0.2.7:8888/agentstepper/agent"),
        ({"ip": "::1"}, "ws://[::1]:8888/agentstepper/agent"),
        ({"certfile": "/cert.pem"}, "wss://127.0.0.1:8888/agentstepper/agent"),
        ({"sock": "/run/jupyter.sock"}, None),
    ],
)
def test_agent_url(traits: dict[str, Any], url: str | None) -> None:
    assert find_agent_url(server(**traits)) == url


async def test_announced_from_start_to_stop(
    extension: Any, jp_serverapp: Any, jp_runtime_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGENTSTEPPER_URL", "ws://before")
    monkeypatch.delenv("AGENTSTEPPER_TOKEN", raising=False)
    monkeypatch.setenv("AGENTSTEPPER_CONTROL_TOKEN", "another's")
    await jp_serverapp.extension_manager.start_all_extensions()

    url = f"ws://127.0.0.1:{jp_serverapp.port}{jp_serverapp.base_url}agentstepper/agent"
    assert os.environ["AGENTSTEPPER_URL"] == url
    assert os.environ["AGENTSTEPPER_TOKEN"] == AGENT_TOKEN
    assert "AGENTSTEPPER_CONTROL_TOKEN" not in os.environ
    assert CONTROL_TOKEN not in os.environ.values()
    (file,) = jp_runtime_dir.glob("agentstepper*")
    written = json.loads(file.read_text())
    folder = Path(written["data_dir"])
    assert (written["url"], folder) == (url, extension._folder_and_lock[0])
    for name, token in extension.tokens._asdict().items():
        assert (folder / f"{name}-token").read_text().strip() == token
        assert (folder / f"{name}-token").stat().st_mode & 0o077 == 0
        assert token not in file.read_text()
    assert file.stat().st_mode & 0o077 == 0

    await jp_serverapp.extension_manager.stop_all_extensions()
    assert not file.exists()
    assert os.environ["AGENTSTEPPER_URL"] == "ws://before"
    assert "AGENTSTEPPER_TOKEN" not in os.environ
    assert os.environ["AGENTSTEPPER_CONTROL_TOKEN"] == "another's"


async def test_stopping_closes_every_socket(
    extension: Any, jp_serverapp: Any, new_agent: Any, new_ui: Any
) -> None:
    agent, ui = await new_agent(), await new_ui()
    await ui.exchange_hello()
    await jp_serverapp.extension_manager.stop_all_extensions()
    while await agent.socket.read_message() is not None:
        pass
    while await ui.socket.read_message() is not None:
        pass
    assert (agent.socket.close_code, ui.socket.close_code) == (1001, 1001)


async def test_a_server_whose_folder_could_not_be_used_still_stops() -> None:
    extension = AgentStepperExtension(data_dir=os.devnull)
    with pytest.raises(StoreError):
        extension.initialize_settings()
    await extension.stop_extension()


async def test_ended_runs_are_kept(
    extension: Any, new_agent: Any, new_ui: Any, tmp_path: Path
) -> None:
    agent, ui = await new_agent(), await new_ui()
    await ui.exchange_hello()
    await agent.send_bye()
    while (await ui.expect(ui_wire.RunChanged)).run.live:
        pass
    await extension.stop_extension()
    with contextlib.closing(open_store(tmp_path / "kept")) as kept:
        assert [type(record).__name__ for record in kept.load()] == ["EndedRunLoaded"]


@pytest.fixture
def without_tokens(jp_server_config: Any) -> None:
    """Before the server starts, which depends on the order of the arguments."""
    for name in ("agent_token", "control_token"):
        del jp_server_config.AgentStepperExtension[name]


def test_where_no_token_is_configured_it_makes_one(
    without_tokens: None, extension: Any, tmp_path: Path
) -> None:
    tokens = {f"{name}-token": token for name, token in extension.tokens._asdict().items()}
    for file, token in tokens.items():
        assert (tmp_path / "kept" / file).read_text().strip() == token
        assert (tmp_path / "kept" / file).stat().st_mode & 0o077 == 0
    assert len(set(tokens.values())) == 3
    assert (tmp_path / "kept" / "store.sqlite").exists()
