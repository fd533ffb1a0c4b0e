"""The flow without any driver: a conversation with a generator."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Raw

from agentstepper_nb import AgentStopped, ConnectionLostError
from agentstepper_nb.protocol.agent import EventBegun, HaltPointReached, Withdraw
from agentstepper_nb.protocol.answers import ResumeAnswer, SkipAnswer, StopAnswer
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, Usage
from agentstepper_nb.sdk.cost_estimates import find_usage
from agentstepper_nb.sdk.flow_effects import AwaitAnswerEffect, FlushEffect, SendEffect
from agentstepper_nb.sdk.halt_flow import HaltFlow
from agentstepper_nb.sdk.payload import PayloadEncoder, find_model
from agentstepper_nb.sdk.record_payloads import pack_failure
from agentstepper_nb.sdk.run_events import find_innermost_event

LLM = EventKind.LLM_QUERY


@pytest.fixture
def flow() -> HaltFlow:
    return HaltFlow("run-1", "Program", PayloadEncoder())


def finish(steps: Any, answer: Any) -> Any:
    """Send the last answer in, and give what the flow came to."""
    with pytest.raises(StopIteration) as done:
        steps.send(answer)
    return done.value.value


def test_a_query(flow: HaltFlow) -> None:
    prompt = ["p"]
    begin = flow.begin(LLM, prompt, "model")
    step = next(begin)
    assert isinstance(step, AwaitAnswerEffect)
    event, point = step.messages
    assert isinstance(event, EventBegun)
    assert isinstance(point, HaltPointReached)
    assert step.halt_point == point.id
    assert find_innermost_event("run-1") is None, "not begun before it is answered"
    begun = finish(begin, ResumeAnswer())
    assert begun.value is prompt
    assert find_innermost_event("run-1") is begun.event
    assert find_innermost_event("run-2") is None

    end = flow.end(LLM, "r")
    step = next(end)
    assert isinstance(step, AwaitAnswerEffect)
    assert find_innermost_event("run-1") is None, "ended as soon as it is sent"
    assert finish(end, ResumeAnswer(data=Raw(b'"edited"'))).value == "edited"


def test_a_debug_message_is_sent_and_flushed(flow: HaltFlow) -> None:
    steps = flow.post_debug_message("hello")
    assert isinstance(next(steps), SendEffect)
    assert steps.send(None) == FlushEffect()
    finish(steps, None)


def test_what_breaks_a_wait_is_told_and_raised_on(flow: HaltFlow) -> None:
    steps = flow.begin(LLM, "p")
    asked = next(steps)
    assert isinstance(asked, AwaitAnswerEffect)
    step = steps.throw(KeyboardInterrupt())
    assert step == SendEffect((Withdraw(halt_point=asked.halt_point),))
    step = steps.send(None)
    assert isinstance(step, SendEffect)
    [end] = step.messages
    assert isinstance(end, HaltPointReached)
    assert (end.outcome, end.waits) == (EventOutcome.STOPPED, False)
    with pytest.raises(KeyboardInterrupt):
        steps.send(None)
    assert find_innermost_event("run-1") is None


@pytest.mark.parametrize("error", [ConnectionLostError("gone"), GeneratorExit()])
def test_nothing_is_said_where_nobody_hears(flow: HaltFlow, error: BaseException) -> None:
    steps = flow.begin(LLM, "p")
    next(steps)
    with pytest.raises(type(error)):
        steps.throw(error)


def test_a_skip_waits_for_its_end(flow: HaltFlow) -> None:
    steps = flow.begin(LLM, "p")
    next(steps)
    begun = finish(steps, SkipAnswer(result=Raw(b"{}")))
    assert (begun.value, begun.event.skipped, begun.event.result) == ("p", True, {})
    end = flow.end(LLM, "made all the same")
    step = next(end)
    assert isinstance(step, AwaitAnswerEffect)
    [point] = step.messages
    assert isinstance(point, HaltPointReached)
    assert bytes(point.data) == b"{}"
    assert finish(end, ResumeAnswer()).value is begun.event.result


def test_stop_leaves_no_failure_behind(flow: HaltFlow) -> None:
    steps = flow.begin(LLM, "p")
    next(steps)
    step = steps.send(StopAnswer())
    assert isinstance(step, SendEffect)
    [end] = step.messages
    assert isinstance(end, HaltPointReached)
    assert (end.outcome, end.failure) == (EventOutcome.STOPPED, None)
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
    assert find_usage(response) == usage


@pytest.mark.parametrize(
    ("prompt", "model"),
    [({"model": "gpt"}, "gpt"), ({"model": 3}, None), ({"messages": []}, None), ("gpt", None)],
)
def test_the_model_is_read_from_a_prompt(prompt: Any, model: str | None) -> None:
    assert find_model(prompt) == model


def test_a_failure_s_text(flow: HaltFlow) -> None:
    class Odd(Exception):
        def __str__(self) -> str:
            raise ValueError

    encoder = PayloadEncoder()
    assert pack_failure(encoder, Odd()).message == "(its text can't be made)"
    assert pack_failure(encoder, ValueError("x" * 20_000)).message.endswith("x…")
    assert pack_failure(encoder, ConnectionLostError("m")).type == (
        "agentstepper_nb.errors.ConnectionLostError"
    )
