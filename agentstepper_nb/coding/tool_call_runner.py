"""Runs one tool call: policy, approval and execution; a person can edit each in the debugger."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import AgentStepperError, InjectedError, ToolDeniedError
from ..llm_wire.conversation import ToolCall
from ..llm_wire.events import TraceEvent
from .approvals import (
    ApprovalDecision,
    ApprovalRequest,
    ApprovalRequester,
    FirstAnswerApproval,
    make_approval_entry,
    make_approval_event,
    make_denied_result,
)
from .policy.engine import PolicyDecision, PolicyEngine, PolicyEvaluation
from .session_log import EDITED_KIND
from .snapshots import Snapshots
from .tool import Risk, Tool, ToolContext, ToolResult, has_shell
from .tool_results import add_note, decode_result, encode_result, normalize_result, shorten_result
from .tools import ToolRegistry
from .tools.run_command import RETRY_CALL_ID_SUFFIX, RunCommand, find_retry
from .transcript import Transcript

if TYPE_CHECKING:
    from ..sdk.approvals import Approval
    from ..sdk.async_stepper import AsyncAgentStepper
    from ..sdk.event_blocks import ToolInvocation

#: Called with a tool's name and arguments, and whether it has a shell, where a person allows them from
#: now on.
RuleSaver = Callable[[str, Any, bool], None]
#: Called with a tool's name and arguments, as they are in force, when the tool begins.
ToolStartListener = Callable[[str, Any], None]


class RequestedCall(Struct, frozen=True, kw_only=True):
    """A call as it is in force: what the model wrote, or what a person made of it."""

    name: str
    args: Any
    tool: Tool | None
    problem: str | None  # why it can't be carried out, whatever a policy says


class _CallDeniedError(Exception):
    """A call is denied.

    Args:
        decision: What was decided, and by whom.
    """

    def __init__(self, decision: ApprovalDecision) -> None:
        super().__init__(decision.reason)
        self.decision = decision


class CompletedCall(NamedTuple):
    """A completed call with its result."""

    result: ToolResult
    executed_call: RequestedCall | None = (
        None  # the call that gave it; None: a person gave or denied it
    )


class ToolCallRunner:
    """Runs the agent's tool calls.

    Args:
        tools: The tools.
        policy: Decides about each call.
        ctx: The context of the tools.
        transcript: Receives the events of the calls.
        requester: Requests approvals besides the debugger's view.
        dbg: The AgentStepper that traces each call; None: calls aren't traced.
        timeout_s: The most seconds of one call; None: no limit.
        save_rule: Stores the rule of an "always" answer; None: no rule is stored.
        snapshots: Stores the workspace before each change; None: nothing is stored.
        on_tool_start: Called when a call begins to execute; None: nothing is called.
    """

    def __init__(
        self,
        tools: ToolRegistry,
        policy: PolicyEngine,
        ctx: ToolContext,
        transcript: Transcript,
        requester: ApprovalRequester,
        dbg: AsyncAgentStepper | None,
        timeout_s: float | None,
        save_rule: RuleSaver | None,
        snapshots: Snapshots | None = None,
        on_tool_start: ToolStartListener | None = None,
    ) -> None:
        self._tools = tools
        self._policy = policy
        self._ctx = ctx
        self._transcript = transcript
        self._requester = requester
        self._dbg = dbg
        self._timeout_s = timeout_s
        self._save_rule = save_rule
        self._snapshots = snapshots
        self._on_tool_start = on_tool_start
        self._warned: str | None = None  # why no snapshot was made

    async def execute_call(self, call: ToolCall) -> ToolResult:
        """Carry one call out. Whatever goes wrong with it is a result that the model reads.

        Args:
            call: As the model wrote it.
        """
        args, problem = _parsed(call)
        requested = self._resolve_call(call.name, args, problem)
        completed = await self._execute_resolved(
            call.call_id, requested, await self._evaluate(requested)
        )
        return await self._offer_retry(call.call_id, completed)

    async def _execute_resolved(
        self, call_id: str, requested: RequestedCall, evaluation: PolicyEvaluation
    ) -> CompletedCall:
        self._log_unseen(call_id, requested, evaluation)
        if self._dbg is None:
            return await self._execute_without_debugger(call_id, requested, evaluation)
        try:
            return await self._execute_in_debugger(self._dbg, call_id, requested, evaluation)
        except _CallDeniedError as denied:
            return CompletedCall(make_denied_result(denied.decision))
        except ToolDeniedError as denied:
            return CompletedCall(
                make_denied_result(ApprovalDecision(approved=False, reason=denied.reason))
            )
        except InjectedError as error:
            return CompletedCall(ToolResult.failure(f"{requested.name} failed: {error}"))

    async def _offer_retry(self, call_id: str, first: CompletedCall) -> ToolResult:
        """Ask whether a command that failed on the sandbox runs again, with what it lacked.

        Nobody is asked twice about a call, nor where the policy doesn't ask: the model knows what to do.
        """
        retry = first.executed_call and find_retry(
            first.executed_call.name, first.executed_call.args, first.result
        )
        if not retry or (self._dbg is None and self._requester.approver is None):
            return first.result
        requested = self._resolve_call(RunCommand.name, retry.args)
        evaluation = await self._evaluate(requested)
        if evaluation.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return first.result
        reason = (
            retry.retry_question
            if evaluation.grant
            else f"{retry.retry_question} {evaluation.reason}"
        )
        second = await self._execute_resolved(
            f"{call_id}{RETRY_CALL_ID_SUFFIX}", requested, replace(evaluation, reason=reason)
        )
        if second.executed_call is None:
            return normalize_result(add_note(first.result, asked_again=second.result.error))
        return normalize_result(
            add_note(second.result, run_again={"with": retry.added_args, "because": retry.cause})
        )

    # ---- with nobody but the approver ---------------------------------------------------------------

    async def _execute_without_debugger(
        self, call_id: str, requested: RequestedCall, evaluation: PolicyEvaluation
    ) -> CompletedCall:
        if evaluation.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return CompletedCall(await self._run(requested, evaluation), requested)
        request = _request(call_id, requested, evaluation)
        self._transcript.record_event(make_approval_event(request))
        decision = await self._requester.request_without_debugger(request)
        self._transcript.add_approval(make_approval_entry(request, decision))
        if not decision.approved:
            return CompletedCall(make_denied_result(decision))
        edited = decision.edited and decision.args != requested.args
        if edited:
            requested, evaluation = await self._edited(
                call_id, requested, requested.name, decision.args
            )
        return CompletedCall(
            await self._approved(requested, evaluation, decision.always, edited), requested
        )

    # ---- with the debugger --------------------------------------------------------------------------

    async def _execute_in_debugger(
        self,
        dbg: AsyncAgentStepper,
        call_id: str,
        requested: RequestedCall,
        evaluation: PolicyEvaluation,
    ) -> CompletedCall:
        own_result: dict[str, Any] | None = None
        async with AsyncExitStack() as stack:
            block, approval = await self._begin(stack, dbg, call_id, requested, evaluation)
            edited = block.args is not requested.args or block.name != requested.name
            if edited:
                requested, evaluation = await self._edited(
                    call_id, requested, block.name, block.args
                )
            if not block.skipped:
                always = approval is not None and approval.always
                own_result = encode_result(
                    await self._approved(requested, evaluation, always, edited)
                )
                block.result = own_result
        result = decode_result(block.result)
        if block.result is own_result:
            return CompletedCall(normalize_result(result), requested)
        data = {"what": "result", "call_id": call_id, "result": encode_result(result)}
        self._transcript.record_event(TraceEvent(EDITED_KIND, data))
        return CompletedCall(normalize_result(result))

    async def _begin(
        self,
        stack: AsyncExitStack,
        dbg: AsyncAgentStepper,
        call_id: str,
        requested: RequestedCall,
        evaluation: PolicyEvaluation,
    ) -> tuple[ToolInvocation, Approval | None]:
        """Begin the call's event, and get past its halt point, asking for an approval where need be."""
        if evaluation.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return await stack.enter_async_context(dbg.tool(requested.name, requested.args)), None
        request = _request(call_id, requested, evaluation)
        self._transcript.record_event(make_approval_event(request))
        concurrent = FirstAnswerApproval(self._requester, request)
        try:
            async with concurrent as approval:
                block = dbg.tool(requested.name, requested.args, approval=approval)
                await stack.enter_async_context(block)
        except ToolDeniedError as denied:
            outcome = concurrent.outcome(approved=False, reason=denied.reason)
            self._transcript.add_approval(make_approval_entry(request, outcome))
            raise _CallDeniedError(outcome) from denied
        self._transcript.add_approval(
            make_approval_entry(request, concurrent.outcome(approved=True))
        )
        return block, approval

    # ---- parts --------------------------------------------------------------------------------------

    def _log_unseen(
        self, call_id: str, requested: RequestedCall, evaluation: PolicyEvaluation
    ) -> None:
        """Log a call that nobody is asked about because a rule or `--yes` decides."""
        if evaluation.decided_by is not None:
            allowed = evaluation.decision is PolicyDecision.ALLOWED
            request = _request(call_id, requested, evaluation)
            decision = ApprovalDecision(approved=allowed, decided_by=evaluation.decided_by)
            self._transcript.add_approval(make_approval_entry(request, decision))

    def _resolve_call(self, name: str, args: Any, problem: str | None = None) -> RequestedCall:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(spec.name for spec in self._tools.specs())
            problem = f"There is no tool {name!r}. There are: {known}."
        return RequestedCall(name=name, args=args, tool=tool, problem=problem)

    async def _edited(
        self, call_id: str, before: RequestedCall, name: str, args: Any
    ) -> tuple[RequestedCall, PolicyEvaluation]:
        """A call as a person made it, judged again: they may do what asks, not what is denied."""
        requested = self._resolve_call(name, args)
        data = {"what": "call", "call_id": call_id, "name": name, "args": args}
        self._transcript.record_event(TraceEvent(EDITED_KIND, data))
        return requested, await self._evaluate(requested)

    async def _evaluate(self, requested: RequestedCall) -> PolicyEvaluation:
        if requested.tool is None or requested.problem is not None:
            return PolicyEvaluation(
                decision=PolicyDecision.ALLOWED, reason="It can't be carried out."
            )
        try:
            args_json = json.dumps(requested.args, ensure_ascii=False)
            evaluation = await self._policy.evaluate(requested.tool, args_json)
            if not isinstance(evaluation, PolicyEvaluation):
                evaluation = PolicyEvaluation(decision=evaluation)
            # A word does as well; what is none of them must not pass for a yes.
            return replace(evaluation, decision=PolicyDecision(evaluation.decision))
        except Exception as error:  # of a policy of somebody's own
            why = f"The policy failed: {error}"
            return PolicyEvaluation(
                decision=PolicyDecision.REQUIRES_APPROVAL, reason=why, risk=Risk.HIGH
            )

    async def _approved(
        self, requested: RequestedCall, evaluation: PolicyEvaluation, always: bool, edited: bool
    ) -> ToolResult:
        """Run what a person has seen and let pass."""
        denied = evaluation.decision is PolicyDecision.DENIED
        if always and not denied and requested.problem is None:
            self._remember_approval(requested, evaluation)
        result = await self._run(requested, evaluation)
        if not edited:
            return result
        executed = {"name": requested.name, "arguments": requested.args}
        return normalize_result(add_note(result, edited_by_a_person=executed))

    def _remember_approval(self, requested: RequestedCall, evaluation: PolicyEvaluation) -> None:
        """Do as a person's "always" says: for the session where it is a grant, else for good."""
        if evaluation.grant is not None:
            if self._ctx.session_sandbox is not None:
                self._ctx.session_sandbox.grants.add(evaluation.grant)
            return
        if self._save_rule is None or evaluation.rule is None or requested.tool is None:
            return  # nothing of the kind was offered
        try:
            self._save_rule(requested.name, requested.args, has_shell(requested.tool))
        except AgentStepperError as error:  # it will be asked again: no harm done
            self._transcript.record_event(TraceEvent("warning", {"message": str(error)}))

    async def _run(self, requested: RequestedCall, evaluation: PolicyEvaluation) -> ToolResult:
        if requested.tool is None or requested.problem is not None:
            return ToolResult.failure(requested.problem or "")
        if evaluation.decision is PolicyDecision.DENIED:
            return ToolResult.failure(f"The policy denies this call: {evaluation.reason}")
        limit = asyncio.timeout(self._timeout_s)
        try:
            async with limit:
                result = await self._execute(requested.tool, requested)
        except Exception as error:  # tools raise nothing, but this one did
            if limit.expired():
                text = f"{requested.name} took longer than {self._timeout_s:g} seconds."
                return ToolResult.failure(text)
            return _failed(requested.name, error)
        except asyncio.CancelledError as error:
            if _is_cancelling():
                raise
            return _failed(requested.name, error)  # something of its own was cancelled, and not we
        return shorten_result(
            normalize_result(result), self._ctx.output_limit_bytes, self._ctx.outputs
        )

    async def _execute(self, tool: Tool, requested: RequestedCall) -> ToolResult:
        if not tool.policy.read_only:
            await self._save_workspace()
        if self._on_tool_start is not None:
            self._on_tool_start(requested.name, requested.args)
        return await tool.execute(requested.args, self._ctx)

    async def _save_workspace(self) -> None:
        """Store the workspace before a tool changes it; say once why that can't be done."""
        if self._snapshots is None:
            return
        await asyncio.to_thread(self._snapshots.save_snapshot)
        reason = self._snapshots.unavailable_reason
        if reason is not None and reason != self._warned:
            text = f"No snapshots are made before changes: {reason}"
            self._transcript.record_event(TraceEvent("warning", {"message": text}))
        self._warned = reason


def _parsed(call: ToolCall) -> tuple[Any, str | None]:
    """The arguments; where they are no JSON the text itself, and what is wrong with it."""
    try:
        # A call without arguments is often written as nothing at all.
        return msgspec.json.decode(call.args_json or "{}"), None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem = f"The arguments of {call.name} are not JSON: {error}. Write the call again."
        return call.args_json, problem


def _failed(name: str, error: BaseException) -> ToolResult:
    kind = type(error).__qualname__
    return ToolResult.failure(f"{name} failed: {str(error) or kind}", type=kind)


def _is_cancelling() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _request(
    call_id: str, requested: RequestedCall, evaluation: PolicyEvaluation
) -> ApprovalRequest:
    return ApprovalRequest(
        call_id=call_id,
        tool=requested.name,
        args=requested.args,
        risk=evaluation.risk,
        policy_reason=evaluation.reason,
        rule=evaluation.rule,
    )
