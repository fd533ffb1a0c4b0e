"""The list of sessions over HTTP: open and kept, which can be resumed, and what was said in them."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.session import CodingSession
from tests.coding.scripted_parts import FakeProvider, make_text_answer, make_tool_calls
from tests.server.coding import CodingApi, opened
from tests.server.coding_worker import SocketWorker

StoreSession = Callable[..., Awaitable[str]]


@pytest.fixture
def store_session(extension: Any, root: Path) -> StoreSession:
    """Keeps a session: one that was opened, answered a prompt, and closed, as a terminal does."""

    async def store_session(prompt: str = "Look.", folder: Path | None = None) -> str:
        workspace = folder or root / "repo"
        workspace.mkdir(exist_ok=True)
        async with await CodingSession.create(
            workspace=workspace,
            provider=FakeProvider(
                make_tool_calls(("1", "list_files", {"path": "."})), make_text_answer("Nothing.")
            ),
            model="m",
            data_dir=Path(extension.data_dir),
            mode="run",
            debugger=False,
        ) as session:
            await session.run(prompt)
        return session.id

    return store_session


async def listed(api: CodingApi, **query: str) -> list[dict[str, Any]]:
    body = json.loads((await api("GET", query=query)).body)
    return list(body["sessions"])


async def test_open_and_kept_sessions(
    api: CodingApi, worker: SocketWorker, store_session: StoreSession, how: Any, root: Path
) -> None:
    first, second = await store_session("Look."), await store_session("Look again.")
    id = await opened(api, how)
    here, newest, oldest = await listed(api)
    assert (here["id"], here["state"], here["resumable"]) == (id, "open", False)
    assert [newest["id"], oldest["id"]] == [second, first]
    assert newest.pop("startedAt") <= newest.pop("latestAt")
    assert newest == {
        "id": second,
        "workspacePath": str((root / "repo").resolve()),
        "provider": "playing",
        "model": "m",
        "running": False,
        "waiting": [],
        "run": None,
        "messages": 4,
        "sandbox": None,
        "state": "kept",
        "resumable": True,
        "problem": None,
        "prompt": "Look again.",
    }
    assert [each["id"] for each in await listed(api, state="open")] == [id]
    assert [each["id"] for each in await listed(api, state="kept")] == [second, first]
    assert [each["id"] for each in await listed(api, state="kept", limit="1")] == [second]
    for wrong in ({"state": "closed"}, {"limit": "0"}, {"limit": "1001"}, {"limit": "many"}):
        assert await api.expect_refusal("GET", query=wrong) == (400, "invalid_message")


async def test_what_cant_be_resumed_says_why(
    api: CodingApi, worker: SocketWorker, store_session: StoreSession, extension: Any, root: Path
) -> None:
    id = await store_session(folder=root / "gone")
    (root / "gone").rmdir()
    (gone,) = await listed(api)
    assert (gone["id"], gone["resumable"]) == (id, False)
    assert "no longer exists; resume it with another folder" in gone["problem"]
    async with await CodingSession.resume(
        id,
        workspace=root / "repo",
        provider=FakeProvider(),
        data_dir=Path(extension.data_dir),
        mode="repl",
        debugger=False,
    ):
        (elsewhere,) = await listed(api)
    assert elsewhere["state"] == "kept" and not elsewhere["resumable"]
    assert elsewhere["problem"] == "The session is open in a process."
    (after,) = await listed(api)
    assert after["resumable"] and after["problem"] is None


async def test_a_conversation_is_shown_before_it_is_resumed_and_after(
    api: CodingApi, worker: SocketWorker, store_session: StoreSession, how: Any
) -> None:
    id = await store_session()
    shown = json.loads((await api("GET", id)).body)
    assert shown["session"]["id"] == id
    assert shown["session"]["state"] == "kept"
    assert shown["earlier"] == 0
    user, asks, result, answer = shown["messages"]
    assert (user["role"], user["content"]) == ("user", "Look.")
    assert asks["toolCalls"] == [{"callId": "1", "name": "list_files", "args": {"path": "."}}]
    assert (result["role"], result["callId"], result["ok"]) == ("tool", "1", True)
    assert (answer["role"], answer["content"]) == ("assistant", "Nothing.")
    last = json.loads((await api("GET", id, query={"messages": "1"})).body)
    assert (last["messages"], last["earlier"]) == ([answer], 3)

    opened_id = await opened(api, how)  # its conversation is led by the test
    async with api.stream(opened_id) as stream:
        await api("POST", opened_id, "chat", message="say Hello")
        await stream.read_until("completed")
    now = json.loads((await api("GET", opened_id)).body)
    assert now["session"]["state"] == "open"
    assert [each["content"] for each in now["messages"]] == ["say Hello"]
    assert now["session"]["prompt"] == "say Hello"


async def test_no_session_of_this_id(
    api: CodingApi, worker: SocketWorker, store_session: StoreSession
) -> None:
    await store_session()
    for id in ("never", "-bad", "a.b", "x" * 200):
        assert await api.expect_refusal("GET", id) == (404, "unknown_session"), id


async def test_sessions_of_other_folders_are_not_seen(
    api: CodingApi, worker: SocketWorker, store_session: StoreSession, tmp_path: Path
) -> None:
    id = await store_session(folder=tmp_path / "outside")
    assert await listed(api) == []
    assert await api.expect_refusal("GET", id) == (403, "outside_roots")


async def test_nothing_kept_starts_no_worker(api: CodingApi, extension: Any) -> None:
    assert await listed(api) == []
    assert extension.worker.pid is None


@pytest.mark.parametrize("granted", [set()])
async def test_who_may_not_read_sees_nothing(api: CodingApi) -> None:
    assert await api.expect_refusal("GET", "s1") == (403, "watch_only")
