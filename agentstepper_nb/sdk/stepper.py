"""`AgentStepper`: the agent's interface for synchronous code."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import Future, wait
from types import TracebackType
from typing import Any, Self

from ..protocol.data_model import EventKind
from .approvals import Approval
from .base_stepper import BaseStepper, InitialMode
from .child_agents import SyncChildAgent, start_child
from .connection_state import OnDisconnect
from .drivers import run_flow
from .event_blocks import CustomEvent, LlmQuery, ToolInvocation
from .flow_effects import Flow, T
from .payload import Redact
from .value_hooks import FromJson, ToJson


class AgentStepper(BaseStepper):
    """Connects an agent to the debugger, and halts it where a person wants to look.

    ::

        with AgentStepper("my agent") as dbg:
            with dbg.llm(prompt) as q:
                q.response = call_model(q.prompt)
            with dbg.tool("search", {"q": "cats"}) as t:
                t.result = run_tool(t.name, t.args)

    A halt point waits on the calling thread only: other threads and their halt points go on. Begun
    events belong to the context (thread or task) that began them.

    An `AgentStepper` and an `AsyncAgentStepper` of one program name at one Core that are open at once
    in a process are one run. The second joins the run that the first began: its events stand in that
    timeline, it doesn't halt at a start of its own, and its end ends nothing; the end of the first ends
    the run for both. `redact`, `to_json`, `from_json` and the workspace stay each one's own. `mode`,
    `on_disconnect`, `notice` and `inspect` are the first's: a debug message names those of the second
    that differ. Two of the same form are two runs, and so are those of different names; where several
    could be joined, none is.

    Args:
        program_name: What the run is called after; the environment's AGENTSTEPPER_NAME where it is set.
        address: The Core's host; with neither this nor `port` nor `url` it is looked for.
        port: The Core's port for agents.
        agent_workspace_path: The folder the agent works on, whose changes are to be seen: at each tool's
            end, and by `commit_agent_changes`. It is only read.
        url: The Core's address as a URL, in place of `address` and `port`.
        token: The agents' token, where the Core asks for one that discovery doesn't find.
        stop_on_entry: Whether to halt at once, before the agent does anything; not where it begins by
            continuing.
        mode: How the run begins. "step": it halts at each halt point. "continue": it runs, and halts
            where a stop or an approval says so.
        on_disconnect: What to do where the Core goes away. "wait": go on to the next halt point and
            wait there until it is back. "continue": go on unedited. "raise": every call raises
            ConnectionLostError. With the first two the run goes on once the Core is back, and nothing
            of it is lost; a Core that speaks version 1 can't take a run up again, so that it raises.
        redact: Called as `redact(word, value)` before a value leaves the process; gives what is shown
            in its place. The words are `payload.RedactKind`'s.
        to_json: Called with each value that JSON doesn't have; gives one that it has, or raises
            TypeError, by which the value is shown as without the hook. Another exception is shown to
            the person, and the value by its repr.
        from_json: Called as `from_json(edited, original)` for an edit of a value that `to_json` turned
            into JSON: gives a value of the original's type. `edited` is what `to_json` gave for the
            original, with the edit in it; what it doesn't accept it refuses by an exception, which the
            person reads. Without it the agent receives the edited JSON as it is.
        require_clean: Whether to refuse a workspace whose own repository has uncommitted changes;
            otherwise they are part of what the run begins with.
        notice: What a person must know of the whole run, as "No sandbox: commands may do what you may.":
            the view warns with what stands before the first colon, and explains with all of it. At most
            1,000 characters; "" is nothing. An agent inside another's run shows none.
        inspect: Whether people who control the run may look at its stack and locals at a halt, and
            evaluate expressions there. None: as AGENTSTEPPER_INSPECT says (1 or 0), else where the
            Core is on this machine.

    Raises:
        DiscoveryError: No Core was found.
        ConnectionLostError: The Core doesn't take this agent.
        WorkspaceError: The workspace can't be tracked, or isn't clean.
        AgentStopped: The person pressed Stop at the start.
    """

    _is_async = False

    def __init__(
        self,
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
    ) -> None:
        super().__init__(
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
        self._prepare()
        try:
            self._run_flow(self._start())
        except BaseException as error:
            self._close(error)
            raise

    # ---- the preferred form -------------------------------------------------------------------------

    def llm(self, prompt: Any, *, model: str | None = None) -> LlmQuery:
        """An LLM query: ask with `q.prompt` inside the block, and set `q.response`.

        An exception inside is shown to the person and raised on, unless they give a response in its
        place. In a coroutine write `async with`: `with` would block its event loop, and is refused.

        Args:
            prompt: The prompt: any JSON value.
            model: The model's name; the prompt's `"model"` where none is given.
        """
        return LlmQuery(self, prompt, model)

    def tool(self, name: str, args: Any, *, approval: Approval | None = None) -> ToolInvocation:
        """A tool invocation: run `t.name` with `t.args` inside the block, and set `t.result`.

        With an approval the block is entered once somebody has approved the call, perhaps with other
        arguments; entering it raises ToolDeniedError where it is denied.

        Args:
            name: The tool's name.
            args: Its arguments: any JSON value.
            approval: What a person is to approve first.
        """
        return ToolInvocation(self, name, args, approval)

    def event(self, name: str, data: Any = None) -> CustomEvent:
        """An event that is neither: work with `e.data` inside the block, and set `e.result`.

        ::

            with dbg.event("retrieval", {"query": "boats"}) as e:
                e.result = search(**e.data)

        The Core needn't know the type; an extension may tell it how such events are shown.

        Args:
            name: Its type: a lower-case word.
            data: What it begins with: any JSON value.

        Raises:
            ValueError: No type can have this name.
        """
        return CustomEvent(self, name, data)

    # ---- AgentStepper's methods ---------------------------------------------------------------------

    def begin_llm_query_breakpoint(self, prompt: Any) -> Any:
        """Halt before an LLM query; gives the prompt to ask with.

        Where the person skips the call, it can't be kept from happening here: the result they gave takes
        its response's place at the end halt point.

        Args:
            prompt: The prompt: any JSON value.

        Returns:
            The same object, or the person's edit.
        """
        return self._run_flow(self._open_flow().begin(EventKind.LLM_QUERY, prompt)).value

    def end_llm_query_breakpoint(self, response: Any) -> Any:
        """Halt after an LLM query; gives the response to go on with.

        Args:
            response: The response: any JSON value.

        Returns:
            The same object, or the person's edit.

        Raises:
            RuntimeError: The innermost begun event of this context is no LLM query.
        """
        return self._run_flow(self._open_flow().end(EventKind.LLM_QUERY, response)).value

    def begin_tool_invocation_breakpoint(self, tool: str, args: Any) -> tuple[str, Any]:
        """Halt before a tool runs; gives the tool and the arguments to run it with.

        Args:
            tool: The tool's name.
            args: Its arguments: any JSON value.

        Returns:
            The same objects, or the person's edits.
        """
        begun = self._run_flow(self._open_flow().begin_tool(tool, args))
        return begun.tool, begun.args

    def end_tool_invocation_breakpoint(self, results: Any) -> Any:
        """Halt after a tool ran; gives the results to go on with.

        Args:
            results: The results: any JSON value.

        Returns:
            The same object, or the person's edit.

        Raises:
            RuntimeError: The innermost begun event of this context is no tool invocation.
        """
        return self._run_flow(self._open_flow().end(EventKind.TOOL_INVOCATION, results)).value

    def commit_agent_changes(self, commit_summary: str = "", commit_description: str = "") -> bool:
        """Record what the agent changed in its workspace since the last commit.

        Args:
            commit_summary: The commit's title; made from the changes where none is given.
            commit_description: Its text.

        Returns:
            Whether there was anything to commit.
        """
        return self._make_commit(commit_summary, commit_description)

    def post_debug_message(self, message: str) -> None:
        """Say something to whoever is watching.

        Args:
            message: The text.
        """
        self._run_flow(self._open_flow().post_debug_message(message))

    # ---- children -----------------------------------------------------------------------------------

    def spawn(
        self,
        argv: Sequence[str | os.PathLike[str]],
        *,
        name: str | None = None,
        cwd: str | os.PathLike[str] | None = None,
        env: Mapping[str, str] | None = None,
    ) -> SyncChildAgent:
        """Start a program whose AgentSteppers find this one's Core; its output comes out here.

        ::

            dbg.spawn([sys.executable, "agent.py"]).wait()

        Its runs are its own, and are listed as they begin. It belongs to this process: leaving the
        `with dbg` waits for it, an exception that leaves it ends it, and so does the interpreter's
        exit. On Linux it gets SIGTERM even where this process is killed. What the program starts in
        turn is its own affair.

        Args:
            argv: The program and its arguments. `sys.executable` is this Python; "python" is the first
                on PATH, which may be another.
            name: What its runs are called, in place of the name that the program gives.
            cwd: Its folder; this process's where none is given.
            env: Variables beside this process's own.

        Returns:
            The child, to be waited for.

        Raises:
            OSError: There is no such program or folder, or it can't be run.
            ConnectionLostError: This AgentStepper is closed.
        """
        run = self._open_run()
        started = start_child(run.endpoint, argv, name, cwd, env)
        return self._children.add(SyncChildAgent(*started, run.report_child_exit))

    # ---- the end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Wait for what was spawned, and end the run. The workspace stays as the agent left it."""
        self._close(None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._close(error)

    def _close(self, error: BaseException | None) -> None:
        try:
            self._children.join(error)
        except BaseException as interrupt:
            error = interrupt
            raise
        finally:
            self._send_bye(error)

    def _send_bye(self, error: BaseException | None) -> None:
        try:
            self._call_close_callbacks(error)
        finally:
            closed = self._finish(error)
            if closed is not None:
                self._wait_closed(closed)

    def _wait_closed(self, closed: Future[None]) -> None:
        link = self._current_session().link
        left = math.inf
        while link.undelivered_count < left:  # the Core takes what the agent told as it went on
            left = link.undelivered_count
            if wait([closed], self._limits.close_timeout_s).done:
                return
        link.give_up()

    def _run_flow(self, steps: Flow[T]) -> T:
        return run_flow(self._current_session().link, steps)
