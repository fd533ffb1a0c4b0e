"""Events of types that the agent names itself, sync and async."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from agentstepper_nb.errors import ToolDeniedError
from agentstepper_nb.protocol.answers import DenyAnswer, ResumeAnswer
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide
from tests.sdk.both_steppers import both, run, transcript
from tests.sdk.scripted_core import ScriptedAnswers, ScriptedCore, make_edit_answer


@pytest.fixture
def core() -> Iterator[ScriptedCore]:
    with ScriptedCore() as core:
        yield core


async def retrieve(dbg: Any) -> tuple[Any, Any]:
    """A retrieval in which a model is asked: what it was about, and what came of it."""
    query = {"query": "boats"}
    async with dbg.event("retrieval", query) as e:
        seen = e.data
        async with dbg.llm("which?") as q:
            q.response = "all"
        e.result = ["a boat"]
    return seen is query or seen, e.result


@both
def test_a_custom_event(stepper_kind: str, core: ScriptedCore) -> None:
    assert run(stepper_kind, core, retrieve) == (True, ["a boat"])
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    event, query = peer.events[1:]
    assert (event.kind, event.name, event.parent) == (EventKind.CUSTOM, "retrieval", None)
    assert query.parent == event.id
    begin, end = (point for point in peer.halt_points if point.event == event.id)
    assert (begin.side, bytes(begin.data)) == (EventSide.BEGIN, b'{"query":"boats"}')
    assert (end.side, bytes(end.data), end.outcome) == (
        EventSide.END,
        b'["a boat"]',
        EventOutcome.OK,
    )
    assert begin.waits and end.waits


def test_both_say_the_same() -> None:
    said = []
    for stepper_kind in ("sync", "async"):
        with ScriptedCore() as core:
            run(stepper_kind, core, retrieve)
            peer = core.wait_for_peer()
            peer.wait_until_gone()
            said.append(transcript(peer))
    assert said[0] == said[1]


@both
def test_edits_at_both_ends(stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ScriptedAnswers(
        ResumeAnswer(),
        make_edit_answer("7"),
        ResumeAnswer(),
        ResumeAnswer(),
        make_edit_answer("null"),
    )
    assert run(stepper_kind, core, retrieve) == (7, None)


@both
def test_an_exception_inside(stepper_kind: str, core: ScriptedCore) -> None:
    async def failing(dbg: Any) -> None:
        async with dbg.event("retrieval"):
            raise OSError("no index")

    with pytest.raises(OSError, match="no index"):
        run(stepper_kind, core, failing)
    peer = core.wait_for_peer()
    peer.wait_until_gone()
    end = peer.halt_points[-1]
    assert (end.outcome, end.failure and end.failure.type) == (EventOutcome.ERROR, "OSError")


@both
def test_it_can_be_denied(stepper_kind: str, core: ScriptedCore) -> None:
    core.policy = ScriptedAnswers(ResumeAnswer(), DenyAnswer(reason="not now"))
    with pytest.raises(ToolDeniedError, match="not now"):
        run(stepper_kind, core, retrieve)


@both
def test_what_is_shown_can_be_redacted(stepper_kind: str, core: ScriptedCore) -> None:
    words: list[str] = []

    def redact(word: str, value: Any) -> Any:
        words.append(word)
        return value

    run(stepper_kind, core, retrieve, redact=redact)
    assert words == ["program", "event", "prompt", "response", "event_result"]


@both
@pytest.mark.parametrize("name", ["", "Retrieval", "two words", "x" * 41, "a\n"])
def test_a_name_that_no_type_can_have(stepper_kind: str, core: ScriptedCore, name: str) -> None:
    async def misnamed(dbg: Any) -> None:
        async with dbg.event(name):
            raise AssertionError("entered")

    with pytest.raises(ValueError, match="isn't a valid event type: name it by a lower-case word"):
        run(stepper_kind, core, misnamed)


@both
def test_at_the_original_s_core(stepper_kind: str) -> None:
    """There it is a tool invocation, whose data says what it is here."""
    with ScriptedCore(version=1) as core:
        assert run(stepper_kind, core, retrieve) == (True, ["a boat"])
        peer = core.wait_for_peer()
        peer.wait_until_gone()
        events = [each for each in peer.received if type(each).__name__ == "V1Event"]
    assert [each.type for each in events[:2]] == ["PROGRAM_STARTED", "TOOL_INVOCATION"]
    assert bytes(events[1].data) == b'{"custom":"retrieval"}'
