"""`/agentstepper/api/coding/…` over HTTP. The worker is in the test's own loop, its sessions are led."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError

from agentstepper_nb.coding.tool import Risk
from agentstepper_nb.llm_wire.events import TextDelta
from agentstepper_nb.server_ext.coding_handlers import CodingStreamHandler
from tests.helpers.scripted_coding_sessions import ScriptedSessionOpener
from tests.server.coding import CodingApi, ServerSentEvent, opened, run_loop_turns
from tests.server.coding_worker import SocketWorker


async def test_the_workflow(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any, root: Path
) -> None:
    id = await opened(api, how)
    assert opener.sessions[id].opening.request.workspace_path == str((root / "repo").resolve())
    async with api.stream(id) as stream:
        assert (await api("POST", id, "chat", message="say Hello you")).code == 202
        events = await stream.read_until("completed")
        assert [(each.event, each.data) for each in events] == [
            ("text_delta", {"text": "Hello"}),
            ("text_delta", {"text": "you"}),
            (
                "completed",
                {
                    "reason": "done",
                    "usage": {
                        "input_tokens": 3,
                        "output_tokens": 2,
                        "cost": None,
                        "estimated": False,
                    },
                },
            ),
        ]
        assert stream.retry is not None
        assert [str(each.id).partition("-")[2] for each in events] == ["1", "2", "3"]

        await api("POST", id, "chat", message="ask call 1")
        (asked,) = await stream.read_until("approval_required")
        assert asked.data == {
            "callId": "call 1",
            "name": "run_command",
            "args": {"command": "rm -r build"},
            "risk": "high",
            "why": "it deletes files",
        }
        listed = json.loads((await api("GET")).body)["sessions"]
        assert [(each["id"], each["running"], each["waiting"]) for each in listed] == [
            (id, True, ["call 1"])
        ]
        answer = await api("POST", id, "approvals", "call 1", approved=True, confirmed=True)
        assert answer.code == 204
        await stream.read_until("completed")

        assert (await api("DELETE", id)).code == 204
        assert await stream.next() is None
    assert json.loads((await api("GET")).body) == {"sessions": []}
    assert json.loads((await api("POST", id, "resume", **how)).body)["id"] == id


async def test_refusals(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any
) -> None:
    id = await opened(api, how)
    assert await api.expect_refusal("POST", "never", "chat", message="x") == (
        404,
        "unknown_session",
    )
    assert await api.expect_refusal("POST", "never", "cancel") == (404, "unknown_session")
    assert await api.expect_refusal("DELETE", "never") == (404, "unknown_session")
    assert await api.expect_refusal("POST", "never", "resume", **how) == (404, "unknown_session")
    assert (await api.open_stream("never"))[0] == 404
    assert await api.expect_refusal("POST", id, "resume", **how) == (409, "session_open")
    assert await api.expect_refusal("POST", id, "chat", message="") == (400, "invalid_message")
    assert await api.expect_refusal("POST", id, "chat") == (400, "invalid_message")
    other = {**how, "provider": "nobody"}
    assert await api.expect_refusal("POST", **other) == (400, "session_failed")
    assert await api.expect_refusal("POST", **{**how, "maxIterations": 0}) == (
        400,
        "invalid_message",
    )

    await api("POST", id, "chat", message="wait")
    assert await api.expect_refusal("POST", id, "chat", message="x") == (409, "session_busy")
    assert (await api("POST", id, "cancel")).code == 204
    async with api.stream(id) as stream:
        assert (await stream.read_until("completed"))[-1].data["reason"] == "cancelled"
        await api("POST", id, "chat", message="ask c1")
        await stream.read_until("approval_required")
        approvals = (id, "approvals", "c1")
        assert await api.expect_refusal("POST", id, "approvals", "c2", approved=True) == (
            404,
            "unknown_call",
        )
        assert await api.expect_refusal("POST", *approvals) == (400, "invalid_message")
        opener.sessions[id].elsewhere.set()  # the view was first
        await stream.read_until("completed")
        assert await api.expect_refusal("POST", *approvals, approved=True) == (409, "stale")


async def test_nothing_approves_by_accident(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any
) -> None:
    id = await opened(api, how)
    async with api.stream(id) as stream:
        await api("POST", id, "chat", message="ask c1")
        await stream.read_until("approval_required")
        approve = ("POST", id, "approvals", "c1")
        accidents: list[dict[str, Any]] = [
            {},
            {"approved": None},
            {"approved": 1},
            {"approved": "true"},
            {"approved": "yes", "confirmed": True},
            {"approve": True, "confirmed": True},
            {"approved": True, "confirmed": True, "alway": True},
            {"approved": True, "confirmed": "high"},
            {"approved": True, "confirmed": 1},
            {"approved": True, "confirmed": True, "always": "no"},
            {"approved": True, "confirmed": True, "reason": None},
            {"confirmed": True},
        ]
        for accident in accidents:
            assert await api.expect_refusal(*approve, **accident) == (400, "invalid_message"), (
                accident
            )
        # The risk is high: once is not enough, whatever else is said.
        for once in ({}, {"confirmed": False}, {"always": True}, {"editedArgs": {"command": "ls"}}):
            refused = await api.expect_refusal(*approve, approved=True, **once)
            assert refused == (409, "needs_confirmation"), once
        assert opener.sessions[id].decisions == []
        assert json.loads((await api("GET")).body)["sessions"][0]["waiting"] == ["c1"]
        assert (await api(*approve, approved=False, reason="no")).code == 204
        await stream.read_until("completed")
    (decision,) = opener.sessions[id].decisions
    assert (decision.approved, decision.reason) == (False, "no")


@pytest.mark.parametrize("risk", ["low", "medium"])
async def test_lesser_risks_are_approved_as_before(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any, risk: str
) -> None:
    id = await opened(api, how)
    opener.sessions[id].risk = Risk(risk)
    async with api.stream(id) as stream:
        await api("POST", id, "chat", message="ask c1")
        (asked,) = await stream.read_until("approval_required")
        assert asked.data["risk"] == risk
        assert (await api("POST", id, "approvals", "c1", approved=True)).code == 204
        await stream.read_until("completed")
    assert opener.sessions[id].decisions[0].approved


async def test_workspaces_lie_under_the_roots(
    api: CodingApi,
    worker: SocketWorker,
    opener: ScriptedSessionOpener,
    how: Any,
    root: Path,
    tmp_path: Path,
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (root / "link").symlink_to(outside)
    sibling = root.with_name(root.name + "-evil")
    sibling.mkdir()
    for path in (outside, root / "link", sibling, root / ".." / "outside", "..", "/", "~"):
        body = {**how, "workspacePath": str(path)}
        assert await api.expect_refusal("POST", **body) == (403, "outside_roots"), path
        assert await api.expect_refusal("POST", "s1", "resume", **body) == (403, "outside_roots")
    for path in (root / "none", "a\0b", "x" * 900, ""):
        body = {**how, "workspacePath": str(path)}
        assert await api.expect_refusal("POST", **body) == (400, "invalid_message"), path
    id = await opened(api, {**how, "workspacePath": "repo"})
    assert opener.sessions[id].opening.request.workspace_path == str((root / "repo").resolve())


@pytest.fixture
def another_root(jp_server_config: Any, tmp_path: Path) -> Path:
    """Before the server starts, which depends on the order of the arguments."""
    (tmp_path / "more").mkdir()
    jp_server_config.AgentStepperExtension.coding_roots = [str(tmp_path / "more")]
    return tmp_path / "more"


async def test_further_roots(
    another_root: Path, api: CodingApi, worker: SocketWorker, how: Any
) -> None:
    await opened(api, {**how, "workspacePath": str(another_root)})


@pytest.mark.parametrize("granted", [{"read"}])
async def test_who_may_read_may_watch(
    api: CodingApi, worker: SocketWorker, opener: ScriptedSessionOpener, how: Any, granted: set[str]
) -> None:
    assert json.loads((await api("GET")).body) == {"sessions": []}
    assert (await api.open_stream("never"))[0] == 404
    refused = [
        await api.expect_refusal("POST", **how),
        await api.expect_refusal("POST", "s1", "resume", **how),
        await api.expect_refusal("POST", "s1", "chat", message="x"),
        await api.expect_refusal("POST", "s1", "approvals", "c1", approved=True),
        await api.expect_refusal("POST", "s1", "cancel"),
        await api.expect_refusal("DELETE", "s1"),
    ]
    assert refused == [(403, "watch_only")] * 6


@pytest.mark.parametrize("granted", [set()])
async def test_who_may_nothing_sees_nothing(api: CodingApi, granted: set[str]) -> None:
    assert await api.expect_refusal("GET") == (403, "watch_only")
    assert (await api.open_stream("s1"))[0] == 403


async def test_nobody_unasked(extension: Any, http_server_client: Any, jp_base_url: str) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await http_server_client.fetch(f"{jp_base_url}agentstepper/api/coding/sessions")
    assert caught.value.code == 403


async def test_a_cookie_alone_opens_nothing(
    api: CodingApi, worker: SocketWorker, how: Any, jp_fetch: Any
) -> None:
    """A page of another site could send the cookie along, and can't read the XSRF token."""
    login = await jp_fetch("api", "status")
    cookie = "; ".join(each.partition(";")[0] for each in login.headers.get_list("Set-Cookie"))
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(
            *("agentstepper", "api", "coding", "sessions"),
            method="POST",
            body=json.dumps(how),
            headers={"Cookie": cookie, "Authorization": "none"},
        )
    assert caught.value.code == 403
    assert json.loads((await api("GET")).body) == {"sessions": []}


# ---- the stream ------------------------------------------------------------------------------------


async def test_one_stream_and_who_was_cut_off_takes_it_over(
    api: CodingApi, worker: SocketWorker, how: Any
) -> None:
    id = await opened(api, how)
    async with api.stream(id) as old:
        await api("POST", id, "chat", message="say a b")
        first, *_ = await old.read_until("completed")
        assert (await api.open_stream(id))[0] == 409
        assert (await api.open_stream(id, "other-1"))[0] == 409
        async with api.stream(id, first.id) as new:
            assert next(each.data for each in await new.read_until("completed")) == {"text": "b"}
            (told,) = await old.read_until("trace")
            assert told.data["kind"] == "taken_over"
            assert await old.next() is None
            # Where it stands a client knows before anything has happened.
            await api("POST", id, "chat", message="say c")
            await new.read_until("completed")
            async with api.stream(id, new.last) as third:
                await api("POST", id, "chat", message="say d")
                assert (await third.next()) == ServerSentEvent(
                    "text_delta", {"text": "d"}, third.last
                )


async def test_a_client_that_hangs_up_makes_room(
    api: CodingApi, worker: SocketWorker, how: Any
) -> None:
    id = await opened(api, how)
    async with api.stream(id) as stream:
        await api("POST", id, "chat", message="say a")
        await stream.read_until("completed")
    while (again := await api.open_stream(id))[0] == 409:  # the server hears of it by and by
        pass
    again[1].stream.close()


async def test_silence_is_filled(
    api: CodingApi, worker: SocketWorker, how: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CodingStreamHandler, "heartbeat_s", 0.01)
    id = await opened(api, how)
    async with api.stream(id) as stream:
        reading = asyncio.create_task(stream.read_until("completed"))
        while len(stream.comments) < 3:
            await asyncio.sleep(0.01)
        await api("POST", id, "chat", message="say a")
        assert [each.event for each in await reading] == ["text_delta", "completed"]


async def test_a_client_that_does_not_read_is_let_go_and_comes_back(
    api: CodingApi,
    worker: SocketWorker,
    opener: ScriptedSessionOpener,
    how: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(CodingStreamHandler, "stall_timeout_s", 0.2)
    id = await opened(api, how)
    async with api.stream(id):
        for number in range(300):
            opener.sessions[id].emit(TextDelta(f"{number} {'x' * 50_000}"))
        feed = opener.sessions[id].opening.listener.__self__.feed  # type: ignore[attr-defined]
        while feed._reader is not None:
            await asyncio.sleep(0.01)
    monkeypatch.setattr(CodingStreamHandler, "stall_timeout_s", 60)  # who reads isn't let go
    async with api.stream(id) as again:
        seen = 0
        while seen < 300:
            event = await again.next()
            assert event is not None
            seen = int(event.data["text"].split()[0]) + 1


async def test_without_its_worker_the_stream_says_so(
    api: CodingApi, worker: SocketWorker, how: Any, extension: Any
) -> None:
    id = await opened(api, how)
    async with api.stream(id) as stream:
        await api("POST", id, "chat", message="wait")
        await stream.read_until("text_delta")
        await worker.die()
        (told,) = await stream.read_until("error")
        assert told.data["code"] == "worker_lost"
        assert await stream.next() is None


# ---- the worker's socket ---------------------------------------------------------------------------


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer the-agents-own"}])
async def test_workers_need_their_own_token(connect: Any, extension: Any, headers: Any) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await connect("worker", headers)
    assert caught.value.code == 401


async def test_a_worker_that_cannot_be_started_is_said(
    api: CodingApi, how: Any, extension: Any, jp_serverapp: Any
) -> None:
    extension.worker._command = ("/nowhere/python",)
    assert await api.expect_refusal("POST", **how) == (503, "worker_failed")
    extension.worker._command = ("false",)
    assert await api.expect_refusal("POST", **how) == (503, "worker_failed")
    assert json.loads((await api("GET")).body) == {"sessions": []}
    await run_loop_turns()
