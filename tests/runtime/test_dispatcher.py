"""A dispatcher does what it claims, keeps what fails, and ends without a trace of its own."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import pytest

from agentstepper_nb.errors import AgentStopped, CommandError
from agentstepper_nb.protocol.runtime import Action, ActionKind, ActionStatus, AgentState
from agentstepper_nb.protocol.runtime_store_messages import RenewedLeases
from agentstepper_nb.runtime.dispatcher import Dispatcher, Handler, NoSessions
from tests.runtime.queues import LOG, NOW, OWNER, ScriptedQueue, a_state, an_action

QUICK = 0.001


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(test())  # type: ignore[arg-type]


@asynccontextmanager
async def dispatching(
    queue: ScriptedQueue, handler: Handler, **options: Any
) -> AsyncGenerator[Dispatcher, None]:
    given = {"lease_s": 3600.0, "poll_s": 3600.0} | options
    dispatcher = Dispatcher(
        queue,
        dict.fromkeys(ActionKind, handler),
        owner=OWNER,
        clock=lambda: NOW,
        log=LOG,
        **given,
    )
    dispatcher.start()
    try:
        yield dispatcher
    finally:
        await dispatcher.close()


class HeldHandler:
    """A handler that is held until it is let go.

    Attributes:
        begun: What it was given.
    """

    def __init__(self) -> None:
        self.begun: list[tuple[Action, AgentState | None]] = []
        self.ended: list[str] = []
        self.release: dict[str, asyncio.Event] = {}
        self._changed = asyncio.Condition()

    async def __call__(self, action: Action, state: AgentState | None) -> None:
        self.begun.append((action, state))
        await self._notify()
        await self.release.setdefault(action.id, asyncio.Event()).wait()
        self.ended.append(action.id)
        await self._notify()

    def ids(self) -> list[str]:
        return [action.id for action, _ in self.begun]

    async def wait_until(self, happened: Callable[[], bool]) -> None:
        async with self._changed:
            await self._changed.wait_for(happened)

    async def _notify(self) -> None:
        async with self._changed:
            self._changed.notify_all()


def test_each_action_is_done_in_a_task_of_its_own_with_what_it_was_claimed_with() -> None:
    async def test() -> None:
        queue, hands = ScriptedQueue(), HeldHandler()
        async with dispatching(queue, hands) as dispatcher:
            queue.put(*(an_action(str(n), session_id=f"s{n}") for n in range(5)))
            await hands.wait_until(lambda: len(hands.begun) == 5)
            assert [(action.id, state) for action, state in hands.begun] == [
                (str(n), a_state(f"s{n}")) for n in range(5)
            ]
            names = {task.get_name() for task in asyncio.all_tasks()}
            assert {f"action agent_pause {n}" for n in range(5)} <= names
            assert [action.id for action in dispatcher.running_actions] == list("01234")

    run(test)


def test_no_more_are_under_way_than_may_be() -> None:
    async def test() -> None:
        queue, hands = ScriptedQueue(), HeldHandler()
        async with dispatching(queue, hands, max_actions=2):
            queue.put(*(an_action(str(n)) for n in range(4)))
            await hands.wait_until(lambda: len(hands.begun) == 2)
            assert len(queue.ready) == 2
            hands.release["0"].set()
            await hands.wait_until(lambda: len(hands.begun) == 3)
            assert queue.claims[-1].held == ("1",)  # asked for once there was room
            assert len(queue.ready) == 1

    run(test)


def test_what_is_held_is_not_begun_again() -> None:
    async def test() -> None:
        queue, hands = ScriptedQueue(), HeldHandler()
        async with dispatching(queue, hands):
            queue.put(an_action("0"))
            await hands.wait_until(lambda: len(hands.begun) == 1)
            queue.put(an_action("0"), an_action("1"))  # its lease was over, and is ours again
            await hands.wait_until(lambda: len(hands.begun) == 2)
            assert hands.ids() == ["0", "1"]

    run(test)


class LostSessions(NoSessions):
    """Sessions of which some are somebody else's by now."""

    async def drop_lost_sessions(
        self, before: Mapping[str, int], renewed: RenewedLeases
    ) -> Collection[str]:
        return {"lost"}


def test_what_is_somebody_elses_by_now_is_broken_off() -> None:
    async def test() -> None:
        queue, hands = ScriptedQueue(actions=("kept", "odd")), HeldHandler()
        queue.put(an_action("gone", "lost"), an_action("kept", "lost"), an_action("other", "ours"))
        async with dispatching(
            queue, hands, lease_s=QUICK, local_sessions=LostSessions()
        ) as dispatcher:
            await hands.wait_until(lambda: len(hands.begun) == 3)
            tasks = {task.get_name(): task for task in asyncio.all_tasks()}
            await asyncio.wait((tasks["action agent_pause gone"],))
            assert {action.id for action in dispatcher.running_actions} == {"kept", "other"}
            assert queue.writes == []
            assert queue.renewals[0].lease_until == NOW + QUICK

    run(test)


def test_what_lives_here_or_is_under_way_is_renewed() -> None:
    """What it was given, and never heard of, isn't: somebody has to be given that again."""

    class Some(NoSessions):
        def local_epochs(self) -> Mapping[str, int]:
            return {"here": 1}

    async def test() -> None:
        queue, hands = ScriptedQueue(), HeldHandler()
        queue.put(an_action("0", "claimed"))
        async with dispatching(queue, hands, lease_s=QUICK, local_sessions=Some()):
            await queue.wait_until(
                lambda: queue.renewals and len(queue.renewals[-1].sessions or ()) == 2
            )
            assert set(queue.renewals[-1].sessions or ()) == {"here", "claimed"}

    run(test)


def failures(queue: ScriptedQueue) -> dict[str, str | None]:
    finished = [finish for write in queue.writes for finish in write.finished]
    assert {finish.status for finish in finished} <= {ActionStatus.FAILED}
    return {finish.id: finish.error for finish in finished}


RAISED = [
    (CommandError("session_over", "It has ended."), "It has ended."),
    (ZeroDivisionError("by nought"), "ZeroDivisionError: by nought"),
    (AgentStopped("by a person"), "AgentStopped: by a person"),
    (BaseExceptionGroup("all", [AgentStopped()]), "BaseExceptionGroup: all (1 sub-exception)"),
    (asyncio.CancelledError(), "RuntimeError: The action was cancelled by code that it called."),
    (ValueError("half \ud83d a letter"), "ValueError: half ? a letter"),
    (ValueError("x" * 11_000), "ValueError: " + "x" * 9_988 + "…"),
]


@pytest.mark.parametrize(("raised", "kept"), RAISED, ids=[repr(r)[:30] for r, _ in RAISED])
def test_what_a_handler_raises_is_kept_with_its_action(
    raised: BaseException, kept: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def handler(action: Action, state: AgentState | None) -> None:
        raise raised

    async def test() -> None:
        queue = ScriptedQueue()
        async with dispatching(queue, handler):
            queue.put(an_action("0"), state=a_state(epoch=7))
            await queue.wait_until(lambda: queue.writes)
            assert failures(queue) == {"0": kept}
            assert (queue.writes[0].epoch, queue.writes[0].owner) == (7, OWNER)
            assert msgspec.json.encode(queue.writes[0])

    with caplog.at_level(logging.WARNING):
        run(test)
    bug = not isinstance(raised, CommandError)
    assert ("the action agent_pause 0 failed" in caplog.text) == bug


def test_what_is_somebody_elses_is_not_marked() -> None:
    async def handler(action: Action, state: AgentState | None) -> None:
        raise CommandError("stale_epoch", "It is theirs.")

    async def test() -> None:
        queue = ScriptedQueue()
        async with dispatching(queue, handler, poll_s=QUICK):
            queue.put(an_action("0"))
            await queue.wait_until(lambda: queue.claims and queue.claims[-1].held == ("0",))
            queue.put(an_action("1"))
            await queue.wait_until(lambda: not queue.ready)
            assert queue.writes == []

    run(test)


def test_what_cant_be_marked_is_held_for_a_while_and_then_done_again(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def handler(action: Action, state: AgentState | None) -> None:
        raise ZeroDivisionError("always")

    async def test() -> None:
        queue = ScriptedQueue(refusals={"write": [CommandError("internal", "The disk is full.")]})
        async with dispatching(queue, handler, poll_s=QUICK):
            queue.put(an_action("0"))
            await queue.wait_until(lambda: queue.claims and not queue.claims[-1].held)
            queue.put(an_action("0"))
            await queue.wait_until(lambda: queue.writes)
            assert list(failures(queue)) == ["0"]

    with caplog.at_level(logging.WARNING):
        run(test)
    assert "the action 0 can't be marked as ended: The disk is full." in caplog.text


@pytest.mark.parametrize("method", ["claim", "renew"])
def test_a_queue_that_fails_is_asked_again_and_told_of_once(
    method: str, caplog: pytest.LogCaptureFixture
) -> None:
    async def test() -> None:
        refusals = [CommandError("internal", "The disk is full.") for _ in range(3)]
        queue, hands = ScriptedQueue(refusals={method: refusals}), HeldHandler()
        async with dispatching(queue, hands, poll_s=QUICK, lease_s=QUICK):
            queue.put(an_action("0"))
            await hands.wait_until(lambda: bool(hands.begun))
            await queue.wait_until(lambda: not refusals)

    with caplog.at_level(logging.WARNING):
        run(test)
    assert caplog.text.count("CommandError: The disk is full.") == 1


def test_a_poll_finds_what_nobody_woke_it_for() -> None:
    async def test() -> None:
        queue, hands = ScriptedQueue(), HeldHandler()
        async with dispatching(queue, hands, poll_s=QUICK):
            await queue.wait_until(lambda: len(queue.claims) > 2)
            queue.put(an_action("0"))
            await hands.wait_until(lambda: bool(hands.begun))

    run(test)


def test_each_stream_of_wakes_begins_with_a_renewal() -> None:
    async def test() -> None:
        queue = ScriptedQueue()
        async with dispatching(queue, HeldHandler()):
            queue.put()
            await queue.wait_until(lambda: len(queue.renewals) == 1)
            queue.put()
            queue.end_stream()
            queue.put()
            await queue.wait_until(lambda: len(queue.renewals) == 2)

    run(test)


def test_what_is_broken_off_at_the_end_stays_open_for_others() -> None:
    async def test() -> None:
        queue, hands = ScriptedQueue(), HeldHandler()
        async with dispatching(queue, hands) as dispatcher:
            queue.put(an_action("0"), an_action("1"))
            await hands.wait_until(lambda: len(hands.begun) == 2)
        assert (queue.writes, hands.ended, queue.listeners) == ([], [], 0)
        assert dispatcher.running_actions == ()
        await dispatcher.release()
        assert [(each.owner, each.until) for each in queue.releases] == [(OWNER, NOW)]
        await dispatcher.close()  # once more is nothing
        assert asyncio.all_tasks() == {asyncio.current_task()}

    run(test)


def test_an_end_without_a_core_is_an_end(caplog: pytest.LogCaptureFixture) -> None:
    async def test() -> None:
        queue = ScriptedQueue(refusals={"release": [CommandError("worker_lost", "Gone.")]})
        async with dispatching(queue, HeldHandler()) as dispatcher:
            pass
        await dispatcher.release()

    with caplog.at_level(logging.INFO):
        run(test)
    assert "the leases could not be released" in caplog.text
