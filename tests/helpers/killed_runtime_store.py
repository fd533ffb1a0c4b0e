"""Kills a process that writes to the runtime's store, again and again, and looks at what is left.

Run as `python -m tests.helpers.killed_runtime_store FOLDER ROUNDS SEED`:
forking is safe where nothing runs beside.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
from functools import partial
from pathlib import Path

from msgspec.structs import replace

from agentstepper_nb.protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentStep,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime import AgentState as State
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionCompletion,
    ActionQuery,
    ClaimAction,
    CreateAgentSession,
    EnqueueActions,
    SessionWrite,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.protocol.step_losses import clear_tries
from agentstepper_nb.store.runtime import RuntimeStore
from agentstepper_nb.store.runtime.sqlite import open_runtime_store
from tests.helpers.killed_process import kill_writer

SESSIONS = ("one", "two", "three")
LEASE = 10.0


async def session(store: RuntimeStore, name: str, reported: int, now: float) -> None:
    """Give a session one input after the other; each is a step, and told once it is kept."""
    await store.create(
        CreateAgentSession(
            state=State(agent_id="a", session_id=name, moniker="m", created_at=now, updated_at=now),
            action=Action(
                id=f"{name} create",
                created_at=now,
                kind=ActionKind.CREATE,
                agent_id="a",
                session_id=name,
            ),
        )
    )
    done = len((await store.steps(StepQuery(session_id=name, limit=1000))).steps)
    while True:
        ask = Action(
            id=f"{name} {done}",
            created_at=now,
            kind=ActionKind.INPUT,
            agent_id="a",
            session_id=name,
            payload="lorem ipsum " * (done * 37 % 300),
        )
        await store.enqueue(EnqueueActions(actions=(ask,)))
        await run_forever(store, name, now)
        after = (await store.states(StateQuery(session_id=name))).states[0].iteration
        while done < after:
            os.write(reported, f"{name} {done}\n".encode())
            done += 1


async def run_forever(store: RuntimeStore, owner: str, now: float) -> None:
    """Do what is ready for an owner: an input is a step."""
    while True:
        ask = ClaimAction(owner=f"{owner} {now}", now=now, lease_until=now + LEASE)
        found = await store.claim(ask)
        action, state = found.action, found.state
        if action is None or state is None:
            return
        steps: tuple[AgentStep, ...] = ()
        if action.kind is ActionKind.INPUT:
            steps = (
                AgentStep(
                    id=f"step of {action.id}",
                    created_at=now,
                    agent_id="a",
                    session_id=action.session_id,
                    iteration=state.iteration,
                    step_token="t",
                    status="running",
                    text=action.payload,
                ),
            )
        after = replace(state, status=SessionStatus.RUNNING, iteration=state.iteration + len(steps))
        if steps:  # as a worker does: earlier kills don't count against a step that has ended
            after = clear_tries(after)
        done = ActionCompletion(
            id=action.id, owner=ask.owner, status=ActionStatus.DONE, processed_at=now
        )
        await store.write(
            SessionWrite(
                session_id=state.session_id,
                epoch=state.epoch,
                owner=ask.owner,
                state=after,
                steps=steps,
                finished=(done,),
            )
        )


async def write(folder: Path, now: float, reported: int) -> None:
    """Write until killed."""
    store = open_runtime_store(folder)
    await asyncio.gather(*(session(store, name, reported, now) for name in SESSIONS))


async def check(folder: Path, reported: dict[str, int]) -> dict[str, int]:
    """What is there; see `look`."""
    store = open_runtime_store(folder)
    try:
        return await check_rows(store, reported)
    finally:
        await store.close()


async def check_rows(store: RuntimeStore, reported: dict[str, int]) -> dict[str, int]:
    """What is there: all that was told, each input's step once and with its end, in its order."""
    kept = {}
    for state in (await store.states(StateQuery())).states:
        name = state.session_id
        steps = (await store.steps(StepQuery(session_id=name, limit=1000))).steps
        done = (
            await store.actions(
                ActionQuery(
                    session_id=name,
                    kind=ActionKind.INPUT,
                    status=ActionStatus.DONE,
                    limit=1000,
                )
            )
        ).actions
        assert [each.id for each in steps] == [f"step of {each.id}" for each in done]
        assert [each.id for each in done] == [f"{name} {n}" for n in range(len(done))]
        assert [each.text for each in steps] == [each.payload for each in done]
        assert state.iteration == len(steps)
        kept[name] = len(steps)
        assert kept[name] > reported.get(name, -1), f"{name}: {reported[name]} was told"
    assert set(reported) <= set(kept)
    return kept


def main(folder: Path, rounds: int, seed: int) -> None:
    """Kill so many times, and tell how many steps are there at the end."""
    chance = random.Random(seed)
    kept: dict[str, int] = {}
    for number in range(rounds):
        # Each has the leases of the one before behind it.
        now = 1_000.0 + number * 2 * LEASE
        reported = kill_writer(partial(write, folder, now), chance.randint(1, 40))
        last = {name: number_ - 1 for name, number_ in kept.items()}
        kept = asyncio.run(check(folder, {**last, **reported}))
    print(sum(kept.values()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
