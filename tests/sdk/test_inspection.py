"""The stack and the locals of an agent that waits, at a real Core, as a person asks for them."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

import pytest

from agentstepper_nb import AgentStepper, AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.protocol import inspection as wire
from agentstepper_nb.sdk.inspection.expressions import NO_AWAIT, NOT_AN_EXPRESSION
from agentstepper_nb.sdk.inspection.pdb_entry import NO_KERNEL
from tests.sdk.person import LiveView

Json = Any
#: This file is the agent's own code.
FILE = __file__


class Shown:
    """What a person sees of the halt point that waits now."""

    def __init__(self, person: LiveView) -> None:
        self._person = person
        self._named = {"run": person.run.id, "halt_point": person.wait_until_halted()}

    def stack(self) -> wire.StackSnapshot:
        return self._person._request(wire.GetStack(**self._named), wire.StackSnapshot)

    def own_frames(self) -> list[tuple[int, wire.StackFrame]]:
        return [pair for pair in enumerate(self.stack().frames) if pair[1].is_own]

    def frame(self, function: str) -> int:
        """The innermost frame of a function of the agent's own."""
        return next(
            index
            for index, frame in self.own_frames()
            if frame.location.function.endswith(function)
        )

    def variables(self, frame: int, *path: int, **asked: Json) -> wire.VariablesPage:
        command = wire.GetVariables(**self._named, frame=frame, path=path, **asked)
        return self._person._request(command, wire.VariablesPage)

    def variable(self, frame: int, name: str) -> wire.Variable:
        return next(each for each in self.variables(frame).variables if each.name == name)

    def path(self, frame: int, name: str) -> int:
        names = [each.name for each in self.variables(frame).variables]
        return names.index(name)

    def evaluate(self, frame: int, expression: str) -> wire.Evaluation:
        command = wire.EvaluateExpression(**self._named, frame=frame, expression=expression)
        return self._person._request(command, wire.Evaluation)

    def complete(self, frame: int, text: str) -> wire.CompletionList:
        command = wire.CompleteExpression(**self._named, frame=frame, text=text, cursor=len(text))
        return self._person._request(command, wire.CompletionList)

    def enter_pdb(self) -> wire.PdbReady:
        command = wire.EnterPdb(**self._named, revision=1)
        return self._person._request(command, wire.PdbReady)


class Point(NamedTuple):
    x: int
    y: int


@dataclass
class Config:
    name: str
    api_key: str


class Slotted:
    __slots__ = ("left", "unset")

    def __init__(self) -> None:
        self.left = 1

    @property
    def harmful(self) -> None:
        raise AssertionError("nobody asked for this")


class Raising:
    def __repr__(self) -> str:
        raise ValueError("no")


class Printing:
    def __repr__(self) -> str:
        print("noise", file=sys.stdout)
        return "<quiet>"


class Endless:
    def __repr__(self) -> str:
        while True:
            pass


def query(dbg: Any, names: Json = None) -> None:
    """The agent's own function that halts."""
    prompt = "a prompt"
    dbg.begin_llm_query_breakpoint(prompt)
    dbg.end_llm_query_breakpoint("done")


@pytest.fixture
def shown(agent: AgentStepper, person: LiveView, pool: ThreadPoolExecutor) -> Any:
    """Begins an agent's function, and gives what is seen of it; steps it on in the end."""
    working: list[Future[None]] = []

    def begin(function: Any = query, *values: Json) -> Shown:
        working.append(pool.submit(function, agent, *values))
        person.wait_until_halted()
        return Shown(person)

    yield begin
    person.resume()
    for each in working:
        each.result(30)


def test_the_stack_has_the_agents_own_frames_with_their_source(shown: Any) -> None:
    seen = shown()
    index, frame = seen.own_frames()[0]
    assert frame.location.file == FILE
    assert frame.location.function == "query"
    assert isinstance(frame.source, wire.SourceLines)
    line = frame.source.lines[frame.location.line - frame.source.first]
    assert line == "    dbg.begin_llm_query_breakpoint(prompt)"
    stack = seen.stack()
    # How it waits isn't among them; what called it is, as library code.
    assert index == 0
    assert [each.is_own for each in stack.frames] == [True] + [False] * (len(stack.frames) - 1)
    assert "ThreadPoolExecutor" in stack.thread
    assert not stack.is_task
    assert stack.pdb_refusal == NO_KERNEL


def test_a_row_has_the_line_that_began_its_event(shown: Any, person: LiveView) -> None:
    seen = shown()
    frame = seen.own_frames()[0][1]
    rows = [row for row in person.list_rows() if row.id in person.run.pending]
    assert [row.location for row in rows] == [frame.location]


def test_locals_are_a_tree_in_pages(shown: Any) -> None:
    cycle: list[Json] = []
    cycle.append(cycle)
    values = {
        "many": list(range(250)),
        "point": Point(1, 2),
        "both": {1: {"deep": [True, None]}, "cycle": cycle},
        "slotted": Slotted(),
        "queue": deque([1]),
    }
    seen = shown(query, values)
    page = seen.variables(0)
    assert [each.name for each in page.variables] == ["dbg", "names", "prompt"]
    names = seen.path(0, "names")
    children = seen.variables(0, names).variables
    assert [(each.name, each.type, each.children) for each in children] == [
        ("'many'", "list", 250),
        ("'point'", f"{__name__}.Point", 2),
        ("'both'", "dict", 2),
        ("'slotted'", f"{__name__}.Slotted", 1),
        ("'queue'", "collections.deque", 1),
    ]
    last = seen.variables(0, names, 0, start=200)
    assert (last.start, last.total, len(last.variables)) == (200, 250, 50)
    assert (last.variables[0].name, last.variables[0].value) == ("200", "200")
    assert [each.name for each in seen.variables(0, names, 1).variables] == ["x", "y"]
    assert seen.variables(0, names, 2, 0, 0).variables[0].value == "True"
    assert seen.variables(0, names, 2, 1, 0, 0, 0).variables[0].type == "list"  # it holds itself
    assert [each.name for each in seen.variables(0, names, 3).variables] == ["left"]


def test_a_path_that_leads_nowhere_is_refused(shown: Any) -> None:
    seen = shown()
    with pytest.raises(AssertionError, match=r"inspection_refused.*isn't there any more"):
        seen.variables(0, 99)
    with pytest.raises(AssertionError, match=r"inspection_refused.*stack has changed"):
        seen.variables(999)


def test_secrets_are_masked_by_name_and_by_value(
    shown: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_KEY", "from-the-environment")
    values = {
        "api_key": "sk-1234567890",
        "password": ["a", "b"],
        "config": Config("c", "sk-abcdefgh"),
        "plain": "said from-the-environment",
        "listed": [{"authorization": "Bearer xyz"}, "x" * 490 + "from-the-environment"],
        "token_count": 12,
    }
    seen = shown(query, values)
    names = seen.path(0, "names")
    children = {each.name.strip("'"): each for each in seen.variables(0, names).variables}
    assert children["api_key"].value == "[masked api_key]"
    assert (children["password"].value, children["password"].children) == ("[masked password]", 0)
    assert children["plain"].value == "'said [masked SOME_KEY]'"
    assert children["token_count"].value == "12"
    everything = [str(seen.variables(0)), str(seen.variables(0, names))]
    everything += [str(seen.variables(0, names, index)) for index in (2, 4)]
    everything += [str(seen.evaluate(0, "names")), str(seen.evaluate(0, "names['config'].api_key"))]
    for secret in ("sk-1234567890", "sk-abcdefgh", "xyz", "from-the", "'a'"):
        assert not [each for each in everything if secret in each], secret
    # Nor by the path below what is masked.
    password = [each.name.strip("'") for each in seen.variables(0, names).variables].index(
        "password"
    )
    assert {each.value for each in seen.variables(0, names, password).variables} == {
        "[masked password]"
    }


def test_a_repr_that_raises_prints_or_never_ends_does_no_harm(
    shown: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = shown(query, [Raising(), Printing(), Endless(), "fine"])
    values = [each.value for each in seen.variables(0, seen.path(0, "names")).variables]
    kind = f"{__name__}."
    assert values == [
        f"<{kind}Raising whose repr raises ValueError>",
        "<quiet>",
        f"<{kind}Endless whose repr takes longer than 0.5 s>",
        "'fine'",
    ]
    assert "noise" not in capsys.readouterr().out


def test_expressions_are_evaluated_in_the_frame(shown: Any) -> None:
    seen = shown(query, {"a": [1, 2, 3]})
    found = seen.evaluate(0, "[len(prompt) + each for each in names['a'] if names]")
    assert found.value is not None and found.value.type == "list"
    # A result can be opened.
    page = seen.variables(0, result=found.result)
    assert [each.name for each in page.variables] == ["0", "1", "2"]
    printed = seen.evaluate(0, "print('hello') or Config")
    assert printed.output == "hello\n"
    failed = seen.evaluate(0, "names['b']")
    assert failed.error == "KeyError: 'b'" and failed.value is None


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("x = 1", NOT_AN_EXPRESSION),
        ("import os", NOT_AN_EXPRESSION),
        ("await f()", NO_AWAIT),
        ("1 +", "This isn't an expression of Python: invalid syntax."),
        (" ", "There is no expression. Write one."),
    ],
)
def test_what_is_no_expression_is_refused(shown: Any, expression: str, said: str) -> None:
    seen = shown()
    with pytest.raises(AssertionError, match="inspection_refused") as refused:
        seen.evaluate(0, expression)
    assert said in str(refused.value)


def test_an_expression_that_never_ends_blocks_nothing(
    shown: Any, agent: AgentStepper, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = shown()
    inspector = agent._current_session().link._questions._inspector
    monkeypatch.setattr(inspector, "_evaluation_timeout_s", 0.3)
    with pytest.raises(AssertionError, match="didn't end in time"):
        seen.evaluate(0, "[each for each in iter(int, 1)]")
    monkeypatch.setattr(inspector, "_evaluation_timeout_s", 30.0)
    assert seen.evaluate(0, "1 + 1").value.value == "2"
    # It was told to end, and did.
    for thread in threading.enumerate():
        if thread.name == "agentstepper-value":
            thread.join(30)
            assert not thread.is_alive()


def test_names_and_attributes_are_completed(shown: Any) -> None:
    seen = shown(query, SimpleNamespace(alpha=1, beta=2))
    assert seen.complete(0, "1 + pro").matches == ("prompt", "property")
    found = seen.complete(0, "len(names.al")
    assert (found.start, found.end, found.matches) == (4, 12, ("names.alpha",))
    assert seen.complete(0, "names.").matches[:2] == ("names.alpha", "names.beta")
    assert seen.complete(0, "1 + ").matches == ()


def test_a_halt_point_that_waits_no_more_is_refused(shown: Any, person: LiveView) -> None:
    seen = shown()
    person.step()
    person.wait_until_halted()
    with pytest.raises(
        AssertionError, match=r"inspection_refused.*doesn't wait at this halt point"
    ):
        seen.stack()


def test_pdb_is_refused_where_no_notebook_can_ask(shown: Any, person: LiveView) -> None:
    seen = shown()
    with pytest.raises(AssertionError, match="process of its own, which has no notebook"):
        seen.enter_pdb()
    assert person.run.pending  # nothing was answered


async def query_async(dbg: Any, local: Json) -> None:
    await dbg.begin_llm_query_breakpoint(local)
    await dbg.end_llm_query_breakpoint("done")


def test_an_async_agents_stack_is_taken_before_its_await(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    frames_kept: list[int] = []

    async def main() -> None:
        async with AsyncAgentStepper(
            "async", "127.0.0.1", live.client_port, stop_on_entry=False
        ) as dbg:
            task = asyncio.create_task(query_async(dbg, {"deep": 1}), name="the task")
            await task
            frames_kept.append(len(dbg._current_session().link._questions._halted))

    working = pool.submit(asyncio.run, main())
    person.wait_until_halted()
    seen = Shown(person)
    stack = seen.stack()
    assert (stack.is_task, stack.thread) == (True, "the task")
    assert [frame.location.function for frame in stack.frames] == ["query_async"]
    assert seen.variable(0, "local").value == "{'deep': 1}"
    assert seen.evaluate(0, "local['deep'] + 1").value.value == "2"
    person.resume()
    working.result(30)
    assert frames_kept == [0]


@pytest.mark.parametrize("setting", ["argument", "environment"])
def test_an_agent_may_refuse(
    setting: str,
    live: AgentStepperCore,
    person: LiveView,
    pool: ThreadPoolExecutor,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    options: dict[str, Any] = {"inspect": False}
    if setting == "environment":
        monkeypatch.setenv("AGENTSTEPPER_INSPECT", "0")
        options = {}
    with AgentStepper("no", "127.0.0.1", live.client_port, stop_on_entry=False, **options) as dbg:
        working = pool.submit(query, dbg)
        person.wait_until_halted()
        with pytest.raises(AssertionError, match=r"inspection_refused.*inspect=False"):
            Shown(person).stack()
        person.resume()
        working.result(30)


def test_what_redact_hides_is_hidden_in_locals_too(
    live: AgentStepperCore, person: LiveView, pool: ThreadPoolExecutor
) -> None:
    def redact(kind: str, value: Any) -> Any:
        if kind != "variable":
            return value
        if value["name"] == "prompt":
            raise ValueError
        return {**value, "value": value["value"].replace("bob", "somebody")}

    with AgentStepper(
        "redacted", "127.0.0.1", live.client_port, stop_on_entry=False, redact=redact
    ) as dbg:
        working = pool.submit(query, dbg, {"customer": "bob"})
        person.wait_until_halted()
        seen = Shown(person)
        assert seen.variable(0, "names").value == "{'customer': 'somebody'}"
        assert seen.variable(0, "prompt").value == "<not shown: redact= raised ValueError>"
        person.resume()
        working.result(30)
