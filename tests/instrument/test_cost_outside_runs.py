"""Outside of a run a wrapper reads one context variable, and enters nothing else of this package."""

from __future__ import annotations

import asyncio
import contextvars
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import Any

import httpx
import httpx2
import pytest
from anthropic import beta_tool

import agentstepper_nb
from agentstepper_nb import AgentStepper, instrument
from agentstepper_nb.instrument import discovery
from agentstepper_nb.instrument.adapters import (
    agent_framework,
    crewai,
    google_adk,
    google_genai,
    langchain,
    mcp,
    mini_swe_agent,
    openai_agents,
    smolagents,
)
from agentstepper_nb.sdk import scopes
from agentstepper_nb.sdk.base_stepper import find_current_stepper

PACKAGE = str(Path(agentstepper_nb.__file__).parent)
#: What says whether a run is open.
LOOKUP = {"find_run", "is_run_expected", "find_current", "find_context", "is_enabled"}


class Entered:
    def __init__(self) -> None:
        self.functions: list[str] = []
        self.variables: list[ContextVar[Any]] = []


@contextmanager
def count_entered(counts_scopes: bool = False) -> Iterator[Entered]:
    """What is entered of this package, and which context variables it reads.

    Args:
        counts_scopes: Whether what numbers tasks and threads counts: a wrapper's test runs it, too.
    """
    entered = Entered()
    find_current_stepper()  # runs that have ended are forgotten with the next look

    def look(frame: FrameType, event: str, arg: Any) -> None:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) or ("scope" in Path(name).name) is not counts_scopes:
            return
        if event == "call":
            entered.functions.append(frame.f_code.co_name)
        elif event == "c_call" and isinstance(getattr(arg, "__self__", None), ContextVar):
            entered.variables.append(arg.__self__)

    sys.setprofile(look)
    try:
        yield entered
    finally:
        sys.setprofile(None)


def give(*args: Any, **kwargs: Any) -> str:
    """What a framework does in a tool's call."""
    return "result"


async def give_tools() -> list[Any]:
    return ["tool"]


@beta_tool
def add(a: int, b: int) -> str:
    """Add.

    Args:
        a: A number.
        b: Another.
    """
    return str(a + b)


class _Tool:
    name = "add"
    timeout_seconds = 30

    async def run_async(self) -> None: ...


def send_by(library: Any) -> Any:
    transport = library.MockTransport(lambda request: library.Response(200))
    with library.Client(transport=transport) as client:
        return client.post("https://example.com/chat/completions", json={"model": "m"})


ARGS: tuple[Any, ...] = ((), {"a": 1})
#: Each wrapper's call, with the name of the function that stands in the method's place.
CALLS: dict[str, tuple[Callable[[], Any], str]] = {
    "httpx": (lambda: send_by(httpx), "_send"),
    "httpx2": (lambda: send_by(httpx2), "_send"),
    "anthropic": (lambda: add.call({"a": 1, "b": 2}), "_call"),
    "langchain": (lambda: langchain._run(False, give, _Tool(), *ARGS), "_run"),
    "agent-framework": (lambda: agent_framework._invoke(give, _Tool(), *ARGS), "_invoke"),
    "crewai": (lambda: crewai._call_layer("run", False, give, _Tool(), *ARGS), "_call_layer"),
    "google-adk": (lambda: google_adk._run_tool(_Tool, give, _Tool(), *ARGS), "_run_tool"),
    "google-genai": (
        lambda: google_genai._use_aiohttp(
            give, SimpleNamespace(_async_httpx_client=1, **{google_genai._READY: 1}), (), {}
        ),
        "_use_aiohttp",
    ),
    "mcp": (lambda: mcp._call_tool(give, None, ("add", {}), {}), "_call_tool"),
    "mini-swe-agent": (lambda: mini_swe_agent._execute(give, {"command": "ls"}), "_execute"),
    "mini-swe-agent's step": (lambda: mini_swe_agent._step(give, None, (), {}), "_step"),
    "openai-agents": (
        lambda: asyncio.run(openai_agents._get_all_tools(give_tools, None, (), {})),
        "_get_all_tools",
    ),
    "smolagents": (lambda: smolagents._call_tool(give, _Tool(), *ARGS), "_call_tool"),
    "smolagents' agent": (lambda: smolagents._call_agent(give, None, *ARGS), "_call_agent"),
    "smolagents' code": (lambda: smolagents._run_code(give, _Tool(), *ARGS), "_run_code"),
}


@pytest.mark.parametrize("library", CALLS)
def test_a_wrapper_reads_one_context_variable(library: str, seams: None) -> None:
    call, wrapper = CALLS[library]
    assert {"httpx", "httpx2", "anthropic"} <= {
        seam.library for seam in instrument.list_seams() if seam.is_active
    }
    call()  # what is imported or made once
    with count_entered() as entered:
        call()
    assert entered.functions.count(wrapper) == 1
    assert set(entered.functions) <= {wrapper, *LOOKUP}
    assert len(entered.variables) == 1


def test_inside_of_a_run_more_is_entered(dbg: AgentStepper) -> None:
    """The count sees what it is to see."""
    with count_entered() as entered:
        httpx_response = send_by(httpx)  # no query of a model: the path is one, the body isn't
    assert httpx_response.status_code == 200
    assert "find_llm_request" in entered.functions
    assert discovery._replaced == {}


async def create_task() -> None:
    await asyncio.create_task(asyncio.sleep(0))


def start_thread() -> None:
    thread = threading.Thread(target=give)
    thread.start()
    thread.join()


def submit_job() -> None:
    with ThreadPoolExecutor(1) as pool:
        pool.submit(give).result()


@pytest.mark.parametrize(
    ("create", "wrapper"),
    [
        (lambda: asyncio.run(create_task()), "_create_task"),
        (start_thread, "_start_thread"),
        (submit_job, "_submit"),
    ],
    ids=["task", "thread", "job"],
)
def test_what_numbers_scopes_reads_one_context_variable(
    create: Callable[[], None], wrapper: str
) -> None:
    scopes.wrap_creation()
    with count_entered(counts_scopes=True) as entered:
        contextvars.Context().run(create)
    hooks = {"_create_task", "_start_thread", "_submit"}
    assert wrapper in entered.functions
    assert set(entered.functions) <= hooks
    assert len(entered.variables) == len([name for name in entered.functions if name in hooks])
