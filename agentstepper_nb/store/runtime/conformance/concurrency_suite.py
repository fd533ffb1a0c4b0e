"""Many at a time: each thing happens once, in its order, whoever else is at it."""

from __future__ import annotations

import asyncio
import random
from collections import defaultdict
from dataclasses import dataclass, field

from ....protocol.runtime import CONTROL_ACTIONS, ActionKind, ActionStatus, SessionStatus
from ....protocol.runtime_store_messages import (
    CreateAgentSession,
    EnqueueActions,
    PostMessage,
    SessionWrite,
    StepQuery,
)
from ..base import RuntimeStore
from .base_suite import (
    LEASE_S,
    BaseSuite,
    begin_session,
    claim_action,
    create_session,
    enqueue_actions,
    make_action,
    make_completion,
    make_conversation,
    make_message,
    make_state,
    make_step,
    read_action_ids,
    write_session,
)


@dataclass
class _Action:
    id: str
    session: str
    kind: ActionKind
    urgency: int
    owner: str | None = None
    done: bool = False

    def rank(self) -> tuple[int, int]:
        """The action's rank among its session's actions, before its time."""
        if self.kind is ActionKind.CREATE:
            return 0, 0
        return (1 if self.kind in CONTROL_ACTIONS else 2), -self.urgency


@dataclass
class QueueModel:
    """A model of a store's queue, without a clock.

    Attributes:
        epochs: The epoch of each session.
    """

    epochs: dict[str, int] = field(default_factory=dict)
    _owners: dict[str, str] = field(default_factory=dict)
    _actions: list[_Action] = field(default_factory=list)

    def create(self, session: str) -> None:
        """A session, and its first action."""
        self.epochs[session] = 0
        self.enqueue(f"create {session}", session, ActionKind.CREATE, 0)

    def enqueue(self, id: str, session: str, kind: ActionKind, urgency: int) -> None:
        """Add an action."""
        self._actions.append(_Action(id, session, kind, urgency))

    def claim(self, owner: str) -> tuple[str, int] | None:
        """Claim an action. Returns its id, and its session's epoch."""
        ready = [first for session in self.epochs if (first := self._ready(session, owner))]
        if not ready:
            return None
        best = min(ready, key=lambda each: (-each.urgency, self._actions.index(each)))
        best.owner = owner
        if best.session not in self._owners:
            self._owners[best.session] = owner
            self.epochs[best.session] += 1
        return best.id, self.epochs[best.session]

    def list_claimed_ids(self, owner: str, except_claim: tuple[str, int] | None) -> list[str]:
        """List the actions that an owner has claimed, except the newest claim."""
        new = except_claim and except_claim[0]
        return [each.id for each in self._under_way() if each.owner == owner and each.id != new]

    def finish(self, owner: str) -> list[tuple[str, str, int]]:
        """End all that an owner is at: each with its session and epoch."""
        ended = [each for each in self._under_way() if each.owner == owner]
        for each in ended:
            each.done = True
        return [(each.id, each.session, self.epochs[each.session]) for each in ended]

    def expire_leases(self) -> None:
        """Expire all leases."""
        self._owners.clear()
        for each in self._under_way():
            each.owner = None

    def done_in_order(self) -> list[str]:
        """List the ids of finished actions, the oldest first."""
        return [each.id for each in self._actions if each.done]

    def _under_way(self) -> list[_Action]:
        return [each for each in self._actions if each.owner is not None and not each.done]

    def _ready(self, session: str, owner: str) -> _Action | None:
        """Return the first of a session's actions if an owner may claim it."""
        if any(each.session == session for each in self._under_way()):
            return None
        if self._owners.get(session, owner) != owner:
            return None
        open_ = [each for each in self._actions if each.session == session and not each.done]
        return min(open_, key=_Action.rank, default=None)


class ConcurrencySuite(BaseSuite):
    """Calls that run at the same time, and schedules by chance."""

    async def test_concurrent_claims_take_each_action_once_in_order(self) -> None:
        async with self.opened_store() as store:
            sessions, each_has, owners = 4, 6, [f"owner {number}" for number in range(5)]
            for session in range(sessions):
                await create_session(store, f"{session}")
            for number in range(each_has):
                for session in range(sessions):
                    await enqueue_actions(
                        store, make_action(f"{number} of {session}", f"{session}")
                    )
            done: dict[str, list[str]] = defaultdict(list)
            total = sessions * (1 + each_has)
            await asyncio.gather(
                *(_finish_all_actions(store, owner, done, total) for owner in owners)
            )
            assert done == {
                f"{session}": [
                    f"create {session}",
                    *(f"{number} of {session}" for number in range(each_has)),
                ]
                for session in range(sessions)
            }
            assert len(await read_action_ids(store, status=ActionStatus.DONE)) == total

    async def test_concurrent_creates_make_one_session(self) -> None:
        async with self.opened_store() as store:
            requests = [
                CreateAgentSession(
                    state=make_state(moniker=f"{number}"),
                    action=make_action(f"{number}", kind=ActionKind.CREATE),
                )
                for number in range(8)
            ]
            made = await asyncio.gather(*map(store.create, requests))
            assert sum(each.is_new for each in made) == 1
            assert len({(each.state.moniker, each.action.id) for each in made}) == 1
            assert len(await read_action_ids(store)) == 1

    async def test_concurrent_enqueues_with_one_key_add_one_action(self) -> None:
        async with self.opened_store() as store:
            await create_session(store)
            requests = [
                EnqueueActions(actions=(make_action(f"{number}", idem_key="key"),))
                for number in range(8)
            ]
            found = await asyncio.gather(*map(store.enqueue, requests))
            assert len({answer.actions for answer in found}) == 1
            assert len(await read_action_ids(store, kind=ActionKind.INPUT)) == 1

    async def test_concurrent_equal_writes_apply_once(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await begin_session(store)
            request = SessionWrite(
                session_id="s",
                epoch=1,
                owner="one",
                steps=(make_step(),),
                messages=(make_message("m"),),
            )
            new = await asyncio.gather(*(store.write(request) for _ in range(6)))
            assert sum(bool(each.steps) for each in new) == 1
            assert sum(bool(each.messages) for each in new) == 1
            assert (await store.steps(StepQuery())).steps == (make_step(),)

    async def test_concurrent_readers_see_whole_posts(self) -> None:
        async with self.opened_store() as store:
            await store.save_conversation(make_conversation())
            await begin_session(store)

            async def post(number: int) -> int:
                request = PostMessage(
                    message=make_message(f"m{number}", number), actions=(make_action(f"a{number}"),)
                )
                await store.post(request)
                return len(await read_action_ids(store, kind=ActionKind.INPUT))

            seen = await asyncio.gather(*(post(number) for number in range(8)))
            assert max(seen) == 8
            assert min(seen) >= 1  # what one was answered it reads

    async def test_refused_enqueue_rolls_back_only_itself(self) -> None:
        async with self.opened_store() as store:
            await begin_session(store)
            await enqueue_actions(store, make_action("a"))
            requests = [
                EnqueueActions(
                    actions=(
                        make_action(f"b{number}"),
                        make_action(f"c{number}", "nobody" if number % 2 else "s"),
                    )
                )
                for number in range(6)
            ]
            answers = await asyncio.gather(*map(store.enqueue, requests), return_exceptions=True)
            assert [isinstance(each, Exception) for each in answers] == [False, True] * 3
            inputs = await read_action_ids(store, kind=ActionKind.INPUT)
            assert sorted(inputs) == ["a", "b0", "b2", "b4", "c0", "c2", "c4"]

    async def test_random_schedules_match_the_model(self) -> None:
        for seed in range(self.random_schedules):
            async with self.opened_store() as store:
                await _run_random_schedule(store, random.Random(seed))


async def _finish_all_actions(
    store: RuntimeStore, owner: str, done: dict[str, list[str]], total: int
) -> None:
    """Claim and finish until all is done."""
    while sum(map(len, done.values())) < total:
        found = await claim_action(store, owner)
        if found.action is None or found.state is None:
            await asyncio.sleep(0)
            continue
        done[found.action.session_id].append(found.action.id)
        state = found.state
        await write_session(
            store,
            found.action.session_id,
            epoch=state.epoch,
            owner=owner,
            state=make_state(state.session_id, status=SessionStatus.RUNNING, epoch=state.epoch),
            finished=(make_completion(found.action.id, owner),),
        )


# ---- by chance --------------------------------------------------------------------------------------


async def _run_random_schedule(store: RuntimeStore, chance: random.Random) -> None:
    """Call by chance, and compare with the model: leases last, or are all over after a leap in time."""
    model, now = QueueModel(), 0.0
    for number in range(50):
        owner = chance.choice(("one", "two"))
        session = chance.choice("abc")
        match chance.choice(("create", "enqueue", "enqueue", "claim", "claim", "end", "leap")):
            case "create" if session not in model.epochs:
                await create_session(store, session)
                model.create(session)
            case "enqueue" if session in model.epochs:
                kind = chance.choice((ActionKind.INPUT, ActionKind.INPUT, ActionKind.RESUME))
                urgency = chance.choice((0, 0, 3))
                await enqueue_actions(
                    store, make_action(f"{number}", session, kind, urgency=urgency)
                )
                model.enqueue(f"{number}", session, kind, urgency)
            case "claim":
                expected = model.claim(owner)
                found = await claim_action(
                    store, owner, now, tuple(model.list_claimed_ids(owner, except_claim=expected))
                )
                claimed = found.action and (found.action.id, found.state and found.state.epoch)
                assert claimed == expected, f"call {number}"
            case "end":
                for action_id, of, epoch in model.finish(owner):
                    await write_session(
                        store,
                        of,
                        owner=owner,
                        epoch=epoch,
                        finished=(make_completion(action_id, owner),),
                    )
            case "leap":
                now += LEASE_S + 1
                model.expire_leases()
    assert (
        await read_action_ids(store, status=ActionStatus.DONE, limit=1000) == model.done_in_order()
    )
