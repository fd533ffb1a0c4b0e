"""The flow without any driver: a conversation with a generator."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStopped, ConnectionLostError
from agentstepper_nb.protocol.agent import (
    BreakpointReached,
    EventBegun,
    Resume,
    Skip,
    Stop,
    Withdraw,
)
from agentstepper_nb.protocol.values import EventKind, Outcome, Usage
from agentstepper_nb.sdk.flow import Flow, model_of, usage_of
from agentstepper_nb.sdk.packing import Packer
from agentstepper_nb.sdk.steps import Ask, Flush, Send, innermost

LLM = EventKind.LLM_QUERY


@pytest.fixture
def flow() -> Flow:
    return Flow("run-1", "Program", Packer())


def finish(steps: Any, answer: Any) -> Any:
    """Send the last answer in, and give what the flow came to."""
    with pytest.raises(StopIteration) as done:
        steps.send(answer)
    return done.value.value


def test_a_query(flow: Flow) -> None:
    prompt = ["p"]
    begin = flow.begin(LLM, prompt, "model")
    step = next(begin)
    assert isinstance(step, Ask)
    event, point = step.messages
    assert isinstance(event, EventBegun)
    assert isinstance(point, BreakpointReached)
    assert step.breakpoint == point.id
    assert innermost("run-1") is None, "not begun before it is answered"
    begun = finish(begin, Resume())
    assert begun.value is prompt
    assert innermost("run-1") is begun.event
    assert innermost("run-2") is None

    end = flow.end(LLM, "r")
    step = next(end)
    assert isinstance(step, Ask)
    assert innermost("run-1") is None, "ended as soon as it is sent"
    assert finish(end, Resume(data=Raw(b'"edited"'))).value == "edited"


def test_a_debug_message_is_sent_and_flushed(flow: Flow) -> None:
    steps = flow.debug("hello")
    assert isinstance(next(steps), Send)
    assert steps.send(None) == Flush()
    finish(steps, None)


def test_what_breaks_a_wait_is_told_and_raised_on(flow: Flow) -> None:
    steps = flow.begin(LLM, "p")
    asked = next(steps)
    assert isinstance(asked, Ask)
    step = steps.throw(KeyboardInterrupt())
    assert step == Send((Withdraw(breakpoint=asked.breakpoint),))
    step = steps.send(None)
    assert isinstance(step, Send)
    [end] = step.messages
    assert isinstance(end, BreakpointReached)
    assert (end.outcome, end.waits) == (Outcome.STOPPED, False)
    with pytest.raises(KeyboardInterrupt):
        steps.send(None)
    assert innermost("run-1") is None


@pytest.mark.parametrize("error", [ConnectionLostError("gone"), GeneratorExit()])
def test_nothing_is_said_where_nobody_hears(flow: Flow, error: BaseException) -> None:
    steps = flow.begin(LLM, "p")
    next(steps)
    with pytest.raises(type(error)):
        steps.throw(error)


def test_a_skip_waits_for_its_end(flow: Flow) -> None:
    steps = flow.begin(LLM, "p")
    next(steps)
    begun = finish(steps, Skip(result=Raw(b"{}")))
    assert (begun.value, begun.event.skipped, begun.event.result) == ("p", True, {})
    end = flow.end(LLM, "made all the same")
    step = next(end)
    assert isinstance(step, Ask)
    [point] = step.messages
    assert isinstance(point, BreakpointReached)
    assert bytes(point.data) == b"{}"
    assert finish(end, Resume()).value is begun.event.result


def test_stop_leaves_no_failure_behind(flow: Flow) -> None:
    steps = flow.begin(LLM, "p")
    next(steps)
    step = steps.send(Stop())
    assert isinstance(step, Send)
    [end] = step.messages
    assert isinstance(end, BreakpointReached)
    assert (end.outcome, end.failure) == (Outcome.STOPPED, None)
    with pytest.raises(AgentStopped):
        steps.send(None)


@pytest.mark.parametrize(
    ("response", "usage"),
    [
        (
            {"usage": {"prompt_tokens": 1, "completion_tokens": 2}},
            Usage(input_tokens=1, output_tokens=2),
        ),
        (
            {"usage": {"input_tokens": 1, "output_tokens": 2, "more": 3}},
            Usage(input_tokens=1, output_tokens=2),
        ),
        (
            {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0.25}},
            Usage(input_tokens=1, output_tokens=2, cost=0.25),
        ),
        (
            {"usage": {"prompt_tokens": 1, "completion_tokens": 2, "cost": 0}},
            Usage(input_tokens=1, output_tokens=2, cost=0.0),
        ),
        *(
            (
                {"usage": {"input_tokens": 1, "output_tokens": 2, "cost": cost}},
                Usage(input_tokens=1, output_tokens=2),
            )
            for cost in (None, True, "0.25", -1, float("nan"), float("inf"), 10**400)
        ),
        ({"usage": None}, None),
        ("text", None),
    ],
)
def test_usage_is_read_from_a_response(response: Any, usage: Usage | None) -> None:
    assert usage_of(response) == usage


@pytest.mark.parametrize(
    ("prompt", "model"),
    [({"model": "gpt"}, "gpt"), ({"model": 3}, None), ({"messages": []}, None), ("gpt", None)],
)
def test_the_model_is_read_from_a_prompt(prompt: Any, model: str | None) -> None:
    assert model_of(prompt) == model


def test_a_failure_s_text(flow: Flow) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    packer = Packer()
    assert packer.failure(Odd()).message == "(its text can't be made)"
    assert packer.failure(ValueError("x" * 20_000)).message.endswith("x…")
    assert packer.failure(ConnectionLostError("m")).type == (
        "agentstepper_nb.errors.ConnectionLostError"
    )
