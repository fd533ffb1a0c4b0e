"""Recordings as files, replayed where no Core is."""

from __future__ import annotations

import asyncio
import inspect
import json
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any

import pytest

from agentstepper_nb import (
    AgentStepper,
    AgentStepperCore,
    AsyncAgentStepper,
    Divergence,
    ProtocolError,
    RecordedError,
    load_run,
    replay_run,
)
from agentstepper_nb.history import StoredRun
from agentstepper_nb.replay import load_recording
from agentstepper_nb.replay.attached_runs import replay_offline
from agentstepper_nb.replay.recording_files import read_recording, write_recording
from agentstepper_nb.sdk import set_current_stepper

SECRET = "sk-0123456789abcdef"


class Agent:
    """It asks a model, calls a tool and stores something."""

    def __init__(self) -> None:
        self.calls = 0

    def run(self, question: str) -> list[Any]:
        with AgentStepper("plain") as dbg:
            ask = dbg.traced_llm(self._answer, model="m")
            tool = dbg.traced_tool(self._look_up, name="look_up")
            found = [ask({"question": question, "weight": 0.5})]
            for word in ("boat", "none"):
                try:
                    found.append(tool(word))
                except LookupError as error:
                    found.append(repr(error))
            return found

    def _answer(self, prompt: Any) -> Any:
        self.calls += 1
        return {"answer": f"of {prompt['question']}", "none": None}

    def _look_up(self, word: str) -> Any:
        self.calls += 1
        if word == "none":
            raise LookupError(word)
        return [word, 1.5, None]


async def wait(result: Awaitable[Any]) -> None:
    await result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "runs"


def record(
    folder: Path, agent: Agent, question: str, function: Callable[..., Any] | None = None
) -> StoredRun:
    """A run of an agent, or of a function that calls it."""
    with AgentStepperCore("127.0.0.1", 0, 0, data=folder) as core:
        address = {"address": "127.0.0.1", "port": core.client_port}
        with AgentStepper("plain", **address, stop_on_entry=False, mode="continue") as dbg:
            with set_current_stepper(dbg):
                result = (function or agent.run)(question)
                if inspect.isawaitable(result):
                    asyncio.run(wait(result))
            run = dbg.run_id
    return load_run(run, folder)


@pytest.fixture
def path(folder: Path, tmp_path: Path) -> Path:
    """A run's recording as a file."""
    write_recording(
        load_recording(record(folder, Agent(), "What floats?")), tmp_path / "recording.json"
    )
    return tmp_path / "recording.json"


def test_a_file_is_replayed_without_a_core(path: Path) -> None:
    agent = Agent()
    result = replay_run(read_recording(path), agent.run, "What floats?", offline=True)
    assert result == [
        {"answer": "of What floats?", "none": None},
        ["boat", 1.5, None],
        "LookupError('none')",
    ]
    assert agent.calls == 0


@pytest.mark.parametrize("make", [lambda run: run, partial], ids=["function", "partial"])
def test_an_async_agent_is_waited_for(
    tmp_path: Path, make: Callable[[Callable[..., Any]], Callable[..., Any]]
) -> None:
    agent = Agent()

    async def run(question: str) -> Any:
        branches = (asyncio.to_thread(agent.run, f"{question} {number}") for number in range(3))
        return await asyncio.gather(*branches)

    recorded = record(tmp_path / "runs", agent, "What floats?", make(run))
    calls = agent.calls
    result = replay_offline(load_recording(recorded), make(run), "What floats?")
    assert [each[0]["answer"] for each in result] == [f"of What floats? {n}" for n in range(3)]
    assert agent.calls == calls


async def test_an_async_agent_that_does_less_diverges_without_a_core(path: Path) -> None:
    calls = 0

    async def run() -> Any:
        async with AsyncAgentStepper("plain") as dbg:

            async def answer(prompt: Any) -> Any:
                nonlocal calls
                calls += 1

            return await dbg.traced_llm(answer, model="m")(
                {"question": "What floats?", "weight": 0.5}
            )

    with pytest.raises(Divergence, match=r"ended before its recording. Expected next: row"):
        await replay_run(read_recording(path), run, offline=True)
    assert calls == 0


def test_a_difference_is_shown_without_a_core(path: Path) -> None:
    with pytest.raises(Divergence, match=r"differs from run .* at llm_query m") as raised:
        replay_run(read_recording(path), Agent().run, "What sinks?", offline=True)
    assert '+    "question": "What sinks?",' in raised.value.diff
    assert raised.value.volatile == ()


def test_patterns_are_offered_that_make_it_match(folder: Path, tmp_path: Path) -> None:
    agent, path = Agent(), tmp_path / "recording.json"
    write_recording(load_recording(record(folder, agent, "On 2026-11-26?")), path)
    with pytest.raises(Divergence, match=r"compar.*: volatile=\[r'\\d\{4\}-\\d") as raised:
        replay_run(read_recording(path), agent.run, "On 2026-11-27?", offline=True)
    recording = read_recording(path, raised.value.volatile)
    result = replay_run(recording, agent.run, "On 2026-11-27?", offline=True)
    assert result[0]["answer"] == "of On 2026-11-26?"


def test_an_exception_of_an_unknown_class_is_served(path: Path) -> None:
    data = json.loads(path.read_text())
    data["events"][2]["failure"]["type"] = "nowhere.Gone"
    path.write_text(json.dumps(data))
    with pytest.raises(RecordedError, match=r"nowhere.Gone: none"):
        replay_run(read_recording(path), Agent().run, "What floats?", offline=True)


def test_secrets_are_masked_and_match(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A request with a secret is known by its mask; a result with one isn't served."""
    path, question = tmp_path / "recording.json", f"What opens {SECRET}?"
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    stored = record(folder, Agent(), question)
    write_recording(load_recording(stored), path)
    text = path.read_text()
    assert SECRET not in text
    key = stored.hash_key()
    assert key is not None and key not in text
    assert "[masked SHOP_API_KEY]" in text
    with pytest.raises(Divergence, match="secrets, which were masked"):
        replay_run(read_recording(path), Agent().run, question, offline=True)


def test_a_secret_that_was_stored_before_it_was_one_is_masked(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, question = tmp_path / "recording.json", f"What opens {SECRET}?"
    stored = record(folder, Agent(), question)
    monkeypatch.setenv("SHOP_API_KEY", SECRET)
    write_recording(load_recording(stored), path)
    assert SECRET not in path.read_text()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("no JSON", "is no recording of a run"),
        ("{}", "is no recording of a run"),
        ('{"format": "agentstepper recording", "version": 99}', "has version 99 of recordings"),
    ],
)
def test_what_is_no_recording_is_refused(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "recording.json"
    path.write_text(text)
    with pytest.raises(ProtocolError, match=says):
        read_recording(path)


def test_a_recording_of_a_newer_version_is_not_called_damaged(tmp_path: Path) -> None:
    path = tmp_path / "recording.json"
    path.write_text('{"format": "agentstepper recording", "version": 99}')
    with pytest.raises(ProtocolError, match=f"^{path} has version 99") as raised:
        read_recording(path)
    assert raised.value.code == "newer_import"


def test_a_replay_without_a_core_needs_no_workspace(folder: Path, tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    worked_on: list[Path | None] = []

    def agent() -> Any:
        with AgentStepper("plain", agent_workspace_path=project) as dbg:
            worked_on.append(dbg.workspace)
            write = dbg.traced_tool((project / "text").write_text, name="write")
            size = write("four")
            dbg.commit_agent_changes()
            return size

    with AgentStepperCore("127.0.0.1", 0, 0, data=folder) as core:
        address = {"address": "127.0.0.1", "port": core.client_port}
        with AgentStepper("plain", **address, stop_on_entry=False, mode="continue") as dbg:
            with set_current_stepper(dbg):
                agent()
            run = dbg.run_id
    recording = load_recording(load_run(run, folder))
    rmtree(project)
    assert replay_run(recording, agent, offline=True) == 4
    assert worked_on == [project.resolve(), project]
    assert not project.exists()
