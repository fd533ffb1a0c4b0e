"""The worker's service `runtime`: it begins with its Core, and leaves nothing behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path

import msgspec
import pytest
from msgspec import Raw

from agentstepper_nb import discover
from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub.runtime import MethodRight, RuntimeService
from agentstepper_nb.protocol.runtime import ActionKind, SessionStatus
from agentstepper_nb.rpc.session import RpcService
from agentstepper_nb.runtime.service import RuntimeWorker, WorkerInfo, create
from agentstepper_nb.worker.services import ServiceContext, load_services
from tests.runtime.breakable_connection import BreakableConnection
from tests.runtime.harness import a_core
from tests.runtime.isolated_monikers import CooperativeMoniker, install


async def info(service: RpcService) -> WorkerInfo:
    found = await service.call("info", Raw(b"null"))
    return msgspec.convert(found, WorkerInfo, from_attributes=True)


def test_it_dispatches_until_it_is_closed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(discover.URL_VARIABLE, "ws://127.0.0.1:1")  # nobody is there

    async def test() -> None:
        async with a_core(tmp_path) as core:
            breakable = BreakableConnection(RuntimeService(core.runtime, MethodRight.WORK))
            breakable.connect()
            service = create(ServiceContext(data_dir=tmp_path, core_caller=breakable.connection))
            for id in ("s", "t"):
                await core.wait_until_done(
                    await core.create(id, "joke", config={"interval_s": 3600})
                )
            state = await core.wait_for_state("s", SessionStatus.RUNNING, iteration=1)
            there = await info(service)
            assert (there.owner, there.sessions, there.actions) == (state.owner, ("s", "t"), ())
            assert core.runtime.dispatchers == {there.owner}
            await core.wait_until_done(
                await core.enqueue(ActionKind.DESTROY, "t", payload={"timeout_s": 0})
            )
            await service.close()
            state = await core.state("s")
            assert (state.status, state.lease_until) == (SessionStatus.RUNNING, core.clock())
            assert (await info(service)).sessions == ()
            await service.close()  # once more is nothing

    asyncio.run(test())


def test_sessions_that_close_slowly_are_still_handed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv(discover.URL_VARIABLE, "ws://127.0.0.1:1")  # nobody is there
    monkeypatch.syspath_prepend(install(tmp_path / "installed"))
    has_closed = False

    async def close(moniker: CooperativeMoniker) -> None:
        nonlocal has_closed
        try:
            await asyncio.Event().wait()
        finally:
            has_closed = True

    monkeypatch.setattr(CooperativeMoniker, "close", close)

    async def test() -> None:
        async with a_core(tmp_path) as core:
            breakable = BreakableConnection(RuntimeService(core.runtime, MethodRight.WORK))
            breakable.connect()
            context = ServiceContext(
                data_dir=tmp_path, core_caller=breakable.connection, isolation="none"
            )
            service = RuntimeWorker(context, close_timeout_s=0.05)
            await core.wait_until_done(
                await core.create("s", "cooperative", config={"interval_s": 3600})
            )
            await core.wait_for_state("s", SessionStatus.RUNNING, iteration=1)
            await service.close()
            assert not has_closed
            assert (await core.state("s")).lease_until == core.clock()

    asyncio.run(test())
    assert "these sessions didn't close in 0.05 seconds: s" in caplog.text


async def test_what_fails_as_it_closes_leaves_nothing_else_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with a_core(tmp_path) as core:
        breakable = BreakableConnection(RuntimeService(core.runtime, MethodRight.WORK))
        breakable.connect()
        context = ServiceContext(
            data_dir=tmp_path, core_caller=breakable.connection, isolation="none"
        )
        service = RuntimeWorker(context)
        closed: list[str] = []

        def fail_at(name: str) -> Callable[..., Awaitable[None]]:
            async def fail(*_: object) -> None:
                closed.append(name)
                raise ZeroDivisionError

            return fail

        monkeypatch.setattr(service._registry, "close", fail_at("sessions"))
        monkeypatch.setattr(service._dispatcher, "release", fail_at("leases"))
        monkeypatch.setattr(service._pool, "close", fail_at("processes"))
        monkeypatch.setattr(service._relay, "close", fail_at("relay"))
        with pytest.raises(ZeroDivisionError):
            await service.close()
        assert closed == ["sessions", "leases", "processes", "relay"]


async def test_without_a_core_it_only_says_who_it_is(tmp_path: Path) -> None:
    services = load_services(ServiceContext(data_dir=tmp_path))
    service = services["runtime"]
    assert (await info(service)).sessions == ()
    with pytest.raises(CommandError, check=lambda error: error.code == "unknown_service"):
        await service.call("dance", Raw(b"null"))
    with pytest.raises(CommandError, check=lambda error: error.code == "unknown_service"):
        async for _ in service.stream("wakes", Raw(b"null")):
            raise AssertionError
    for each in services.values():
        await each.close()


async def test_no_two_have_one_name(tmp_path: Path) -> None:
    context = ServiceContext(data_dir=tmp_path)
    owners = [(await info(create(context))).owner for _ in range(3)]
    assert len(set(owners)) == 3
