"""What a person says in a call's place, at a real Core: the agent's code sees it, and the run has it."""

from __future__ import annotations

import asyncio
import json
import sys
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import UNSET

from agentstepper_nb import (
    AgentStepper,
    AgentStepperCore,
    Approval,
    AsyncAgentStepper,
    InjectedError,
)
from agentstepper_nb.protocol.answers import RaiseAnswer
from agentstepper_nb.protocol.data_model import AnswerKind, EventKind, Failure, TimelineRow
from agentstepper_nb.sdk.raised_errors import INJECTED_NOTE, make_error
from agentstepper_nb.sdk.signature_schema import make_schema
from tests.sdk.person import LiveView
from tests.sdk.scripted_core import TIMEOUT_S


@pytest.fixture
def agent(live: AgentStepperCore) -> Iterator[AgentStepper]:
    with AgentStepper("agent", "127.0.0.1", live.client_port, stop_on_entry=False) as agent:
        yield agent


def calls(person: LiveView) -> list[TimelineRow]:
    return [row for row in person.list_rows() if row.kind is not EventKind.PROGRAM_STARTED]


# ---- skip -------------------------------------------------------------------------------------------


def test_a_skipped_call_gives_the_persons_result(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    @agent.traced_tool
    def delete(path: str) -> str:
        raise AssertionError("not to be called")

    working = pool.submit(delete, "a")
    person.skip({"deleted": 0})
    person.step()
    assert working.result(TIMEOUT_S) == {"deleted": 0}
    begin, end = calls(person)
    assert (begin.answer, begin.summary.split(":")[0]) == (AnswerKind.SKIP, "Skipped")
    assert person.get_body(begin).supplied == '{"deleted": 0}'
    assert person.get_data(end) == {"deleted": 0}


def ask_to_delete(agent: AgentStepper) -> Any:
    approval = Approval("It deletes files.", risk="high")
    with agent.tool("delete", {"path": "a"}, approval=approval) as block:
        if not block.skipped:
            raise AssertionError("not to be called")
    return block.result, approval.always


def test_a_call_that_asks_for_an_approval_may_be_skipped_or_let_fail(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    working = pool.submit(ask_to_delete, agent)
    person.skip("nothing")
    person.step()
    assert working.result(TIMEOUT_S) == ("nothing", False)
    working = pool.submit(ask_to_delete, agent)
    person.raise_error("not now", "PermissionError")
    with pytest.raises(PermissionError, match="not now"):
        working.result(TIMEOUT_S)


# ---- raise ------------------------------------------------------------------------------------------


def use_sync(agent: AgentStepper) -> Callable[[], Any]:
    return agent.traced_tool(lambda: "made", name="tool")


def use_generator(agent: AgentStepper) -> Callable[[], Any]:
    @agent.traced_tool
    def tool() -> Iterator[int]:
        yield 1

    return lambda: list(tool())


def use_block(agent: AgentStepper) -> Callable[[], Any]:
    def tool() -> Any:
        with agent.tool("tool", {}) as block:
            block.result = "made"
        return block.result

    return tool


def use_methods(agent: AgentStepper) -> Callable[[], Any]:
    def tool() -> Any:
        agent.begin_tool_invocation_breakpoint("tool", {})
        return agent.end_tool_invocation_breakpoint("made")

    return tool


FORMS = (use_sync, use_generator, use_block, use_methods)


@pytest.mark.parametrize("at_end", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_the_agents_code_sees_the_chosen_exception(
    form: Callable[[AgentStepper], Callable[[], Any]],
    at_end: bool,
    agent: AgentStepper,
    person: LiveView,
    pool: ThreadPoolExecutor,
) -> None:
    working: Future[Any] = pool.submit(form(agent))
    if at_end:
        person.step()
    person.raise_error("too slow", "TimeoutError")
    with pytest.raises(TimeoutError, match="too slow") as raised:
        working.result(TIMEOUT_S)
    assert raised.value.__notes__ == [INJECTED_NOTE]
    row = calls(person)[1 if at_end else 0]
    assert (row.answer, row.summary) == (
        AnswerKind.RAISE,
        "Raised by a person: TimeoutError: too slow",
    )
    assert person.get_body(row).raised == Failure(type="TimeoutError", message="too slow")


def test_an_async_call_fails_so_too(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    async def work() -> None:
        options: Any = {"stop_on_entry": False}
        async with AsyncAgentStepper("agent", "127.0.0.1", live.client_port, **options) as agent:

            @agent.traced_llm
            async def ask(prompt: str) -> str:
                raise AssertionError("not to be called")

            await ask("hi")

    working = pool.submit(asyncio.run, work())
    person.raise_error("gone", "json.decoder.JSONDecodeError")  # it wants more than a message
    with pytest.raises(InjectedError, match="gone"):
        working.result(TIMEOUT_S)
    ended = person.list_rows()[-2]
    assert ended.failure is not None
    assert ended.failure.type.endswith("InjectedError")


class OwnError(LookupError):
    """An exception of the agent's own."""


class _Lazy(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        raise AssertionError(f"{name} was computed")


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("ValueError", ValueError),
        ("builtins.ValueError", ValueError),
        (f"{__name__}.OwnError", OwnError),
        ("concurrent.futures.CancelledError", sys.modules["concurrent.futures"].CancelledError),
        ("this.Anything", InjectedError),  # never imported
        ("lazy_module.Error", InjectedError),
        ("SystemExit", InjectedError),
        ("KeyboardInterrupt", InjectedError),
        ("StopIteration", InjectedError),
        ("dict", InjectedError),
        ("UnicodeDecodeError", InjectedError),  # it wants more than a message
        ("json.dumps.__globals__", InjectedError),
    ],
    ids=range(12),
)
def test_only_exceptions_that_are_loaded_are_made(
    name: str, kind: type[Exception], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "lazy_module", _Lazy("lazy_module"))
    made = make_error(RaiseAnswer(message="m", type=name))
    assert (type(made), str(made)) == (kind, "m")
    assert "this" not in sys.modules


# ---- guide ------------------------------------------------------------------------------------------


def test_a_guide_reaches_the_model_as_a_message(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    seen: list[Any] = []

    @agent.traced_llm
    def ask(messages: list[dict[str, str]], model: str) -> str:
        seen.append(messages)
        return "yes"

    first = {"role": "user", "content": "Fix it."}
    working = pool.submit(ask, [first], model="m")
    person.guide("Run the tests first.")
    pending = calls(person)[0]
    assert (pending.guided, pending.edited, pending.pending) == (True, True, True)
    person.step(revision=2)
    person.step()
    assert working.result(TIMEOUT_S) == "yes"
    assert seen == [[first, {"role": "user", "content": "Run the tests first."}]]
    body = person.get_body(calls(person)[0])
    assert body.guides == ("Run the tests first.",)
    assert json.loads(body.data)["messages"] == [first]


# ---- schemas ----------------------------------------------------------------------------------------


def test_a_halted_call_has_the_schema_of_its_arguments(
    agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    @agent.traced_tool
    def search(text: str, limit: int = 10, where: list[str] | None = None, **more: Any) -> str:
        return "found"

    working = pool.submit(search, "a")
    person.wait_until_halted()
    schema = json.loads(str(person.get_body(calls(person)[0]).schema))
    assert schema["required"] == ["text"]
    assert schema["properties"]["text"] == {"type": "string"}
    assert schema["properties"]["limit"] == {"type": "integer", "default": 10}
    assert schema["properties"]["more"] == {"type": "object"}
    person.resume()
    assert working.result(TIMEOUT_S) == "found"
    begin = calls(person)[0]
    search("b")  # it doesn't wait
    assert agent._timeline(TIMEOUT_S) is not None  # by now the Core has its rows
    assert person.get_body(begin).schema is not UNSET
    assert person.get_body(calls(person)[2]).schema is UNSET


def test_a_type_that_cant_be_read_allows_anything() -> None:
    def odd(a: Missing, b: int) -> None:  # type: ignore[name-defined]  # noqa: F821
        """A name that is only there for a type checker."""

    def own(a: OwnError, b: int) -> None:
        """A type that JSON hasn't."""

    assert json.loads(bytes(make_schema(odd)))["properties"] == {"a": {}, "b": {}}  # type: ignore[arg-type]
    assert json.loads(bytes(make_schema(own)))["properties"] == {  # type: ignore[arg-type]
        "a": {},
        "b": {"type": "integer"},
    }
    assert make_schema(len) is UNSET or json.loads(bytes(make_schema(len)))  # type: ignore[arg-type]
