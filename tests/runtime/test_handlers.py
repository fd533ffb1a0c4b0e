"""What each kind of action does to its session, and what becomes of those that can't."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.protocol.runtime import Action, ActionKind, ActionStatus, SessionStatus
from agentstepper_nb.protocol.runtime_requests import NewConversation
from agentstepper_nb.protocol.runtime_store_messages import EnqueueActions, MessageQuery
from tests.runtime.harness import RuntimeCore, a_core

Test = Callable[[RuntimeCore], Awaitable[None]]


def run(test: Test, folder: Path) -> None:
    async def whole() -> None:
        async with a_core(folder) as core:
            await test(core)

    asyncio.run(whole())


def test_a_session_is_led_by_its_actions(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as worker:
            assert (await core.wait_until_done(await core.create("s"))).status is ActionStatus.DONE
            assert (await core.wait_for_state("s", SessionStatus.RUNNING)).epoch == 1
            assert worker.registry.local_epochs() == {"s": 1}
            core.monikers.permit("s", 2)
            await core.wait_for_state("s", iteration=2)
            await core.wait_until_done(await core.enqueue(ActionKind.PAUSE, "s"))
            core.monikers.permit("s", 1)  # the step that was under way
            paused = await core.wait_for_state("s", iteration=3)
            assert paused.status is SessionStatus.PAUSED
            interrupt = {"guidance": "cats"}
            await core.wait_until_done(
                await core.enqueue(ActionKind.INTERRUPT, "s", payload=interrupt)
            )
            await core.wait_until_done(
                await core.enqueue(ActionKind.INPUT, "s", payload={"text": "and dogs"})
            )
            await core.wait_until_done(await core.enqueue(ActionKind.RESUME, "s"))
            core.monikers.permit("s", 2)
            await core.wait_for_state("s", iteration=5)
            await core.wait_until_done(
                await core.enqueue(ActionKind.DESTROY, "s", payload={"timeout_s": 0})
            )
            state = await core.state("s")
            assert (state.status, state.owner) == (SessionStatus.STOPPED, None)
            steps = await core.steps("s")
            assert [step.iteration for step in steps] == [0, 1, 2, 3, 4]
            assert [step.text for step in steps] == [None, None, None, "cats\n\nand dogs", None]
            assert worker.registry.local_epochs() == {}

    run(test, tmp_path)


BAD = [
    (ActionKind.INTERRUPT, None),
    (ActionKind.INTERRUPT, {"guidance": ""}),
    (ActionKind.INTERRUPT, {"guidance": ["cats"]}),
    (ActionKind.INPUT, {"txt": "and dogs"}),
    (ActionKind.INPUT, "and dogs"),
    (ActionKind.DESTROY, {"timeout_s": -1}),
    (ActionKind.DESTROY, []),
]


async def poison(core: RuntimeCore, kind: ActionKind, payload: Any, id: str = "poison") -> Action:
    """Put an action into the queue past who checks it."""
    action = Action(
        id=id, created_at=core.clock(), kind=kind, agent_id="a", session_id="s", payload=payload
    )
    return (await core.store.enqueue(EnqueueActions(actions=(action,)))).actions[0]


@pytest.mark.parametrize(("kind", "payload"), BAD)
def test_a_bad_payload_fails_its_action_and_nothing_else(
    kind: ActionKind, payload: Any, tmp_path: Path
) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker(poll_s=0.001):
            await core.wait_until_done(await core.create("s"))
            bad = await core.wait_until_done(await poison(core, kind, payload))
            assert bad.status is ActionStatus.FAILED
            assert (bad.error or "").startswith(f"The payload isn't a payload of {kind}: ")
            good = await core.wait_until_done(await core.enqueue(ActionKind.PAUSE, "s"))
            assert good.status is ActionStatus.DONE
            core.monikers.permit("s", 1)  # the step that is under way
            await core.wait_for_state("s", SessionStatus.PAUSED)

    run(test, tmp_path)


@pytest.mark.parametrize(
    ("moniker", "config", "error"),
    [("nobody", None, "There is no moniker 'nobody'."), ("counting", "bad", "It is bad.")],
)
def test_what_cant_begin_ends_as_an_error(
    moniker: str, config: Any, error: str, tmp_path: Path
) -> None:
    async def test(core: RuntimeCore) -> None:
        await core.runtime.create_conversation(NewConversation(conversation_id="c"))
        async with core.worker() as worker:
            created = await core.create("s", moniker, config=config, conversation_id="c")
            action = await core.wait_until_done(created)
            assert (action.status, action.error) == (ActionStatus.FAILED, error)
            state = await core.state("s")
            assert (state.status, state.last_error) == (SessionStatus.ERROR, error)
            assert (state.iteration, state.owner) == (1, None)
            (step,) = await core.steps("s")
            assert (step.iteration, step.step_token, step.status) == (0, "start", "error")
            assert step.error == error
            said = await core.store.messages(MessageQuery(conversation_id="c", last=True, limit=1))
            assert [message.text for message in said.messages] == [error]
            assert worker.registry.local_epochs() == {}

    run(test, tmp_path)


def test_a_session_that_has_ended_takes_no_more_actions(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker(poll_s=0.001):
            await core.wait_until_done(await core.create("s"))
            await core.wait_until_done(
                await core.enqueue(ActionKind.DESTROY, "s", payload={"timeout_s": 0})
            )
            late = await core.wait_until_done(await poison(core, ActionKind.RESUME, None, "late"))
            assert late.status is ActionStatus.FAILED
            assert late.error == "The session has ended (stopped): create another."
            again = await core.wait_until_done(await core.enqueue(ActionKind.DESTROY, "s"))
            assert again.status is ActionStatus.DONE  # it is as it was to be

    run(test, tmp_path)


def test_a_creation_that_was_done_is_not_done_again(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker(poll_s=0.001) as worker:
            await core.wait_until_done(await core.create("s"))
            agent = worker.registry.get("s")
            payload = {"moniker": "counting"}
            again = await core.wait_until_done(await poison(core, ActionKind.CREATE, payload))
            assert again.status is ActionStatus.DONE
            assert worker.registry.get("s") is agent
            assert (await core.state("s")).epoch == 1

    run(test, tmp_path)


def test_a_pause_finds_its_session_though_nobody_has_it(tmp_path: Path) -> None:
    async def test(core: RuntimeCore) -> None:
        async with core.worker() as first:
            await core.wait_until_done(await core.create("s"))
            core.monikers.permit("s", 3)
            await core.wait_for_state("s", iteration=3)
            await first.die()
        core.clock.now += 60
        await core.enqueue(ActionKind.PAUSE, "s")
        async with core.worker() as second:
            pausing = await core.wait_for_state("s", epoch=2)
            assert pausing.iteration == 3
            core.monikers.permit("s", 1)  # the step that it began before it was paused
            await core.wait_for_state("s", SessionStatus.PAUSED, iteration=4)
            assert second.registry.local_epochs() == {"s": 2}

    run(test, tmp_path)
