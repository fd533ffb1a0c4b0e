"""The agent in the debugger: a real Core, somebody at its view, and what their edits come to."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import AgentStepperCore, AsyncAgentStepper
from agentstepper_nb.coding.approvals import Decision
from agentstepper_nb.coding.limits import Limits
from agentstepper_nb.coding.log_reader import load_messages
from agentstepper_nb.coding.orchestrator import AgentOrchestrator, RunResult
from agentstepper_nb.coding.session_log import SessionLog
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ChatMessage,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import AgentEvent, ToolCallReady, TraceEvent
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.values import Actor, RunState
from tests.coding.playing import Answering, Box, Doing, Playing, Saying, calls, fails, says
from tests.sdk.person import Person

ASKS = ("1", "t", {"policy": "requires_approval", "n": 1})


class View(Person):
    """Somebody at the view, for asyncio."""

    async def at(self) -> Any:
        """Wait until the agent halts; what it halts at."""
        return await asyncio.to_thread(self._halted)

    def _halted(self) -> Any:
        halted = self.halted()
        return self.body(next(row for row in self.rows() if row.id == halted))

    async def steps(self, edit: Any = ...) -> None:
        await asyncio.to_thread(self.step, edit)

    async def approves(self, edit: Any = None, always: bool = False) -> None:
        await asyncio.to_thread(self._approve, edit, always)

    def _approve(self, edit: Any, always: bool) -> None:
        halted, text = self.halted(), None if edit is None else json.dumps(edit)
        self._command(
            ui.Approve(run=self.run.id, breakpoint=halted, revision=1, edit=text, always=always)
        )

    async def denies(self, reason: str) -> None:
        await asyncio.to_thread(self._deny, reason)

    def _deny(self, reason: str) -> None:
        halted = self.halted()
        self._command(ui.Deny(run=self.run.id, breakpoint=halted, revision=1, reason=reason))


class Debugged:
    """An agent in the debugger, and all that it told."""

    def __init__(
        self, folder: Path, model: Playing, dbg: AsyncAgentStepper, **options: Any
    ) -> None:
        self.tool = Doing("t", options.pop("does", lambda args: args))
        self.events: list[AgentEvent] = []
        self.log = SessionLog(folder / "log.jsonl")
        root = folder / "root"
        root.mkdir()
        self.kept: list[Any] = []
        self.agent = AgentOrchestrator(
            model,
            "m",
            LocalWorkspace(root),
            Box([self.tool]),
            Saying(),
            dbg=dbg,
            session_log=self.log,
            listeners=[self.events.append],
            remember=lambda *rule: self.kept.append(rule),
            **options,
        )

    def traces(self, kind: str) -> list[Any]:
        events = [event for event in self.events if isinstance(event, TraceEvent)]
        return [event.data for event in events if event.kind == kind]

    def result(self, call_id: str = "1") -> ToolResultMessage:
        return next(
            message
            for message in self.agent.messages
            if isinstance(message, ToolResultMessage) and message.call_id == call_id
        )


@pytest.fixture
def core() -> Iterator[AgentStepperCore]:
    with AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core:
        yield core


@pytest.fixture
def view(core: AgentStepperCore) -> Iterator[View]:
    with View(core.ui_port) as view:
        yield view


Debug = Callable[..., Any]


@pytest.fixture
def debug(core: AgentStepperCore, tmp_path: Path) -> Debug:
    """Opens an agent in the debugger; at its end log and conversation agree."""

    @asynccontextmanager
    async def opened(model: Playing, mode: Any = "step", **options: Any) -> AsyncIterator[Debugged]:
        dbg = AsyncAgentStepper(
            "coder", "127.0.0.1", core.client_port, stop_on_entry=False, mode=mode
        )
        async with dbg:
            made = Debugged(tmp_path, model, dbg, **options)
            yield made
        made.log.close()
        assert load_messages(made.log.path, pytest.fail) == list(made.agent.messages)

    return opened


def go(agent: AgentOrchestrator) -> asyncio.Task[RunResult]:
    return asyncio.create_task(agent.run("Go."))


# ---- queries -----------------------------------------------------------------------------------------


def test_the_edited_prompt_is_sent_and_gone_on_with(view: View, debug: Debug) -> None:
    async def scene() -> None:
        model = Playing(calls(("1", "t", {"policy": "denied"})), says("I see."), says("Yes."))
        async with debug(model) as made:
            running = go(made.agent)
            for _ in range(4):
                await view.at()
                await view.steps()
            prompt = await view.at()
            roles = [message["role"] for message in prompt["messages"]]
            assert roles == ["system", "user", "assistant", "tool"]
            assert prompt["tools"][0]["function"]["name"] == "t"
            prompt["messages"][1]["content"] = "Go slowly."
            prompt["messages"].append({"role": "user", "content": "And then?"})
            prompt["model"] = "n"
            await view.steps(prompt)
            await view.steps()
            result = await running
            assert result.reason == "done"
            sent = model.requests[1]
            assert sent.model == "n"
            assert sent.messages[0] == UserMessage(content="Go slowly.")
            # What was left alone is the same as ever, with what JSON doesn't say of it.
            assert sent.messages[1:3] == result.messages[1:3]
            assert not made.result().ok
            assert result.messages[3] == UserMessage(content="And then?")
            (edit,) = made.traces("edited")
            assert (edit["what"], edit["kept"]) == ("prompt", 0)

    asyncio.run(scene())


def test_the_edited_answer_is_what_acts(view: View, debug: Debug) -> None:
    async def scene() -> None:
        async with debug(Playing(says("No."), says("Done."))) as made:
            running = go(made.agent)
            await view.steps()
            answer = await view.at()
            assert answer == {"role": "assistant", "content": "No."}
            function = {"name": "t", "arguments": '{"n": 7}'}
            answer["tool_calls"] = [{"id": "x", "type": "function", "function": function}]
            await view.steps(answer)
            await asyncio.to_thread(view.halted)
            await asyncio.to_thread(view.go_on)
            assert (await running).reason == "done"
            assert made.tool.did == [{"n": 7}]
            assert [e.call_id for e in made.events if isinstance(e, ToolCallReady)] == ["x"]
            (edit,) = made.traces("edited")
            assert (edit["what"], edit["message"]) == ("answer", answer)

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("side", "edit", "why"),
    [(0, {"model": 1}, "edited prompt can't be sent"), (1, [1], "edited answer can't be used")],
)
def test_an_edit_that_is_no_query_ends_it_and_says_why(
    view: View, debug: Debug, side: int, edit: Any, why: str
) -> None:
    async def scene() -> None:
        async with debug(Playing(says("No."))) as made:
            running = go(made.agent)
            for _ in range(side):
                await view.steps()
                await view.at()
            await view.steps(edit)
            if side == 0:  # the failed query halts
                await asyncio.to_thread(view.go_on)
            result = await running
            assert result.reason == "error"
            assert why in (result.error or "")

    asyncio.run(scene())


def test_a_failed_query_may_be_given_its_answer(view: View, debug: Debug) -> None:
    async def scene() -> None:
        async with debug(Playing(fails("The key is wrong."))) as made:
            running = go(made.agent)
            await view.steps()
            await view.at()
            await view.steps("It is fine.")
            result = await running
            assert result.reason == "done"
            assert result.messages[1] == AssistantMessage(content="It is fine.")

    asyncio.run(scene())


def test_a_denied_query_ends_the_answer(view: View, debug: Debug) -> None:
    async def scene() -> None:
        async with debug(Playing()) as made:
            running = go(made.agent)
            await view.denies("too dear")
            result = await running
            assert (result.reason, result.stopped) == ("cancelled", False)
            assert "too dear" in (result.error or "")

    asyncio.run(scene())


# ---- calls -------------------------------------------------------------------------------------------


def test_edited_arguments_act_and_an_edited_result_is_read(view: View, debug: Debug) -> None:
    async def scene() -> None:
        model = Playing(calls(("1", "t", {"n": 1})), says("Done."))
        async with debug(model) as made:
            running = go(made.agent)
            await view.steps()
            await view.at()
            await view.steps()
            assert await view.at() == {"Tool": "t", "Argument": {"n": 1}}
            await view.steps({"Tool": "t", "Argument": {"n": 2}})
            result = await view.at()
            assert result["data"] == {"n": 2}
            assert result["diagnostics"]["edited_by_a_person"]["arguments"] == {"n": 2}
            await view.steps({"ok": True, "data": "all of it"})
            await view.at()
            await asyncio.to_thread(view.go_on)
            assert (await running).reason == "done"
            assert made.tool.did == [{"n": 2}]
            assert made.result().content == "all of it"
            assert [edit["what"] for edit in made.traces("edited")] == ["call", "result"]
            assert model.requests[1].messages[-1] == made.result()

    asyncio.run(scene())


def test_an_edit_is_judged_again_and_a_denial_holds(view: View, debug: Debug) -> None:
    async def scene() -> None:
        async with debug(Playing(calls(ASKS), says("I see.")), "continue") as made:
            running = go(made.agent)
            await view.at()
            await view.approves({"Tool": "t", "Argument": {"policy": "denied"}}, always=True)
            assert (await running).reason == "done"
            assert made.tool.did == []
            assert made.kept == []
            assert "The policy denies this" in made.result().content

    asyncio.run(scene())


def test_what_the_policy_denies_is_an_event_with_the_failure(view: View, debug: Debug) -> None:
    async def scene() -> None:
        bad = (("1", "t", {"policy": "denied"}), ("2", "t", "{"), ("3", "none", {}))
        async with debug(Playing(calls(*bad), says("I see.")), "continue") as made:
            assert (await go(made.agent)).reason == "done"
        await asyncio.to_thread(view.over)
        rows = await asyncio.to_thread(view.rows)
        ends = [row for row in rows if row.source is Actor.TOOLS]
        said = [(await asyncio.to_thread(view.body, row))["error"] for row in ends]
        assert len(said) == 3
        for id, error in zip("123", said, strict=True):
            assert json.loads(made.result(id).content)["error"] == error

    asyncio.run(scene())


# ---- approvals ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", ["step", "continue"])
def test_the_view_approves_with_an_edit_and_always(view: View, debug: Debug, mode: str) -> None:
    async def scene() -> None:
        person = Answering(None)
        async with debug(Playing(calls(ASKS), says("Done.")), mode, approver=person) as made:
            running = go(made.agent)
            if mode == "step":
                await view.steps()
                await view.at()
                await view.steps()
            assert (await view.at())["Argument"] == ASKS[2]
            await person.waiting.wait()
            await view.approves({"Tool": "t", "Argument": {"n": 2}}, always=True)
            await person.taken_back.wait()
            if mode == "step":
                await view.at()
                await asyncio.to_thread(view.go_on)
            assert (await running).reason == "done"
            assert made.tool.did == [{"n": 2}]
            assert made.kept == [("t", {"n": 2})]
            assert made.traces("approval") == [
                {"call_id": "1", "decision": "approved", "reason": ""}
            ]

    asyncio.run(scene())


def test_the_view_denies_with_a_reason(view: View, debug: Debug) -> None:
    async def scene() -> None:
        person = Answering(None)
        model = Playing(calls(ASKS), says("I see."))
        async with debug(model, "continue", approver=person) as made:
            running = go(made.agent)
            await person.waiting.wait()
            await view.denies("not today")
            assert (await running).reason == "done"
            assert person.taken_back.is_set()
            assert made.tool.did == []
            assert "A person denied this: not today" in made.result().content
            (said,) = made.traces("approval")
            assert (said["decision"], said["reason"]) == ("denied", "not today")

    asyncio.run(scene())


@pytest.mark.parametrize(
    ("decision", "did"),
    [
        (Decision(approved=True), [ASKS[2]]),
        (Decision(approved=True, edited=True, args={"n": 3}, always=True), [{"n": 3}]),
        (Decision(approved=False, reason="no"), []),
    ],
)
def test_somebody_else_is_faster(
    view: View, debug: Debug, decision: Decision, did: list[Any]
) -> None:
    async def scene() -> None:
        model = Playing(calls(ASKS), says("I see."))
        async with debug(model, "continue", approver=Answering(decision)) as made:
            assert (await go(made.agent)).reason == "done"
            assert made.tool.did == did
            assert bool(made.kept) == decision.always
        await asyncio.to_thread(view.over)
        (asked,) = [row for row in await asyncio.to_thread(view.rows) if row.approval]
        assert asked.reason == (None if decision.approved else "no")
        assert asked.edited == decision.edited

    asyncio.run(scene())


def test_nobody_answers_in_time(view: View, debug: Debug) -> None:
    async def scene() -> None:
        model = Playing(calls(ASKS), says("I see."))
        limits = Limits(approval_time=0.01)
        async with debug(model, "continue", limits=limits) as made:
            assert (await go(made.agent)).reason == "done"
            assert made.tool.did == []
            assert "Nobody answered within 0.01 seconds." in made.result().content

    asyncio.run(scene())


def test_an_approver_that_fails_leaves_it_to_the_view(view: View, debug: Debug) -> None:
    async def scene() -> None:
        model = Playing(calls(ASKS), says("I see."))
        broken = Answering(EOFError("gone"))
        async with debug(model, "continue", approver=broken) as made:
            running = go(made.agent)
            await view.approves()
            assert (await running).reason == "done"
            assert made.tool.did == [ASKS[2]]

    asyncio.run(scene())


# ---- ends --------------------------------------------------------------------------------------------


def test_stop_ends_the_answer(view: View, debug: Debug) -> None:
    async def scene() -> None:
        messages: list[ChatMessage] = []
        async with debug(Playing(calls(ASKS)), "continue") as made:
            running = go(made.agent)
            await view.at()
            await asyncio.to_thread(view.stop)
            result = await running
            assert (result.reason, result.stopped) == ("cancelled", True)
            messages += result.messages
        assert isinstance(messages[-1], ToolResultMessage)

    asyncio.run(scene())


def test_cancel_withdraws_the_question(view: View, debug: Debug) -> None:
    async def scene() -> None:
        async with debug(Playing(calls(ASKS)), "continue") as made:
            running = go(made.agent)
            await view.at()
            made.agent.cancel()
            assert (await running).reason == "cancelled"
            await asyncio.to_thread(view.until, lambda run: not run.pending)
        run = await asyncio.to_thread(view.over)
        assert run.state is RunState.IDLE

    asyncio.run(scene())
