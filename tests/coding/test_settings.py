"""The settings of a session act, by whatever way they are given."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from agentstepper_nb.chat.connectors.coding_agent import CodingAgent
from agentstepper_nb.cli.agent_command_arguments import add_setting_options, read_settings
from agentstepper_nb.coding.chat_conversations import CodingConversations
from agentstepper_nb.coding.options import CodingLimits, override_limits
from agentstepper_nb.coding.tools import ToolRegistry
from agentstepper_nb.errors import CodingSessionError
from agentstepper_nb.llm_wire.events import AgentEvent
from agentstepper_nb.protocol.coding_settings import CodingSettings, select_given_settings
from tests.chat.coding_chats import open_chat
from tests.coding.scripted_parts import HANGS, FakeProvider, make_text_answer, make_tool_calls
from tests.coding.session_helpers import entries, open_session, traces

LIST = ("1", "list_files", {})
Parse = Callable[..., CodingSettings]


@pytest.mark.parametrize(
    ("choice", "asked"),
    [
        (None, [None, None, None]),
        ("auto", ["auto", "auto", "auto"]),
        ("none", ["none", "none", "none"]),
        ("required", ["required", "auto", "required"]),
        ("list_files", ["list_files", "auto", "list_files"]),
    ],
)
async def test_the_model_is_asked_with_temperature_and_tool_choice(
    tmp_path: Path, choice: str | None, asked: list[str | None]
) -> None:
    model = FakeProvider(
        make_tool_calls(LIST), make_text_answer("Done."), make_text_answer("Again.")
    )
    async with await open_session(tmp_path, model, temperature=0.3, tool_choice=choice) as session:
        assert (await session.run("Look.")).reason == "done"
        assert (await session.run("Look again.")).reason == "done"
    assert [each.tool_choice for each in model.requests] == asked
    assert {each.temperature for each in model.requests} == {0.3}


async def test_a_session_may_have_no_tools(tmp_path: Path) -> None:
    model = FakeProvider(make_tool_calls(LIST), make_text_answer("Done."))
    async with await open_session(tmp_path, model, tools=ToolRegistry()) as session:
        assert (await session.run("Look.")).reason == "done"
    assert [each.tools for each in model.requests] == [(), ()]


async def test_a_tool_choice_that_is_no_tool_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CodingSessionError, match=r"'no_such'.* auto, none, required, list_files"):
        await open_session(tmp_path, FakeProvider(), tool_choice="no_such")


@pytest.mark.parametrize(
    "wrong", [{"temperature": 9}, {"output_limit": 1}, {"command_timeout": 0}], ids=str
)
async def test_python_is_refused_what_is_out_of_bounds(tmp_path: Path, wrong: Any) -> None:
    (name,) = wrong
    with pytest.raises(CodingSessionError, match=name):
        await open_session(tmp_path, FakeProvider(), **wrong)


async def test_a_provider_that_sends_no_temperature_is_warned_of(tmp_path: Path) -> None:
    model, heard = FakeProvider(), list[AgentEvent]()
    model.takes_temperature = False  # type: ignore[attr-defined]
    async with await open_session(tmp_path, model, temperature=0, listener=heard.append):
        pass
    (warning,) = traces(heard, "warning")
    assert "temperature has no effect, because the provider playing" in warning["message"]


async def test_a_chat_has_the_same_warning(tmp_path: Path) -> None:
    model = FakeProvider()
    model.takes_temperature = False  # type: ignore[attr-defined]
    (tmp_path / "repo").mkdir()
    conversations = CodingConversations(provider=model, model="m", temperature=0)
    chat = await conversations.open("x", workspace=tmp_path / "repo", data_dir=tmp_path / "data")
    await chat.close()
    (warning,) = [
        entry["data"]["message"]
        for entry in entries(tmp_path, chat.session.id, "event")
        if entry["kind"] == "warning"
    ]
    assert "temperature has no effect, because the provider playing" in warning


async def test_a_model_that_is_silent_for_too_long_ends_the_answer(tmp_path: Path) -> None:
    model = FakeProvider([HANGS])
    async with await open_session(tmp_path, model, model_timeout=0.05) as session:
        result = await session.run("Say something.")
    assert (result.reason, result.error) == (
        "error",
        "The model sent nothing for 0.05 s. Try again.",
    )


def test_a_call_has_time_for_its_command() -> None:
    assert override_limits(CodingLimits(), {"command_timeout": 3600}).tool_timeout_s == 3660
    assert override_limits(CodingLimits(), {"command_timeout": 10}).tool_timeout_s == 900
    assert (
        override_limits(CodingLimits(), {"command_timeout": 3600, "tool_timeout": 5}).tool_timeout_s
        == 5
    )
    assert (
        override_limits(CodingLimits(tool_timeout_s=None), {"command_timeout": 3600}).tool_timeout_s
        is None
    )
    assert (
        override_limits(
            CodingLimits(output_limit_bytes=2048), {"output_limit": None}
        ).output_limit_bytes
        == 2048
    )


# ---- the command line --------------------------------------------------------------------------------


@pytest.fixture
def parse() -> Parse:
    def parse(*words: str) -> CodingSettings:
        parser = argparse.ArgumentParser(exit_on_error=False)
        add_setting_options(parser)
        return read_settings(parser.parse_args(words))

    return parse


def test_the_command_line_has_every_setting(parse: Parse) -> None:
    words = (
        "--yes --max-iterations 3 --command-timeout 1.5 --tool-timeout 2 --model-timeout 3 "
        "--approval-timeout 4 --output-limit 2048 --no-shell --policy ours --temperature 0.5 "
        "--tool-choice required --sandbox-mode read-only --sandbox bubblewrap --network "
        "--readable /a --readable /b --writable /c --memory-bytes 1073741824 --processes 7"
    )
    settings = parse(*words.split())
    assert settings == CodingSettings(
        auto_approve=True,
        max_iterations=3,
        command_timeout=1.5,
        tool_timeout=2,
        model_timeout=3,
        approval_timeout=4,
        output_limit=2048,
        shell=False,
        policy="ours",
        temperature=0.5,
        tool_choice="required",
        sandbox_mode="read-only",
        sandbox="bubblewrap",
        network=True,
        readable=("/a", "/b"),
        writable=("/c",),
        memory_bytes=1 << 30,
        processes=7,
    )
    assert set(select_given_settings(settings)) == set(CodingSettings.__struct_fields__)
    assert parse() == CodingSettings()


@pytest.mark.parametrize(
    "words",
    [
        "--temperature 2.5",
        "--temperature nan",
        "--max-iterations 1.5",
        "--command-timeout 0",
        "--output-limit 10",
        "--sandbox-mode everything",
        "--processes many",
    ],
)
def test_the_command_line_refuses_what_is_out_of_bounds(parse: Parse, words: str) -> None:
    with pytest.raises(argparse.ArgumentError):
        parse(*words.split())


# ---- a chat ------------------------------------------------------------------------------------------


async def test_a_chat_asks_the_model_by_its_settings(tmp_path: Path) -> None:
    model = FakeProvider(make_tool_calls(LIST), make_text_answer("Done."))
    async with open_chat(tmp_path, model, temperature=1.5, tool_choice="required") as talk:
        await talk.send()
    assert [(each.temperature, each.tool_choice) for each in model.requests] == [
        (1.5, "required"),
        (1.5, "auto"),
    ]


@pytest.mark.parametrize("wrong", [{"temperature": 3}, {"temprature": 1}], ids=str)
def test_a_chat_refuses_a_setting_that_cant_be(wrong: Any) -> None:
    with pytest.raises(msgspec.ValidationError):
        CodingAgent(provider="scripted", model="m", **wrong)
