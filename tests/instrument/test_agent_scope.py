"""Methods that run an agent, whatever they give: what begins in them is the agent's, nothing else."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import aclosing, closing
from contextvars import copy_context
from typing import Any

import pytest

from agentstepper_nb.instrument.agent_scope import call_agent, open_agent
from agentstepper_nb.sdk import scopes
from agentstepper_nb.sdk.scopes import (
    Scope,
    enter_scope,
    expect_run,
    find_numbering_scope,
    open_root,
    set_scope,
)

MAIN = ("agent:main:1",)


@pytest.fixture(autouse=True)
def root() -> Iterator[Scope]:
    scopes.wrap_creation()
    scope = Scope()
    with enter_scope(scope):
        yield scope


def path() -> tuple[str, ...]:
    scope = find_numbering_scope()
    return ("outside",) if scope is None else scope.path


def run(name: Any, method: Any, *args: Any) -> Any:
    return call_agent(name, method, args, {})


async def path_later() -> tuple[str, ...]:
    await asyncio.sleep(0)
    return path()


def steps() -> Iterator[tuple[str, ...]]:
    yield path()
    yield path()


async def async_steps() -> AsyncIterator[tuple[str, ...]]:
    yield path()
    yield await asyncio.create_task(path_later())


def test_a_method_is_the_agents() -> None:
    assert run("main", path) == MAIN
    assert path() == ()
    assert run("main", path) == ("agent:main:2",)


def test_an_agent_that_another_calls_is_inside_of_it() -> None:
    def outer() -> Any:
        return [run("helper", path), run("helper", path), path()]

    assert run("main", outer) == [(*MAIN, "agent:helper:1"), (*MAIN, "agent:helper:2"), MAIN]


def test_an_agents_method_that_calls_another_of_its_own_is_one_run() -> None:
    assert run("main", lambda: [run("main", path), path()]) == [MAIN, MAIN]


@pytest.mark.parametrize("name", [None, "", 7])
def test_an_agent_without_a_name_has_no_scope(name: Any) -> None:
    assert run(name, path) == ()


def test_outside_of_a_run_the_method_is_called_as_it_is() -> None:
    def call() -> Any:
        set_scope(closed)
        generator = steps()
        return open_agent("main"), run("main", lambda: generator) is generator

    closed = Scope()
    closed.is_closed = True
    assert copy_context().run(call) == (None, True)


def test_a_failed_method_leaves_nothing_open(root: Scope) -> None:
    held: list[Scope | None] = []

    def fail() -> None:
        held.append(find_numbering_scope())
        raise KeyError("any")

    with pytest.raises(KeyError):
        run("main", fail)
    assert path() == ()
    (scope,) = held
    assert scope is not None
    with enter_scope(scope):  # what it started and left behind
        assert path() == ()


def test_coroutines_are_numbered_as_they_are_made() -> None:
    async def gather() -> Any:
        second, first = run("main", path_later), run("main", path_later)
        return [*await asyncio.gather(first, second), path()]

    first, second, after = asyncio.run(gather())
    assert (first, second) == (("agent:main:2",), ("agent:main:1",))
    assert "agent" not in str(after)


def test_a_generators_steps_are_the_agents_and_its_consumer_is_not() -> None:
    read = [(step, path()) for step in run("main", steps)]
    assert read == [(MAIN, ()), (MAIN, ())]


def test_a_generator_gives_its_result_and_is_closed() -> None:
    ended: list[Any] = []

    def give() -> Any:
        try:
            yield 1
            return 2
        finally:
            ended.append(path())

    def read() -> Any:
        result = yield from run("main", give)
        ended.append(result)

    assert list(read()) == [1]
    assert ended == [MAIN, 2]
    with closing(run("main", give)) as generator:
        next(generator)
    assert ended == [MAIN, 2, ("agent:main:2",)]
    assert path() == ()


def test_an_async_generators_steps_are_the_agents_and_its_consumer_is_not() -> None:
    async def read() -> Any:
        before = path()
        async with aclosing(run("main", async_steps)) as generator:
            return before, [(step, path() == before) async for step in generator]

    before, ((first, is_outside), (second, is_outside_again)) = asyncio.run(read())
    assert first == (*before, *MAIN)
    assert second == (*first, "task:1")
    assert is_outside
    assert is_outside_again


def test_a_generator_goes_on_in_the_scope_that_it_left() -> None:
    def nested() -> Any:
        scope = find_numbering_scope()
        assert scope is not None
        with enter_scope(scope.open_call("add", "call_1")):
            yield path()
            yield path()

    inside = (*MAIN, "tool:call_1")
    assert [(step, path()) for step in run("main", nested)] == [(inside, ()), (inside, ())]


def test_two_generators_that_are_read_by_turns_are_told_apart() -> None:
    first, second = run("left", steps), run("right", steps)
    read = [next(first), next(second), next(first), next(second)]
    assert read == [("agent:left:1",), ("agent:right:1",)] * 2


def test_a_run_that_begins_inside_of_an_agent_has_the_agents_scope() -> None:
    def call() -> Any:
        expect_run()
        return run("main", lambda: (path(), find_numbering_scope(), open_root()))

    inside, scope, root = copy_context().run(call)
    assert inside == MAIN
    assert scope.root is root


def test_what_only_waits_gets_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    class Queue:
        def wait(self) -> tuple[str, ...]:
            return path()

        async def wait_async(self) -> tuple[str, ...]:
            return path()

    monkeypatch.setattr(scopes, "_unnumbered", set())
    scopes.skip_numbering(Queue.wait)
    scopes.skip_numbering(Queue.wait_async)

    async def create() -> Any:
        tasks = [
            asyncio.create_task(each()) for each in (path_later, Queue().wait_async, path_later)
        ]
        return [(await task)[-1:] for task in tasks]

    with ThreadPoolExecutor() as pool:
        jobs = [pool.submit(copy_context().run, each) for each in (path, Queue().wait, path)]
        assert [job.result() for job in jobs] == [("pool:1",), (), ("pool:2",)]
    first, waited, second = asyncio.run(create())
    assert (first, second) == (("task:1",), ("task:2",))
    assert waited not in (first, second)
