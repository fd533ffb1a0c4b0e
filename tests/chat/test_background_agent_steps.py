"""The steps of a session of the queue in a chat: as pieces, edited, and missed."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any, cast

from agentstepper_nb import AsyncAgents
from agentstepper_nb.chat.connectors.background_agent import (
    BackgroundAgent,
    StepWaiter,
    describe_step,
)
from agentstepper_nb.protocol.chat import AgentOutput
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    AgentStep,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_requests import TopicEvent
from tests.chat.background_agent_chats import QueueChat, no_other_core, text
from tests.chat.harness import expect_refusal

__all__ = ["no_other_core"]


# ---- a step as pieces --------------------------------------------------------------------------------


def a_step(**given: Any) -> AgentStep:
    fields = {
        "id": "i",
        "created_at": 0.0,
        "agent_id": "a",
        "session_id": "s",
        "iteration": 4,
        "step_token": "t",
        "status": "running",
    }
    return AgentStep(**fields | given)


def test_data_is_shown_where_there_is_no_text() -> None:
    assert describe_step(a_step(text="Hi.", data={"x": 1})) == [text("Hi.")]
    (shown,) = describe_step(a_step(data={"x": [1]}))
    assert (shown.type, shown.language, shown.format) == ("CODE", "json", "result")
    assert shown.content == '{\n  "x": [\n    1\n  ]\n}'
    (large,) = describe_step(a_step(data="x" * 300_000))
    assert large.content.endswith("[… 300,002 characters in all]")


def test_a_step_that_says_nothing_or_ends_the_session_is_told() -> None:
    (note,) = describe_step(a_step(notes="It waits."))
    assert (note.role, note.content) == ("system", "Step 4 returned no text. It waits.")
    said, ended = describe_step(a_step(text="Bye.", status="done", notes="All is done."))
    assert said == text("Bye.")
    assert ended.content == "The session has ended with this step (done). All is done."


def test_a_step_that_failed_is_an_error() -> None:
    with expect_refusal("session_over", "Step 4 failed.*No key"):
        describe_step(a_step(status="error", error="No key."))


# ---- where it is edited, or something was missed -----------------------------------------------------


def a_state(**given: Any) -> AgentState:
    fields = {
        "agent_id": "a",
        "session_id": "s",
        "status": SessionStatus.RUNNING,
        "moniker": "m",
        "created_at": 0.0,
        "updated_at": 0.0,
    }
    return AgentState(**fields | given)


ACTION = Action(id="x", created_at=0, kind=ActionKind.INPUT, agent_id="a", session_id="s")
DONE = Action(
    id="x",
    created_at=0,
    kind=ActionKind.INPUT,
    agent_id="a",
    session_id="s",
    status=ActionStatus.DONE,
)


class ScriptedAgents:
    """Agents that tell what a test says.

    Attributes:
        steps: What there is.
    """

    def __init__(self, *notices: TopicEvent, steps: tuple[AgentStep, ...] = ()) -> None:
        self._notices = notices
        self.steps = steps

    async def watch(self, topic: str) -> AsyncGenerator[TopicEvent, None]:
        for notice in self._notices:
            yield notice
        raise AssertionError("it waits for more")

    async def state(self, session_id: str) -> AgentState:
        return a_state(iteration=3)

    async def send_input(self, text: str, *, session_id: str) -> Action:
        return ACTION

    async def actions(self, *, id: str) -> list[Action]:
        return [DONE]

    async def list_agent_steps(
        self, session_id: str, *, min_iteration: int, limit: int
    ) -> list[AgentStep]:
        return [step for step in self.steps if step.iteration >= min_iteration]


def notice(event: Any, **given: Any) -> TopicEvent:
    return TopicEvent(topic="session:s", n=0, event=event, **given)


async def answered(
    agents: ScriptedAgents, text: str | None = "Hi.", heard: int | None = None
) -> list[Any]:
    waiting = StepWaiter(cast(AsyncAgents, agents), a_state(iteration=3), text, heard)
    return [step async for step in waiting.steps()]


BEGIN = notice("begin", states=(a_state(iteration=3),))
TOLD = notice("action", actions=(DONE,))


def state(**given: Any) -> TopicEvent:
    return notice("state", states=(a_state(**given),))


def step(iteration: int, guidance: str | None) -> TopicEvent:
    return notice("step", steps=(a_step(iteration=iteration, guidance=guidance),))


async def test_where_a_person_edits_what_the_step_is_given_it_answers_all_the_same() -> None:
    idle = state(iteration=3, guidance="Hi.")
    (found,) = await answered(ScriptedAgents(BEGIN, idle, TOLD, step(3, "Edited.")))
    assert found.iteration == 3
    busy = state(iteration=3, guidance="Hi.", context={"given": "Another."})
    (found,) = await answered(
        ScriptedAgents(BEGIN, busy, TOLD, step(3, "Another."), step(4, "Edited."))
    )
    assert found.iteration == 4
    (found,) = await answered(ScriptedAgents(BEGIN, idle, TOLD, step(3, None), step(4, None)))
    assert found.iteration == 4  # a step was under way that was told nothing


async def test_what_was_missed_while_the_connection_was_gone_is_asked_for() -> None:
    before = (a_step(iteration=2, guidance="Hi."), a_step(iteration=3, guidance="Hi."))
    again = notice("begin", states=(a_state(iteration=9),))
    (found,) = await answered(ScriptedAgents(BEGIN, again, steps=before))
    assert found.iteration == 3
    all_since = await answered(ScriptedAgents(BEGIN, steps=before), text=None, heard=2)
    assert [each.iteration for each in all_since] == [2, 3]


async def test_its_run_in_the_debugger_is_known_once_it_has_one(tmp_path: Path) -> None:
    queue = BackgroundAgent("s")
    begun = notice("state", states=(a_state(iteration=3, run_id="r1"),))
    queue._agents = cast(AsyncAgents, ScriptedAgents(BEGIN, begun, TOLD, step(3, "Hi.")))
    assert await QueueChat(None, queue, tmp_path).send("Hi.") == [
        AgentOutput(role="system", content="Step 3 returned no text.")
    ]
    assert (queue.run_id("c1"), queue.run_id("c2")) == ("r1", None)
