"""One tool call: judged, asked for, carried out, and each of it in a person's hands."""

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
    ConcurrentApproval,
    make_approval_entry,
)
from .policy.engine import Judgement, PolicyDecision, PolicyEngine
from .session_log import EDITED
from .snapshots import Snapshots
from .tool import Risk, Tool, ToolContext, ToolResult
from .tool_results import add_note, decode_result, encode_result, normalize_result, shorten_result
from .tools import ToolRegistry
from .tools.run_command import SUFFIX, RunCommand, find_retry
from .transcript import Transcript

if TYPE_CHECKING:
    from ..sdk.approvals import Approval
    from ..sdk.async_stepper import AsyncAgentStepper
    from ..sdk.event_blocks import AsyncToolInvocation

#: Called with a tool's name and arguments where a person allows them from now on.
Remember = Callable[[str, Any], None]
#: Called with a tool's name and arguments, as they are in force, when the tool begins.
Began = Callable[[str, Any], None]


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
    """What a call came to."""

    result: ToolResult
    ran: RequestedCall | None = None  # the call that gave it; None: a person gave or denied it


class ToolCallRunner:
    """Carries calls out.

    Args:
        tools: What there is.
        policy: Judges each call.
        ctx: What tools are given.
        transcript: Whom to tell.
        deciding: Whom to ask, beside the debugger.
        dbg: The debugger that sees each call; None for none.
        patience: Seconds that one may take; None is without end.
        remember: What to do with "always"; None: nothing.
        snapshots: Stores the workspace before each change; None stores nothing.
        began: Is called as each call is carried out; None: nobody is told.
    """

    def __init__(
        self,
        tools: ToolRegistry,
        policy: PolicyEngine,
        ctx: ToolContext,
        transcript: Transcript,
        deciding: ApprovalRequester,
        dbg: AsyncAgentStepper | None,
        patience: float | None,
        remember: Remember | None,
        snapshots: Snapshots | None = None,
        began: Began | None = None,
    ) -> None:
        self._tools = tools
        self._policy = policy
        self._ctx = ctx
        self._transcript = transcript
        self._deciding = deciding
        self._dbg = dbg
        self._patience = patience
        self._remember = remember
        self._snapshots = snapshots
        self._began = began
        self._warned: str | None = None  # why no snapshot was made

    async def carry_out(self, call: ToolCall) -> ToolResult:
        """Carry one call out. Whatever goes wrong with it is a result that the model reads.

        Args:
            call: As the model wrote it.
        """
        args, problem = _parsed(call)
        wanted = self._wanted(call.name, args, problem)
        carried = await self._carried(call.call_id, wanted, await self._judge(wanted))
        return await self._again(call.call_id, carried)

    async def _carried(
        self, call_id: str, wanted: RequestedCall, judgement: Judgement
    ) -> CompletedCall:
        self._log_unseen(call_id, wanted, judgement)
        if self._dbg is None:
            return await self._alone(call_id, wanted, judgement)
        try:
            return await self._debugged(self._dbg, call_id, wanted, judgement)
        except _CallDeniedError as denied:
            return CompletedCall(_denied(denied.decision))
        except ToolDeniedError as denied:
            return CompletedCall(_denied(ApprovalDecision(approved=False, reason=denied.reason)))
        except InjectedError as error:
            return CompletedCall(ToolResult.failure(f"{wanted.name} failed: {error}"))

    async def _again(self, call_id: str, first: CompletedCall) -> ToolResult:
        """Ask whether a command that failed on the sandbox runs again, with what it lacked.

        Nobody is asked twice about a call, nor where the policy doesn't ask: the model knows what to do.
        """
        more = first.ran and find_retry(first.ran.name, first.ran.args, first.result)
        if not more or (self._dbg is None and self._deciding.approver is None):
            return first.result
        wanted = self._wanted(RunCommand.name, more.args)
        judgement = await self._judge(wanted)
        if judgement.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return first.result
        why = more.question if judgement.grant else f"{more.question} {judgement.why}"
        second = await self._carried(f"{call_id}{SUFFIX}", wanted, replace(judgement, why=why))
        if second.ran is None:
            return normalize_result(add_note(first.result, asked_again=second.result.error))
        return normalize_result(
            add_note(second.result, run_again={"with": more.added, "because": more.cause})
        )

    # ---- with nobody but the approver ---------------------------------------------------------------

    async def _alone(
        self, call_id: str, wanted: RequestedCall, judgement: Judgement
    ) -> CompletedCall:
        if judgement.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return CompletedCall(await self._run(wanted, judgement), wanted)
        request = _request(call_id, wanted, judgement)
        self._transcript.tell(_required(request))
        decision = await self._deciding.alone(request)
        self._transcript.approval(make_approval_entry(request, decision))
        if not decision.approved:
            return CompletedCall(_denied(decision))
        edited = decision.edited and decision.args != wanted.args
        if edited:
            wanted, judgement = await self._edited(call_id, wanted, wanted.name, decision.args)
        return CompletedCall(
            await self._approved(wanted, judgement, decision.always, edited), wanted
        )

    # ---- with the debugger --------------------------------------------------------------------------

    async def _debugged(
        self, dbg: AsyncAgentStepper, call_id: str, wanted: RequestedCall, judgement: Judgement
    ) -> CompletedCall:
        mine: dict[str, Any] | None = None
        async with AsyncExitStack() as stack:
            block, approval = await self._begin(stack, dbg, call_id, wanted, judgement)
            edited = block.args is not wanted.args or block.name != wanted.name
            if edited:
                wanted, judgement = await self._edited(call_id, wanted, block.name, block.args)
            if not block.skipped:
                always = approval is not None and approval.always
                mine = encode_result(await self._approved(wanted, judgement, always, edited))
                block.result = mine
        result = decode_result(block.result)
        if block.result is mine:
            return CompletedCall(normalize_result(result), wanted)
        data = {"what": "result", "call_id": call_id, "result": encode_result(result)}
        self._transcript.tell(TraceEvent(EDITED, data))
        return CompletedCall(normalize_result(result))

    async def _begin(
        self,
        stack: AsyncExitStack,
        dbg: AsyncAgentStepper,
        call_id: str,
        wanted: RequestedCall,
        judgement: Judgement,
    ) -> tuple[AsyncToolInvocation, Approval | None]:
        """Begin the call's event, and get past its halt point, asking for an approval where need be."""
        if judgement.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return await stack.enter_async_context(dbg.tool(wanted.name, wanted.args)), None
        request = _request(call_id, wanted, judgement)
        self._transcript.tell(_required(request))
        beside = ConcurrentApproval(self._deciding, request)
        try:
            async with beside as approval:
                block = dbg.tool(wanted.name, wanted.args, approval=approval)
                await stack.enter_async_context(block)
        except ToolDeniedError as denied:
            outcome = beside.outcome(approved=False, reason=denied.reason)
            self._transcript.approval(make_approval_entry(request, outcome))
            raise _CallDeniedError(outcome) from denied
        self._transcript.approval(make_approval_entry(request, beside.outcome(approved=True)))
        return block, approval

    # ---- parts --------------------------------------------------------------------------------------

    def _log_unseen(self, call_id: str, wanted: RequestedCall, judgement: Judgement) -> None:
        """Log a call that nobody is asked about because a rule or `--yes` decides."""
        if judgement.by is not None:
            allowed = judgement.decision is PolicyDecision.ALLOWED
            request = _request(call_id, wanted, judgement)
            decision = ApprovalDecision(approved=allowed, by=judgement.by)
            self._transcript.approval(make_approval_entry(request, decision))

    def _wanted(self, name: str, args: Any, problem: str | None = None) -> RequestedCall:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(spec.name for spec in self._tools.specs())
            problem = f"There is no tool {name!r}. There are: {known}."
        return RequestedCall(name=name, args=args, tool=tool, problem=problem)

    async def _edited(
        self, call_id: str, before: RequestedCall, name: str, args: Any
    ) -> tuple[RequestedCall, Judgement]:
        """A call as a person made it, judged again: they may do what asks, not what is denied."""
        wanted = self._wanted(name, args)
        data = {"what": "call", "call_id": call_id, "name": name, "args": args}
        self._transcript.tell(TraceEvent(EDITED, data))
        return wanted, await self._judge(wanted)

    async def _judge(self, wanted: RequestedCall) -> Judgement:
        if wanted.tool is None or wanted.problem is not None:
            return Judgement(decision=PolicyDecision.ALLOWED, why="It can't be carried out.")
        try:
            said = await self._policy.evaluate(wanted.tool, _text(wanted.args))
            judgement = said if isinstance(said, Judgement) else Judgement(decision=said)
            # A word does as well; what is none of them must not pass for a yes.
            return replace(judgement, decision=PolicyDecision(judgement.decision))
        except Exception as error:  # of a policy of somebody's own
            why = f"The policy failed: {error}"
            return Judgement(decision=PolicyDecision.REQUIRES_APPROVAL, why=why, risk=Risk.HIGH)

    async def _approved(
        self, wanted: RequestedCall, judgement: Judgement, always: bool, edited: bool
    ) -> ToolResult:
        """Run what a person has seen and let pass."""
        denied = judgement.decision is PolicyDecision.DENIED
        if always and not denied and wanted.problem is None:
            self._keep(wanted, judgement)
        result = await self._run(wanted, judgement)
        if not edited:
            return result
        ran = {"name": wanted.name, "arguments": wanted.args}
        return normalize_result(add_note(result, edited_by_a_person=ran))

    def _keep(self, wanted: RequestedCall, judgement: Judgement) -> None:
        """Do as a person's "always" says: for the session where it is a grant, else for good."""
        if judgement.grant is not None:
            if self._ctx.confinement is not None:
                self._ctx.confinement.grants.add(judgement.grant)
            return
        if self._remember is None:
            return
        try:
            self._remember(wanted.name, wanted.args)
        except AgentStepperError as error:  # it will be asked again: no harm done
            self._transcript.tell(TraceEvent("warning", {"message": str(error)}))

    async def _run(self, wanted: RequestedCall, judgement: Judgement) -> ToolResult:
        if wanted.tool is None or wanted.problem is not None:
            return ToolResult.failure(wanted.problem or "")
        if judgement.decision is PolicyDecision.DENIED:
            return ToolResult.failure(f"The policy denies this: {judgement.why}")
        limit = asyncio.timeout(self._patience)
        try:
            async with limit:
                result = await self._execute(wanted.tool, wanted)
        except Exception as error:  # tools raise nothing, but this one did
            if limit.expired():
                text = f"{wanted.name} took longer than {self._patience:g} seconds."
                return ToolResult.failure(text)
            return _failed(wanted.name, error)
        except asyncio.CancelledError as error:
            if _cancelling():
                raise
            return _failed(wanted.name, error)  # something of its own was cancelled, and not we
        return shorten_result(normalize_result(result), self._ctx.output_limit, self._ctx.outputs)

    async def _execute(self, tool: Tool, wanted: RequestedCall) -> ToolResult:
        if not tool.policy.read_only:
            await self._save_workspace()
        if self._began is not None:
            self._began(wanted.name, wanted.args)
        return await tool.execute(wanted.args, self._ctx)

    async def _save_workspace(self) -> None:
        """Store the workspace before a tool changes it; say once why that can't be done."""
        if self._snapshots is None:
            return
        await asyncio.to_thread(self._snapshots.look)
        why_not = self._snapshots.why_not
        if why_not is not None and why_not != self._warned:
            text = f"No snapshot is made before changes: {why_not}"
            self._transcript.tell(TraceEvent("warning", {"message": text}))
        self._warned = why_not


def _parsed(call: ToolCall) -> tuple[Any, str | None]:
    """The arguments; where they are no JSON the text itself, and what is wrong with it."""
    try:
        # A call without arguments is often written as nothing at all.
        return msgspec.json.decode(call.args_json or "{}"), None
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        problem = f"The arguments of {call.name} are not JSON: {error}. Write the call again."
        return call.args_json, problem


def _text(args: Any) -> str:
    return json.dumps(args, ensure_ascii=False)


def _failed(name: str, error: BaseException) -> ToolResult:
    kind = type(error).__qualname__
    return ToolResult.failure(f"{name} failed: {str(error) or kind}", type=kind)


def _cancelling() -> bool:
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _request(call_id: str, wanted: RequestedCall, judgement: Judgement) -> ApprovalRequest:
    return ApprovalRequest(
        call_id=call_id,
        tool=wanted.name,
        args=wanted.args,
        risk=judgement.risk,
        why=judgement.why,
        rule=judgement.rule,
    )


def _denied(decision: ApprovalDecision) -> ToolResult:
    """What the model reads of a denial."""
    if decision.is_silence:
        return ToolResult.failure(f"This call was denied. {decision.reason}")
    said = f": {decision.reason}" if decision.reason else "."
    return ToolResult.failure(f"A person denied this{said}")


def _required(request: ApprovalRequest) -> TraceEvent:
    return TraceEvent("approval_required", msgspec.to_builtins(request))
