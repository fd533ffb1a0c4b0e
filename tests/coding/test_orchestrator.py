"""The loop: what is asked, what is told, and how it ends."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.options import CodingLimits
from agentstepper_nb.coding.tool import ToolContext, ToolResult
from agentstepper_nb.errors import InjectedError
from agentstepper_nb.llm_wire.conversation import (
    AssistantMessage,
    ToolCall,
    UserMessage,
)
from agentstepper_nb.llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    ToolResultEvent,
    TraceEvent,
)
from agentstepper_nb.protocol.data_model import Usage
from tests.coding.debugged_agent import AgentHarness, run
from tests.coding.scripted_parts import (
    HANGS,
    FakeProvider,
    FakeTool,
    make_failure,
    make_text_answer,
    make_tool_calls,
)

# ---- done -------------------------------------------------------------------------------------------


def test_a_text_is_the_end(tmp_path: Path) -> None:
    model = FakeProvider(make_text_answer("All is well."))
    with AgentHarness(tmp_path, model) as made:
        result = run(made.agent.run("How is it?"))
    assert result.reason == "done"
    assert result.iterations == 1
    assert result.messages == (
        UserMessage(content="How is it?"),
        AssistantMessage(content="Alliswell."),
    )
    assert [event.text for event in made.list_events(TextDelta)] == ["All", "is", "well."]
    (request,) = model.requests
    assert request.messages == result.messages[:1]
    assert "careful programmer" in (request.system or "")


def test_results_go_back_to_the_model_until_it_is_done(tmp_path: Path) -> None:
    look, write = FakeTool("look"), FakeTool("write", lambda args: f"wrote {args['n']}")
    model = FakeProvider(
        make_tool_calls(("a", "look", {"n": 1}), ("b", "write", {"n": 2}), text="Let me see."),
        make_tool_calls(("c", "write", {"n": 3})),
        make_text_answer("Done."),
    )
    with AgentHarness(tmp_path, model, look, write) as made:
        result = run(made.agent.run("Go."))
    assert result.reason == "done"
    assert result.usage == Usage(input_tokens=30, output_tokens=6)
    assert model.requests[2].messages == result.messages[:-1]
    assert [m.content for m in made.results_by_call().values()] == ['{"n":1}', "wrote 2", "wrote 3"]
    assert [event.call_id for event in made.list_events(ToolResultEvent)] == ["a", "b", "c"]
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

    model = FakeProvider(
        make_tool_calls(*((f"c{i}", "t", {}) for i in range(5))), make_text_answer("Done.")
    )
    with AgentHarness(tmp_path, model, FakeTool("t", alone)) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert all(message.ok for message in made.results_by_call().values())


def test_a_conversation_goes_on_from_its_messages(tmp_path: Path) -> None:
    with AgentHarness(tmp_path, FakeProvider(make_text_answer("Hi."))) as made:
        first = run(made.agent.run("Hello."))
    model = FakeProvider(make_text_answer("Bye."))
    other = tmp_path / "other"
    other.mkdir()
    made = AgentHarness(other, model)
    result = run(made.agent.run("Goodbye.", first.messages))
    assert result.messages[:2] == first.messages
    assert model.requests[0].messages == result.messages[:3]
    made.log.close()


def test_ids_that_a_model_repeats_are_told_apart(tmp_path: Path) -> None:
    model = FakeProvider(
        make_tool_calls(("", "t", 1), ("x", "t", 2), ("x", "t", 3), ("", "t", 4)),
        make_text_answer("Done."),
    )
    with AgentHarness(tmp_path, model, FakeTool("t")) as made:
        run(made.agent.run("Go."))
    assert {id: m.content for id, m in made.results_by_call().items()} == {
        "call": "1",
        "x": "2",
        "x_2": "3",
        "call_2": "4",
    }


# ---- other ends --------------------------------------------------------------------------------------


def test_the_limit_of_iterations(tmp_path: Path) -> None:
    model = FakeProvider(*(make_tool_calls((f"c{i}", "t", {})) for i in range(25)))
    with AgentHarness(tmp_path, model, FakeTool("t")) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.iterations) == ("max_iterations", 25)
    assert len(made.results_by_call()) == 25


def test_an_error_of_the_provider_ends_it_and_says_why(tmp_path: Path) -> None:
    model = FakeProvider(make_tool_calls(("1", "t", {})), make_failure("The key is wrong."))
    with AgentHarness(tmp_path, model, FakeTool("t")) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.error) == ("error", "The key is wrong.")
    assert len(result.messages) == 3
    assert result.usage == Usage(input_tokens=10, output_tokens=2)


@pytest.mark.parametrize("answer", [[], [TextDelta("half")], make_failure("x")[1:]])
def test_an_answer_without_its_end_is_none(tmp_path: Path, answer: list[AgentEvent]) -> None:
    with AgentHarness(tmp_path, FakeProvider(answer)) as made:
        result = run(made.agent.run("Go."))
    assert result.reason == "error"
    assert result.error
    assert result.messages == (UserMessage(content="Go."),)
    assert [data["message"] for data in made.list_traces("error")] == [
        result.error
    ]  # said, and once


def test_an_answer_that_was_cut_at_its_limit_is_not_done(tmp_path: Path) -> None:
    model = FakeProvider([TextDelta("Half"), ResponseCompleted("length")])
    with AgentHarness(tmp_path, model) as made:
        result = run(made.agent.run("Go."))
    assert result.reason == "error"
    assert "cut at the model's limit" in (result.error or "")
    assert made.list_traces("error") == [{"kind": "cut", "message": result.error}]
    assert result.messages[-1] == AssistantMessage(content="Half")  # to go on from


def test_a_provider_that_raises_is_an_error_as_well(tmp_path: Path) -> None:
    def broken(request: Any) -> Any:
        raise OSError("no route")

    with AgentHarness(tmp_path, FakeProvider(broken)) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, result.error) == ("error", "OSError: no route")
    assert made.list_traces("error") == [{"kind": "internal", "message": "OSError: no route"}]


def test_a_provider_that_is_cancelled_by_its_own_is_an_error(tmp_path: Path) -> None:
    def leaks(request: Any) -> Any:
        raise asyncio.CancelledError

    with AgentHarness(tmp_path, FakeProvider(leaks)) as made:
        result = run(made.agent.run("Go."))
    assert (result.reason, made.list_traces("error")[0]["message"]) == ("error", result.error)


def test_what_the_debugger_refuses_is_told_in_its_words(tmp_path: Path) -> None:
    def fails(request: Any) -> Any:
        raise InjectedError("no luck")

    with AgentHarness(tmp_path, FakeProvider(fails)) as made:
        assert run(made.agent.run("Go.")).error == "no luck"
    assert made.list_traces("error") == [{"kind": "debugger", "message": "no luck"}]


def test_what_a_provider_traces_need_not_be_json(tmp_path: Path) -> None:
    odd = TraceEvent("mine", object())
    with AgentHarness(tmp_path, FakeProvider([odd, *make_text_answer("Fine.")])) as made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert made.list_events(TraceEvent)[0] is odd
    assert "object object" in made.path.read_text()


async def test_a_model_that_falls_silent_is_left(tmp_path: Path) -> None:
    model = FakeProvider([TextDelta("Well"), HANGS])
    with AgentHarness(tmp_path, model, limits=CodingLimits(idle_timeout_s=0.01)) as made:
        result = await made.agent.run("Go.")
        assert result.reason == "error"
        assert "sent nothing for 0.01 s" in (result.error or "")
        assert model.closed_early.is_set()


async def test_cancel_takes_the_request_back(tmp_path: Path) -> None:
    model = FakeProvider([TextDelta("Well"), HANGS])
    with AgentHarness(tmp_path, model) as made:
        answering = asyncio.create_task(made.agent.run("Go."))
        await model.hanging.wait()
        made.agent.cancel()
        result = await answering
        assert model.closed_early.is_set()
    assert result.reason == "cancelled"
    assert result.messages == (UserMessage(content="Go."),)
    assert not made.agent.running


async def test_cancel_reaches_the_tool_and_all_calls_get_a_result(tmp_path: Path) -> None:
    reached, left = asyncio.Event(), asyncio.Event()

    async def hangs(args: Any) -> None:
        reached.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    model = FakeProvider(make_tool_calls(("1", "ok", {}), ("2", "t", {}), ("3", "t", {})))
    with AgentHarness(tmp_path, model, FakeTool("t", hangs), FakeTool("ok")) as made:
        answering = asyncio.create_task(made.agent.run("Go."))
        await reached.wait()
        made.agent.cancel()
        result = await answering
        assert left.is_set()
    assert result.reason == "cancelled"
    results = made.results_by_call()
    assert [results[id].ok for id in "123"] == [True, False, False]
    assert "Look before" in results["2"].content
    assert "not carried out" in results["3"].content


@pytest.mark.parametrize("by_its_task", [False, True])
def test_cancel_tells_what_a_tool_does_on_a_thread(tmp_path: Path, by_its_task: bool) -> None:
    class ThreadTool(FakeTool):
        ctx: ToolContext

        async def execute(self, args: Any, ctx: ToolContext) -> ToolResult:
            self.ctx = ctx
            return await super().execute(args, ctx)

    async def go() -> None:
        begun = asyncio.Event()

        async def hangs(args: Any) -> None:
            begun.set()
            await asyncio.Event().wait()

        tool = ThreadTool("t", hangs)
        with AgentHarness(tmp_path, FakeProvider(make_tool_calls(("1", "t", {}))), tool) as made:
            answering = asyncio.create_task(made.agent.run("Go."))
            await begun.wait()
            assert not tool.ctx.cancellation.is_set()
            if by_its_task:
                answering.cancel()
            else:
                made.agent.cancel()
            await asyncio.wait({answering})
        assert tool.ctx.cancellation.is_set()

    run(go())


async def test_a_cancelled_task_is_cancelled_and_leaves_a_whole_conversation(
    tmp_path: Path,
) -> None:
    reached = asyncio.Event()

    async def hangs(args: Any) -> None:
        reached.set()
        await asyncio.Event().wait()

    with AgentHarness(
        tmp_path, FakeProvider(make_tool_calls(("1", "t", {}))), FakeTool("t", hangs)
    ) as made:
        answering = asyncio.create_task(made.agent.run("Go."))
        await reached.wait()
        answering.cancel()
        with pytest.raises(asyncio.CancelledError):
            await answering
        assert not made.agent.running


async def test_one_prompt_at_a_time(tmp_path: Path) -> None:
    model = FakeProvider([HANGS])
    with AgentHarness(tmp_path, model) as made:
        answering = asyncio.create_task(made.agent.run("Go."))
        await model.hanging.wait()
        with pytest.raises(RuntimeError, match="already answering"):
            await made.agent.run("And this?")
        made.agent.cancel()
        await answering


def test_a_listener_that_fails_stops_nothing(tmp_path: Path) -> None:
    made = AgentHarness(tmp_path, FakeProvider(make_text_answer("Fine.")))
    heard: list[AgentEvent] = []

    def fails(event: AgentEvent) -> None:
        raise ValueError("deaf")

    made.agent._listeners = (fails, heard.append)
    with made:
        assert run(made.agent.run("Go.")).reason == "done"
    assert heard


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    with AgentHarness(tmp_path, FakeProvider(make_text_answer("Fine."))) as made:

        def full(entry: Any) -> None:
            raise OSError(28, "No space left on device")

        append, made.log.append = made.log.append, full  # type: ignore[method-assign]
        result = run(made.agent.run("Go."))
        made.agent._transcript.messages.clear()  # as in the log
        assert append
    assert result.reason == "done"
    (warning,) = made.list_traces("error")
    assert "No space left" in warning["message"]


# ---- the notes of a repository -----------------------------------------------------------------------


def test_the_notes_for_agents_are_read(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (root / "AGENTS.md").write_text("Use tabs.\n")
    model = FakeProvider(make_text_answer("Yes."))
    with AgentHarness(tmp_path, model) as made:
        run(made.agent.run("Go."))
    assert (model.requests[0].system or "").endswith(
        "From the repository's AGENTS.md:\n\nUse tabs."
    )


@pytest.mark.parametrize("system", ["", "Be brief."])
def test_a_system_prompt_that_is_given_is_sent(tmp_path: Path, system: str) -> None:
    model = FakeProvider(make_text_answer("Yes."))
    with AgentHarness(tmp_path, model, system=system) as made:
        run(made.agent.run("Go."))
    assert [request.system for request in model.requests] == [system]


def test_half_characters_do_no_harm(tmp_path: Path) -> None:
    model = FakeProvider(
        [
            TextDelta("a\ud83d"),
            ToolCallReady("1", "t", '{"x": "\ud83d"}'),
            *make_tool_calls(("2", "t", {}))[-1:],
        ],
        make_text_answer("Done."),
    )
    with AgentHarness(tmp_path, model, FakeTool("t", lambda args: "\udcff")) as made:
        result = run(made.agent.run("b\udcff"))
    assert result.reason == "done"
    assert made.list_traces("error") == []  # each event could be logged
    assert result.messages[:2] == (
        UserMessage(content="b?"),
        AssistantMessage(
            content="a?",
            tool_calls=(ToolCall(call_id="1", name="t", args_json='{"x": "?"}'),),
        ),
    )
