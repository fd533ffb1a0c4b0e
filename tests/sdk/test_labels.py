"""What a framework says of the agent that runs, beside the scope that the event begins in."""

from __future__ import annotations

import contextvars
import logging
from typing import NoReturn

import pytest
from msgspec import UNSET

from agentstepper_nb.protocol.agent import EventBegun
from agentstepper_nb.protocol.data_model import AgentLabel, EventKind
from agentstepper_nb.sdk import run_events
from agentstepper_nb.sdk.run_events import LabelSource, RunEvents, add_label_source
from agentstepper_nb.sdk.scopes import Scope, set_scope


def fail() -> NoReturn:
    raise AttributeError("another version of the framework")


def say_nothing() -> None:
    return None


def say_sub() -> AgentLabel:
    return AgentLabel(name="sub", node="plan")


def say_sub_of_lead() -> AgentLabel:
    return AgentLabel(name="sub", parent="lead")


def say_node() -> AgentLabel:
    return AgentLabel(name="", node="plan")


@pytest.fixture(autouse=True)
def no_framework_s_sources(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_events, "_label_sources", [])


def begin(*agents: str) -> EventBegun:
    """A query inside of these agents, the outermost first."""
    root = scope = Scope()
    for agent in agents:
        scope = scope.open_child(f"agent:{agent}", agent)

    def ask() -> EventBegun:
        set_scope(scope)
        return RunEvents("r", root).begin(EventKind.LLM_QUERY, "m", None)[1]

    return contextvars.copy_context().run(ask)


@pytest.mark.parametrize(
    ("agents", "sources", "added_part", "label"),
    [
        ((), (fail, say_nothing), (), None),
        (("lead",), (say_nothing,), (), AgentLabel(name="lead")),
        ((), (fail, say_sub), ("agent:sub",), AgentLabel(name="sub", node="plan")),
        (
            ("lead",),
            (say_nothing, say_sub, say_node),
            ("agent:sub",),
            AgentLabel(name="sub", node="plan", parent="lead"),
        ),
        (
            ("other",),
            (say_sub_of_lead,),
            ("agent:sub",),
            AgentLabel(name="sub", parent="lead"),
        ),
        (("lead", "sub"), (say_sub,), (), AgentLabel(name="sub", node="plan", parent="lead")),
        (("sub",), (say_node,), (), AgentLabel(name="sub", node="plan")),
        ((), (say_node,), (), AgentLabel(name="", node="plan")),
    ],
)
def test_the_first_framework_that_knows_the_agent_names_it(
    agents: tuple[str, ...],
    sources: tuple[LabelSource, ...],
    added_part: tuple[str, ...],
    label: AgentLabel | None,
) -> None:
    for source in sources:
        add_label_source(source)
    begun = begin(*agents)
    scope = () if begun.scope is UNSET else begun.scope
    assert scope == (*(f"agent:{agent}:1" for agent in agents), *added_part)
    assert begun.label == (UNSET if label is None else label)


def test_a_framework_that_is_installed_twice_is_asked_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    add_label_source(fail)
    add_label_source(fail)
    with caplog.at_level(logging.WARNING, "agentstepper_nb.sdk"):
        begin()
    assert [record.getMessage() for record in caplog.records] == [
        "A framework's agent could not be named: AttributeError('another version of the framework')"
    ]
