"""Generators, iterators and stream objects that a traced function gives, at a real Core."""

from __future__ import annotations

import asyncio
import io
import itertools
import sqlite3
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStepper
from agentstepper_nb.protocol.answers import SkipAnswer
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide
from tests.instrument.queries import halted_body, replace_text
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S, ScriptedAnswers, ScriptedCore
from tests.sdk.test_exact_edits import refused
from tests.sdk.traced_values import (
    FrameworkObject,
    make_opaque_mark,
    read_halt_point_data,
    rows_of,
)

both = pytest.mark.parametrize("is_async", [False, True], ids=["sync", "async"])
TEXT = "one two three"


def as_async(function: Callable[[], Iterator[Any]]) -> Callable[[], AsyncIterator[Any]]:
    """The same generator, asynchronous."""

    async def generator() -> AsyncIterator[Any]:
        for item in function():
            yield item

    return generator


def read(
    dbg: AgentStepper,
    function: Callable[[], Iterator[Any]],
    is_async: bool,
    on_item: Callable[[Any], Any] = lambda item: None,
) -> list[Any]:
    """Trace a generator function as an LLM query, and read it to its end, or until `on_item` says so."""
    got: list[Any] = []

    def take(item: Any) -> bool:
        got.append(item)
        return bool(on_item(item))

    if not is_async:
        stream = dbg.traced_llm(function)()
        for item in stream:
            if take(item):
                stream.close()  # type: ignore[attr-defined]
        return got

    async def main() -> None:
        stream = dbg.traced_llm(as_async(function))()
        async for item in stream:
            if take(item):
                await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(main())
    return got


# ---- generators --------------------------------------------------------------------------------------


@both
def test_items_come_as_they_are_made_where_nothing_may_halt(
    is_async: bool, agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    first, go_on = threading.Event(), threading.Event()

    def stream() -> Iterator[str]:
        yield "a"
        assert go_on.wait(TIMEOUT_S)
        with agent.tool("inside", {}) as t:
            t.result = 1
        yield "b"

    def note(item: str) -> None:
        with agent.tool(f"after {item}", {}):
            pass
        first.set()

    reading = pool.submit(read, agent, stream, is_async, note)
    person.wait_until_halted()
    person.resume()
    assert first.wait(TIMEOUT_S), "the first item comes while the second isn't there yet"
    go_on.set()
    assert reading.result(TIMEOUT_S) == ["a", "b"]
    begin, end = rows_of(person, EventKind.LLM_QUERY, 2)
    assert (begin.side, end.side) == (EventSide.BEGIN, EventSide.END)
    assert person.get_data(end) == ["a", "b"]
    depths = {row.name: row.depth for row in rows_of(person, EventKind.TOOL_INVOCATION, 6)}
    assert depths["inside"] == begin.depth + 1
    assert depths["after a"] == depths["after b"] == begin.depth, "its reader is no part of it"


@both
def test_a_stream_that_may_halt_is_read_whole_and_its_edit_is_read(
    is_async: bool, agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    thing = FrameworkObject()
    got: list[Any] = []

    def stream() -> Iterator[Any]:
        yield from ("a", thing, "c")

    reading = pool.submit(read, agent, stream, is_async, got.append)
    begin = person.wait_until_halted()
    person.step()
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    shown = make_opaque_mark("<a thing>", 1)
    assert halted_body(person) == ["a", shown, "c"]
    assert got == [], "nothing is given before the halt is over"
    assert "must stay a JSON list" in refused(person, "no list")
    person.step([shown, "z"])
    assert reading.result(TIMEOUT_S) == [thing, "z"]


@both
def test_an_unedited_stream_gives_its_own_items(
    is_async: bool, agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    items = [{"a": 1}, [2]]

    def stream() -> Iterator[Any]:
        yield from items

    reading = pool.submit(read, agent, stream, is_async)
    person.step()
    person.step()
    assert all(one is other for one, other in zip(reading.result(TIMEOUT_S), items, strict=True))


@both
def test_closing_early_ends_the_event_with_what_was_read(
    is_async: bool, agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    closed = threading.Event()

    def stream() -> Iterator[int]:
        try:
            yield from range(1000)
        finally:
            closed.set()

    reading = pool.submit(read, agent, stream, is_async, lambda item: item == 2)
    person.wait_until_halted()
    person.resume()
    assert reading.result(TIMEOUT_S) == [0, 1, 2]
    assert closed.is_set() or is_async  # `as_async` leaves the inner one to the garbage collection
    _, end = rows_of(person, EventKind.LLM_QUERY, 2)
    assert (end.outcome, person.get_data(end)) == (EventOutcome.OK, [0, 1, 2])


def test_leaving_the_loop_is_closing_early(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    @agent.traced_tool
    def count() -> Iterator[int]:
        yield from range(1000)

    def work() -> None:
        for number in count():
            if number == 1:
                break
        with agent.tool("next", {}):
            pass

    working = pool.submit(work)
    person.wait_until_halted()
    person.resume()
    working.result(TIMEOUT_S)
    begin, end, following, _ = rows_of(person, EventKind.TOOL_INVOCATION, 4)
    assert (begin.name, end.side, person.get_data(end)) == ("count", EventSide.END, [0, 1])
    assert following.depth == begin.depth


@both
def test_an_error_amid_a_live_stream_ends_the_event(
    is_async: bool, agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    got: list[int] = []

    def stream() -> Iterator[int]:
        yield 1
        raise LookupError("after one")

    reading = pool.submit(read, agent, stream, is_async, got.append)
    person.wait_until_halted()
    person.resume()
    with pytest.raises(LookupError, match="after one"):
        reading.result(TIMEOUT_S)
    assert got == [1]
    _, end = rows_of(person, EventKind.LLM_QUERY, 2)
    assert end.outcome is EventOutcome.ERROR
    assert end.failure is not None
    assert end.failure.message == "after one"


@both
def test_an_error_amid_a_held_stream_can_be_replaced(
    is_async: bool, agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    def stream() -> Iterator[int]:
        yield 1
        raise LookupError("after one")

    reading = pool.submit(read, agent, stream, is_async)
    begin = person.wait_until_halted()
    person.step()
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    person.step([7, 8])
    assert reading.result(TIMEOUT_S) == [7, 8]


def test_a_live_generator_s_own_protocol_passes_through(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    @agent.traced_tool
    def talk() -> Any:
        heard = []
        try:
            heard.append((yield "a"))
            heard.append((yield "b"))
        except KeyError as error:
            heard.append(repr(error))
            yield "c"
        return heard

    def converse() -> Any:
        stream = talk()
        got = [next(stream), stream.send("x"), stream.throw(KeyError("y"))]
        try:
            next(stream)
        except StopIteration as end:
            return got, end.value

    talking = pool.submit(converse)
    person.wait_until_halted()
    person.resume()
    assert talking.result(TIMEOUT_S) == (["a", "b", "c"], ["x", "KeyError('y')"])
    _, end = rows_of(person, EventKind.TOOL_INVOCATION, 2)
    assert person.get_data(end) == ["a", "b", "c"]


@both
def test_a_skipped_generator_gives_the_person_s_items(is_async: bool, core: ScriptedCore) -> None:
    def stream() -> Iterator[Any]:
        raise AssertionError("not to be called")
        yield

    with AgentStepper("T", "127.0.0.1", core.port) as dbg:
        core.policy = ScriptedAnswers(SkipAnswer(result=Raw(b"[1,2]")))
        assert read(dbg, stream, is_async) == [1, 2]
        core.policy = ScriptedAnswers(SkipAnswer(result=Raw(b'"all"')))
        assert read(dbg, stream, is_async) == ["all"]


# ---- iterators and stream objects --------------------------------------------------------------------


def test_an_iterator_of_a_plain_function_is_a_stream(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    @agent.traced_tool
    def chain(numbers: list[int]) -> Any:
        return itertools.chain(numbers, [4])

    working = pool.submit(lambda: list(chain([1, 2])))
    begin = person.wait_until_halted()
    person.step()
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    assert halted_body(person) == [1, 2, 4]
    person.step([5])
    assert working.result(TIMEOUT_S) == [5]


def test_what_is_read_in_other_ways_stays_itself(core: ScriptedCore) -> None:
    connection = sqlite3.connect(":memory:")

    with AgentStepper("T", "127.0.0.1", core.port) as dbg:

        @dbg.traced_tool
        def give(thing: Any) -> Any:
            return thing

        for value in (io.StringIO("text"), connection.execute("select 1")):
            assert give(value) is value
    connection.close()
    assert [list(end) for end in read_halt_point_data(core.wait_for_peer())[1::2]] == [
        ["$repr", "$ref", "$why"]
    ] * 2


def test_chunks_as_dicts_are_joined_too(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    def chunk(delta: dict[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {"id": "1", "object": "chat.completion.chunk", "model": "m", "choices": [choice]}

    def stream() -> Iterator[dict[str, Any]]:
        yield chunk({"role": "assistant", "content": "one "})
        yield chunk({"content": "two"})
        yield chunk({}, "stop")

    reading = pool.submit(read, agent, stream, False)
    begin = person.wait_until_halted()
    person.step()
    person.wait_until(lambda run: bool(run.pending) and run.pending[0] != begin)
    answer = halted_body(person)
    assert answer["choices"][0]["message"]["content"] == "one two"
    person.step(replace_text(answer, "one two", "edited"))
    got = reading.result(TIMEOUT_S)
    assert "".join(c["choices"][0]["delta"].get("content") or "" for c in got) == "edited"
    assert {c["object"] for c in got} == {"chat.completion.chunk"}
