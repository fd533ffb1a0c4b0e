"""One tool call: judged, asked for, carried out, and each of it in a person's hands."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import TYPE_CHECKING, Any, Protocol

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ..errors import AgentStepperError, InjectedError, ToolDeniedError
from ..llm_wire.conversation import ToolCall, ToolSpec
from ..llm_wire.events import TraceEvent
from ..sdk.asking import DENIED
from .approvals import ApprovalRequest
from .deciding import Beside, Deciding
from .entries import EDITED
from .outputs import shortened
from .policy.base import Judgement, PolicyDecision, PolicyEngine
from .results import as_json, from_json, noted, plain
from .tool import Risk, Tool, ToolContext, ToolResult
from .transcript import Transcript

if TYPE_CHECKING:
    from ..sdk.aclient import AsyncAgentStepper
    from ..sdk.approvals import Approval
    from ..sdk.blocks import AsyncToolInvocation

#: Called with a tool's name and arguments where a person allows them from now on.
Remember = Callable[[str, Any], None]


class Tools(Protocol):
    """The tools that a model may call."""

    def specs(self) -> tuple[ToolSpec, ...]:
        """What the model is told of them."""

    def get(self, name: str) -> Tool | None:
        """The tool of a name; None where there is none."""


class Wanted(Struct, frozen=True, kw_only=True):
    """A call as it is in force: what the model wrote, or what a person made of it."""

    name: str
    args: Any
    tool: Tool | None
    problem: str | None  # why it can't be carried out, whatever a policy says


class Calls:
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
    """

    def __init__(
        self,
        tools: Tools,
        policy: PolicyEngine,
        ctx: ToolContext,
        transcript: Transcript,
        deciding: Deciding,
        dbg: AsyncAgentStepper | None,
        patience: float | None,
        remember: Remember | None,
    ) -> None:
        self._tools = tools
        self._policy = policy
        self._ctx = ctx
        self._transcript = transcript
        self._deciding = deciding
        self._dbg = dbg
        self._patience = patience
        self._remember = remember

    async def carry_out(self, call: ToolCall) -> ToolResult:
        """Carry one call out. Whatever goes wrong with it is a result that the model reads.

        Args:
            call: As the model wrote it.
        """
        args, problem = _parsed(call)
        wanted = self._wanted(call.name, args, problem)
        judgement = await self._judge(wanted)
        if self._dbg is None:
            return await self._alone(call.call_id, wanted, judgement)
        try:
            return await self._debugged(self._dbg, call.call_id, wanted, judgement)
        except ToolDeniedError as denied:
            if judgement.decision is PolicyDecision.REQUIRES_APPROVAL:
                self._transcript.approval(call.call_id, "denied", str(denied))
            return self._denied(str(denied))
        except InjectedError as error:
            return ToolResult.failure(f"{call.name} failed: {error}")

    # ---- with nobody but the approver ---------------------------------------------------------------

    async def _alone(self, call_id: str, wanted: Wanted, judgement: Judgement) -> ToolResult:
        if judgement.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return await self._run(wanted, judgement)
        request = _request(call_id, wanted, judgement)
        self._transcript.tell(_required(request))
        decision = await self._deciding.alone(request)
        if not decision.approved:
            self._transcript.approval(call_id, "denied", decision.reason)
            return self._denied(decision.reason)
        self._transcript.approval(call_id, "approved", decision.reason)
        edited = decision.edited and decision.args != wanted.args
        if edited:
            wanted, judgement = await self._edited(call_id, wanted, wanted.name, decision.args)
        return await self._approved(wanted, judgement, decision.always, edited)

    # ---- with the debugger --------------------------------------------------------------------------

    async def _debugged(
        self, dbg: AsyncAgentStepper, call_id: str, wanted: Wanted, judgement: Judgement
    ) -> ToolResult:
        mine: dict[str, Any] | None = None
        async with AsyncExitStack() as stack:
            block, approval = await self._begin(stack, dbg, call_id, wanted, judgement)
            edited = block.args is not wanted.args or block.name != wanted.name
            if edited:
                wanted, judgement = await self._edited(call_id, wanted, block.name, block.args)
            if not block.skipped:
                always = approval is not None and approval.always
                mine = as_json(await self._approved(wanted, judgement, always, edited))
                block.result = mine
        result = from_json(block.result)
        if block.result is not mine:
            data = {"what": "result", "call_id": call_id, "result": as_json(result)}
            self._transcript.tell(TraceEvent(EDITED, data))
        return plain(result)

    async def _begin(
        self,
        stack: AsyncExitStack,
        dbg: AsyncAgentStepper,
        call_id: str,
        wanted: Wanted,
        judgement: Judgement,
    ) -> tuple[AsyncToolInvocation, Approval | None]:
        """Begin the call's event, and get past its breakpoint, asking for an approval where need be."""
        if judgement.decision is not PolicyDecision.REQUIRES_APPROVAL:
            return await stack.enter_async_context(dbg.tool(wanted.name, wanted.args)), None
        request = _request(call_id, wanted, judgement)
        self._transcript.tell(_required(request))
        async with Beside(self._deciding, request) as approval:
            block = dbg.tool(wanted.name, wanted.args, approval=approval)
            await stack.enter_async_context(block)
        self._transcript.approval(call_id, "approved", "")
        return block, approval

    # ---- parts --------------------------------------------------------------------------------------

    def _denied(self, reason: str) -> ToolResult:
        if reason in ("", DENIED):
            return ToolResult.failure("A person denied this.")
        if self._deciding.is_silence(reason):
            return ToolResult.failure(f"This call was denied. {reason}")
        return ToolResult.failure(f"A person denied this: {reason}")

    def _wanted(self, name: str, args: Any, problem: str | None = None) -> Wanted:
        tool = self._tools.get(name)
        if tool is None:
            known = ", ".join(spec.name for spec in self._tools.specs())
            problem = f"There is no tool {name!r}. There are: {known}."
        return Wanted(name=name, args=args, tool=tool, problem=problem)

    async def _edited(
        self, call_id: str, before: Wanted, name: str, args: Any
    ) -> tuple[Wanted, Judgement]:
        """A call as a person made it, judged again: they may do what asks, not what is denied."""
        wanted = self._wanted(name, args)
        data = {"what": "call", "call_id": call_id, "name": name, "args": args}
        self._transcript.tell(TraceEvent(EDITED, data))
        return wanted, await self._judge(wanted)

    async def _judge(self, wanted: Wanted) -> Judgement:
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
        self, wanted: Wanted, judgement: Judgement, always: bool, edited: bool
    ) -> ToolResult:
        """Run what a person has seen and let pass."""
        denied = judgement.decision is PolicyDecision.DENIED
        if always and not denied and wanted.problem is None:
            self._keep_rule(wanted)
        result = await self._run(wanted, judgement)
        if not edited:
            return result
        ran = {"name": wanted.name, "arguments": wanted.args}
        return plain(noted(result, edited_by_a_person=ran))

    def _keep_rule(self, wanted: Wanted) -> None:
        if self._remember is None:
            return
        try:
            self._remember(wanted.name, wanted.args)
        except AgentStepperError as error:  # it will be asked again: no harm done
            self._transcript.tell(TraceEvent("warning", {"message": str(error)}))

    async def _run(self, wanted: Wanted, judgement: Judgement) -> ToolResult:
        if wanted.tool is None or wanted.problem is not None:
            return ToolResult.failure(wanted.problem or "")
        if judgement.decision is PolicyDecision.DENIED:
            return ToolResult.failure(f"The policy denies this: {judgement.why}")
        limit = asyncio.timeout(self._patience)
        try:
            async with limit:
                result = await wanted.tool.execute(wanted.args, self._ctx)
        except Exception as error:  # tools raise nothing, but this one did
            if limit.expired():
                text = f"{wanted.name} took longer than {self._patience:g} seconds."
                return ToolResult.failure(text)
            return _failed(wanted.name, error)
        except asyncio.CancelledError as error:
            if _cancelling():
                raise
            return _failed(wanted.name, error)  # something of its own was cancelled, and not we
        return shortened(plain(result), self._ctx)


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


def _request(call_id: str, wanted: Wanted, judgement: Judgement) -> ApprovalRequest:
    return ApprovalRequest(
        call_id=call_id,
        tool=wanted.name,
        args=wanted.args,
        risk=judgement.risk,
        why=judgement.why,
        rule=judgement.rule,
    )


def _required(request: ApprovalRequest) -> TraceEvent:
    return TraceEvent("approval_required", msgspec.to_builtins(request))
