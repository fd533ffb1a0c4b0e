"""Repositories with planted bugs, and what their repair comes to, wherever it is watched."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

from agentstepper_nb.coding.tool import ToolResult
from agentstepper_nb.coding.tool_results import format_content
from agentstepper_nb.coding.transcript import load_messages
from agentstepper_nb.llm_wire.conversation import AssistantMessage, ToolResultMessage
from agentstepper_nb.protocol.data_model import Actor, EventKind
from tests.sdk.person import LiveView

HERE = Path(__file__).parent
REPOS = sorted(path.name for path in (HERE / "repos").iterdir())
PROMPT = "Make the failing tests pass, and clean up."
#: What the model wants to delete, and what a person makes of it.
ASKED = {"command": "rm -rf build"}
EDITED = {"command": "rm -rf build/cache"}


def prepare(repo: str, folder: Path) -> Path:
    """A copy of a repository, with a `build` of which a part is worth keeping."""
    copy = Path(shutil.copytree(HERE / "repos" / repo, folder / repo))
    dirty(copy)
    return copy


def dirty(copy: Path) -> None:
    (copy / "build" / "cache").mkdir(parents=True)
    (copy / "build" / "cache" / "old.txt").write_text("old\n")
    (copy / "build" / "notes.txt").write_text("keep me\n")


def script(repo: str) -> str:
    """The script that mends a repository, as `--model` takes it."""
    return str(HERE / "scripts" / f"{repo}.py")


def environment() -> dict[str, str]:
    """What commands of the agent run under: this Python is `python`."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "PYTHONDONTWRITEBYTECODE": "1"}


def passes(copy: Path, *tests: str) -> bool:
    command = [sys.executable, "-m", "unittest", *tests]
    done = subprocess.run(command, cwd=copy, env=environment(), capture_output=True, check=False)
    return done.returncode == 0


def is_mended(copy: Path, *tests: str) -> bool:
    """Whether the tests pass, and of `build` the person's part is there."""
    build = sorted(path.name for path in (copy / "build").iterdir())
    return passes(copy, *tests) and build == ["notes.txt"]


# ---- log, run and stream -----------------------------------------------------------------------------


def entries(log: Path, kind: str) -> list[dict[str, Any]]:
    """A log's entries of one type."""
    lines = [json.loads(line)["data"] for line in log.read_text().splitlines()]
    return [data for data in lines if data["type"] == kind]


def check_log(log: Path) -> None:
    """The log tells of the edited approval, the only one, and ends well.

    Each script asked twice before commands ran in a sandbox: also about its look at the code.
    """
    assert [entry["decision"] for entry in entries(log, "approval")] == ["approved"]
    (edit,) = [e for e in entries(log, "event") if e.get("kind") == "edited"]
    assert edit["data"]["args"] == EDITED
    last = load_messages(log)[-1]
    assert isinstance(last, AssistantMessage)
    assert last.content.startswith("All tests pass.")


def check_stream(log: Path, heard: Iterable[Any]) -> None:
    """A listener heard what the log has, in its order."""
    logged = [
        {key: value for key, value in entry.items() if key != "type"}
        for entry in entries(log, "event")
    ]
    told = [msgspec.to_builtins(event, str_keys=True) for event in heard]
    decided = [event for event in told if event.get("kind") == "approval"]
    assert [
        (d["data"]["call_id"], d["data"]["decision"], d["data"]["reason"]) for d in decided
    ] == [
        (entry["callId"], entry["decision"], entry["reason"]) for entry in entries(log, "approval")
    ]
    assert [event for event in told if event.get("kind") != "approval"] == logged


def check_run(log: Path, person: LiveView) -> None:
    """The debugger's run says what the log says: each answer, each call and each result."""
    messages = load_messages(log)
    rows = person.list_rows()
    answers = [row for row in rows if row.source is Actor.LLM]
    results = [row for row in rows if row.source is Actor.TOOLS]
    begun = [
        row for row in rows if row.kind is EventKind.TOOL_INVOCATION and row.target is Actor.TOOLS
    ]
    said = [message for message in messages if isinstance(message, AssistantMessage)]
    calls = [call for message in said for call in message.tool_calls]
    assert [person.get_data(row)["content"] or "" for row in answers] == [m.content for m in said]
    assert [person.get_data(row) for row in begun] == [
        {
            "Tool": call.name,
            "Argument": EDITED
            if json.loads(call.args_json) == ASKED
            else json.loads(call.args_json),
        }
        for call in calls
    ]
    read = [message.content for message in messages if isinstance(message, ToolResultMessage)]
    assert [
        format_content(msgspec.convert(person.get_data(row), ToolResult)) for row in results
    ] == read
