"""The reference of conditions: it names what there is, and its examples can be set and asked."""

from __future__ import annotations

import json
import re
from typing import Final

import pytest

from agentstepper_nb.core.breakpoints import BreakpointEngine, ObservedPoint, check_breakpoint
from agentstepper_nb.core.breakpoints.condition_variables import VARIABLES
from agentstepper_nb.core.breakpoints.functions import FUNCTIONS, METHODS
from agentstepper_nb.protocol.breakpoint_rules import BreakpointRule
from agentstepper_nb.protocol.data_model import EventKind, EventOutcome, EventSide, Failure, Usage
from tests.docs.pages import GUIDE

PAGE: Final = (GUIDE / "breakpoints.md").read_text()
_CODE = re.compile(r"`([^`]+)`")


def first_column(head: str) -> list[str]:
    """What stands as code in a table's first column."""
    _, _, table = PAGE.partition(f"| {head} |")
    rows = table.partition("\n\n")[0].splitlines()[2:]
    return [code for row in rows for code in _CODE.findall(row.split(" | ")[0])]


EXAMPLES: Final = first_column("Condition")
ANSWER = {"choices": [{"message": {"content": "Hi", "tool_calls": []}}]}
FAILURE = Failure(type="OSError", message="no")
POINTS: Final = (
    (EventKind.PROGRAM_STARTED, EventSide.BEGIN, "coder"),
    (EventKind.LLM_QUERY, EventSide.BEGIN, {"messages": [{"role": "user", "content": "Hi"}]}),
    (EventKind.LLM_QUERY, EventSide.END, ANSWER),
    (EventKind.TOOL_INVOCATION, EventSide.BEGIN, {"Tool": "read", "Argument": {"path": "/etc/x"}}),
    (EventKind.TOOL_INVOCATION, EventSide.END, None),
)


def test_each_name_and_function_is_on_the_page() -> None:
    assert sorted(first_column("Name")) == sorted(VARIABLES)
    functions = {re.match(r"(?:x\.)?(\w+)", code)[1] for code in first_column("Function")}  # type: ignore[index]
    assert functions == {*FUNCTIONS, *METHODS}


@pytest.mark.parametrize("condition", [*EXAMPLES, *first_column("Function")])
def test_what_is_on_the_page_can_be_set(condition: str) -> None:
    check_breakpoint(BreakpointRule(id="s", condition=re.sub(r"\b([xab])\b", "data", condition)))


@pytest.mark.parametrize("condition", EXAMPLES)
def test_an_example_fails_nowhere(condition: str) -> None:
    breakpoints = BreakpointEngine("coder", [BreakpointRule(id="s", condition=condition)])
    for kind, side, data in POINTS:
        error, used = (
            (EventOutcome.ERROR, Usage(input_tokens=5)) if side is EventSide.END else (None, None)
        )
        text = json.dumps(data).encode()
        assert (
            breakpoints.evaluate(
                ObservedPoint(kind, side, "read", text, 0, error, FAILURE, used)
            ).error
            is None
        )
    assert len(EXAMPLES) > 5
