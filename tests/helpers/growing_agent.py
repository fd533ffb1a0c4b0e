"""An agent whose prompts grow, in real prose, and what it costs to keep them."""

from __future__ import annotations

import asyncio
import json
from itertools import cycle, islice
from pathlib import Path
from pydoc_data.topics import topics
from typing import Any

from agentstepper_nb.protocol.data_model import EventKind, EventSide
from agentstepper_nb.store import SqliteStore
from tests.helpers.debugger_harness import DebuggerHarness

#: Characters of a question, and of its answer.
MESSAGE_CHARS = 1000
TOOLS = [
    {"name": f"tool_{number}", "description": "What it does, at some length. " * 12}
    for number in range(15)
]


async def append_growing_run(store: SqliteStore, turns: int) -> int:
    """Let an agent ask, each time with all that was said before; the bytes that were new in it."""
    harness = DebuggerHarness()
    harness.start()
    prose = cycle("".join(topics.values()))
    messages: list[dict[str, Any]] = []
    for _ in range(turns):
        question, answer = ("".join(islice(prose, MESSAGE_CHARS)) for _ in range(2))
        messages.append({"role": "user", "content": question})
        asked = harness.begin(EventKind.LLM_QUERY)
        prompt = {"model": "m", "messages": messages, "tools": TOOLS}
        harness.reach(asked, data=json.dumps(prompt))
        harness.step()
        messages.append({"role": "assistant", "content": answer})
        harness.reach(asked, EventSide.END, data=json.dumps(messages[-1]))
        harness.step()
        done = asyncio.Event()
        store.append(harness.records, done.set)
        harness.records.clear()
        await done.wait()
    history = await store.history("run")
    assert json.loads(history.halt_points[-2].data)["messages"] == messages[:-1]
    return len(json.dumps(prompt))


def folder_size_bytes(folder: Path, names: str = "*") -> int:
    """The bytes of a folder's files."""
    return sum(path.stat().st_size for path in folder.glob(names))
