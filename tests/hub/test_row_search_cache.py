"""A filter that is asked again looks at what is new or has changed, and finds what a new one finds."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from agentstepper_nb.hub import Hub
from agentstepper_nb.hub.limits import HubLimits
from agentstepper_nb.hub.row_search import RowSearch
from agentstepper_nb.protocol.data_model import Commit
from agentstepper_nb.protocol.ui import FindRows
from agentstepper_nb.store import MemoryStore
from agentstepper_nb.store.base import ContentPredicate, RowConsumer
from tests.helpers.sampling import select_sample
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub

LOOK = 7
LIMITS = HubLimits(search_page_rows=LOOK)


class RecordingStore(MemoryStore):
    """Notes which rows were looked at."""

    def __init__(self) -> None:
        super().__init__()
        self.visited_rows: list[tuple[int, int]] = []

    async def visit_rows(
        self, run: str, first: int, last: int, take: RowConsumer, needs: ContentPredicate
    ) -> tuple[Commit, ...]:
        self.visited_rows.append((first, last))
        return await super().visit_rows(run, first, last, take, needs)


async def begun(
    store: MemoryStore | None = None, limits: HubLimits = LIMITS
) -> tuple[Hub, ScriptedAgent, ScriptedView]:
    """A run of twenty messages, “x1” and so on, that a person has open."""
    hub = await open_hub(store, limits=limits)
    agent = ScriptedAgent()
    await agent.connect(hub)
    for number in range(1, 21):
        agent.begin(f"d{number}", kind="debug_message", data=f"x{number}")
    await hub.wait_recorded()
    return hub, agent, ScriptedView(hub)


def changes(agent: ScriptedAgent, id: str, event: str, path: str) -> None:
    """A snapshot says that an event changed a file."""
    change = {"path": path, "kind": "changed"}
    agent.send("commit", id=id, at=1.0, title="t", event=event, snapshot=True, changes=[change])


async def seqs(person: ScriptedView, text: str) -> list[int]:
    await person.session.hub.wait_recorded()
    answer: list[int] = (await person.request("find_rows", run="r", text=text))["body"]["seqs"]
    return answer


async def test_whole_results_and_answers_are_looked_at_but_no_prompts() -> None:
    hub, agent, person = await begun()
    agent.begin("tool", kind="tool_invocation", name="read")
    call: Any = {"Tool": "read", "Argument": {"path": "a"}}
    agent.reach("call", call, "tool", waits=False)
    agent.reach("result", "first line\nsecond\nthe Needle", "tool", side="end", waits=False)
    agent.begin("query", kind="llm_query")
    agent.reach("prompt", ["the needle", "x", "hello"], "query", waits=False)
    agent.reach("answer", "so it is\nneedle", "query", side="end", waits=False)
    assert await seqs(person, "needle") == [22, 24]
    assert await seqs(person, "tools needle") == [22]
    assert await seqs(person, "x1 needle") == []
    await hub.close()


async def test_only_what_is_new_is_looked_at() -> None:
    store = RecordingStore()
    hub, agent, person = await begun(store)
    assert await seqs(person, "x1") == [1, *range(10, 20)]
    assert store.visited_rows == [(14, 20), (7, 13), (1, 6)]
    store.visited_rows.clear()
    assert await seqs(person, "x1") == [1, *range(10, 20)]
    assert store.visited_rows == []
    agent.begin("more", kind="debug_message", data="x1")
    assert await seqs(person, "x1") == [1, *range(10, 20), 21]
    assert store.visited_rows == [(21, 21)]
    store.visited_rows.clear()
    assert await seqs(person, "x2") == [2, 20]
    assert len(store.visited_rows) == 3
    await hub.close()


async def test_a_row_that_changed_is_looked_at_again() -> None:
    store = RecordingStore()
    hub, agent, person = await begun(store)
    agent.reach("b", "asks")
    for number in range(20):
        agent.begin(f"after{number}", kind="debug_message", data="after")
    assert await seqs(person, "halted") == [21]
    store.visited_rows.clear()
    await person.request("step", run="r", breakpoint="b", revision=1)
    assert await seqs(person, "halted") == []
    assert store.visited_rows == [(21, 21)]
    await hub.close()


async def test_files_that_came_later_are_found_at_the_last_row_of_their_event() -> None:
    hub, agent, person = await begun()
    agent.begin("tool", kind="tool_invocation", name="write")
    agent.reach("b", {"Tool": "write"}, event="tool", waits=False)
    for number in range(10):
        agent.begin(f"m{number}", kind="debug_message", data="after")
    assert await seqs(person, "file.py") == []
    changes(agent, "k", "tool", "src/file.py")
    assert await seqs(person, "file.py") == [21]
    agent.reach("e", "done", event="tool", side="end", waits=False)
    assert await seqs(person, "file.py") == [32]
    changes(agent, "k2", "tool", "other.py")
    assert await seqs(person, "file.py") == [32]
    await hub.close()


async def test_of_a_run_that_was_deleted_or_closed_nothing_is_remembered() -> None:
    store = RecordingStore()
    hub, agent, person = await begun(store)
    await seqs(person, "x")
    await person.request("close_run", run="r")
    store.visited_rows.clear()
    await seqs(person, "x")
    assert len(store.visited_rows) == 3
    agent.send_bye()
    await hub.wait_recorded()
    await person.request("delete_run", run="r")
    refused = (await person.request("find_rows", run="r", text="x"))["body"]
    assert refused["code"] == "unknown_run"
    other = ScriptedAgent()
    await other.connect(hub)
    other.begin("one", kind="debug_message", data="x")
    assert await seqs(person, "x") == [1]
    await hub.close()


async def test_who_is_not_asked_again_keeps_little() -> None:
    store = RecordingStore()
    hub, agent, person = await begun(store, replace(LIMITS, max_changed_rows=2))
    await seqs(person, "x")
    store.visited_rows.clear()
    for number in range(3):
        changes(agent, f"k{number}", f"d{number + 18}", "file.py")
    assert len(await seqs(person, "x")) == 20
    assert len(store.visited_rows) == 3  # at all of it
    await hub.close()


async def test_a_look_that_failed_is_begun_anew() -> None:
    hub, _, person = await begun()
    visit_rows = hub.store.visit_rows

    async def fails(*of: Any) -> tuple[Commit, ...]:
        raise OSError("for a moment")

    hub.store.visit_rows = fails  # type: ignore[method-assign, assignment]
    answer = await person.request("find_rows", run="r", text="x1")
    assert answer["type"] == "error"
    hub.store.visit_rows = visit_rows  # type: ignore[method-assign]
    assert await seqs(person, "x1") == [1, *range(10, 20)]
    await hub.close()


class RandomAgent:
    """An agent that does anything."""

    def __init__(self, hub: Hub, agent: ScriptedAgent, person: ScriptedView, seed: int) -> None:
        self._hub, self._agent, self._person = hub, agent, person
        self._random = random.Random(seed)
        self._made = 0
        self._open: list[str] = []  # events whose end is yet to come
        self._events: list[str] = []
        self._waiting: list[str] = []

    async def act(self) -> None:
        """One thing."""
        self._made += 1
        id = f"n{self._made}"
        match self._random.randrange(6):
            case 0:
                self._agent.begin(id, kind="debug_message", data=self._random.choice("ab"))
            case 1:
                event = f"e{id}"
                self._agent.begin(event, kind="tool_invocation", name="t")
                self._reach(id, event, waits=self._random.random() < 0.5)
                self._open.append(event)
                self._events.append(event)
            case 2 if self._open:
                event = self._open.pop(self._random.randrange(len(self._open)))
                self._reach(id, event, side="end", waits=False)
            case 3 | 4 if self._events:
                changes(self._agent, id, self._random.choice(self._events[-12:]), "a/b.py")
            case 5 if self._waiting:
                await self._hub.wait_recorded()
                await self._person.request("step", run="r", breakpoint=self._waiting.pop(0))

    def _reach(self, id: str, event: str, *, waits: bool, **fields: Any) -> None:
        data = self._random.choice("ab")
        self._agent.reach(id, data, event=event, waits=waits, **fields)
        if waits:
            self._waiting.append(id)


@pytest.mark.parametrize("seed", select_sample(range(8), 0, 5))
async def test_it_finds_what_a_new_one_finds(seed: int) -> None:
    hub, agent, person = await begun()
    chance = RandomAgent(hub, agent, person, seed)
    for text in ("a", "a/b", "halted"):
        for _ in range(12):
            for _ in range(5):
                await chance.act()
            found = await seqs(person, text)
            new = await RowSearch(hub).find(FindRows(run="r", text=text), lambda: True)
            assert tuple(found) == new.seqs
    await hub.close()


async def test_rows_of_agents_are_found_and_all_agents_are_told() -> None:
    """Rows that wait are left, whoever's they are; pages are shorter than the run."""
    hub, agent, person = await begun()
    paths = {name: ["task:1", f"agent:{name}:1"] for name in ("a", "b")}
    label: Any = {"node": None, "parent": None}
    for number, name in enumerate("abababab"):
        scope = [*paths[name], f"tool:{number}"]
        agent.begin(
            f"s{number}",
            kind="debug_message",
            data=f"x{number}",
            scope=scope,
            label=label | {"name": name},
        )

    async def find(**filter: Any) -> Any:
        await hub.wait_recorded()
        return (await person.request("find_rows", run="r", text="", **filter))["body"]

    lanes = [
        {"path": paths["a"], "seq": 21, "label": label | {"name": "a"}},
        {"path": paths["b"], "seq": 22, "label": label | {"name": "b"}},
    ]
    of_a = await find(lanes=[paths["a"]])
    assert of_a == {"run": "r", "seqs": [21, 23, 25, 27], "total": 4, "lanes": lanes}
    assert (await find(lanes=[paths["b"]]))["seqs"] == [22, 24, 26, 28]
    assert (await find(lanes=[[]]))["seqs"] == list(range(1, 21))
    agent.begin("query", kind="llm_query", scope=paths["b"], label=label | {"name": "b"})
    agent.reach("prompt", "?", "query")
    assert (await find(lanes=[paths["a"]]))["seqs"] == [21, 23, 25, 27, 29]
    await person.request("step", run="r", breakpoint="prompt", revision=1)
    assert (await find(lanes=[paths["a"]]))["seqs"] == [21, 23, 25, 27]
    await hub.close()


async def test_a_run_without_agents_has_no_lanes() -> None:
    hub, _, person = await begun()
    await hub.wait_recorded()
    answer = await person.request("find_rows", run="r", text="x1")
    assert sorted(answer["body"]) == ["run", "seqs", "total"]
    await hub.close()
