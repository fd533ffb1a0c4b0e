"""The loop: what is asked, what is done, what is told, and how it ends."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from pathlib import Path
from typing import Any, TypeVar

import pytest

from agentstepper_nb.coding.approvals import Decision
from agentstepper_nb.coding.limits import Limits
from agentstepper_nb.coding.log_reader import load_messages, open_calls
from agentstepper_nb.coding.orchestrator import AgentOrchestrator
from agentstepper_nb.coding.session_log import SessionLog
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.errors import RulesError
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ToolCall,
    ToolResultMessage,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    TextDelta,
    ToolCallReady,
    ToolResultEvent,
    TraceEvent,
)
from agentstepper_nb.protocol.values import Usage
from tests.coding.playing import (
    HANGS,
    Answering,
    Box,
    Doing,
    Playing,
    Saying,
    calls,
    fails,
    says,
)

T = TypeVar("T")


class Made:
    """An agent, and all that it told."""

    def __init__(self, tmp_path: Path, model: Playing, *tools: Doing, **options: Any) -> None:
        self.events: list[AgentEvent] = []
        self.path = tmp_path / "log.jsonl"
        self.log = SessionLog(self.path)
        root = tmp_path / "root"
        root.mkdir(exist_ok=True)
        self.agent = AgentOrchestrator(
            model,
            "m",
            LocalWorkspace(root),
            Box(tools),
            Saying(),
            session_log=self.log,
            listeners=[self.events.append],
            **options,
        )

    def __enter__(self) -> Made:
        return self

    def __exit__(self, *error: object) -> None:
        """Whatever happened: log and conversation agree, and no call is without a result."""
        self.log.close()
        assert load_messages(self.path, pytest.fail) == list(self.agent.messages)
        assert not open_calls(list(self.agent.messages))

    def of(self, kind: type[T]) -> list[T]:
        return [event for event in self.events if isinstance(event, kind)]

    def traces(self, kind: str) -> list[Any]:
        return [event.data for event in self.of(TraceEvent) if event.kind == kind]

    def results(self) -> dict[str, ToolResultMessage]:
        return {m.call_id: m for m in self.agent.messages if isinstance(m, ToolResultMessage)}


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


# ---- done -------------------------------------------------------------------------------------------


def test_a_text_is_the_end(tmp_path: Path) -> None:
    model = Playing(says("All is well."))
    with Made(tmp_path, model) as made:
        result = run(made.agent.run("How is it?"))
    assert result.reason == "done"
    assert result.iterations == 1
    assert result.messages == (
        UserMessage(content="How is it?"),
        AssistantMessage(content="Alliswell."),
    )
    assert [event.text for event in made.of(TextDelta)] == ["All", "is", "well."]
    (request,) = model.requests
    assert request.messages == result.messages[:1]
    assert "careful programmer" in (request.system or "")


def test_results_go_back_to_the_model_until_it_is_done(tmp_path: Path) -> None:
    look, write = Doing("look"), Doing("write", lambda args: f"wrote {args['n']}")
    model = Playing(
        calls(("a", "look", {"n": 1}), ("b", "write", {"n": 2}), text="Let me see."),
        calls(("c", "write", {"n": 3})),
        says("Done."),
    )
    with Made(tmp_path, model, look, write) as made:
        result = run(made.agent.run("Go."))
    assert result.reason == "done"
    assert result.usage == Usage(input_tokens=30, output_tokens=6)
    assert model.requests[2].messages == result.messages[:-1]
    assert [m.content for m in made.results().values()] == ['{"n":1}', "wrote 2", "wrote 3"]
    assert [event.call_id for event in made.of(ToolResultEvent)] == ["a", "b", "c"]
    order = [e for e in made.events if isinstance(e, ToolCallReady | ToolResultEvent)]
    assert [type(event).__name__[:10] for event in order[:4]] == [
        "ToolCallRe",
        "ToolCallRe",
        "ToolResult",
        "ToolResult",
    ]


def test_calls_of_one_answer_run_one_after_the_other(tmp_path: Path) -> None:
    running: list[int] = []

    async def alone(args: Any) -> str:
        running.append(1)
        await asyncio.sleep(0)
        assert len(running) == 1
        running.pop()
        return "ok"

    model = Playing(calls(*((f"c{i}", "t", {}) for i in range(5))), says("Done."))
    with Made(tmp_path, model, Doing("t", alone)) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert all(message.ok for message in made.results().values())


def test_a_conversation_goes_on_from_its_messages(tmp_path: Path) -> None:
    with Made(tmp_path, Playing(says("Hi."))) as made:
        first = run(made.agent.run("Hello."))
    model = Playing(says("Bye."))
    other = tmp_path / "other"
    other.mkdir()
    made = Made(other, model)
    result = run(made.agent.run("Goodbye.", first.messages))
    assert result.messages[:2] == first.messages
    assert model.requests[0].messages == result.messages[:3]
    made.log.close()


def test_ids_that_a_model_repeats_are_told_apart(tmp_path: Path) -> None:
    model = Playing(calls(("", "t", 1), ("x", "t", 2), ("x", "t", 3), ("", "t", 4)), says("Done."))
    with Made(tmp_path, model, Doing("t")) as made:
        run(made.agent.run("Go."))
    assert {id: m.content for id, m in made.results().items()} == {
        "call": "1",
        "x": "2",
        "x_2": "3",
        "call_2": "4",
    }


# ---- what goes wrong with a call ---------------------------------------------------------------------


def test_whatever_goes_wrong_with_a_call_is_a_result_and_the_loop_goes_on(tmp_path: Path) -> None:
    def breaks(args: Any) -> None:
        raise KeyError("inside")

    model = Playing(
        calls(
            ("1", "nothing", {}),
            ("2", "t", '{"half": '),
            ("3", "t", {"policy": "denied"}),
            ("4", "breaks", {}),
            ("5", "odd", {}),
            ("6", "t", ""),
        ),
        says("I see."),
    )
    odd = Doing("odd", lambda args: {"set": {1, 2}, "what": object()})
    with Made(tmp_path, model, Doing("t"), Doing("breaks", breaks), odd) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    results = made.results()
    assert [results[id].ok for id in "123456"] == [False] * 5 + [True]
    assert "There is no tool 'nothing'. There are: t, breaks, odd." in results["1"].content
    assert "not JSON" in results["2"].content
    assert "The policy denies this: So it is said." in results["3"].content
    assert "breaks failed: 'inside'" in results["4"].content
    assert "JSON" in results["5"].content
    assert results["6"].content == "{}"


def test_a_timeout_of_a_tool_or_a_provider_is_told_from_ours(tmp_path: Path) -> None:
    def late(args: Any) -> Any:
        raise TimeoutError("their own")

    unlimited = Limits(tool_time=None, silence=None)
    model = Playing(calls(("1", "t", {})), late)
    with Made(tmp_path, model, Doing("t", late), limits=unlimited) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.error) == ("error", "TimeoutError: their own")
    assert "t failed: their own" in made.results()["1"].content


def test_a_tool_that_takes_too_long_has_failed(tmp_path: Path) -> None:
    async def forever(args: Any) -> None:
        await asyncio.Event().wait()

    model = Playing(calls(("1", "t", {})), says("I see."))
    with Made(tmp_path, model, Doing("t", forever), limits=Limits(tool_time=0.01)) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert "took longer than 0.01 seconds" in made.results()["1"].content


# ---- other ends --------------------------------------------------------------------------------------


def test_the_limit_of_iterations(tmp_path: Path) -> None:
    model = Playing(*(calls((f"c{i}", "t", {})) for i in range(25)))
    with Made(tmp_path, model, Doing("t")) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.iterations) == ("max_iterations", 25)
    assert len(made.results()) == 25


def test_an_error_of_the_provider_ends_it_and_says_why(tmp_path: Path) -> None:
    model = Playing(calls(("1", "t", {})), fails("The key is wrong."))
    with Made(tmp_path, model, Doing("t")) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.error) == ("error", "The key is wrong.")
    assert len(result.messages) == 3
    assert result.usage == Usage(input_tokens=10, output_tokens=2)


@pytest.mark.parametrize("answer", [[], [TextDelta("half")], fails("x")[1:]])
def test_an_answer_without_its_end_is_none(tmp_path: Path, answer: list[AgentEvent]) -> None:
    with Made(tmp_path, Playing(answer)) as made:
        result = run(made.agent.run("Go."))
    assert result.reason == "error"
    assert result.error
    assert result.messages == (UserMessage(content="Go."),)


def test_a_provider_that_raises_is_an_error_as_well(tmp_path: Path) -> None:
    def broken(request: Any) -> Any:
        raise OSError("no route")

    with Made(tmp_path, Playing(broken)) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.error) == ("error", "OSError: no route")
    assert made.traces("error") == [{"kind": "internal", "message": "OSError: no route"}]


def test_a_model_that_falls_silent_is_left(tmp_path: Path) -> None:
    async def go() -> None:
        model = Playing([TextDelta("Well"), HANGS])
        with Made(tmp_path, model, limits=Limits(silence=0.01)) as made:
            result = await made.agent.run("Go.")
            assert result.reason == "error"
            assert "said nothing for 0.01 s" in (result.error or "")
            assert model.closed_early.is_set()

    run(go())


def test_cancel_takes_the_request_back(tmp_path: Path) -> None:
    async def go() -> None:
        model = Playing([TextDelta("Well"), HANGS])
        with Made(tmp_path, model) as made:
            answering = asyncio.create_task(made.agent.run("Go."))
            await model.hanging.wait()
            made.agent.cancel()
            result = await answering
            assert model.closed_early.is_set()
        assert result.reason == "cancelled"
        assert result.messages == (UserMessage(content="Go."),)
        assert not made.agent.running

    run(go())


def test_cancel_reaches_the_tool_and_all_calls_get_a_result(tmp_path: Path) -> None:
    async def go() -> None:
        reached, left = asyncio.Event(), asyncio.Event()

        async def hangs(args: Any) -> None:
            reached.set()
            try:
                await asyncio.Event().wait()
            finally:
                left.set()

        model = Playing(calls(("1", "ok", {}), ("2", "t", {}), ("3", "t", {})))
        with Made(tmp_path, model, Doing("t", hangs), Doing("ok")) as made:
            answering = asyncio.create_task(made.agent.run("Go."))
            await reached.wait()
            made.agent.cancel()
            result = await answering
            assert left.is_set()
        assert result.reason == "cancelled"
        results = made.results()
        assert [results[id].ok for id in "123"] == [True, False, False]
        assert "Look before" in results["2"].content
        assert "not carried out" in results["3"].content

    run(go())


def test_a_cancelled_task_is_cancelled_and_leaves_a_whole_conversation(tmp_path: Path) -> None:
    async def go() -> None:
        reached = asyncio.Event()

        async def hangs(args: Any) -> None:
            reached.set()
            await asyncio.Event().wait()

        with Made(tmp_path, Playing(calls(("1", "t", {}))), Doing("t", hangs)) as made:
            answering = asyncio.create_task(made.agent.run("Go."))
            await reached.wait()
            answering.cancel()
            with pytest.raises(asyncio.CancelledError):
                await answering
            assert not made.agent.running

    run(go())


def test_one_prompt_at_a_time(tmp_path: Path) -> None:
    async def go() -> None:
        model = Playing([HANGS])
        with Made(tmp_path, model) as made:
            answering = asyncio.create_task(made.agent.run("Go."))
            await model.hanging.wait()
            with pytest.raises(RuntimeError, match="answering already"):
                await made.agent.run("And this?")
            made.agent.cancel()
            await answering

    run(go())


def test_a_listener_that_fails_stops_nothing(tmp_path: Path) -> None:
    made = Made(tmp_path, Playing(says("Fine.")))
    heard: list[AgentEvent] = []

    def fails(event: AgentEvent) -> None:
        raise ValueError("deaf")

    made.agent._listeners = (fails, heard.append)
    with made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert heard


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    with Made(tmp_path, Playing(says("Fine."))) as made:

        def full(entry: Any) -> None:
            raise OSError(28, "No space left on device")

        append, made.log.append = made.log.append, full  # type: ignore[method-assign]
        result = run(made.agent.run("Go."))
        made.agent._transcript.messages.clear()  # as in the log
        assert append
    assert result.reason == "done"
    (warning,) = made.traces("error")
    assert "No space left" in warning["message"]


# ---- approvals, without a debugger -------------------------------------------------------------------

ASKS = ("1", "t", {"policy": "requires_approval", "n": 1})


def asked(tmp_path: Path, answering: Answering | None, **options: Any) -> tuple[Made, Doing]:
    tool = Doing("t")
    model = Playing(calls(ASKS), says("I see."))
    with Made(tmp_path, model, tool, approver=answering, **options) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    return made, tool


def test_approved(tmp_path: Path) -> None:
    person = Answering(Decision(approved=True))
    made, tool = asked(tmp_path, person)
    assert tool.did == [ASKS[2]]
    (request,) = person.asked
    assert (request.call_id, request.tool, request.args) == ASKS
    assert (request.risk, request.why, request.rule) == ("high", "So it is said.", "all of it")
    (required,) = made.traces("approval_required")
    assert required["why"] == "So it is said."
    assert made.traces("approval") == [{"call_id": "1", "decision": "approved", "reason": ""}]


def test_denied(tmp_path: Path) -> None:
    made, tool = asked(tmp_path, Answering(Decision(approved=False, reason="not today")))
    assert tool.did == []
    assert "A person denied this: not today" in made.results()["1"].content
    assert made.traces("approval")[0]["decision"] == "denied"


def test_edited_and_approved_runs_as_edited_and_the_model_is_told(tmp_path: Path) -> None:
    edit = Decision(approved=True, edited=True, args={"n": 2})
    made, tool = asked(tmp_path, Answering(edit))
    assert tool.did == [{"n": 2}]
    assert made.traces("edited") == [
        {"what": "call", "call_id": "1", "name": "t", "args": {"n": 2}}
    ]
    assert '"edited_by_a_person":{"name":"t","arguments":{"n":2}}' in made.results()["1"].content


def test_an_edit_is_judged_again_and_a_denial_holds(tmp_path: Path) -> None:
    kept: list[Any] = []
    edit = Decision(approved=True, edited=True, args={"policy": "denied"}, always=True)
    made, tool = asked(tmp_path, Answering(edit), remember=lambda *rule: kept.append(rule))
    assert tool.did == []
    assert kept == []
    assert "The policy denies this" in made.results()["1"].content


def test_an_edit_that_asks_is_approved_by_who_made_it(tmp_path: Path) -> None:
    args = {"policy": "requires_approval", "n": 3}
    person = Answering(Decision(approved=True, edited=True, args=args))
    _, tool = asked(tmp_path, person)
    assert tool.did == [args]
    assert len(person.asked) == 1


def test_always_writes_a_rule(tmp_path: Path) -> None:
    kept: list[Any] = []
    person = Answering(Decision(approved=True, always=True))
    asked(tmp_path, person, remember=lambda *rule: kept.append(rule))
    assert kept == [("t", ASKS[2])]


def test_a_rule_that_cannot_be_written_is_told_and_the_call_is_made(tmp_path: Path) -> None:
    def full(tool: str, args: Any) -> None:
        raise RulesError("The rules can't be written.")

    made, tool = asked(tmp_path, Answering(Decision(approved=True, always=True)), remember=full)
    assert tool.did == [ASKS[2]]
    assert made.traces("warning") == [{"message": "The rules can't be written."}]


def test_with_nobody_to_ask_it_is_denied_and_says_how_to_be_asked(tmp_path: Path) -> None:
    made, tool = asked(tmp_path, None)
    assert tool.did == []
    assert "nobody can be asked: run `agentstepper code`" in made.results()["1"].content


def test_no_answer_in_time_is_a_denial(tmp_path: Path) -> None:
    async def go() -> None:
        person, tool = Answering(None), Doing("t")
        model = Playing(calls(ASKS), says("I see."))
        limits = Limits(approval_time=0.01)
        with Made(tmp_path, model, tool, approver=person, limits=limits) as made:
            assert (await made.agent.run("Go.")).reason == "done"
        assert tool.did == []
        assert person.taken_back.is_set()
        assert "Nobody answered within 0.01 seconds." in made.results()["1"].content

    run(go())


def test_an_approver_that_fails_denies(tmp_path: Path) -> None:
    made, tool = asked(tmp_path, Answering(EOFError("gone")))
    assert tool.did == []
    assert "Asking a person failed: gone" in made.results()["1"].content


def test_a_policy_that_fails_asks(tmp_path: Path) -> None:
    person, tool = Answering(Decision(approved=True)), Doing("t")
    model = Playing(calls(("1", "t", {"policy": "broken"})), says("I see."))
    with Made(tmp_path, model, tool, approver=person) as made:
        run(made.agent.run("Go."))
    assert person.asked[0].why == "The policy failed: no idea"
    assert len(tool.did) == 1


def test_cancel_takes_the_question_back(tmp_path: Path) -> None:
    async def go() -> None:
        person = Answering(None)
        model = Playing(calls(ASKS))
        with Made(tmp_path, model, Doing("t"), approver=person) as made:
            answering = asyncio.create_task(made.agent.run("Go."))
            await person.waiting.wait()
            made.agent.cancel()
            assert (await answering).reason == "cancelled"
            assert person.taken_back.is_set()

    run(go())


# ---- the notes of a repository -----------------------------------------------------------------------


def test_the_notes_for_agents_are_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "AGENTS.md").write_text("Use tabs.\n")
    model = Playing(says("Yes."))
    with Made(tmp_path, model) as made:
        run(made.agent.run("Go."))
    assert (model.requests[0].system or "").endswith(
        "From the repository's AGENTS.md:\n\nUse tabs."
    )


def test_half_characters_do_no_harm(tmp_path: Path) -> None:
    model = Playing(
        [
            TextDelta("a\ud83d"),
            ToolCallReady("1", "t", '{"x": "\ud83d"}'),
            *calls(("2", "t", {}))[-1:],
        ],
        says("Done."),
    )
    with Made(tmp_path, model, Doing("t", lambda args: "\udcff")) as made:
        result = run(made.agent.run("b\udcff"))
    assert result.reason == "done"
    assert result.messages[:2] == (
        UserMessage(content="b?"),
        AssistantMessage(
            content="a?",
            tool_calls=(ToolCall(call_id="1", name="t", args_json='{"x": "?"}'),),
        ),
    )
