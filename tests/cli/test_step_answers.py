"""Answers in a call's place, and guides, in `agentstepper step`."""

from __future__ import annotations

import json

import pytest
from msgspec import Raw

from agentstepper_nb.protocol.answers import RaiseAnswer, SkipAnswer
from agentstepper_nb.protocol.data_model import EventSide

from .agent import SocketAgent
from .conftest import PROMPT, Step, quits
from .step_harness import StepSessionHarness, halted


def test_a_call_is_skipped(through_pipes: Step, ui_url: str, agent: SocketAgent) -> None:
    step = through_pipes("--url", ui_url)
    agent.begin_tool_call("add", a=1)
    step.expect(PROMPT)
    step.sendline("skip {3")
    step.expect("The result isn't JSON: line 1, column 2")
    step.expect("Nothing was sent")
    step.expect(PROMPT)
    step.sendline('skip {"sum": 3.0}')
    assert agent.receive_whole_answer() == SkipAnswer(result=Raw(b'{"sum": 3.0}'))
    quits(step)


@pytest.mark.parametrize(
    ("line", "raised"),
    [
        ("raise TimeoutError: no answer", RaiseAnswer(message="no answer", type="TimeoutError")),
        ("raise app.Down: it is", RaiseAnswer(message="it is", type="app.Down")),
        ("raise no answer: again", RaiseAnswer(message="no answer: again")),
    ],
)
def test_an_exception_is_raised(
    line: str, raised: RaiseAnswer, through_pipes: Step, ui_url: str, agent: SocketAgent
) -> None:
    step = through_pipes("--url", ui_url)
    agent.begin_tool_call("add", a=1)
    step.expect(PROMPT)
    step.sendline(line)
    assert agent.receive_whole_answer() == raised
    quits(step)


@pytest.mark.slow
def test_a_prompt_is_guided(through_pipes: Step, ui_url: str, agent: SocketAgent) -> None:
    prompt = {"messages": [{"role": "user", "content": "hello"}]}
    step = through_pipes("--url", ui_url)
    agent.begin_query(prompt)
    step.expect(PROMPT)
    step.sendline("guide")
    step.expect("Message to add to the prompt")
    step.sendline("Be brief.")
    step.expect("edited:")
    step.expect("Be brief")
    step.expect(PROMPT)
    step.sendline("s")
    guided = json.loads(agent.receive_answer())
    assert guided == {"messages": [*prompt["messages"], {"role": "user", "content": "Be brief."}]}
    quits(step)


def test_an_answer_that_does_not_fit_is_refused(
    through_pipes: Step, ui_url: str, agent: SocketAgent
) -> None:
    step = through_pipes("--url", ui_url)
    event = agent.begin_tool_call("add", a=1)
    step.expect(PROMPT)
    step.sendline("guide Be brief.")
    step.expect(r"Refused \(cannot_guide\)")
    step.expect(PROMPT)
    step.sendline("s")
    assert agent.receive_answer() == "resume"
    agent.reach(event, EventSide.END, "3")
    step.expect(PROMPT)
    step.sendline("skip 4")
    step.expect(r"Refused \(cannot_skip\)")
    step.expect(PROMPT)
    step.sendline("s")
    assert agent.receive_answer() == "resume"
    quits(step)


@pytest.mark.parametrize("word", ["skip", "raise", "guide"])
def test_an_empty_line_answers_nothing(word: str) -> None:
    harness = halted()
    sent = len(harness.sent)
    harness.keys.execute_line(word)
    assert "an empty line cancels" in harness.take_shown()
    harness.keys.execute_line("")
    assert "Nothing was sent." in harness.take_shown()
    assert len(harness.sent) == sent


def test_nothing_is_answered_where_nothing_is_halted() -> None:
    harness = StepSessionHarness()
    harness.hello()
    harness.keys.execute_line("skip 3")
    assert "Only the message at which the agent is halted" in harness.take_shown()
