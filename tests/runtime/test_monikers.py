"""Monikers that come with the package: what they do with a model, and how they are found."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from agentstepper_nb import entry_point_loader
from agentstepper_nb.errors import CommandError, StepFrameError
from agentstepper_nb.llm_wire.conversation import ModelRequest, ToolResultMessage, UserMessage
from agentstepper_nb.runtime.frame import FrameIn, FrameOut
from agentstepper_nb.runtime.moniker import MonikerContext
from agentstepper_nb.runtime.monikers import llm, registry
from agentstepper_nb.runtime.monikers.joke import JokeMoniker
from agentstepper_nb.runtime.monikers.llm import LlmConfig, LlmStepContext, run_moniker_step
from tests.coding.scripted_parts import (
    Answer,
    FakeProvider,
    make_failure,
    make_text_answer,
    make_tool_calls,
)
from tests.runtime.live_sessions import harness

LOG = logging.getLogger("agentstepper_nb.test")
CONFIG = LlmConfig(task="Count.", provider="scripted", model="m")
GOOD = {"step": "s", "next_step": "t", "state": {"n": 1}, "text": "One.", "done": False}
FRAME = FrameIn(step="s", state=None)


def a_task(config: Any) -> MonikerContext:
    return MonikerContext("a", "s", config, Path("nowhere"), None, LOG)


async def answered(
    *answers: Answer | Callable[[ModelRequest], Answer],
) -> tuple[FrameOut, FakeProvider]:
    model = FakeProvider(*answers)
    return await run_moniker_step(FRAME, LlmStepContext(CONFIG, model)), model


# ---- llm ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer",
    [
        make_tool_calls(("1", "step_frame", GOOD)),
        make_text_answer(json.dumps(GOOD)),
        make_text_answer(f"```json\n{json.dumps(GOOD)}\n```"),
    ],
)
async def test_a_model_answers_with_a_frame(answer: Answer) -> None:
    out, model = await answered(answer)
    assert out == FrameOut(**GOOD)
    (request,) = model.requests
    assert "Count." in (request.system or "")
    assert request.messages == (UserMessage(content='{"step":"s","state":null}'),)
    (tool,) = request.tools
    assert tool.input_schema["additionalProperties"] is False
    assert tool.input_schema["required"] == ["step", "next_step", "done"]


async def test_it_is_told_the_state_and_the_guidance() -> None:
    model = FakeProvider(make_text_answer(json.dumps(GOOD)))
    frame = FrameIn(step="s", state={"n": 1}, guidance="Faster.")
    await run_moniker_step(frame, LlmStepContext(CONFIG, model))
    (message,) = model.requests[0].messages
    assert isinstance(message, UserMessage)
    assert json.loads(message.content) == {"step": "s", "state": {"n": 1}, "guidance": "Faster."}


@pytest.mark.parametrize(
    ("bad", "why"),
    [
        (make_text_answer("I counted."), "it is no frame"),
        (make_text_answer(json.dumps(GOOD | {"more": 1})), "unknown field `more`"),
        (make_text_answer(json.dumps(GOOD | {"done": "no"})), "$.done"),
        (make_text_answer(json.dumps(GOOD | {"step": "other"})), "a frame of step 'other'"),
        (make_tool_calls(("1", "step_frame", "{")), "it is no frame"),
        (make_tool_calls(("1", "step_frame", GOOD), ("2", "step_frame", GOOD)), "called once"),
        (make_tool_calls(("1", "shell", {})), "there is one tool"),
        (make_text_answer(""), "it is no frame"),
    ],
)
async def test_a_bad_answer_is_repaired_once(bad: Answer, why: str) -> None:
    out, model = await answered(bad, make_tool_calls(("9", "step_frame", GOOD)))
    assert out == FrameOut(**GOOD)
    told = model.requests[1].messages[2:]
    assert told
    for message in told:
        assert isinstance(message, UserMessage | ToolResultMessage)
        assert why in message.content
    assert len(model.requests[1].messages) == 2 + max(1, len(_calls(model)))


def _calls(model: FakeProvider) -> Any:
    return model.requests[1].messages[1].tool_calls  # type: ignore[union-attr]


async def test_two_bad_answers_are_an_error() -> None:
    with pytest.raises(StepFrameError, match="nor was its first"):
        await answered(make_text_answer("No."), make_text_answer("No."))


async def test_no_answer_is_an_error() -> None:
    with pytest.raises(RuntimeError, match="The key is wrong"):
        await answered(make_failure("The key is wrong."))


async def test_a_session_that_a_model_does(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "counts.py"
    monkeypatch.setenv("AGENTSTEPPER_SCRIPTS", str(tmp_path))
    script.write_text(
        "import json\n"
        "from agentstepper_nb.models.scripted import *\n"
        "def frame(request):\n"
        "    asked = json.loads(next(m.text for m in request.messages if m.role == 'user'))\n"
        "    n = (asked.get('state') or 0) + 1\n"
        "    if n == 2 and find_turn(request) == 0:\n"
        "        return say('I forgot how.')\n"
        "    given = {'step': asked['step'], 'next_step': f's/{n}', 'state': n, 'done': n == 3}\n"
        "    return ScriptedCall('step_frame', given | {'text': f'number {n}'})\n"
        "script = Script('counts', [ScriptRule(always, frame)])\n"
    )
    config = {"task": "Count to three.", "provider": "scripted", "model": "counts"}
    async with harness(tmp_path) as home:
        agent = await home.start_agent(llm.LlmMoniker, moniker="llm", config=config)
        await agent.join()
        assert [row.text for row in await home.steps()] == ["number 1", "number 2", "number 3"]
        assert (await home.state()).status == "done"


# ---- joke --------------------------------------------------------------------------------------------


async def test_jokes_name_their_subject_and_guidance_changes_it() -> None:
    moniker = JokeMoniker(a_task({"subject": "cats", "interval_s": 0}))
    try:
        first = await moniker.step(FrameIn(step="start"))
        assert "cats" in (first.text or "").lower()
        assert (first.state, first.done) == ({"subject": "cats", "count": 1}, False)
        second = await moniker.step(FrameIn(step=first.next_step, state=first.state))
        assert second.text != first.text
        told = FrameIn(step=second.next_step, state=second.state, guidance="  dogs \n at sea")
        third = await moniker.step(told)
        assert "dogs at sea" in (third.text or "").lower()
        assert third.state == {"subject": "dogs at sea", "count": 3}
        again = JokeMoniker(a_task({"subject": "cats"}))
        fourth = await again.step(FrameIn(step=third.next_step, state=third.state))
        await again.close()
        assert fourth.data == {"subject": "dogs at sea", "number": 4}
    finally:
        await moniker.close()


def test_a_joke_waits_three_seconds_and_never_stops_on_done() -> None:
    moniker = JokeMoniker(a_task(None))
    assert (moniker.step_interval_s(), moniker.stop_on_done) == (3.0, False)


async def test_an_edited_state_begins_again() -> None:
    moniker = JokeMoniker(a_task({"subject": "cats"}))
    try:
        out = await moniker.step(FrameIn(step="start", state="nonsense", guidance=UNSET))
        assert out.data == {"subject": "cats", "number": 1}
    finally:
        await moniker.close()


# ---- the registry ------------------------------------------------------------------------------------


def test_monikers_are_found_by_name() -> None:
    found = registry.load_monikers()
    assert {"coding", "joke", "llm"} <= set(found)
    assert registry.find_moniker("joke") is JokeMoniker
    for name, moniker in found.items():
        assert getattr(moniker, "name", name) == name


def test_an_unknown_moniker_says_which_there_are() -> None:
    with pytest.raises(
        CommandError, match=r"There is no moniker 'jest'; there are: .*joke"
    ) as caught:
        registry.find_moniker("jest")
    assert caught.value.code == "invalid_message"


@pytest.mark.parametrize(
    ("name", "config", "why"),
    [
        ("joke", {"subject": ""}, "length >= 1"),
        ("joke", {"topic": "x"}, "unknown field `topic`"),
        ("joke", {"provider": "nobody"}, "no provider 'nobody'"),
        ("joke", [], "Expected `object`"),
        ("llm", None, "required field `task`"),
        ("llm", {"task": "x", "provider": "openai", "model": ""}, "length >= 1"),
        (
            "coding",
            {"workspace": ".", "prompt": "x", "provider": "scripted", "model": "jokes"},
            "absolute",
        ),
    ],
)
def test_a_config_that_can_not_work_is_refused(name: str, config: Any, why: str) -> None:
    with pytest.raises(CommandError, match="can't be used") as caught:
        registry.check_config(name, config)
    assert why in caught.value.message
    assert caught.value.code == "invalid_message"


def test_a_config_that_can_work_is_not() -> None:
    registry.check_config("joke", None)
    registry.check_config("llm", {"task": "x", "provider": "openai", "model": "m", "interval_s": 1})


class _Theirs:
    """An entry point of another package."""

    def __init__(self, name: str, gives: Any) -> None:
        self.name, self.value, self._gives = name, f"theirs:{name}", gives

    def load(self) -> Any:
        if isinstance(self._gives, Exception):
            raise self._gives
        return self._gives


def _make(task: MonikerContext) -> JokeMoniker:
    return JokeMoniker(task)


def test_other_packages_bring_monikers_and_one_that_fails_hinders_no_other(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    points = [
        _Theirs("class", JokeMoniker),
        _Theirs("function", _make),
        _Theirs("broken", ImportError("no such module")),
        _Theirs("other", dict),
        _Theirs("value", 3),
    ]

    def find_points(group: str) -> list[Any]:
        assert group == "agentstepper_nb.monikers"
        return points

    monkeypatch.setattr(entry_point_loader, "_find_points", find_points)
    assert registry.load_monikers() == {"class": JokeMoniker, "function": _make}
    registry.check_config("function", {"anything": "goes"})  # a function says so where it is called
    for name, why in (("broken", "no such module"), ("other", "neither"), ("value", "neither")):
        with pytest.raises(CommandError, match=why):
            registry.find_moniker(name)
