"""`AsyncAgentStepper`: the agent's interface for asyncio code."""

from __future__ import annotations

import asyncio
import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import Any, Self

from ..protocol.data_model import EventKind
from .approvals import Approval
from .base_stepper import BaseStepper, InitialMode
from .child_agents import AsyncChildAgent, start_child
from .close_callbacks import has_callbacks
from .connection_state import OnDisconnect
from .drivers import run_flow_async, run_in_thread
from .event_blocks import CustomEvent, LlmQuery, ToolInvocation
from .flow_effects import Flow, T
from .payload import Redact
from .value_hooks import FromJson, ToJson


class AsyncAgentStepper(BaseStepper):
    """`AgentStepper` for asyncio: a halt point blocks the task that reaches it, not the event loop.

    ::

        async with AsyncAgentStepper("my agent") as dbg:
            async with dbg.llm(prompt) as q:
                q.response = await call_model(q.prompt)

    Creating one does not connect. It connects when its `async with` is entered; `dbg = await
    AsyncAgentStepper.connect("my agent")` creates and connects in one call. If a task is cancelled
    while it waits, its halt point is withdrawn. If an `AgentStepper` of the same program is open in
    this process, this one joins its run, as `AgentStepper` describes. The arguments are those of
    `AgentStepper`.
    """

    _is_async = True

    @classmethod
    async def connect(
        cls,
        program_name: str,
        address: str | None = None,
        port: int | None = None,
        agent_workspace_path: str | os.PathLike[str] | None = None,
        *,
        url: str | None = None,
        token: str | None = None,
        stop_on_entry: bool = True,
        mode: InitialMode = "step",
        on_disconnect: OnDisconnect = "wait",
        redact: Redact | None = None,
        to_json: ToJson | None = None,
        from_json: FromJson | None = None,
        require_clean: bool = False,
        notice: str = "",
        inspect: bool | None = None,
    ) -> Self:
        """Create an AsyncAgentStepper and connect it; arguments and errors as of `AgentStepper`."""
        made = cls(
            program_name,
            address,
            port,
            agent_workspace_path,
            url=url,
            token=token,
            stop_on_entry=stop_on_entry,
            mode=mode,
            on_disconnect=on_disconnect,
            redact=redact,
            to_json=to_json,
            from_json=from_json,
            require_clean=require_clean,
            notice=notice,
            inspect=inspect,
        )
        return await made.__aenter__()

    async def __aenter__(self) -> Self:
        if self._context.session is None:
            try:
                await run_in_thread(self._prepare, abandoned=lambda: self._finish(None))
                steps = await run_in_thread(self._start)
                await self._run_flow(steps)
            except BaseException as error:
                await self._close(error)
                raise
        return self

    # ---- the preferred form -------------------------------------------------------------------------

    def llm(self, prompt: Any, *, model: str | None = None) -> LlmQuery:
        """The form of `AgentStepper.llm` for `async with`, or for `with` on a thread without a loop."""
        return LlmQuery(self, prompt, model)

    def tool(self, name: str, args: Any, *, approval: Approval | None = None) -> ToolInvocation:
        """The form of `AgentStepper.tool` for `async with`, or for `with` as `llm`."""
        return ToolInvocation(self, name, args, approval)

    def event(self, name: str, data: Any = None) -> CustomEvent:
        """The form of `AgentStepper.event` for `async with`, or for `with` as `llm`."""
        return CustomEvent(self, name, data)

    # ---- AgentStepper's methods, awaited ------------------------------------------------------------

    async def begin_llm_query_breakpoint(self, prompt: Any) -> Any:
        """The asynchronous form of `AgentStepper.begin_llm_query_breakpoint`."""
        return (await self._run_flow(self._open_flow().begin(EventKind.LLM_QUERY, prompt))).value

    async def end_llm_query_breakpoint(self, response: Any) -> Any:
        """The asynchronous form of `AgentStepper.end_llm_query_breakpoint`."""
        return (await self._run_flow(self._open_flow().end(EventKind.LLM_QUERY, response))).value

    async def begin_tool_invocation_breakpoint(self, tool: str, args: Any) -> tuple[str, Any]:
        """The asynchronous form of `AgentStepper.begin_tool_invocation_breakpoint`."""
        begun = await self._run_flow(self._open_flow().begin_tool(tool, args))
        return begun.tool, begun.args

    async def end_tool_invocation_breakpoint(self, results: Any) -> Any:
        """The asynchronous form of `AgentStepper.end_tool_invocation_breakpoint`."""
        return (
            await self._run_flow(self._open_flow().end(EventKind.TOOL_INVOCATION, results))
        ).value

    async def commit_agent_changes(
        self, commit_summary: str = "", commit_description: str = ""
    ) -> bool:
        """Commit as `AgentStepper.commit_agent_changes` does; a cancelled task finishes the commit."""
        return await run_in_thread(partial(self._make_commit, commit_summary, commit_description))

    async def post_debug_message(self, message: str) -> None:
        """The asynchronous form of `AgentStepper.post_debug_message`."""
        await self._run_flow(self._open_flow().post_debug_message(message))

    # ---- children -----------------------------------------------------------------------------------

    async def spawn(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        name: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> AsyncChildAgent:
        """Start a program as `AgentStepper.spawn` does; `await` the child to wait for its end."""
        run = self._open_run()
        started = start_child(run.endpoint, argv, name, cwd, env)
        return self._children.add(AsyncChildAgent(*started, run.report_child_exit))

    # ---- the end ------------------------------------------------------------------------------------

    async def close(self) -> None:
        """The asynchronous form of `AgentStepper.close`."""
        await self._close(None)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self._close(error)

    async def _close(self, error: BaseException | None) -> None:
        try:
            await self._children.ajoin(error)
        except BaseException as interrupt:
            error = interrupt
            raise
        finally:
            await self._send_bye(error)

    async def _send_bye(self, error: BaseException | None) -> None:
        try:
            if has_callbacks():
                await run_in_thread(partial(self._call_close_callbacks, error))
        finally:
            closed = self._finish(error)
            if closed is not None:
                await self._wait_closed(closed)

    async def _wait_closed(self, closed: Future[None]) -> None:
        """The asynchronous form of `AgentStepper._wait_closed`."""
        link = self._current_session().link
        left = math.inf
        while link.undelivered_count < left:
            left = link.undelivered_count
            with suppress(TimeoutError):
                return await asyncio.wait_for(
                    asyncio.wrap_future(closed), self._limits.close_timeout_s
                )
        link.give_up()

    async def _run_flow(self, steps: Flow[T]) -> T:
        return await run_flow_async(self._current_session().link, steps)
