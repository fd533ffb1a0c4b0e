"""A Core's runtime: who may what, whose worker is gone, and when one is started."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from typing import Any

import msgspec
import pytest

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime import MethodRight
from agentstepper_nb.hub.runtime_host import RuntimeHost, check_store_location
from agentstepper_nb.protocol.runtime import ActionKind, ActionStatus
from agentstepper_nb.protocol.runtime_requests import ActionEnqueued, NewAction, WatchTopic
from agentstepper_nb.protocol.runtime_store_messages import AgentStateList, StateQuery
from agentstepper_nb.protocol.store_info import Durability
from tests.helpers.loops import settle
from tests.hub.runtime_hosts import (
    LOG,
    FakeWorkerStarter,
    RuntimeClient,
    RuntimeHostHarness,
    open_runtime_host,
)


def refused(code: str) -> Any:
    return pytest.raises(CommandError, check=lambda error: error.code == code)


async def settled(core: RuntimeHostHarness) -> None:
    """Wait until what a worker's end set off is done."""
    await settle()
    await core.host._dispatchers.wait_notified()


# ---- rights -----------------------------------------------------------------------------------------


async def test_each_line_may_what_its_right_says() -> None:
    async with open_runtime_host() as core:
        made = await core.client().create()
        assert made.is_new
        watcher = core.client(MethodRight.WATCH)
        seen = await watcher.request("states", StateQuery(), AgentStateList)
        assert [each.session_id for each in seen.states] == ["s1"]
        pause = NewAction(kind=ActionKind.PAUSE, session_id="s1")
        with refused("watch_only"):
            await watcher.request("act", pause, ActionEnqueued)
        with refused("watch_only"):
            await core.client().rpc_session.call("runtime", "claim")
        with refused("watch_only"):
            async for _ in core.client().rpc_session.stream("runtime", "wakes"):
                pass
        worker = core.worker()
        assert (await worker.claim(1.0, 2.0)).id == made.action.id
        with refused("unknown_service"):
            await core.client().rpc_session.call("coding", "anything")


# ---- whose worker is gone ---------------------------------------------------------------------------


async def test_a_connection_that_breaks_leaves_its_claims_two_seconds() -> None:
    async with open_runtime_host() as core:
        made = await core.client().create()
        worker, now = core.worker(), time.time()
        await worker.dispatch()
        await worker.claim(now, now + 600)
        worker.break_off()
        await settled(core)
        claimed = await core.get_action(made.action.id)
        assert claimed.status is ActionStatus.CLAIMED
        assert claimed.lease_until is not None
        assert now < claimed.lease_until < now + 60
        assert not core.host.runtime.dispatchers


async def test_a_process_that_ends_leaves_its_claims_at_once() -> None:
    async with open_runtime_host() as core:
        made = await core.client().create()
        await core.starter.was_started.wait()
        worker, now = core.worker(), time.time()
        await worker.dispatch()
        await worker.claim(now, now + 600)
        core.starter.end()  # known before its connection is
        worker.break_off()
        await settled(core)
        lease = (await core.get_action(made.action.id)).lease_until
        assert lease is not None
        assert lease <= time.time()


async def test_one_that_is_back_has_its_claims() -> None:
    async with open_runtime_host() as core:
        made = await core.client().create()
        worker, now = core.worker(), time.time()
        await worker.dispatch()
        await worker.claim(now, now + 600)
        again = core.worker()  # of the same process: the older connection is let go
        await again.dispatch()
        await settled(core)
        assert core.host.runtime.dispatchers == {"w1"}
        await again.renew(now + 600)
        lease = (await core.get_action(made.action.id)).lease_until
        assert lease is not None
        assert lease > now + 500
        assert worker.closed_with == (1000, "replaced by a newer connection")


async def test_one_that_stopped_to_dispatch_is_known_too() -> None:
    async with open_runtime_host() as core:
        made = await core.client().create()
        worker, now = core.worker(), time.time()
        await worker.dispatch()
        await worker.claim(now, now + 600)
        await worker.wakes.aclose()
        await settled(core)
        lease = (await core.get_action(made.action.id)).lease_until
        assert lease is not None
        assert lease > now + 500  # it is there, and may finish
        worker.break_off()
        await settled(core)
        lease = (await core.get_action(made.action.id)).lease_until
        assert lease is not None
        assert lease < now + 60


# ---- starting one -----------------------------------------------------------------------------------


async def test_the_first_use_starts_a_worker_and_another_where_it_dies() -> None:
    async with open_runtime_host() as core:
        assert core.starter.started == 0
        await core.client().create()
        await core.starter.was_started.wait()
        worker = core.worker()
        await worker.dispatch()
        core.starter.was_started.clear()
        worker.break_off()
        core.starter.end()
        async with asyncio.timeout(30):
            await core.starter.was_started.wait()
        assert core.starter.started == 2


async def test_a_worker_by_hand_is_enough() -> None:
    async with open_runtime_host() as core:
        worker = core.worker()
        await worker.dispatch()
        await core.client().create()
        assert (await anext(worker.wakes)).n == 2
        assert core.starter.started == 0


async def test_work_of_before_the_start_is_looked_for(tmp_path: Any) -> None:
    host = RuntimeHost(tmp_path, Durability.RELAXED, "sqlite", LOG)
    await host.start()
    await RuntimeClient(host, MethodRight.CONTROL).create()
    await host.close()
    starting = FakeWorkerStarter()
    host = RuntimeHost(tmp_path, Durability.RELAXED, "sqlite", LOG, starting)
    await host.start()
    await starting.was_started.wait()
    await host.close()


# ---- the end ----------------------------------------------------------------------------------------


async def test_clients_hear_that_the_core_is_stopping() -> None:
    async with open_runtime_host() as core:
        client, gone = core.client(), core.client()
        gone.session.on_closed()
        gone.session.on_closed()
        stream = client.rpc_session.stream("runtime", "watch", WatchTopic(topic="sessions"))
        assert b'"begin"' in bytes(await anext(stream))
    assert client.closed_with == (1001, "The Core is stopping.")
    assert gone.closed_with is None
    with suppress(StopAsyncIteration):
        await anext(stream)
    await core.host.close()


# ---- where the rows are -----------------------------------------------------------------------------


@pytest.mark.parametrize("place", ["", "lance", "SQLITE"])
def test_a_place_that_is_none(place: str) -> None:
    with pytest.raises(ValueError, match="Use sqlite, or postgresql:"):
        check_store_location(place)
    assert check_store_location("sqlite") == "sqlite"


def test_a_place_that_was_one_says_how_its_rows_come_over() -> None:
    for place, command in (
        ("lance:/home/me/agents", "agentstepper import-lance /home/me/agents"),
        ("lance:", "agentstepper import-lance FOLDER"),
    ):
        with pytest.raises(ValueError, match=f"`{command}` once, then use sqlite"):
            check_store_location(place)


# ---- what isn't understood --------------------------------------------------------------------------


async def test_before_hello_nothing_is_asked() -> None:
    async with open_runtime_host() as core:
        said: list[Any] = []

        class Ear:
            def send(self, text: str) -> None:
                said.append(msgspec.json.decode(text))

            def close(self, code: int, reason: str) -> None:
                raise AssertionError

        session = core.host.connect(Ear(), MethodRight.CONTROL)
        session.receive(
            '{"n":1,"type":"request","id":"1","body":{"service":"runtime","method":"states"}}'
        )
        session.receive_binary()
        assert [each["body"]["code"] for each in said] == ["hello_expected", "binary_frame"]
        session.on_closed()
