"""The coding agent works in the server's own folders, by whatever way it is asked for."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.runtime.client.agents import AsyncAgents
from tests.server.agents import Refusal, RuntimeApi
from tests.server.conftest import CONTROL_TOKEN

Ask = Callable[[str], Awaitable[str]]

CONFIG = {"prompt": "Do it.", "provider": "scripted", "model": "jokes", "auto_approve": True}


@pytest.fixture
def by_rest(agents: RuntimeApi) -> Ask:
    async def ask(workspace: str) -> str:
        payload = {"moniker": "coding", "config": {**CONFIG, "workspace": workspace}}
        action = {"kind": "agent_create", "agent_id": "a1", "payload": payload}
        refused = await agents.expect_refusal("POST", "actions", body=action)
        assert (refused.status, refused.field) == (403, "payload.config.workspace")
        return refused.code

    return ask


@pytest.fixture
def by_program(extension: Any, http_server_client: Any, jp_base_url: str) -> Ask:
    async def ask(workspace: str) -> str:
        port = http_server_client.get_http_port()
        url = f"http://127.0.0.1:{port}{jp_base_url}agentstepper/agent"
        async with AsyncAgents.connect(url, CONTROL_TOKEN) as agents:
            with pytest.raises(CommandError) as caught:
                await agents.create_agent("a1", "coding", {**CONFIG, "workspace": workspace})
        return caught.value.code

    return ask


@pytest.mark.parametrize("way", ["by_rest", "by_program"])
async def test_a_background_agent_works_under_the_roots(
    way: str, request: pytest.FixtureRequest, agents: RuntimeApi, jp_root_dir: Path, tmp_path: Path
) -> None:
    ask: Ask = request.getfixturevalue(way)
    (outside := tmp_path / "outside").mkdir()
    (jp_root_dir / "link").symlink_to(outside)
    for path in ("/etc", "..", "/", str(outside), str(jp_root_dir / "link"), "~"):
        assert await ask(path) == "outside_roots", path
    assert (await agents("GET", "actions"))["actions"] == []


async def test_an_allowed_workspace_has_its_links_resolved(
    agents: RuntimeApi, jp_root_dir: Path
) -> None:
    (jp_root_dir / "repo").mkdir()
    (jp_root_dir / "link").symlink_to(jp_root_dir / "repo")
    payload = {"moniker": "coding", "config": {**CONFIG, "workspace": "link"}}
    action = {"kind": "agent_create", "agent_id": "a1", "payload": payload}
    acted = await agents("POST", "actions", body=action)
    kept = acted["action"]["payload"]["config"]
    assert kept == {**CONFIG, "workspace": str((jp_root_dir / "repo").resolve())}


async def test_what_is_no_folder(agents: RuntimeApi) -> None:
    payload = {"moniker": "coding", "config": {**CONFIG, "workspace": "none"}}
    action = {"kind": "agent_create", "agent_id": "a1", "payload": payload}
    refused = await agents.expect_refusal("POST", "actions", body=action)
    assert refused == Refusal(400, "invalid_message", "payload.config.workspace")
