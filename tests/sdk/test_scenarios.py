"""What an agent gets at its halt points, and what the Core hears: alike for both AgentSteppers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStopped, InjectedError, ToolDeniedError
from agentstepper_nb.protocol.answers import Answer, DenyAnswer, RaiseAnswer, SkipAnswer, StopAnswer
from agentstepper_nb.protocol.data_model import EventKind
from tests.sdk.both_steppers import Scenario, both, run, transcript
from tests.sdk.scripted_core import START, STEP, ScriptedAnswers, ScriptedCore, make_edit_answer


@dataclass
class ScenarioCase:
    """A scenario, what the person answers after the start, and what it gives or raises."""

    name: str
    scenario: Scenario
    answers: list[Answer] = field(default_factory=list)
    gives: Any = None
    raises: type[BaseException] | None = None
    # One word a message: event, then side and outcome of its halt points.
    sends: list[str] = field(default_factory=list)


CASES: list[ScenarioCase] = []


def case(
    *answers: Answer,
    gives: Any = None,
    raises: type[BaseException] | None = None,
    sends: str = "",
) -> Callable[[Scenario], Scenario]:
    def add(scenario: Scenario) -> Scenario:
        name = scenario.__name__
        CASES.append(ScenarioCase(name, scenario, [START, *answers], gives, raises, sends.split()))
        return scenario

    return add


# ---- the methods ------------------------------------------------------------------------------------


@case(gives=["same", "same"], sends="llm_query begin end:ok")
async def query_by_methods(dbg: Any) -> list[str]:
    prompt = {"messages": [{"role": "user", "content": "hi"}]}
    response = ["an", "answer"]
    asked = await dbg.begin_llm_query_breakpoint(prompt)
    said = await dbg.end_llm_query_breakpoint(response)
    return ["same" if asked is prompt else "other", "same" if said is response else "other"]


@case(gives=[True, True, True], sends="tool_invocation begin end:ok")
async def tool_by_methods(dbg: Any) -> list[bool]:
    name, args, results = "search", {"q": "cats"}, [1, 2]
    new_name, new_args = await dbg.begin_tool_invocation_breakpoint(name, args)
    new_results = await dbg.end_tool_invocation_breakpoint(results)
    return [new_name is name, new_args is args, new_results is results]


@case(
    make_edit_answer('{"Tool":"fetch","Argument":{"q":"dogs"}}'),
    make_edit_answer('"found"'),
    gives=("fetch", {"q": "dogs"}, "found"),
)
async def tool_edited(dbg: Any) -> Any:
    name, args = await dbg.begin_tool_invocation_breakpoint("search", {"q": "cats"})
    return name, args, await dbg.end_tool_invocation_breakpoint("nothing")


@case(make_edit_answer('{"Tool":"fetch","Argument":{"q":1.0}}'), gives=("fetch", True))
async def tool_renamed_keeps_the_same_arguments(dbg: Any) -> Any:
    args = {"q": 1.0}
    name, new_args = await dbg.begin_tool_invocation_breakpoint("search", args)
    await dbg.end_tool_invocation_breakpoint(None)
    return name, new_args is args


@case(make_edit_answer('{"Tool":"search","Argument":{"q":1}}'), gives=("search", "int"))
async def an_edit_of_a_number_s_type_is_an_edit(dbg: Any) -> Any:
    name, args = await dbg.begin_tool_invocation_breakpoint("search", {"q": 1.0})
    await dbg.end_tool_invocation_breakpoint(None)
    return name, type(args["q"]).__name__


async def _edited_to(dbg: Any) -> Any:
    asked = await dbg.begin_llm_query_breakpoint("a prompt")
    said = await dbg.end_llm_query_breakpoint("a response")
    async with dbg.llm("a prompt") as q:
        inside = q.prompt
        q.response = "a response"
    async with dbg.tool("a tool", {"x": 1}) as t:
        t.result = "a result"
    return asked, said, inside, q.response, t.result


for text, value in [
    ('""', ""),
    ("{}", {}),
    ("[]", []),
    ("0", 0),
    ("false", False),
    ("null", None),
    ("12345678901234567890123456789", 12345678901234567890123456789),
    ('{"b":1.0,"a":1}', {"b": 1.0, "a": 1}),
]:
    CASES.append(
        ScenarioCase(
            f"edited_to_{text}",
            _edited_to,
            [START, *[make_edit_answer(text)] * 4, STEP, make_edit_answer(text)],
            (value, value, value, value, value),
        )
    )


@case(gives="done", sends="llm_query tool_invocation debug_message")
async def nested_events_name_their_parents(dbg: Any) -> str:
    async with dbg.llm("p", model="m") as q:
        async with dbg.tool("t", {}) as t:
            await dbg.post_debug_message("inside")
            t.result = 1
        q.response = 2
    return "done"


# ---- the wrong order --------------------------------------------------------------------------------


@case(raises=RuntimeError)
async def end_without_begin(dbg: Any) -> None:
    await dbg.end_llm_query_breakpoint("r")


@case(raises=RuntimeError, sends="llm_query begin")
async def end_of_another_type(dbg: Any) -> None:
    await dbg.begin_llm_query_breakpoint("p")
    await dbg.end_tool_invocation_breakpoint("r")


@case(gives=(True, True), sends="llm_query begin end:ok")
async def values_that_are_not_json(dbg: Any) -> Any:
    prompt, response = {"a": [1, 2, {"b": b"bytes"}]}, {1, complex(2)}
    asked = await dbg.begin_llm_query_breakpoint(prompt)
    return asked is prompt, await dbg.end_llm_query_breakpoint(response) is response


# ---- the blocks -------------------------------------------------------------------------------------


@case(gives=("p", True), sends="llm_query begin end:ok")
async def query_by_block(dbg: Any) -> Any:
    response = {"text": "r"}
    async with dbg.llm("p") as q:
        asked = q.prompt
        q.response = response
    return asked, q.response is response


@case(gives=None, sends="llm_query begin end:ok")
async def a_response_that_is_never_set_is_null(dbg: Any) -> Any:
    async with dbg.llm("p") as q:
        pass
    return q.response


@case(
    make_edit_answer('{"Tool":"rm","Argument":["a"]}'),
    gives=("rm", ["a"]),
    sends="tool_invocation begin end:ok",
)
async def tool_edited_in_a_block(dbg: Any) -> Any:
    async with dbg.tool("ls", []) as t:
        t.result = None
    return t.name, t.args


@case(raises=ZeroDivisionError, sends="tool_invocation begin end:error")
async def an_exception_is_raised_on(dbg: Any) -> None:
    async with dbg.tool("divide", {}):
        raise ZeroDivisionError("division by zero")


@case(STEP, make_edit_answer('"mended"'), gives="mended", sends="tool_invocation begin end:error")
async def a_result_in_an_exception_s_place(dbg: Any) -> Any:
    async with dbg.tool("divide", {}) as t:
        raise ZeroDivisionError
    return t.result


@case(
    STEP,
    RaiseAnswer(message="broken"),
    raises=InjectedError,
    sends="tool_invocation begin end:error",
)
async def another_error_in_an_exception_s_place(dbg: Any) -> None:
    async with dbg.tool("divide", {}):
        raise ZeroDivisionError


@case(raises=KeyboardInterrupt, sends="tool_invocation begin end:stopped!")
async def an_interrupt_inside_does_not_wait(dbg: Any) -> None:
    async with dbg.tool("slow", {}):
        raise KeyboardInterrupt


@case(gives=True, sends="llm_query begin end:ok")
async def a_response_that_is_not_json(dbg: Any) -> Any:
    response = (1, complex(2))
    async with dbg.llm("p") as q:
        q.response = response
    return q.response is response


# ---- other answers ----------------------------------------------------------------------------------


@case(
    DenyAnswer(reason="not this file"),
    raises=ToolDeniedError,
    sends="tool_invocation begin end:error!",
)
async def denied(dbg: Any) -> None:
    async with dbg.tool("rm", {}):
        raise AssertionError("the block isn't entered")


@case(
    RaiseAnswer(message="500 from the API"),
    raises=InjectedError,
    sends="llm_query begin end:error!",
)
async def made_to_fail(dbg: Any) -> None:
    await dbg.begin_llm_query_breakpoint("p")


@case(StopAnswer(), raises=AgentStopped, sends="llm_query begin end:stopped!")
async def stopped_at_the_begin(dbg: Any) -> None:
    await dbg.begin_llm_query_breakpoint("p")


@case(STEP, StopAnswer(), raises=AgentStopped, sends="llm_query begin end:ok")
async def stopped_at_the_end(dbg: Any) -> None:
    async with dbg.llm("p") as q:
        q.response = "r"


@case(
    STEP,
    StopAnswer(),
    raises=AgentStopped,
    sends="tool_invocation llm_query begin begin end:stopped! end:stopped!",
)
async def stopped_inside_another_event(dbg: Any) -> None:
    async with dbg.tool("outer", {}):
        async with dbg.llm("p"):
            raise AssertionError("the block isn't entered")


@case(
    SkipAnswer(result=Raw(b'{"n":1}')), gives=(True, {"n": 1}), sends="tool_invocation begin end:ok"
)
async def skipped_in_a_block_that_asks(dbg: Any) -> Any:
    async with dbg.tool("rm", {}) as t:
        if not t.skipped:
            raise AssertionError("the call was to be skipped")
    return t.skipped, t.result


@case(SkipAnswer(result=Raw(b'"theirs"')), gives="theirs", sends="llm_query begin end:ok")
async def skipped_in_a_block_that_does_not_ask(dbg: Any) -> Any:
    async with dbg.llm("p") as q:
        q.response = "mine"
    return q.response


@case(
    SkipAnswer(result=Raw(b'""')),
    make_edit_answer("[]"),
    gives=("p", []),
    sends="llm_query begin end:ok",
)
async def skipped_by_methods_and_edited_at_the_end(dbg: Any) -> Any:
    prompt = await dbg.begin_llm_query_breakpoint("p")
    return prompt, await dbg.end_llm_query_breakpoint("mine")


# ---- traced functions -------------------------------------------------------------------------------


@case(
    make_edit_answer('{"Tool":"add","Argument":{"a":2,"b":3}}'),
    gives=5,
    sends="tool_invocation begin end:ok",
)
async def traced(dbg: Any) -> Any:
    @dbg.traced_tool
    def add(a: int, b: int) -> int:
        return a + b

    return add(1, 1)


@case(
    make_edit_answer('{"prompt":"hello"}'),
    make_edit_answer('"HI"'),
    gives="HI",
    sends="llm_query begin end:ok",
)
async def traced_async(dbg: Any) -> Any:
    @dbg.traced_llm(model="m")
    async def ask(prompt: str) -> str:
        assert prompt == "hello"
        return prompt.upper()

    return await ask("hallo")


# ---- the tests --------------------------------------------------------------------------------------

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@both
@cases
def test_the_agent_gets(case: ScenarioCase, stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ScriptedAnswers(*case.answers)
    if case.raises is not None:
        with pytest.raises(case.raises):
            run(stepper_kind, core, case.scenario)
    else:
        result = run(stepper_kind, core, case.scenario)
        assert repr(result) == repr(case.gives), "equal, and of equal types"


@both
@pytest.mark.parametrize("case", [c for c in CASES if c.sends], ids=lambda case: case.name)
def test_the_core_hears(case: ScenarioCase, stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ScriptedAnswers(*case.answers)
    with _anything():
        run(stepper_kind, core, case.scenario)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    events = [e.kind.value for e in peer.events[1:]]
    points = [
        p.side.value + (f":{p.outcome}" if p.outcome else "") + ("" if p.waits else "!")
        for p in peer.halt_points[1:]
    ]
    wanted_events = [word for word in case.sends if word in set(EventKind)]
    wanted_points = [word for word in case.sends if word not in set(EventKind)]
    assert events == wanted_events
    if wanted_points:
        assert points == wanted_points


@cases
def test_both_say_the_same(case: ScenarioCase) -> None:
    heard = []
    for stepper_kind in ("sync", "async"):
        with ScriptedCore(ScriptedAnswers(*case.answers)) as core:
            with _anything():
                run(stepper_kind, core, case.scenario)
            peer = core.wait_for_peer()
            peer.wait_until_gone()
            heard.append(transcript(peer))
    assert heard[0] == heard[1]


def _anything() -> Any:
    """Whatever a scenario raises: what it sends is looked at."""
    import contextlib

    return contextlib.suppress(BaseException)
