"""Workers that differ: each takes what it has, as much as it may, and gives back what others take."""

from __future__ import annotations

import asyncio
import signal
from collections import Counter
from pathlib import Path

import pytest

from agentstepper_nb.protocol.runtime import ActionKind, AgentState, SessionStatus
from tests.runtime.processes import RuntimeClient, run
from tests.runtime.routed_workers import Fleet, create, find_pid, read_status

States = dict[str, AgentState]


@pytest.fixture
def fleet(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    return Fleet(tmp_path, monkeypatch)


def all_at(states: States, iteration: int, *sessions: str) -> bool:
    """Whether these sessions are that far."""
    return all(each in states and states[each].iteration >= iteration for each in sessions)


async def judge(client: RuntimeClient, *sessions: str) -> None:
    """Each step of these sessions is kept once, in order, and none was lost."""
    for session in sessions:
        steps = await client.steps(session)
        assert [step.iteration for step in steps] == list(range(len(steps)))
        assert {step.error for step in steps} <= {None}
        assert (await client.state(session)).losses == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [signal.SIGTERM, pytest.param(signal.SIGKILL, marks=pytest.mark.soak)]
)
def test_each_worker_takes_the_sessions_of_its_monikers(fleet: Fleet, sent: signal.Signals) -> None:
    async def test() -> None:
        with fleet.place.core():
            async with fleet.place.client() as client:
                with (
                    fleet.worker(monikers=["alpha"]) as alpha,
                    fleet.worker(monikers=["beta"]) as beta,
                ):
                    sessions = {f"{name}{n}": name for n in range(2) for name in ("alpha", "beta")}
                    for session, moniker in sessions.items():
                        await create(client, session, moniker)
                    await client.wait_until(lambda states: all_at(states, 3, *sessions))
                    pids = {"alpha": alpha.pid, "beta": beta.pid}
                    for session, moniker in sessions.items():
                        assert find_pid(await client.state(session)) == pids[moniker]
                    beta.send_signal(sent)
                    beta.wait()
                    reached = (await client.state("alpha0")).iteration
                    await client.wait_until(lambda states: all_at(states, reached + 5, "alpha0"))
                    waiting = await client.state("beta0")
                    assert (waiting.status, waiting.epoch) == (SessionStatus.RUNNING, 1)
                with fleet.worker(monikers=["alpha", "beta"]):
                    far = max([(await client.state(each)).iteration for each in sessions]) + 3
                    await client.wait_until(lambda states: all_at(states, far, *sessions))

    run(test)


@pytest.mark.slow
def test_a_session_waits_visibly_until_a_worker_has_what_it_needs(fleet: Fleet) -> None:
    async def test() -> None:
        with fleet.place.core():
            async with fleet.place.client() as client:
                with fleet.worker("--label", "small", monikers=["alpha 1"]):
                    needs = {
                        "moniker": ("beta", {}),
                        "version": ("alpha", {"moniker_version": "2"}),
                        "label": ("alpha", {"requires": ["gpu", "small"]}),
                    }
                    for session, (moniker, more) in needs.items():
                        await create(client, session, moniker, **more)
                    await create(client, "fits", "alpha", requires=["small"], moniker_version="1")
                    await client.wait_until(lambda states: all_at(states, 3, "fits"))
                    status = await read_status(client)
                    assert [(each.sessions, each.reason) for each in status.waiting] == [
                        (1, "the moniker 'beta' isn't installed in the worker"),
                        (1, "no worker has version '2' of the moniker 'alpha': they have '1'"),
                        (1, "no worker with the moniker 'alpha' has the label 'gpu'"),
                    ]
                    assert (await client.state("moniker")).status is SessionStatus.CREATED
                    options = ("--label", "gpu", "--label", "small")
                    with fleet.worker(*options, monikers=["alpha 2", "beta"]) as other:
                        await client.wait_until(lambda states: all_at(states, 3, *needs))
                        assert (await read_status(client)).waiting == ()
                        for session in needs:
                            assert find_pid(await client.state(session)) == other.pid
                        # One that waits can be ended, too.
                        await create(client, "unknown", "nobody has it")
                        await client.enqueue(ActionKind.DESTROY, "unknown")
                        await client.wait_until(
                            lambda states: (
                                "unknown" in states
                                and states["unknown"].status is SessionStatus.STOPPED
                            )
                        )
                        assert (await read_status(client)).waiting == ()
                await judge(client, "fits", *needs)

    run(test)


@pytest.mark.slow
def test_a_worker_takes_as_many_sessions_as_it_may(fleet: Fleet) -> None:
    async def test() -> None:
        sessions = [f"s{number}" for number in range(5)]
        with fleet.place.core():
            async with fleet.place.client() as client:
                with fleet.worker("--max-sessions", "2", monikers=["alpha"]) as small:
                    for session in sessions:
                        await create(client, session, "alpha")
                    await client.wait_until(
                        lambda states: sum(state.iteration > 5 for state in states.values()) == 2
                    )
                    states = [await client.state(each) for each in sessions]
                    assert Counter(map(find_pid, states)) == {small.pid: 2, None: 3}
                    # A full worker still does the actions of its own.
                    own = next(each.session_id for each in states if each.owner is not None)
                    await client.enqueue(ActionKind.PAUSE, own)
                    await client.wait_until(
                        lambda states: states[own].status is SessionStatus.PAUSED
                    )
                    with fleet.worker(monikers=["alpha"]) as large:
                        await client.enqueue(ActionKind.RESUME, own)
                        await client.wait_until(lambda states: all_at(states, 3, *sessions))
                        states = [await client.state(each) for each in sessions]
                        assert Counter(map(find_pid, states))[large.pid] >= 3

    run(test)


@pytest.mark.slow
def test_sessions_are_shared_out_anew_where_a_worker_comes_and_goes(fleet: Fleet) -> None:
    """Each changes hands at most once for it, and then all stay where they are."""

    async def test() -> None:
        sessions = [f"s{number}" for number in range(6)]
        with fleet.place.core():
            async with fleet.place.client() as client:
                with fleet.worker(monikers=["alpha"]) as first:
                    for session in sessions:
                        await create(client, session, "alpha")
                    await client.wait_until(lambda states: all_at(states, 3, *sessions))
                    alone = [await client.state(each) for each in sessions]
                    with fleet.worker(monikers=["alpha"]) as second:
                        await client.wait_until(
                            lambda states: (
                                Counter(map(find_pid, states.values()))
                                == {first.pid: 3, second.pid: 3}
                            )
                        )
                        before = {each: await client.state(each) for each in sessions}
                        taken = sum(state.epoch for state in before.values())
                        assert taken == sum(state.epoch for state in alone) + 3
                        far = max(state.iteration for state in before.values()) + 15
                        await client.wait_until(lambda states: all_at(states, far, *sessions))
                        for each, state in before.items():
                            now = await client.state(each)
                            assert (now.owner, now.epoch) == (state.owner, state.epoch)
                        second.send_signal(signal.SIGTERM)
                        assert second.wait() == 0
                    await client.wait_until(
                        lambda states: {find_pid(each) for each in states.values()} == {first.pid}
                    )
                    await judge(client, *sessions)

    run(test)


def begun(folder: Path, session: str) -> list[str]:
    """The steps that a session has begun."""
    noted = folder / f"{session}.begun"
    return noted.read_text().splitlines() if noted.exists() else []


async def begin_long_step(client: RuntimeClient, folder: Path) -> None:
    """A session whose step is under way until a file lets it end."""
    await create(client, "long", "alpha", config={"folder": str(folder)})
    while not begun(folder, "long"):
        await asyncio.sleep(0.01)


@pytest.mark.slow
@pytest.mark.parametrize(
    "sent", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=pytest.mark.soak)]
)
def test_a_worker_that_is_to_end_lets_its_steps_end(
    fleet: Fleet, tmp_path: Path, sent: signal.Signals
) -> None:
    async def test() -> None:
        with fleet.place.core():
            async with fleet.place.client() as client:
                with fleet.worker("--isolation", "process", monikers=["alpha"]) as first:
                    await begin_long_step(client, tmp_path)
                    await create(client, "idle", "alpha", config={"interval_s": 3600})
                    await client.wait_until(lambda states: all_at(states, 1, "idle"))
                    first.send_signal(sent)
                    with fleet.worker(monikers=["alpha"]) as second:
                        # What does nothing changes hands at once, and what comes is the other's.
                        await client.wait_until(lambda states: states["idle"].epoch == 2)
                        await create(client, "new", "alpha")
                        await client.wait_until(lambda states: all_at(states, 3, "new"))
                        assert find_pid(await client.state("new")) == second.pid
                        assert first.poll() is None
                        assert begun(tmp_path, "long") == ["1"]
                        (tmp_path / "long.go").touch()
                        assert first.wait() == 0
                        await client.wait_until(lambda states: all_at(states, 3, "long"))
                        assert begun(tmp_path, "long")[:3] == ["1", "2", "3"]
                        assert find_pid(await client.state("long")) == second.pid
                        await judge(client, "long", "idle", "new")

    run(test)


@pytest.mark.slow
def test_steps_that_do_not_end_are_broken_off_and_begun_again(fleet: Fleet, tmp_path: Path) -> None:
    """A worker's time to end is over; the next one is told a second time to end."""

    async def test() -> None:
        with fleet.place.core():
            async with fleet.place.client() as client:
                with fleet.worker("--drain-timeout", "0.1", monikers=["alpha"]) as first:
                    await begin_long_step(client, tmp_path)
                    first.send_signal(signal.SIGTERM)
                    assert first.wait() == 0
                with fleet.worker("--drain-timeout", "3600", monikers=["alpha"]) as second:
                    await client.wait_until(lambda states: states["long"].epoch == 2)
                    await create(client, "idle", "alpha", config={"interval_s": 3600})
                    await client.wait_until(lambda states: all_at(states, 1, "idle"))
                    while begun(tmp_path, "long") != ["1", "1"]:
                        await asyncio.sleep(0.01)
                    second.send_signal(signal.SIGTERM)
                    with fleet.worker(monikers=["alpha"]):
                        await client.wait_until(lambda states: states["idle"].epoch == 2)
                        second.send_signal(signal.SIGTERM)
                        assert second.wait() == 130
                        (tmp_path / "long.go").touch()
                        await client.wait_until(lambda states: all_at(states, 2, "long"))
                        assert (await client.state("long")).epoch == 3
                        assert begun(tmp_path, "long")[:3] == ["1", "1", "1"]
                        await judge(client, "long", "idle")

    run(test)
