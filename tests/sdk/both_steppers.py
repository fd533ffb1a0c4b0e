"""One scenario, run through both AgentSteppers.

A scenario is a coroutine function that awaits every method. `Awaited` lends the synchronous AgentStepper
that form; what is awaited there has already happened.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from typing import Any

import msgspec
import pytest

from agentstepper_nb import AgentStepper, AsyncAgentStepper
from agentstepper_nb.sdk.connection_state import DEFAULT_LINK_LIMITS, LinkLimits
from tests.sdk.scripted_core import AgentPeer, ScriptedCore

Scenario = Callable[[Any], Awaitable[Any]]

both = pytest.mark.parametrize("stepper_kind", ["sync", "async"])


class AwaitingStepper:
    """An AgentStepper whose methods are awaited."""

    def __init__(self, dbg: AgentStepper) -> None:
        self.dbg = dbg

    def llm(self, *args: Any, **kwargs: Any) -> Any:
        return _AwaitedBlock(self.dbg.llm(*args, **kwargs))

    def tool(self, *args: Any, **kwargs: Any) -> Any:
        return _AwaitedBlock(self.dbg.tool(*args, **kwargs))

    def event(self, *args: Any, **kwargs: Any) -> Any:
        return _AwaitedBlock(self.dbg.event(*args, **kwargs))

    def __getattr__(self, name: str) -> Any:
        method = getattr(self.dbg, name)
        if name in ("traced_llm", "traced_tool", "wrap"):
            return method

        async def call(*args: Any, **kwargs: Any) -> Any:
            return method(*args, **kwargs)

        return call


class _AwaitedBlock:
    """A block entered by `async with`: without a frame in the traceback of what is raised inside."""

    def __init__(self, block: AbstractContextManager[Any]) -> None:
        self._block = block

    async def __aenter__(self) -> Any:
        return _enter(self._block)

    async def __aexit__(self, *raised: Any) -> bool | None:
        return self._block.__exit__(*raised)


def _enter(block: AbstractContextManager[Any]) -> Any:
    """Enter a block from code that is no coroutine, which may block its loop."""
    return block.__enter__()


def run(
    stepper_kind: str,
    core: ScriptedCore,
    scenario: Scenario,
    limits: LinkLimits = DEFAULT_LINK_LIMITS,
    **options: Any,
) -> Any:
    """Run a scenario and give its result; the run ends with it."""

    async def main() -> Any:
        if stepper_kind == "sync":
            stepper = limited_stepper(limits)
            with stepper("Tester", "127.0.0.1", core.port, **options) as dbg:
                return await scenario(AwaitingStepper(dbg))
        async_stepper = type("AsyncAgentStepper", (AsyncAgentStepper,), {"_limits": limits})
        async with async_stepper("Tester", "127.0.0.1", core.port, **options) as adbg:
            return await scenario(adbg)

    return asyncio.run(main())


def limited_stepper(limits: LinkLimits) -> type[AgentStepper]:
    """An `AgentStepper` whose runs have these limits."""
    return type("AgentStepper", (AgentStepper,), {"_limits": limits})


def transcript(peer: AgentPeer) -> list[Any]:
    """What an agent sent, without what differs from run to run: ids are counted, times left out."""
    known: dict[str, str] = {}

    def count(match: re.Match[str]) -> str:
        return known.setdefault(match[0], f"id-{len(known) + 1}")

    text = msgspec.json.encode(
        [[type(message).__name__, message] for message in peer.received]
    ).decode()
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f-]{27}", count, text)
    text = re.sub(r'"(at|clock)":[0-9.e+-]+', r'"\1":0', text)
    # The two forms call the scenario from lines of their own.
    return msgspec.json.decode(re.sub(r',"location":\{[^{}]*\}', "", text))


async def end_at_once(dbg: Any) -> None:
    """End the run as soon as it has begun."""
