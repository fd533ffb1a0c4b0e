"""What a person does at the halts of one row."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from agentstepper_nb.models.scripted import ScriptedServer
from agentstepper_nb.protocol.data_model import EventKind, EventSide, TimelineRow
from tests.frameworks.agent_process import AgentProcess
from tests.frameworks.unsupported_rows import UNSUPPORTED_ROWS
from tests.sdk.person import LiveView

#: How a halt is written: what halts, and whether before or after it.
QUERY, ANSWER = "query", "answer"


class SteppedAgent:
    """An agent that is stepped through one row of the matrix.

    Args:
        process: Runs the agent.
        person: Steps it.
        model: Is asked.
    """

    def __init__(self, process: AgentProcess, person: LiveView, model: ScriptedServer) -> None:
        self._process = process
        self.person = person
        self._model = model
        self._before: list[Any] = []
        self._known: set[str] = set()

    def start(self, mode: str, text: str) -> None:
        """Begin a row with what the user says."""
        self._before = self._model.exchanges
        self._known = set(self.person.runs)
        self._process.start("row", mode, text)

    def find_mode(self, *modes: str) -> str:
        """The first of these modes in which the framework can run an agent."""
        framework = self._process.framework
        return next(mode for mode in modes if (framework, mode) not in UNSUPPORTED_ROWS)

    @property
    def requests(self) -> list[Any]:
        """What the model was asked in this row."""
        known = set(
            map(id, self._before)
        )  # not a number: the model keeps the newest exchanges alone
        return [each.json for each in self._model.exchanges if id(each) not in known]

    def end(self) -> Any:
        """How the row ended."""
        return self._process.end()

    def wait_for_halt(self, *names: str) -> TimelineRow:
        """The next halt, of one of these names: `query`, `answer`, `add`, `add's result`."""
        self.person.wait_until(lambda run: run.id not in self._known and bool(run.pending))
        pending = self.person.wait_until_halted()
        row = next(row for row in self.person.list_rows() if row.id == pending)
        assert _name(row) in names, (row, names)
        return row

    def step(self, *names: str) -> Any:
        """Step at the next halt, unedited; gives what stood there."""
        body = self.person.get_data(self.wait_for_halt(*names))
        self.person.step()
        return body

    def edit(self, name: str, change: Callable[[Any], Any]) -> None:
        """Edit what stands at the next halt, and step."""
        body = self.person.get_data(self.wait_for_halt(name))
        edited = change(body)
        assert edited != body
        self.person.step(edited)

    def list_halts(self) -> list[str]:
        """The names of all halts of the row so far."""
        kinds = (EventKind.LLM_QUERY, EventKind.TOOL_INVOCATION)
        return [_name(row) for row in self.person.list_rows() if row.kind in kinds]


def _name(row: TimelineRow) -> str:
    if row.kind is EventKind.LLM_QUERY:
        return QUERY if row.side is EventSide.BEGIN else ANSWER
    return str(row.name) if row.side is EventSide.BEGIN else f"{row.name}'s result"


def replace(old: str, new: str) -> Callable[[Any], Any]:
    """A change that replaces a text in every text of a JSON value."""

    def change(value: Any) -> Any:
        if isinstance(value, str):
            return value.replace(old, new)
        if isinstance(value, list):
            return [change(each) for each in value]
        if isinstance(value, dict):
            return {name: change(each) for name, each in value.items()}
        return value

    return change


def change_argument(name: str, value: Any) -> Callable[[Any], Any]:
    """A change of a tool's argument where the model calls it, whatever the API."""

    def change(found: Any) -> Any:
        if isinstance(found, list):
            return [change(each) for each in found]
        if not isinstance(found, dict):
            return found
        return {key: _argument(key, each, name, value, change) for key, each in found.items()}

    return change


def _argument(key: str, found: Any, name: str, value: Any, change: Callable[[Any], Any]) -> Any:
    if key == "arguments" and isinstance(found, str):
        return json.dumps({**json.loads(found), name: value})
    if key == "input" and isinstance(found, dict):
        return {**found, name: value}
    return change(found)
