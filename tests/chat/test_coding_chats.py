"""A chat with the coding agent, whole: by the interpreter, and in the debugger."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb import discover
from agentstepper_nb.chat.allowed_paths import AllowedPaths
from agentstepper_nb.chat.connectors.coding_agent import CodingAgent
from agentstepper_nb.coding.chat_conversations import CodingConversations
from agentstepper_nb.llm_wire.conversation import ModelRequest
from agentstepper_nb.llm_wire.events import AgentEvent
from agentstepper_nb.protocol.chat import AgentOutput, TurnEnding
from agentstepper_nb.protocol.data_model import EventKind
from tests.chat.harness import ChatHarness, harness
from tests.coding.debugged_agent import AsyncLiveView
from tests.coding.scripted_parts import HANGS, FakeProvider, make_text_answer, make_tool_calls

PNG = b"\x89PNG\r\n\x1a\n" + bytes(8)
RISKY = ("1", "run_command", {"command": "rm -rf build"})


@pytest.fixture(autouse=True)
def no_other_core(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Core is found but the test's, and what watches the folder keeps its own in the test's."""
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path / "runtime"))
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(tmp_path / "jupyter"))
    monkeypatch.delenv(discover.URL_VARIABLE, raising=False)


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "ws"
    (folder / "build").mkdir(parents=True)
    return folder


def chat(workspace: Path, model: FakeProvider, agent: Any = None, **options: Any) -> Any:
    coder = CodingAgent(provider=model, model="m", **(agent or {}))
    allowed = AllowedPaths([workspace])
    # Beside the workspace: commands never see what is kept of the chat.
    return harness(
        workspace.parent / "data", coder, workspace=workspace, allowed=allowed, **options
    )


def shown(home: ChatHarness) -> list[tuple[str, str, str]]:
    return [(each.role, each.type, each.content) for each in home.messages]


async def waits(home: ChatHarness) -> str:
    """Wait until a question does; its message's id."""
    found = (await home.wait_until(lambda info: info.waiting)).waiting
    assert found is not None
    return found


async def allows(home: ChatHarness) -> None:
    """Allow what is of high risk, which is asked twice."""
    first = await waits(home)
    home.interpreter.choose(home.session, first, "Allow")
    info = await home.wait_until(lambda info: info.waiting not in (None, first))
    assert info.waiting is not None
    home.interpreter.choose(home.session, info.waiting, "Yes, call it")


async def test_a_turn_with_a_question_a_picture_and_a_call(workspace: Path) -> None:
    (workspace / "a.png").write_bytes(PNG)
    model = FakeProvider(
        make_tool_calls(
            RISKY, ("2", "show_image", {"path": "a.png"}), ("3", "list_files", {}), text="So:"
        ),
        make_text_answer("Done."),
    )
    async with chat(workspace, model) as home:
        home.send("Clean up.")
        await allows(home)
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [each[:2] for each in shown(home)] == [
            ("user", "MESSAGE"),
            ("assistant", "MESSAGE"),
            ("assistant", "CONFIRMATION"),
            ("assistant", "CONFIRMATION"),
            ("assistant", "CODE"),
            ("computer", "CONSOLE"),
            ("assistant", "IMAGE"),
            ("assistant", "FUNCTION"),
            ("assistant", "MESSAGE"),
        ]
        asked, again, picture, call = (home.messages[at] for at in (2, 3, 6, 7))
        assert (asked.chosen, asked.final) == ("Allow", True)
        assert (again.chosen, again.final) == ("Yes, call it", True)
        assert (await home.interpreter.read_image(home.session, picture.id)).data == PNG
        assert (call.name, call.ok, call.result["entries"]) == ("list_files", True, ["a.png"])
        assert home.fold.messages == home.messages
    assert not (workspace / "build").exists()


async def test_a_chat_says_all_along_that_nothing_holds_its_agents_commands(
    workspace: Path,
) -> None:
    async with chat(
        workspace, FakeProvider(make_text_answer("Hello.")), {"sandbox": "none"}
    ) as home:
        assert home.info.agents[0].notice == ""  # nothing was begun yet
        home.send("Hello.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert home.info.agents[0].notice.startswith("No sandbox: ")
        assert home.fold.info is not None
        assert home.fold.info.agents == home.info.agents  # whoever listens is told


async def test_stop_withdraws_the_question_and_nothing_is_done(workspace: Path) -> None:
    async with chat(
        workspace, FakeProvider(make_tool_calls(RISKY, text="So:"), make_text_answer("I'm here."))
    ) as home:
        home.send("Clean up.")
        await waits(home)
        await home.stop()
        info = await home.wait_for_user_turn(TurnEnding.STOPPED)
        asked = home.messages[-1]
        assert (info.waiting, asked.type, asked.chosen, asked.final) == (
            None,
            "CONFIRMATION",
            None,
            True,
        )
        await home.send_and_read("Still there?")
        assert shown(home)[-1] == ("assistant", "MESSAGE", "I'mhere.")
    assert (workspace / "build").exists()


class UncancellableProvider(FakeProvider):
    """A model whose answers don't end before they may, however often they are cancelled."""

    def __init__(self, *answers: Any) -> None:
        super().__init__(*answers)
        self.may_end = asyncio.Event()

    async def stream(self, request: ModelRequest) -> AsyncIterator[AgentEvent]:
        try:
            async for event in super().stream(request):
                yield event
        finally:
            while not self.may_end.is_set():
                with suppress(asyncio.CancelledError):
                    await self.may_end.wait()


class RecordingOutputs:
    """Keeps what an answer says."""

    def __init__(self) -> None:
        self.outputs: list[AgentOutput] = []

    def send(self, piece: AgentOutput) -> None:
        self.outputs.append(piece)

    def replace_text(self, text: str) -> None:
        raise AssertionError(text)

    async def request_choice(self, text: str, choices: Sequence[str], details: Any) -> str:
        raise AssertionError(text)


async def test_an_answer_waits_for_the_end_of_the_one_that_was_cancelled(workspace: Path) -> None:
    model = UncancellableProvider([HANGS], make_text_answer("Here."))
    chats = CodingConversations(provider=model, model="m")
    conversation = await chats.open("c", workspace=workspace, data_dir=workspace.parent / "data")
    first = asyncio.create_task(conversation.answer("Wait.", RecordingOutputs(), None))
    await model.hanging.wait()
    first.cancel()
    listening = RecordingOutputs()
    second = asyncio.create_task(conversation.answer("And now?", listening, None))
    assert not (await asyncio.wait({first, second}, timeout=0.05))[0]
    model.may_end.set()
    await second
    assert [piece.content for piece in listening.outputs if piece.role != "system"][-1:] == [
        "Here."
    ]
    await conversation.close()


async def test_autochat_goes_on_where_a_limit_cut_it(workspace: Path) -> None:
    model = FakeProvider(
        make_tool_calls(("1", "list_files", {})),
        make_text_answer("Done."),
        make_text_answer("Nothing more."),
    )
    async with chat(
        workspace, model, {"max_iterations": 1}, auto_chat=True, auto_chat_max=2
    ) as home:
        await home.send_and_read("Look.")
        await home.wait_for_user_turn(TurnEnding.DONE)
        assert [each for each in shown(home) if each[1] == "MESSAGE" and each[0] != "user"] == [
            (
                "system",
                "MESSAGE",
                "The agent stopped after 1 question to the model, the limit for one message. Say “Go "
                "on.” to continue.",
            ),
            ("system", "MESSAGE", "Go on."),
            ("assistant", "MESSAGE", "Done."),
            ("system", "MESSAGE", "Go on."),
            ("assistant", "MESSAGE", "Nothingmore."),
        ]


# ---- in the debugger ---------------------------------------------------------------------------------


async def test_all_of_a_chat_is_one_run_and_each_change_is_told_once(
    workspace: Path, view: AsyncLiveView
) -> None:
    write = ("1", "write_file", {"path": "a.txt", "content": "a\n"})
    again = ("2", "write_file", {"path": "a.txt", "content": "b\n"})
    model = FakeProvider(
        make_tool_calls(write),
        make_text_answer("One."),
        make_tool_calls(again),
        make_text_answer("Two."),
    )
    async with chat(workspace, model, {"auto_approve": True}, debugger=True) as home:
        await home.send_and_read("First.")
        await home.send_and_read("Second.")
        run_id = home.info.run_id
    await asyncio.to_thread(view.wait_until_ended)
    assert list(view.runs) == [run_id]
    rows = await asyncio.to_thread(view.list_rows)
    tools = [row.name for row in rows if row.kind is EventKind.TOOL_INVOCATION]
    assert tools == ["coder", "write_file", "write_file", "coder"] * 2
    commits = await asyncio.to_thread(view.list_commits)
    made = {row.event for row in rows if row.name == "write_file"}
    assert [commit.snapshot for commit in commits] == [False, True, True]  # and the first state
    assert {commit.event for commit in commits[1:]} == made


async def test_an_edited_answer_is_what_the_chat_shows_and_keeps(
    workspace: Path, view: AsyncLiveView
) -> None:
    model = FakeProvider(make_text_answer("The model's."))
    async with chat(workspace, model, debugger=True, step=True) as home:
        answer = asyncio.create_task(home.send_and_read("Hello."))
        await view.wait_for_halt()
        await view.step_async()  # the turn
        await view.wait_for_halt()
        await view.step_async()  # the question
        await view.wait_for_halt()
        assert shown(home)[-1] == ("assistant", "MESSAGE", "Themodel's.")
        await view.step_async({"role": "assistant", "content": "The person's."})
        await view.wait_for_halt()
        await asyncio.to_thread(view.resume)
        await answer
        assert shown(home)[1:] == [("assistant", "MESSAGE", "The person's.")]
        assert home.fold.messages == home.messages


async def test_whoever_answers_first_decides(workspace: Path, view: AsyncLiveView) -> None:
    model = FakeProvider(
        make_tool_calls(RISKY),
        make_text_answer("Done."),
        make_tool_calls(RISKY),
        make_text_answer("Done."),
    )
    async with chat(workspace, model, debugger=True) as home:
        answer = asyncio.create_task(home.send_and_read("Clean up."))
        await view.wait_for_halt()
        await waits(home)
        await view.deny_async("Not that.")
        await answer
        asked, denied = home.messages[1:3]
        assert (asked.final, asked.chosen) == (True, None)  # withdrawn
        assert (denied.type, denied.result) == ("FUNCTION", "A person denied this: Not that.")
        answer = asyncio.create_task(home.send_and_read("Clean up!"))
        await view.wait_for_halt()
        await allows(home)
        await answer
    assert not (workspace / "build").exists()


async def test_after_stop_the_next_turn_has_a_run_of_its_own(
    workspace: Path, view: AsyncLiveView
) -> None:
    model = FakeProvider(make_tool_calls(RISKY), make_text_answer("Again."))
    async with chat(workspace, model, debugger=True) as home:
        answer = asyncio.create_task(home.send_and_read("Clean up."))
        await view.wait_for_halt()
        first = home.info.run_id
        await asyncio.to_thread(view.stop)
        await answer
        await home.wait_for_user_turn(TurnEnding.STOPPED)
        await home.send_and_read("And now?")
        assert home.info.run_id not in (None, first)
        assert shown(home)[-1] == ("assistant", "MESSAGE", "Again.")
    await asyncio.to_thread(view.wait_until_ended)
    rows = await asyncio.to_thread(view.list_rows)
    assert EventKind.LLM_QUERY in {row.kind for row in rows}
    assert len(view.runs) == 2
