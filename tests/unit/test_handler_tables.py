"""Tables from a message's type to what handles it: none is missing, none is another type's."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, Final, get_args, get_type_hints

import pytest

from agentstepper_nb.core import run_state
from agentstepper_nb.core.breakpoints import conditions
from agentstepper_nb.hub import view_actions, view_commands, views_v2
from agentstepper_nb.protocol.records import (
    BreakpointDeleted,
    BreakpointSaved,
    EditRuleDeleted,
    EditRuleSaved,
    EndedRunLoaded,
    HaltPointAnswered,
    HaltPointEdited,
    HaltPointSaved,
    MessagesReceived,
    PricesSet,
    Record,
    SummarySaved,
)
from agentstepper_nb.sdk import run_protocol, send_queue
from agentstepper_nb.store import memory
from agentstepper_nb.store.search import index
from agentstepper_nb.store.sqlite import record_writer

Handlers = Mapping[type, Callable[..., Any]]

RECORDS: Final = frozenset(get_args(Record))
FOR_A_RESTART: Final = {
    MessagesReceived,
    EndedRunLoaded,
    BreakpointSaved,
    BreakpointDeleted,
    EditRuleSaved,
    EditRuleDeleted,
    PricesSet,
}
#: Told as the row of their halt point, or not at all.
AS_ROWS: Final = {
    *(HaltPointSaved, HaltPointEdited, HaltPointAnswered, SummarySaved),
    *(MessagesReceived, EndedRunLoaded),
}

TABLES: Final[list[tuple[str, Handlers, frozenset[type]]]] = [
    ("fold", run_state.RECORD_HANDLERS, RECORDS),
    ("sqlite", record_writer.RECORD_HANDLERS, RECORDS),
    ("memory", memory.RECORD_HANDLERS, RECORDS - FOR_A_RESTART),
    ("search", index.RECORD_HANDLERS, RECORDS - FOR_A_RESTART - {HaltPointAnswered}),
    ("queue", run_protocol.ITEM_HANDLERS, frozenset(get_args(send_queue.QueueItem))),
    ("view", {**views_v2.NOTIFIERS, **views_v2.CONTENT_NOTIFIERS}, RECORDS - AS_ROWS),
    ("reads", view_commands.QUERY_HANDLERS, frozenset(get_args(view_commands.ViewQuery))),
    ("actions", view_actions.ACTION_HANDLERS, frozenset(get_args(view_actions.Action))),
]
BY_NAME: Final = [pytest.param(*table, id=name) for name, *table in TABLES]


@pytest.mark.parametrize(("handlers", "kinds"), BY_NAME)
def test_each_type_has_a_handler(handlers: Handlers, kinds: frozenset[type]) -> None:
    assert handlers.keys() == kinds


@pytest.mark.parametrize(
    "handlers",
    [pytest.param(handlers, id=name) for name, handlers, _ in TABLES]
    + [pytest.param(conditions.NODE_COMPILERS, id="conditions")],
)
def test_a_handler_takes_its_type(handlers: Handlers) -> None:
    for kind, handler in handlers.items():
        hints = get_type_hints(handler)
        hints.pop("return")
        taken = list(hints.values())[-1]
        assert kind in (get_args(taken) or (taken,)), handler


def test_a_task_takes_the_commands_that_it_does() -> None:
    assert views_v2.TASKS.keys() > frozenset(get_args(view_commands.ViewQuery))
    for kind, task in views_v2.TASKS.items():
        taken = get_type_hints(task)["command"]
        assert kind in (get_args(taken) or (taken,)), task


def test_conditions_know_every_expression_of_python_or_refuse_it_by_name() -> None:
    """A new kind of expression in a Python to come is refused, and not by a crash."""
    for kind in ast.expr.__subclasses__():
        if kind not in conditions.NODE_COMPILERS:
            with pytest.raises(conditions.ConditionError, match="can't be used"):
                conditions.ConditionCompiler("x").code(kind(lineno=1, col_offset=0, end_lineno=1))
