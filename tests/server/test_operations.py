"""Operations over HTTP: schedules, limits with Retry-After, retention, and figures for Prometheus."""

from __future__ import annotations

import json
from typing import Any

import pytest
from jupyter_server.serverapp import ServerApp
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families
from tornado.httpclient import HTTPClientError
from traitlets import TraitError

from agentstepper_nb.protocol.runtime import SessionStatus
from agentstepper_nb.server_ext import AgentStepperExtension
from tests.server.agents import ManualSessions, Refusal, RuntimeApi

CREATE = {"kind": "agent_create", "agent_id": "a1", "payload": {"moniker": "m"}}
DAY_S = 86_400.0

limited = pytest.mark.parametrize("coding_traits", [{"max_sessions": 1, "max_actions": 2}])
measured = pytest.mark.parametrize("coding_traits", [{"metrics": True}])


# ---- schedules -------------------------------------------------------------------------------------


async def test_schedule_is_kept_and_ended(agents: RuntimeApi) -> None:
    sent = {**CREATE, "session_id": "s1", "not_before": 4e9, "cron": "0 3 * * mon"}
    action = (await agents("POST", "actions", body=sent))["action"]
    # 4,000,000,000 is 2096-10-02T07:06:40 UTC, a Tuesday.
    assert action["not_before"] == 4e9 - 7 * 3600 - 400 + 6 * DAY_S + 3 * 3600
    assert (action["cron"], action["series_id"]) == ("0 3 * * mon", action["id"])
    found = await agents("GET", "actions", series_id=action["id"])
    assert [each["id"] for each in found["actions"]] == [action["id"]]
    (ended,) = (await agents("POST", "actions", action["id"], "discard", body={}))["actions"]
    assert ended["status"] == "discarded"
    (state,) = (await agents("GET", "agent-state", session_id="s1"))["states"]
    assert state["status"] == "stopped"


@pytest.mark.parametrize(
    ("when", "field"),
    [
        ({"cron": "nonsense"}, "cron"),
        ({"cron": "* * * * *", "every": 5}, "cron"),
        ({"every": 0.5}, "every"),
        ({"not_before": -1}, "not_before"),
    ],
)
async def test_schedule_that_cant_be_is_refused(
    agents: RuntimeApi, when: dict[str, Any], field: str
) -> None:
    refusal = await agents.expect_refusal("POST", "actions", body={**CREATE, **when})
    assert refusal == Refusal(400, "invalid_message", field)


# ---- limits ----------------------------------------------------------------------------------------


@limited
async def test_creation_above_the_limit_is_told_when_to_come_again(agents: RuntimeApi) -> None:
    await agents("POST", "actions", body={**CREATE, "session_id": "s1"})
    with pytest.raises(HTTPClientError) as refused:
        await agents("POST", "actions", body={**CREATE, "session_id": "s2"})
    response = refused.value.response
    assert response is not None
    assert (response.code, response.headers["Retry-After"]) == (429, "5")
    answer = json.loads(response.body)
    assert answer["code"] == "busy"
    assert "1 live sessions" in answer["message"]
    # What is there already is answered as it stands.
    again = await agents("POST", "actions", body={**CREATE, "session_id": "s1"})
    assert not again["fresh"]


@limited
async def test_session_can_always_be_ended(
    agents: RuntimeApi, manual_sessions: ManualSessions
) -> None:
    await agents("POST", "actions", body={**CREATE, "session_id": "s1"})
    hear = {"kind": "agent_input", "session_id": "s1", "payload": {"text": "x"}}
    await agents("POST", "actions", body=hear)
    assert await agents.expect_refusal("POST", "actions", body=hear) == Refusal(429, "busy")
    for kind in ("agent_pause", "agent_destroy"):
        await agents("POST", "actions", body={"kind": kind, "session_id": "s1"})


# ---- retention -------------------------------------------------------------------------------------


@pytest.mark.parametrize("coding_traits", [{"keep_days": 1.0, "keep_sessions": 3}])
async def test_sweep_deletes_what_has_ended(
    agents: RuntimeApi, manual_sessions: ManualSessions, extension: AgentStepperExtension
) -> None:
    for session in ("old", "live"):
        await agents.create("a", session)
        state = await manual_sessions.begin(session)
        if session == "old":
            ended = replace(state, status=SessionStatus.DONE, updated_at=manual_sessions.now)
            await manual_sessions.write(ended)
    await extension.hub.retention.sweep()
    states = (await agents("GET", "agent-state"))["states"]
    assert [each["session_id"] for each in states] == ["live"]


# ---- figures ---------------------------------------------------------------------------------------


@measured
async def test_figures_are_served_to_whoever_may_read(
    agents: RuntimeApi,
    jp_fetch: Any,
    jp_serverapp: ServerApp,
    http_server_client: Any,
    jp_base_url: str,
) -> None:
    await agents("POST", "actions", body={**CREATE, "session_id": "s1"})
    response = await jp_fetch("agentstepper", "metrics")
    assert response.headers["Content-Type"].startswith("text/plain; version=")
    figures = {
        sample.name: sample.value
        for family in text_string_to_metric_families(response.body.decode())
        for sample in family.samples
    }
    assert figures["agentstepper_actions_open"] == 1
    # As Prometheus is told to send it.
    token = {"Authorization": f"Bearer {jp_serverapp.identity_provider.token}"}  # type: ignore[attr-defined]
    url = f"{jp_base_url}agentstepper/metrics"
    assert (await http_server_client.fetch(url, headers=token)).code == 200
    with pytest.raises(HTTPClientError) as refused:
        await http_server_client.fetch(url)
    assert refused.value.code == 403


@measured
@pytest.mark.parametrize("granted", [{"execute"}])
async def test_figures_are_for_whoever_may_read(jp_fetch: Any) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("agentstepper", "metrics")
    assert refused.value.code == 403


async def test_without_the_trait_there_are_no_figures(jp_fetch: Any) -> None:
    with pytest.raises(HTTPClientError) as refused:
        await jp_fetch("agentstepper", "metrics")
    assert refused.value.code == 404


def test_rate_that_is_none_is_refused() -> None:
    with pytest.raises(TraitError, match="Use MODEL=60/min"):
        AgentStepperExtension(model_rates=["gpt-5=often"])
