"""Whatever JSON stands in the queue, it ends, and what comes after it is done."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from agentstepper_nb.protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_store_messages import CreateAgentSession, EnqueueActions
from tests.runtime.harness import RuntimeCore, a_core

TEXT = st.text(max_size=20)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
NAMES = st.sampled_from(["guidance", "text", "message_id", "moniker", "config", "limits", "step"])
PAYLOADS = JSON | st.dictionaries(NAMES, JSON, max_size=4)
#: Those that can't end the session, whatever they carry.
KINDS = st.sampled_from([ActionKind.CREATE, ActionKind.INTERRUPT, ActionKind.INPUT])
MONIKERS = st.sampled_from(["counting", "nobody", "\N{PILE OF POO}"])


@settings(max_examples=settings.default.max_examples // 3)  # each has a Core and a worker
@given(
    poisons=st.lists(st.tuples(KINDS, PAYLOADS), max_size=6),
    creations=st.lists(st.tuples(MONIKERS, JSON, PAYLOADS), max_size=3),
    destroy=JSON.filter(lambda value: value is not None and not isinstance(value, dict)),
)
def test_poison_never_blocks_the_queue(
    tmp_path_factory: Any,
    poisons: list[tuple[ActionKind, Any]],
    creations: list[tuple[str, Any, Any]],
    destroy: Any,
) -> None:
    async def test(core: RuntimeCore) -> None:
        await core.create("s")
        bad = [
            await _enqueue(core, number, kind, payload)
            for number, (kind, payload) in enumerate([*poisons, (ActionKind.DESTROY, destroy)])
        ]
        bad += [await _create(core, n, *creation) for n, creation in enumerate(creations)]
        good = await core.enqueue(ActionKind.PAUSE, "s")
        async with core.worker():
            ended = [await core.wait_until_done(action) for action in (*bad, good)]
            assert ended[len(poisons)].status is ActionStatus.FAILED
            assert ended[-1].status is ActionStatus.DONE
            core.monikers.permit("s", 1)  # the step that is under way
            await core.wait_for_state("s", SessionStatus.PAUSED)
            for action in ended[len(poisons) + 1 : -1]:
                failed = (await core.state(action.session_id)).status is SessionStatus.ERROR
                assert failed == (action.status is ActionStatus.FAILED)

    async def whole() -> None:
        async with a_core(Path(tmp_path_factory.getbasetemp())) as core:
            await test(core)

    asyncio.run(whole())


async def _enqueue(core: RuntimeCore, number: int, kind: ActionKind, payload: Any) -> Action:
    action = _action(core, f"poison{number}", "s", kind, payload)
    return (await core.store.enqueue(EnqueueActions(actions=(action,)))).actions[0]


async def _create(
    core: RuntimeCore, number: int, moniker: str, config: Any, payload: Any
) -> Action:
    session = f"poisoned{number}"
    now = core.clock()
    state = AgentState(
        agent_id="a",
        session_id=session,
        moniker=moniker,
        config=config,
        created_at=now,
        updated_at=now,
    )
    action = _action(core, f"create{number}", session, ActionKind.CREATE, payload)
    return (await core.store.create(CreateAgentSession(state=state, action=action))).action


def _action(core: RuntimeCore, id: str, session: str, kind: ActionKind, payload: Any) -> Action:
    return Action(
        id=id,
        created_at=core.clock(),
        kind=kind,
        agent_id="a",
        session_id=session,
        payload=payload,
    )
