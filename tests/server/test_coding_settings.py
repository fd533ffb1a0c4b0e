"""The settings of a coding session over HTTP, and what the server's config says of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from traitlets import TraitError

from agentstepper_nb.protocol.coding_settings import select_given_settings
from agentstepper_nb.server_ext import AgentStepperExtension
from tests.helpers.scripted_coding_sessions import ScriptedSessionOpener
from tests.server.agents import RuntimeApi
from tests.server.coding import CodingApi, opened
from tests.server.coding_worker import SocketWorker
from tests.server.conftest import AGENT_TOKEN, CONTROL_TOKEN

FULL: Any = {"sandboxMode": "danger-full-access"}
CONTROL = "X-AgentStepper-Control-Token"


def settings(opener: ScriptedSessionOpener, id: str) -> dict[str, Any]:
    """What a session was opened with."""
    return select_given_settings(opener.sessions[id].opening.request)


async def test_both_posts_take_every_setting(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any, root: Path
) -> None:
    asked = {
        "autoApprove": True,
        "maxIterations": 3,
        "commandTimeout": 1.5,
        "toolTimeout": 2,
        "modelTimeout": 3,
        "approvalTimeout": 4,
        "outputLimit": 2048,
        "shell": False,
        "policy": "ours",
        "temperature": 0.5,
        "toolChoice": "required",
        "sandboxMode": "read-only",
        "sandbox": "bubblewrap",
        "network": True,
        "readable": ["repo"],
        "writable": [str(root)],
        "memoryBytes": 1 << 30,
        "processes": 7,
    }
    id = await opened(api, {**how, **asked})
    first = settings(opener, id)
    assert list(first.values()) == [
        *list(asked.values())[:-4],
        (str((root / "repo").resolve()),),
        (str(root.resolve()),),
        1 << 30,
        7,
    ]
    await api("DELETE", id)
    await api("POST", id, "resume", **how, **asked)
    assert settings(opener, id) == first


@pytest.mark.parametrize(
    "wrong",
    [
        {"temperature": 3},
        {"shell": "yes"},
        {"maxIterations": 0},
        {"sandboxMode": "everything"},
        {"approvalTimeout": "soon"},
        {"no_such": 1},
        {"max_iterations": 3},  # as Python writes it
        {"readable": ["none"]},
    ],
    ids=str,
)
async def test_what_cant_be_is_refused(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any, wrong: Any
) -> None:
    assert await api.expect_refusal("POST", **how, **wrong) == (400, "invalid_message")
    assert await api.expect_refusal("POST", "s1", "resume", **how, **wrong) == (
        400,
        "invalid_message",
    )
    assert opener.sessions == {}


@pytest.mark.parametrize("name", ["readable", "writable"])
async def test_folders_lie_in_the_roots(
    api: CodingApi,
    worker: SocketWorker,
    opener: ScriptedSessionOpener,
    how: Any,
    root: Path,
    name: str,
) -> None:
    for path in ("/", "..", "~", str(root / ".." / "x")):
        asked: Any = {name: [path]}
        assert await api.expect_refusal("POST", **how, **asked) == (403, "outside_roots")
    assert opener.sessions == {}


@pytest.mark.parametrize("asked", [FULL, {"sandbox": "none"}], ids=str)
async def test_leaving_the_sandbox_takes_the_control_token(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any, asked: Any
) -> None:
    assert await api.expect_refusal("POST", **how, **asked) == (403, "needs_control_token")
    assert await api.expect_refusal("POST", "s1", "resume", **how, **asked) == (
        403,
        "needs_control_token",
    )
    for token in (AGENT_TOKEN, "", "ü"):
        headers = {CONTROL: token}
        refused = await api.expect_refusal("POST", headers=headers, **how, **asked)
        assert refused == (401, "unauthorized"), token
    assert opener.sessions == {}
    response = await api("POST", headers={CONTROL: CONTROL_TOKEN}, **how, **asked)
    assert select_given_settings(
        opener.sessions[json.loads(response.body)["id"]].opening.request
    ).items() >= {("sandbox_mode", "danger-full-access") if asked is FULL else ("sandbox", "none")}


async def test_a_background_agent_never_leaves_the_sandbox_by_its_config(
    agents: RuntimeApi, root: Path
) -> None:
    config = {"workspace": "repo", "prompt": "x", "provider": "scripted", "model": "jokes"}
    for asked in ({"sandbox_mode": "danger-full-access"}, {"sandbox": "none"}):
        payload = {"moniker": "coding", "config": {**config, **asked}}
        action = {"kind": "agent_create", "agent_id": "a1", "payload": payload}
        refused = await agents.expect_refusal("POST", "actions", body=action)
        (name,) = asked
        assert (refused.status, refused.code) == (403, "needs_control_token")
        assert refused.field == f"payload.config.{name}"


# ---- the server's config -----------------------------------------------------------------------------

LIMITED = {
    "coding_defaults": {"temperature": 0, "sandbox_mode": "read-only"},
    "coding_limits": {"max_iterations": 10, "network": False, "sandbox_mode": "workspace-write"},
}


@pytest.mark.parametrize("coding_traits", [LIMITED])
async def test_the_servers_defaults_and_limits(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any
) -> None:
    id = await opened(api, how)
    assert settings(opener, id) == {
        "temperature": 0.0,
        "sandbox_mode": "read-only",
        "max_iterations": 10,
    }
    for beyond in ({"maxIterations": 11}, {"network": True}):
        assert await api.expect_refusal("POST", **how, **beyond) == (403, "outside_limits")
    # Who holds the control token doesn't hold the server's config.
    headers = {CONTROL: CONTROL_TOKEN}
    assert await api.expect_refusal("POST", headers=headers, **how, **FULL) == (
        403,
        "outside_limits",
    )
    id = await opened(
        api, {**how, "maxIterations": 4, "temperature": 1, "sandboxMode": "read-only"}
    )
    assert settings(opener, id)["max_iterations"] == 4
    assert settings(opener, id)["temperature"] == 1.0


@pytest.mark.parametrize(
    "coding_traits", [{"coding_defaults": {"sandbox_mode": "danger-full-access"}}]
)
async def test_whoever_runs_the_server_may_take_the_sandbox_away(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any
) -> None:
    assert settings(opener, await opened(api, how)) == {"sandbox_mode": "danger-full-access"}


@pytest.mark.parametrize("trait", ["coding_defaults", "coding_limits"])
def test_a_config_with_a_setting_that_cant_be_is_refused(trait: str) -> None:
    for wrong in ({"temperature": 3}, {"temprature": 1}):
        with pytest.raises(TraitError, match=f"{trait}: "):
            AgentStepperExtension(**{trait: wrong})
