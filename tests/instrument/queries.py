"""What tests of LLM queries look at, and ask by."""

from __future__ import annotations

import json
from typing import Any

from openai import OpenAI

from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol.data_model import EventKind, TimelineRow
from tests.sdk.person import LiveView

TEXT = "one two three"
MESSAGES: Any = [{"role": "user", "content": "hello"}]


def halted_body(person: LiveView) -> Any:
    """The body of the halt point that the run halts at."""
    pending = person.wait_until_halted()
    return person.get_data(next(row for row in person.list_rows() if row.id == pending))


def replace_text(value: Any, old: str, new: str) -> Any:
    """A JSON value with a text replaced wherever it stands."""
    return json.loads(json.dumps(value).replace(old, new))


def ask_chat(server: ScriptedServer, **options: Any) -> Any:
    """Ask once by OpenAI's client."""
    with OpenAI(base_url=server.base_url, api_key="any", **options) as client:
        return client.chat.completions.create(model="m", messages=MESSAGES)


def list_queries(person: LiveView) -> list[TimelineRow]:
    """The halt points of LLM queries."""
    return [row for row in person.list_rows() if row.kind is EventKind.LLM_QUERY]


def wait_for_queries(person: LiveView, number: int) -> list[TimelineRow]:
    """The halt points of LLM queries, once there are so many."""
    while len(rows := list_queries(person)) < number:
        person.wait_change()
    return rows
