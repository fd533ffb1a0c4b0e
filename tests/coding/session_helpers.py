"""Sessions in a test's folder, and what is left and told of them.

A session works in `repo`, is kept in `data` beside it, and its model plays given answers.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentstepper_nb.coding.session import CodingSession
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.llm_wire.events import AgentEvent, TraceEvent
from tests.coding.scripted_parts import FakeProvider


async def open_session(folder: Path, model: FakeProvider, **options: Any) -> CodingSession:
    """Begin a session; no debugger is looked for unless the options say so."""
    (folder / "repo").mkdir(parents=True, exist_ok=True)
    given: dict[str, Any] = {"workspace": folder / "repo", "provider": model, "debugger": False}
    return await CodingSession.create(
        model="m", **{"mode": "run", "data_dir": folder / "data", **given, **options}
    )


async def resume_session(
    folder: Path, id: str, model: FakeProvider, **options: Any
) -> CodingSession:
    """Go on with a session that was kept."""
    return await CodingSession.resume(
        id, provider=model, data_dir=folder / "data", **{"mode": "repl", **options}
    )


def entries(folder: Path, id: str, kind: str | None = None) -> list[dict[str, Any]]:
    """What a session's log has, of one type or of all."""
    lines = CodingDataPaths(folder / "data").log(id).read_text().splitlines()
    found = [json.loads(line)["data"] for line in lines]
    return [entry for entry in found if kind in (None, entry["type"])]


def traces(events: Iterable[AgentEvent], kind: str) -> list[Any]:
    """The data of the traces of a kind that a listener heard."""
    return [each.data for each in events if isinstance(each, TraceEvent) and each.kind == kind]
