"""What the Core sends to agents: the texts on the wire, and the messages that they are."""

from __future__ import annotations

from msgspec import Raw, Struct

from agentstepper_nb.protocol import breakpoint_rules
from agentstepper_nb.protocol.agent import (
    AgentError,
    AnswerMessage,
    CheckEdit,
    LeaseMessage,
    MessagesAcknowledged,
    RunDisconnected,
    Timeline,
    Welcome,
)
from agentstepper_nb.protocol.answers import (
    Answer,
    DenyAnswer,
    RaiseAnswer,
    ResumeAnswer,
    SkipAnswer,
    StopAnswer,
)
from agentstepper_nb.protocol.data_model import (
    EventKind,
    EventSide,
    Run,
    RunMode,
)
from agentstepper_nb.protocol.edit_rules import (
    EditRuleDefinition,
    EditRuleExported,
    EditRuleOutcome,
    RuleEdit,
    SetValue,
)
from agentstepper_nb.protocol.program_requests import (
    DebuggerConfig,
    DryRunResponse,
    EditRuleResponse,
    RunUploaded,
)
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from tests.unit.protocol import golden_inspection, golden_samples

A_BREAKPOINT = (
    '{"id":"s1","program":"*","kind":null,"side":null,"name":null,"on_error":false,'
    '"condition":"depth > 1","watch":null,"nth":1,"once":false,"then":"halt","enabled":true}'
)

AN_EDIT_RULE = (
    '{"id":"x1","kind":"tool_invocation","side":"begin","path":"/Argument/limit",'
    '"change":{"kind":"set","value":"5"},"program":"*","agent":null,"name":"ls","once":false,'
    '"enabled":true}'
)
the_edit_rule = EditRuleDefinition(
    id="x1",
    kind=EventKind.TOOL_INVOCATION,
    side=EventSide.BEGIN,
    path="/Argument/limit",
    change=SetValue(value="5"),
    name="ls",
)


ANSWER = '{"n":1,"type":"answer","body":{"breakpoint":"b1","answer":%s}}'


def answer(how: Answer) -> AnswerMessage:
    return AnswerMessage(halt_point="b1", answer=how)


RUN = (
    '{"id":"r1","name":"Run #1 of p","program":"p","started_at":1.5,"ended_at":null,"state":"step",'
    '"agent_state":"running","mode":"step","pending":[],"ending":null,"failure":null,"can_stop":true,'
    '"stopping":false,"rows":0,"commits":0,"workspace":null,"pid":null,"host":null,"tags":[],'
    '"usage":null,"query_bytes":0,"halted_at":null,"halted_s":null,"detached_at":null,"exit_code":null,"last_event":null,'
    '"hits":[],"notice":""}'
)
the_run = Run(id="r1", name="Run #1 of p", program="p", started_at=1.5)
BREAKPOINT = (
    '{"id":"s1","program":"*","kind":null,"side":null,"name":null,"on_error":false,"condition":null,'
    '"watch":%s,"nth":1,"once":false,"then":"halt","enabled":true}'
)
WATCHES: dict[str, breakpoint_rules.Watch | None] = {
    "null": None,
    '{"kind":"tokens","limit":1000}': breakpoint_rules.TokenBudget(limit=1000),
    '{"kind":"cost","limit":0.5}': breakpoint_rules.CostBudget(limit=0.5),
    '{"kind":"repeated","times":3,"in_a_row":true}': breakpoint_rules.Repeated(),
    '{"kind":"repeated","times":2,"in_a_row":false}': breakpoint_rules.Repeated(
        times=2, in_a_row=False
    ),
    '{"kind":"touched","path":"tests/*"}': breakpoint_rules.Touched(path="tests/*"),
}
LEASE = (
    '{"n":1,"type":"lease","body":{"epoch":3,"mode":"continue","stops":[%s],'
    '"prices":[{"model":"gpt-*","input":2.5,"output":10.0}]}}'
)

TO_AGENT: dict[str, Struct] = {
    **golden_inspection.TO_AGENT,
    **golden_samples.TO_AGENT,
    '{"n":1,"type":"welcome","body":{"version":2,"core":"agentstepper_nb 0.1.0","run":"r1",'
    '"received":7}}': Welcome(version=2, core="agentstepper_nb 0.1.0", run="r1", received=7),
    **{
        LEASE % (BREAKPOINT % watch): LeaseMessage(
            epoch=3,
            mode=RunMode.CONTINUE,
            breakpoints=(breakpoint_rules.BreakpointRule(id="s1", watch=of),),
            prices=(breakpoint_rules.Price(model="gpt-*", input=2.5, output=10.0),),
        )
        for watch, of in WATCHES.items()
    },
    '{"n":1,"type":"lease","body":{"epoch":4,"mode":"step","stops":[],"prices":[],"target":{"kind":'
    '"over","scope":["task:1"],"freeze_others":true,"event":"e1","depth":null,'
    '"event_kind":"tool_invocation","side":null,"name":"ls","point":"b1"}}}': LeaseMessage(
        epoch=4,
        mode=RunMode.STEP,
        target=StepTarget(
            kind=StepKind.OVER,
            scope=("task:1",),
            freeze_others=True,
            event="e1",
            event_kind=EventKind.TOOL_INVOCATION,
            name="ls",
            point="b1",
        ),
    ),
    '{"n":1,"type":"acknowledged","body":{"received":9}}': MessagesAcknowledged(received=9),
    '{"n":1,"type":"welcome","body":{"version":2,"core":"c","run":"r1","received":0,'
    '"shares":true}}': Welcome(version=2, core="c", run="r1", shares_connection=True),
    '{"n":1,"type":"closed","body":{"code":1000,"reason":"Again."}}': RunDisconnected(
        code=1000, reason="Again."
    ),
    '{"n":1,"type":"check_edit","body":{"check":"q1","breakpoint":"b1","data":1.0}}': CheckEdit(
        check="q1", halt_point="b1", data=Raw(b"1.0")
    ),
    ANSWER % '{"kind":"resume"}': answer(ResumeAnswer()),
    ANSWER % '{"kind":"resume","data":null}': answer(ResumeAnswer(data=Raw(b"null"))),
    ANSWER % '{"kind":"resume","approved":true,"always":true}': answer(
        ResumeAnswer(approved=True, always=True)
    ),
    ANSWER % '{"kind":"skip","result":{"z": 1.0}}': answer(SkipAnswer(result=Raw(b'{"z": 1.0}'))),
    ANSWER % '{"kind":"deny","reason":"no"}': answer(DenyAnswer(reason="no")),
    ANSWER % '{"kind":"raise","message":"m"}': answer(RaiseAnswer(message="m")),
    ANSWER % '{"kind":"raise","message":"m","type":"httpx.ReadTimeout"}': answer(
        RaiseAnswer(message="m", type="httpx.ReadTimeout")
    ),
    ANSWER % '{"kind":"stop"}': answer(StopAnswer()),
    f'{{"n":1,"type":"timeline","body":{{"run":{RUN},"rows":[],"commits":[]}}}}': Timeline(
        run=the_run, rows=(), commits=()
    ),
    f'{{"n":1,"type":"run_taken","body":{{"run":{RUN}}}}}': RunUploaded(run=the_run),
    '{"n":1,"type":"rules","body":{"stops":['
    + A_BREAKPOINT
    + '],"prices":[{"model":"m","input":0.0,"output":1.5}]}}': DebuggerConfig(
        breakpoints=(breakpoint_rules.BreakpointRule(id="s1", condition="depth > 1"),),
        prices=(breakpoint_rules.Price(model="m", input=0.0, output=1.5),),
    ),
    '{"n":1,"type":"lease","body":{"epoch":3,"mode":"continue","stops":[],"prices":[],"edit_rules":['
    f"{AN_EDIT_RULE}]}}}}": LeaseMessage(
        epoch=3, mode=RunMode.CONTINUE, edit_rules=(the_edit_rule,)
    ),
    '{"n":1,"type":"edit_rule_tried","body":{"outcomes":[{"run":"r1","rows":7,"edits":[{"seq":2}],'
    '"total":1,"error":null}],"runs":[]}}': EditRuleResponse(
        outcomes=(EditRuleOutcome(run="r1", rows=7, edits=(RuleEdit(seq=2),), total=1),), runs=()
    ),
    '{"n":1,"type":"edit_rule_exported","body":{"code":"pass"}}': EditRuleExported(code="pass"),
    '{"n":1,"type":"tried","body":{"trials":[{"run":"r1","rows":7,"hits":[2,4],"total":2,"error":"e"}],'
    f'"runs":[{RUN}]}}}}': DryRunResponse(
        outcomes=(
            breakpoint_rules.DryRunOutcome(run="r1", rows=7, hits=(2, 4), total=2, error="e"),
        ),
        runs=(the_run,),
    ),
    '{"n":1,"type":"error","body":{"code":"duplicate","message":"m","n":3}}': AgentError(
        code="duplicate", message="m", n=3
    ),
}
