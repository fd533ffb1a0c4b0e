"""The real thing: a Jupyter server, the worker it starts, the coding agent, and the scripted model."""

from __future__ import annotations

import asyncio
import json
import re
import signal
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from agentstepper_nb.coding.transcript import load_messages
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.protocol import ui as ui_wire
from tests.e2e.jupyter import running
from tests.server.coding import ServerSentEvent
from tests.server.live import LiveServer, close_and_wait
from tests.worker.processes import gone


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LiveServer]:
    live = LiveServer(tmp_path_factory.mktemp("jupyter"))
    with running(live.server):
        yield live


def text(events: list[ServerSentEvent]) -> str:
    return "".join(each.data["text"] for each in events if each.event == "text_delta")


def only(events: list[ServerSentEvent], kind: str) -> dict[str, Any]:
    (found,) = [each.data for each in events if each.event == kind]
    return dict(found)


def test_a_session_from_create_to_resume(live: LiveServer) -> None:
    """The whole workflow; run, log and stream tell the same."""

    async def test() -> None:
        api, id = live.api, await live.create()
        async with api.stream(id) as stream:
            await api("POST", id, "chat", message="run rm -rf build")
            before = await stream.read_until("approval_required")
            asked = before[-1].data
            assert (asked["name"], asked["args"]) == (
                "run_command",
                {"command": "rm -rf build"},
            )
            assert "rm -rf build" in asked["why"]
            call = asked["callId"]
            edited = {"command": "echo kept"}
            answer = await api(
                "POST", id, "approvals", call, approved=True, confirmed=True, editedArgs=edited
            )
            assert answer.code == 204
            after = await stream.read_until("completed")
            assert await api.expect_refusal("POST", id, "approvals", call, approved=True) == (
                409,
                "stale",
            )

        events = before + after
        called, returned = only(before, "tool_call"), only(after, "tool_result")
        assert (called["callId"], returned["callId"]) == (call, call)
        assert called["args"] == {"command": "rm -rf build"}
        assert returned["ok"]
        assert returned["data"]["output"] == "kept\n"
        assert only(after, "completed")["reason"] == "done"

        kept = load_messages(live.log(id), pytest.fail)
        result = kept[2].content  # which tells the model that a person has edited its call
        assert json.loads(result)["data"] == returned["data"]
        assert text(events) == f"I run it.It said: {result}"
        (asked_for,) = kept[1].tool_calls  # type: ignore[union-attr]
        assert json.loads(asked_for.args_json) in (called["args"], edited)
        assert tuple(kept) == (
            UserMessage(content="run rm -rf build"),
            AssistantMessage(content="I run it.", tool_calls=(asked_for,)),
            ToolResultMessage(call_id=call, content=result, ok=True),
            AssistantMessage(content=f"It said: {result}"),
        )
        await the_run_tells_it_too(live, id, returned)

        assert (await api("DELETE", id)).code == 204
        assert (await api("POST", id, "resume", **live.create_options)).code == 201
        async with api.stream(id) as stream:
            await api("POST", id, "chat", message="count")
            # The system's, the four that were kept, and this one.
            assert "6 messages." in text(await stream.read_until("completed"))
        await api("DELETE", id)

    asyncio.run(test())


def test_the_session_says_what_holds_its_commands(live: LiveServer) -> None:
    async def test() -> None:
        api = live.api
        created = json.loads((await api("POST", **live.create_options)).body)
        report = created["sandbox"]
        assert (report["mode"], report["network"]) == ("workspace-write", False)
        assert report["name"] in ("bubblewrap", "landlock", "seatbelt")
        async with api.stream(created["id"]) as stream:
            (first,) = await stream.read_until("trace")
            assert first.data == {"kind": "sandbox", "data": report}
        listed = json.loads((await api("GET")).body)["sessions"]
        assert [each["sandbox"] for each in listed if each["id"] == created["id"]] == [report]
        await api("DELETE", created["id"])

    asyncio.run(test())


async def the_run_tells_it_too(live: LiveServer, session: str, returned: dict[str, Any]) -> None:
    """The debugger's run has the same question, call and result."""
    run = await live.run_of(session)
    whole = json.loads((await live.fetch("agentstepper", "api", "runs", run, method="GET")).body)
    kinds = [(row["kind"], row["side"]) for row in whole["rows"]]
    pairs = [("llm_query", "begin"), ("llm_query", "end")]
    called = [("tool_invocation", "begin"), ("tool_invocation", "end")]
    assert kinds[-6:] == [*pairs, *called, *pairs]
    begin, end = whole["rows"][-4:-2]
    assert begin["edited"]
    view = await live.view()
    await view.send(ui_wire.GetMessage(run=run, message=begin["id"]), "b")
    message = await view.expect(ui_wire.MessageBody)
    assert json.loads(message.edit)["Argument"] == {"command": "echo kept"}
    await view.send(ui_wire.GetMessage(run=run, message=end["id"]), "e")
    message = await view.expect(ui_wire.MessageBody)
    assert json.loads(message.data)["data"] == returned["data"]
    await close_and_wait(view)


def test_the_view_was_first(live: LiveServer) -> None:
    async def test() -> None:
        api, id, view = live.api, await live.create(), await live.view()
        async with api.stream(id) as stream:
            await api("POST", id, "chat", message="run rm -rf build")
            call = (await stream.read_until("approval_required"))[-1].data["callId"]
            run_id = await live.run_of(id)
            while True:
                run = (await view.expect(ui_wire.RunChanged)).run
                if run.id == run_id and run.pending:
                    break
            (pending,) = run.pending
            deny = ui_wire.DenyCall(run=run.id, halt_point=pending, revision=1, reason="Not that.")
            await view.send(deny, "d")
            events = await stream.read_until("completed")
            returned = only(events, "tool_result")
            assert not returned["ok"]
            assert "Not that." in returned["error"]
            refused = partial(api.expect_refusal, "POST", id, "approvals")
            assert await refused(call, approved=True) == (409, "stale")
            assert await refused("never", approved=True) == (404, "unknown_call")
        await close_and_wait(view)
        await api("DELETE", id)

    asyncio.run(test())


def test_a_worker_that_is_killed_in_the_middle_of_an_answer(live: LiveServer) -> None:
    async def test() -> None:
        api, id = live.api, await live.create()
        async with api.stream(id) as stream:
            await api("POST", id, "chat", message="hello")
            await stream.read_until("completed")
            await api("POST", id, "chat", message="hang")
            await stream.read_until("text_delta")
            worker = live.kill_worker()
            told = (await stream.read_until("error"))[-1]
            assert told.data["code"] == "worker_lost"
            assert await stream.next() is None
        assert gone(worker)
        assert await api.expect_refusal("POST", id, "chat", message="x") == (404, "unknown_session")
        assert live.workers()[-1] != worker  # the next request has started another one
        assert (await api("POST", id, "resume", **live.create_options)).code == 201
        async with api.stream(id, told.id) as stream:
            await api("POST", id, "chat", message="count")
            assert re.search(r"\d messages", text(await stream.read_until("completed")))
        kept = [each.content for each in load_messages(live.log(id), pytest.fail)]
        assert kept[:3] == ["hello", "Hello to you.", "hang"]
        await api("DELETE", id)

    asyncio.run(test())


@pytest.mark.slow
def test_twenty_sessions_at_once(live: LiveServer) -> None:
    async def conversation() -> str:
        id = await live.create()
        async with live.api.stream(id) as stream:
            await live.api("POST", id, "chat", message="hello")
            assert text(await stream.read_until("completed")) == "Hello to you."
        return id

    async def test() -> None:
        ids = await asyncio.gather(*(conversation() for _ in range(20)))
        listed = json.loads((await live.api("GET")).body)["sessions"]
        listed = [each for each in listed if each["state"] == "open"]
        assert {each["id"] for each in listed} == set(ids)
        assert len({each["run"] for each in listed}) == 20
        await asyncio.gather(*(live.api("DELETE", id) for id in ids))

    asyncio.run(test())


@pytest.mark.slow
@pytest.mark.parametrize(
    "how", [signal.SIGKILL, pytest.param(signal.SIGTERM, marks=pytest.mark.soak)]
)
def test_the_worker_ends_with_its_server(live: LiveServer, how: signal.Signals) -> None:
    """The last of this page: it takes the server away, and puts it back."""

    async def busy() -> str:
        id = await live.create()
        async with live.api.stream(id) as stream:
            await live.api("POST", id, "chat", message="run sleep 600")
            await stream.read_until("tool_call")
        return id

    async def resumed(id: str) -> None:
        assert (await live.api("POST", id, "resume", **live.create_options)).code == 201

    id = asyncio.run(busy())
    worker = live.workers()[-1]
    live.server.stop(how)
    assert gone(worker)
    live.server.start()
    asyncio.run(resumed(id))
