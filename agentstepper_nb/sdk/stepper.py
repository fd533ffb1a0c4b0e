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
    """Connects an agent to the debugger and halts it at its LLM queries and tool calls.

    ::

        with AgentStepper("my agent") as dbg:
            with dbg.llm(prompt) as q:
                q.response = call_model(q.prompt)
            with dbg.tool("search", {"q": "cats"}) as t:
                t.result = run_tool(t.name, t.args)

    A halt point blocks the calling thread only; other threads go on. An event that was begun
    belongs to the context (the thread or the task) that began it.

    An `AgentStepper` and an `AsyncAgentStepper` share one run if both are open in one process, have
    the same program name and use the same Core. The second one joins the run of the first:

    - Its events appear in the timeline of the first. It does not halt at a start of its own.
    - Its end does not end the run; the end of the first one ends the run for both.
    - Each keeps its own `redact`, `to_json`, `from_json` and workspace.
    - `mode`, `on_disconnect`, `notice` and `inspect` are those of the first. A debug message names
      those arguments of the second that differ.

    Two of the same class are two runs, and so are two of different program names. If several open
    runs could be joined, none is joined.

    Args:
        program_name: The name of the run's program. The environment variable AGENTSTEPPER_NAME
            overrides it.
        address: The Core's host. If `address`, `port` and `url` are all omitted, the Core is
            discovered.
        port: The Core's port for agents.
        agent_workspace_path: The folder that the agent works on. The debugger records its changes
            at the end of each tool call and at `commit_agent_changes`. The folder is only read.
        url: The Core's address as a URL, in place of `address` and `port`.
        token: The agent token. Needed only where the Core asks for one that discovery doesn't find.
        stop_on_entry: Whether the run halts before the agent does anything. Has no effect with
            `mode="continue"`.
        mode: The mode that the run begins in. "step": the run halts at each halt point.
            "continue": the run halts only where a breakpoint or an approval says so.
        on_disconnect: The behaviour when the Core goes away. "wait": go on to the next halt point and
            wait there until the Core is back. "continue": go on without edits. "raise": every call
            raises ConnectionLostError. With "wait" and "continue" the run goes on once the Core is
            back, and none of its events is lost. A Core that speaks version 1 can't resume a run:
            then the calls raise in any case.
        redact: Called as `redact(word, value)` before a value leaves the process; returns the value
            to show in its place. The words are those of `payload.RedactKind`.
        to_json: Called with each value that has no JSON form; returns a value that has one. If it
            raises TypeError, the value is shown as without the hook. Any other exception is shown
            to the person, and the value is shown by its repr.
        from_json: Called as `from_json(edited, original)` for an edit of a value that `to_json`
            converted; returns a value of the original's type. `edited` is the result of `to_json`
            for the original, with the edit in it. To refuse an edit, it raises an exception; the
            person reads the message. Without `from_json` the agent receives the edited JSON as it
            is.
        require_clean: Whether to refuse a workspace whose own repository has uncommitted changes.
            Otherwise those changes are part of the state that the run begins with.
        notice: A warning that holds for the whole run, as "No sandbox: commands may do what you
            may.". The view shows the words before the first colon, and the whole text as the
            explanation. At most 1,000 characters; "": no notice. An agent that runs inside another
            one's run shows no notice.
        inspect: Whether people who control the run may look at its stack and locals at a halt, and
            evaluate expressions there. None: as AGENTSTEPPER_INSPECT says (1 or 0), else only where
            the Core is on this machine.

    Raises:
        DiscoveryError: No Core was found.
        ConnectionLostError: The Core refuses this agent.
        WorkspaceError: The workspace can't be tracked, or has uncommitted changes that
            `require_clean` refuses.
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
        """Halt before and after an LLM query: send `q.prompt` in the block, and set `q.response`.

        An exception inside of the block is shown to the person, and then raised again unless the
        person gives a response in its place. In a coroutine write `async with`: `with` would block
        the event loop, and is refused.

        Args:
            prompt: The prompt: any JSON value.
            model: The model's name; None: the value of the prompt's `"model"` field.
        """
        return LlmQuery(self, prompt, model)

    def tool(self, name: str, args: Any, *, approval: Approval | None = None) -> ToolInvocation:
        """Halt before and after a tool call: call `t.name` with `t.args` inside, set `t.result`.

        With `approval` the block is entered only after somebody approved the call. The person may
        change the arguments. If the call is denied, entering the block raises ToolDeniedError.

        Args:
            name: The tool's name.
            args: The tool's arguments: any JSON value.
            approval: The approval that the call needs; None: the call needs none.
        """
        return ToolInvocation(self, name, args, approval)

    def event(self, name: str, data: Any = None) -> CustomEvent:
        """Halt before and after a custom event: use `e.data` in the block, and set `e.result`.

        ::

            with dbg.event("retrieval", {"query": "boats"}) as e:
                e.result = search(**e.data)

        The Core need not know the type. An extension may tell the Core how to show events of the
        type.

        Args:
            name: The event's type: a lower-case word.
            data: The data that the event begins with: any JSON value.

        Raises:
            ValueError: The name can't be a type's name.
        """
        return CustomEvent(self, name, data)

    # ---- AgentStepper's methods ---------------------------------------------------------------------

    def begin_llm_query_breakpoint(self, prompt: Any) -> Any:
        """Halt before an LLM query, and return the prompt to send.

        This method can't skip the query. If the person skips it, the result that the person gave
        replaces the response at the end halt point.

        Args:
            prompt: The prompt: any JSON value.

        Returns:
            The same object, or the person's edit.
        """
        return self._run_flow(self._open_flow().begin(EventKind.LLM_QUERY, prompt)).value

    def end_llm_query_breakpoint(self, response: Any) -> Any:
        """Halt after an LLM query, and return the response to go on with.

        Args:
            response: The response: any JSON value.

        Returns:
            The same object, or the person's edit.

        Raises:
            RuntimeError: The innermost begun event of this context is no LLM query.
        """
        return self._run_flow(self._open_flow().end(EventKind.LLM_QUERY, response)).value

    def begin_tool_invocation_breakpoint(self, tool: str, args: Any) -> tuple[str, Any]:
        """Halt before a tool call, and return the tool's name and the arguments to call it with.

        Args:
            tool: The tool's name.
            args: The tool's arguments: any JSON value.

        Returns:
            The same objects, or the person's edits.
        """
        begun = self._run_flow(self._open_flow().begin_tool(tool, args))
        return begun.tool, begun.args

    def end_tool_invocation_breakpoint(self, results: Any) -> Any:
        """Halt after a tool call, and return the results to go on with.

        Args:
            results: The results: any JSON value.

        Returns:
            The same object, or the person's edit.

        Raises:
            RuntimeError: The innermost begun event of this context is no tool invocation.
        """
        return self._run_flow(self._open_flow().end(EventKind.TOOL_INVOCATION, results)).value

    def commit_agent_changes(self, commit_summary: str = "", commit_description: str = "") -> bool:
        """Record the changes in the agent's workspace since the last commit.

        Args:
            commit_summary: The commit's title; "": the title is made from the changes.
            commit_description: The commit's description.

        Returns:
            Whether there were changes to commit.
        """
        return self._make_commit(commit_summary, commit_description)

    def post_debug_message(self, message: str) -> None:
        """Show a message to everybody who watches the run.

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
        """Start a program whose AgentSteppers use this one's Core; its output is printed here.

        ::

            dbg.spawn([sys.executable, "agent.py"]).wait()

        The program has runs of its own, which are listed as they begin. The child belongs to this
        process: the end of `with dbg` waits for the child; an exception that leaves the block ends
        the child, and so does the interpreter's exit. On Linux the child gets SIGTERM even if this
        process is killed. Processes that the program starts in turn are not tracked.

        Args:
            argv: The program and its arguments. `sys.executable` is this Python; "python" is the
                first one on PATH, which may be another.
            name: The name of the child's runs, in place of the name that the program gives.
            cwd: The child's working folder; None: this process's.
            env: Environment variables to add to this process's own.

        Returns:
            The child process, whose `wait` waits for its end.

        Raises:
            OSError: The program or the folder doesn't exist, or the program can't be run.
            ConnectionLostError: This AgentStepper is closed.
        """
        run = self._open_run()
        started = start_child(run.endpoint, argv, name, cwd, env)
        return self._children.add(SyncChildAgent(*started, run.report_child_exit))

    # ---- the end ------------------------------------------------------------------------------------

    def close(self) -> None:
        """Wait for spawned programs, and end the run. The workspace stays as it is."""
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
