"""Who may do what with agents over HTTP: every endpoint, by right."""

from __future__ import annotations

import json
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from agentstepper_nb.server_ext import runtime_handlers
from tests.server.agents import ManualSessions, Refusal, RuntimeApi

READS = [
    ("GET", ["agent-steps"]),
    ("GET", ["agent-search"]),
    ("GET", ["agent-status"]),
    ("GET", ["agent-state"]),
    ("GET", ["agents", "a1", "sessions"]),
    ("GET", ["actions"]),
    ("GET", ["actions", "x"]),
    ("GET", ["conversations"]),
    ("GET", ["conversations", "x"]),
    ("GET", ["conversations", "x", "participants"]),
    ("GET", ["conversations", "x", "messages"]),
    ("GET", ["conversations", "x", "cursor"]),
]
WRITES = [
    ("POST", ["actions"]),
    ("POST", ["actions", "x", "retry"]),
    ("POST", ["actions", "x", "discard"]),
    ("POST", ["agent-state", "x", "retry"]),
    ("POST", ["conversations"]),
    ("PATCH", ["conversations", "x"]),
    ("POST", ["conversations", "x", "participants"]),
    ("DELETE", ["conversations", "x", "participants", "p"]),
    ("POST", ["conversations", "x", "messages"]),
    ("PUT", ["conversations", "x", "cursor"]),
]


def test_every_endpoint_is_here() -> None:
    handlers = [handler for _, handler, _ in runtime_handlers.make_runtime_routes({})]
    methods = [
        (handler, method)
        for handler in handlers
        for method in ("get", "post", "patch", "delete", "put", "head")
        if method in vars(handler)
    ]
    assert len(methods) == len(READS) + len(WRITES)


@pytest.mark.parametrize("headers", [{}, {"Authorization": "token of-somebody-else"}], ids=str)
async def test_without_the_token(
    extension: Any, http_server_client: Any, jp_base_url: str, headers: dict[str, str]
) -> None:
    stranger = RuntimeApi(http_server_client.fetch, jp_base_url, headers)
    for method, path in READS:
        assert await stranger.expect_refusal(method, *path) == Refusal(403, "unauthorized")
    for method, path in WRITES:  # Jupyter looks first whether another site's page calls
        refusal = await stranger.expect_refusal(method, *path, body={})
        assert refusal == Refusal(403, "foreign_origin")


@pytest.mark.parametrize("granted", [{"read"}])
async def test_who_may_read_changes_nothing(
    agents: RuntimeApi, manual_sessions: ManualSessions, granted: set[str]
) -> None:
    for method, path in WRITES:
        assert await agents.expect_refusal(method, *path, body={}) == Refusal(403, "watch_only")


@pytest.mark.parametrize("granted", [{"read"}])
async def test_who_may_read_reads(
    agents: RuntimeApi, manual_sessions: ManualSessions, granted: set[str]
) -> None:
    assert await agents("GET", "agent-steps") == {"steps": [], "more": False}
    assert await agents("GET", "agent-state") == {"states": [], "more": False}
    assert await agents("GET", "actions") == {"actions": [], "more": False}
    assert await agents("GET", "conversations") == {"conversations": [], "more": False}
    for _, path in READS:
        if len(path) > 1:
            query = {"session_id": "s"} if path[-1] == "cursor" else {}
            assert (await agents.expect_refusal("GET", *path, **query)).status == 404


@pytest.mark.parametrize("granted", [set()])
async def test_who_may_nothing_sees_nothing(
    agents: RuntimeApi, manual_sessions: ManualSessions, granted: set[str]
) -> None:
    for method, path in READS + WRITES:
        assert await agents.expect_refusal(method, *path, body={}) == Refusal(403, "watch_only")


async def test_a_cookie_alone_changes_nothing(
    agents: RuntimeApi, manual_sessions: ManualSessions, jp_fetch: Any
) -> None:
    """A page of another site could send the cookie along, and can't read the XSRF token."""
    login = await jp_fetch("api", "status")
    cookie = "; ".join(each.partition(";")[0] for each in login.headers.get_list("Set-Cookie"))
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(
            *("agentstepper", "api", "conversations"),
            method="POST",
            body=json.dumps({"title": "x"}),
            headers={"Cookie": cookie, "Authorization": "none"},
        )
    assert caught.value.code == 403
    assert await agents("GET", "conversations") == {"conversations": [], "more": False}


@pytest.mark.parametrize(("method", "path"), [("PATCH", "actions"), ("DELETE", "agent-steps")])
async def test_methods_that_are_not_there(
    agents: RuntimeApi, manual_sessions: ManualSessions, method: str, path: str
) -> None:
    assert await agents.expect_refusal(method, path, body={}) == Refusal(405, "unknown_command")
