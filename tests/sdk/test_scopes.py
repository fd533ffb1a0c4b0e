"""Which scope, agent and hash the events of a program have, whatever its tasks and threads wait for."""

from __future__ import annotations

import asyncio
import contextvars
import json
import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b
from typing import Any

import pytest
from msgspec import UNSET

from agentstepper_nb import AgentStepper, AsyncAgentStepper
from agentstepper_nb.protocol.agent import EventBegun, Welcome
from agentstepper_nb.protocol.data_model import AgentLabel, EventKind
from agentstepper_nb.protocol.envelope import VERSION
from agentstepper_nb.sdk import set_current_stepper
from tests.sdk.scripted_core import TIMEOUT_S, AgentPeer, ScriptedCore

KEY = bytes(range(32))
Found = Counter[tuple[tuple[str, ...], str, str]]


@pytest.fixture
def keyed_core(core: ScriptedCore) -> ScriptedCore:
    core.welcome = Welcome(version=VERSION, core="scripted", run="", hash_key=KEY.hex())
    return core


def queries(peer: AgentPeer) -> list[EventBegun]:
    return [event for event in peer.events if event.kind is not EventKind.PROGRAM_STARTED]


def scope(event: EventBegun) -> tuple[str, ...]:
    return () if event.scope is UNSET else event.scope


def keys_of(core: ScriptedCore, number: int) -> Found:
    """What a replay would find the events of a run by, and how often each stands there."""
    events = queries(core.peers[number])
    return Counter((scope(event), event.name or "", str(event.content_hash)) for event in events)


# ---- the same in each run ----------------------------------------------------------------------------


async def run_tasks(dbg: AsyncAgentStepper, chance: random.Random) -> None:
    """Tasks that ask the same, in an order that differs each time."""

    async def ask(depth: int) -> None:
        for _ in range(2):
            await asyncio.sleep(chance.random() / 200)
            async with dbg.llm("the same", model="m"):
                pass
            async with dbg.tool("look", {}), asyncio.TaskGroup() as group:
                for _ in range(depth):
                    group.create_task(ask(depth - 1))

    await asyncio.gather(*(ask(1) for _ in range(4)))


def run_threads(dbg: AgentStepper, chance: random.Random) -> None:
    def ask(depth: int) -> None:
        for _ in range(2):
            threading.Event().wait(chance.random() / 200)
            with dbg.llm("the same", model="m"):
                pass
            threads = [threading.Thread(target=ask, args=(depth - 1,)) for _ in range(depth)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

    with ThreadPoolExecutor(3) as pool:
        for job in [pool.submit(ask, 1) for _ in range(4)]:
            job.result()
        copies = [pool.submit(partial(contextvars.copy_context().run, ask, 0)) for _ in range(4)]
        for job in copies:
            job.result()


def test_tasks_have_the_same_scopes_each_time(keyed_core: ScriptedCore) -> None:
    async def run(seed: int) -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", keyed_core.port) as dbg:
            await run_tasks(dbg, random.Random(seed))

    for seed in range(5):
        asyncio.run(run(seed))
    first = keys_of(keyed_core, 0)
    assert len(first) == 4 * (2 + 2 * 2)
    assert set(first.values()) == {2}  # one after the other, in one scope
    assert [keys_of(keyed_core, number) for number in range(1, 5)] == [first] * 4


def test_threads_have_the_same_scopes_each_time(keyed_core: ScriptedCore) -> None:
    for seed in range(5):
        with AgentStepper("T", "127.0.0.1", keyed_core.port) as dbg:
            run_threads(dbg, random.Random(seed))
    first = keys_of(keyed_core, 0)
    assert len(first) == 4 * (1 + 2) + 4
    assert set(first.values()) == {2}  # one after the other, in one scope
    assert [keys_of(keyed_core, number) for number in range(1, 5)] == [first] * 4


# ---- parts -------------------------------------------------------------------------------------------


def one_run(core: ScriptedCore, agent: Callable[[AgentStepper], None]) -> list[EventBegun]:
    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        agent(dbg)
    return queries(core.peers[-1])


def query(dbg: AgentStepper) -> None:
    with dbg.llm("p"):
        pass


def test_what_a_tool_begins_is_inside_of_its_call(core: ScriptedCore) -> None:
    def agent(dbg: AgentStepper) -> None:
        query(dbg)
        for _ in range(2):
            with dbg.tool("look", {}):
                query(dbg)
        query(dbg)

    found = [scope(event) for event in one_run(core, agent)]
    assert found == [(), (), ("tool:look:1",), (), ("tool:look:2",), ()]


def test_a_task_that_outlives_the_tool_stays_inside_of_it(core: ScriptedCore) -> None:
    async def agent() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:
            ended = asyncio.Event()

            async def later() -> None:
                await ended.wait()
                async with dbg.llm("p"):
                    pass

            async with dbg.tool("look", {}):
                task = asyncio.create_task(later())
            ended.set()
            await task

    asyncio.run(agent())
    _, late = queries(core.peers[0])
    assert scope(late) == ("tool:look:1", "task:1")


def test_a_task_with_a_copy_of_the_context_has_its_own_scope(core: ScriptedCore) -> None:
    async def agent() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port) as dbg:

            async def ask() -> None:
                async with dbg.llm("p"):
                    pass

            loop, shared = asyncio.get_running_loop(), contextvars.copy_context()
            await loop.create_task(ask(), context=contextvars.copy_context())
            await loop.create_task(ask(), context=shared)
            await loop.create_task(ask(), context=shared)
            await asyncio.to_thread(asyncio.run, ask())

    asyncio.run(agent())
    found = [scope(event) for event in queries(core.peers[0])]
    assert found == [("task:1",), ("task:2",), ("task:2",), ("pool:1",)]


def test_a_thread_finds_its_run_among_several(core: ScriptedCore) -> None:
    found: list[str] = []

    def ask() -> None:
        with AgentStepper("inner") as dbg:
            found.append(dbg.run_id)

    with (
        AgentStepper("One", "127.0.0.1", core.port) as one,
        AgentStepper("Two", "127.0.0.1", core.port),
        set_current_stepper(one),
    ):
        thread = threading.Thread(target=ask)
        thread.start()
        thread.join(TIMEOUT_S)
        assert found == [one.run_id]
        assert "run" not in vars(thread)


def test_a_pools_thread_forgets_the_run(core: ScriptedCore) -> None:
    with ThreadPoolExecutor(1) as pool:
        with AgentStepper("T", "127.0.0.1", core.port) as dbg:
            pool.submit(query, dbg).result()
        with AgentStepper("Next", "127.0.0.1", core.port) as dbg:
            pool.submit(query, dbg).result()
    assert [scope(queries(peer)[0]) for peer in core.peers] == [("pool:1",), ("pool:1",)]


def test_nothing_is_numbered_outside_of_a_run(core: ScriptedCore) -> None:
    async def agent() -> None:
        async with AsyncAgentStepper("T", "127.0.0.1", core.port):
            pass

        async def ask() -> contextvars.Context:
            return contextvars.copy_context()

        copied = await asyncio.create_task(ask())
        names = {variable.name: value for variable, value in copied.items()}
        assert getattr(names.get("agentstepper_scope"), "part", "") == ""

    asyncio.run(agent())


# ---- agents ------------------------------------------------------------------------------------------


def test_agents_by_hand(core: ScriptedCore) -> None:
    def agent(dbg: AgentStepper) -> None:
        with dbg.agent("editor"):
            query(dbg)
            with dbg.tool("delegate", {}), dbg.agent("writer"):
                query(dbg)
        with dbg.agent("editor"):
            query(dbg)
        query(dbg)

    events = one_run(core, agent)
    assert [(scope(event), event.label) for event in events] == [
        (("agent:editor:1",), AgentLabel(name="editor")),
        (("agent:editor:1",), AgentLabel(name="editor")),
        (
            ("agent:editor:1", "tool:delegate:1", "agent:writer:1"),
            AgentLabel(name="writer", parent="editor"),
        ),
        (("agent:editor:2",), AgentLabel(name="editor")),
        ((), UNSET),
    ]


def test_names_are_made_to_travel(core: ScriptedCore) -> None:
    def agent(dbg: AgentStepper) -> None:
        with dbg.agent("\ud800" * 3000):
            query(dbg)

    (event,) = one_run(core, agent)
    assert event.label is not UNSET
    assert len(event.label.name) == 1000


# ---- hashes ------------------------------------------------------------------------------------------


def hashes(core: ScriptedCore, value: Any, **options: Any) -> list[Any]:
    with AgentStepper("T", "127.0.0.1", core.port, **options) as dbg, dbg.llm(value):
        pass
    return [event.content_hash for event in queries(core.peers[-1])]


def test_the_hash_is_of_what_the_agent_asked_and_keyed(keyed_core: ScriptedCore) -> None:
    prompt = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    expected = blake2b(json.dumps(prompt, separators=(",", ":")).encode(), digest_size=16, key=KEY)
    assert hashes(keyed_core, prompt) == [expected.hexdigest()]


def test_the_hash_is_of_what_stood_there_before_masks(keyed_core: ScriptedCore) -> None:
    one, other = ("sk-" + letter * 48 for letter in "ab")
    assert len({*hashes(keyed_core, one), *hashes(keyed_core, other)}) == 2

    def hide(kind: str, value: Any) -> Any:
        return "hidden"

    seen = {*hashes(keyed_core, "a", redact=hide), *hashes(keyed_core, "b", redact=hide)}
    assert len(seen) == 2


def test_without_a_key_there_is_no_hash(core: ScriptedCore) -> None:
    assert hashes(core, "p") == [UNSET]
    assert hashes(core, "sk-" + "a" * 48) == [UNSET]


def test_the_program_s_start_has_no_hash(keyed_core: ScriptedCore) -> None:
    AgentStepper("T", "127.0.0.1", keyed_core.port).close()
    (started,) = keyed_core.wait_for_peer().events
    assert started.content_hash is UNSET


def test_the_core_is_asked_for_a_key(core: ScriptedCore) -> None:
    AgentStepper("T", "127.0.0.1", core.port).close()
    hello = core.peers[0].hello
    assert hello is not None
    assert hello.wants_hash_key is True
