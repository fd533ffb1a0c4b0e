"""Version 2's messages between agent and Core, as they stand on the wire.

A change here is a change of the protocol: peers of another version meet it.
"""

from __future__ import annotations

import json

import pytest
from msgspec import Raw, Struct

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol import breakpoint_rules
from agentstepper_nb.protocol.agent import (
    Bye,
    CommitMade,
    DecideApproval,
    EditChecked,
    EventBegun,
    GetTimeline,
    HaltPointReached,
    Hello,
    LeaveConnection,
    MessagePart,
    ProcessEnded,
    ScopeEnded,
    UserMessageAwaited,
    Withdraw,
    from_agent,
    to_agent,
)
from agentstepper_nb.protocol.data_model import (
    ApprovalPrompt,
    ChangeKind,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileBody,
    FileChange,
    Risk,
    RunEnding,
    RunMode,
    Usage,
)
from agentstepper_nb.protocol.delta_encoding import EncodedContent
from agentstepper_nb.protocol.edit_rules import (
    DeleteEditRule,
    DryRunEditRule,
    ExportEditRule,
    SetEditRule,
)
from agentstepper_nb.protocol.program_requests import (
    GetDebuggerConfig,
    RecordCheckRun,
    UploadRun,
)
from agentstepper_nb.protocol.seams import FoundBy, FoundTool, RunSeams, Seam, SeamKind
from tests.unit.protocol import golden_inspection, golden_samples
from tests.unit.protocol.golden_to_agent import A_BREAKPOINT, AN_EDIT_RULE, TO_AGENT, the_edit_rule

FROM_AGENT: dict[str, Struct] = {
    **golden_inspection.FROM_AGENT,
    **golden_samples.FROM_AGENT,
    '{"n":1,"type":"hello","body":{"version":2,"sdk":"agentstepper_nb 0.1.0","program":"fix_tests",'
    '"run":"r1","secret":"s","pid":7,"host":"here","boot":"b","workspace":"/tmp/w","mode":"continue",'
    '"returns":true,"checks":true,"notice":"No sandbox: careful","sent":9,'
    '"acknowledged":7,"waiting":["b1"]}}': Hello(
        version=2,
        sdk="agentstepper_nb 0.1.0",
        program="fix_tests",
        run="r1",
        secret="s",
        pid=7,
        host="here",
        boot="b",
        workspace="/tmp/w",
        mode=RunMode.CONTINUE,
        can_check_edits=True,
        notice="No sandbox: careful",
        sent=9,
        acknowledged=7,
        waiting=("b1",),
    ),
    '{"n":1,"type":"event","body":{"id":"e1","kind":"tool_invocation","at":1.5,"clock":0.25,'
    '"parent":"e0","name":"ls"}}': EventBegun(
        id="e1", kind=EventKind.TOOL_INVOCATION, at=1.5, clock=0.25, parent="e0", name="ls"
    ),
    '{"n":1,"type":"event","body":{"id":"e1","kind":"tool_invocation","at":1.5,"clock":0.25,'
    '"parent":null,"name":"ls","found_by":"adapter","seams":{"seams":[{"library":"mcp",'
    '"kind":"tools","version":"1.2","is_active":true,"reason":"","has_failed":false}],'
    '"tools":[{"name":"ls","found_by":"adapter"}],"discovery_off_reason":"off"}}}': EventBegun(
        id="e1",
        kind=EventKind.TOOL_INVOCATION,
        at=1.5,
        clock=0.25,
        name="ls",
        found_by=FoundBy.ADAPTER,
        seams=RunSeams(
            seams=(Seam(library="mcp", kind=SeamKind.TOOLS, version="1.2", is_active=True),),
            tools=(FoundTool(name="ls", found_by=FoundBy.ADAPTER),),
            discovery_off_reason="off",
        ),
    ),
    '{"n":1,"type":"event","body":{"id":"e1","kind":"debug_message","at":1.5,"clock":0.25,'
    '"parent":null,"name":null,"data":null}}': EventBegun(
        id="e1", kind=EventKind.DEBUG_MESSAGE, at=1.5, clock=0.25, data=Raw(b"null")
    ),
    '{"n":1,"type":"breakpoint","body":{"id":"b1","event":"e1","side":"begin","waits":true,'
    '"at":1.5,"clock":0.25,"data":{"z": 1.0, "a": 12345678901234567890123},"epoch":0,"stops":[],'
    '"stop_error":null,"summary":null,"outcome":null,"failure":null,"traceback":"","usage":null,'
    '"approval":null}}': HaltPointReached(
        id="b1",
        event="e1",
        side=EventSide.BEGIN,
        waits=True,
        at=1.5,
        clock=0.25,
        data=Raw(b'{"z": 1.0, "a": 12345678901234567890123}'),
    ),
    '{"n":1,"type":"breakpoint","body":{"id":"b2","event":"e1","side":"end","waits":false,"at":1.5,'
    '"clock":0.25,"data":null,"epoch":4,"stops":["s1","s2"],"stop_error":"no number",'
    '"summary":"It failed","outcome":"error","failure":{"type":"OSError","message":"gone"},'
    '"traceback":"","usage":{"input_tokens":3,"output_tokens":null,"cost":0.25,"estimated":true},'
    '"approval":null}}': HaltPointReached(
        id="b2",
        event="e1",
        side=EventSide.END,
        waits=False,
        at=1.5,
        clock=0.25,
        data=Raw(b"null"),
        epoch=4,
        breakpoints=("s1", "s2"),
        breakpoint_error="no number",
        summary="It failed",
        outcome=EventOutcome.ERROR,
        failure=Failure(type="OSError", message="gone"),
        usage=Usage(input_tokens=3, cost=0.25, estimated=True),
    ),
    '{"n":1,"type":"breakpoint","body":{"id":"b3","event":"e1","side":"begin","waits":false,"at":1.5,'
    '"clock":0.25,"pieces":{"number":3,"like":1,"keep":2,"then":[7,", {}"]},"epoch":4,"stops":[],'
    '"stop_error":null,"summary":null,"outcome":null,"failure":null,"traceback":"","usage":null,"approval":'
    '{"risk":"high","why":"It deletes files.","rule":null}}}': HaltPointReached(
        id="b3",
        event="e1",
        side=EventSide.BEGIN,
        waits=False,
        at=1.5,
        clock=0.25,
        pieces=EncodedContent(number=3, prefix_of=1, prefix_pieces=2, rest=(7, ", {}")),
        epoch=4,
        approval=ApprovalPrompt(risk=Risk.HIGH, why="It deletes files."),
    ),
    '{"n":1,"type":"withdraw","body":{"breakpoint":"b1"}}': Withdraw(halt_point="b1"),
    '{"n":1,"type":"hello","body":{"version":2,"sdk":"s","program":"P","run":"r1","secret":"s","pid":7,'
    '"host":"here","boot":"b","workspace":null,"mode":"step","returns":true,"checks":false,"notice":"",'
    '"shares":true,"sent":0,"acknowledged":0,"waiting":[]}}': Hello(
        version=2,
        sdk="s",
        program="P",
        run="r1",
        secret="s",
        pid=7,
        host="here",
        boot="b",
        shares_connection=True,
    ),
    '{"n":1,"type":"leave","body":{}}': LeaveConnection(),
    '{"n":1,"type":"part","body":{"text":"{\\"n\\":","last":false}}': MessagePart(
        text='{"n":', last=False
    ),
    '{"n":1,"type":"decide","body":{"breakpoint":"b1","approved":true,"reason":"",'
    '"data":{"Tool":"ls","Argument":1.0},"always":true}}': DecideApproval(
        halt_point="b1", approved=True, data=Raw(b'{"Tool":"ls","Argument":1.0}'), always=True
    ),
    '{"n":1,"type":"decide","body":{"breakpoint":"b1","approved":false,"reason":"no",'
    '"always":false}}': DecideApproval(halt_point="b1", approved=False, reason="no"),
    '{"n":1,"type":"edit_checked","body":{"check":"q1","refusal":null}}': EditChecked(check="q1"),
    '{"n":1,"type":"edit_checked","body":{"check":"q1","refusal":"no"}}': EditChecked(
        check="q1", refusal="no"
    ),
    '{"n":1,"type":"commit","body":{"id":"abc","at":1.5,"title":"Add b","description":"","event":null,'
    '"snapshot":false,"ruled":true,"changes":[{"path":"b","kind":"renamed","previous_path":"a","added":1,"removed":2,'
    '"binary":false,"size":null,"digest":null,"body":{"diff":"d","content":"c",'
    '"previous_content":"p"}}]}}': CommitMade(
        id="abc",
        at=1.5,
        title="Add b",
        has_rule_title=True,
        changes=(
            FileChange(
                path="b",
                kind=ChangeKind.RENAMED,
                previous_path="a",
                added=1,
                removed=2,
                body=FileBody(diff="d", content="c", previous_content="p"),
            ),
        ),
    ),
    '{"n":1,"type":"get_timeline","body":{}}': GetTimeline(),
    '{"n":1,"type":"message_awaited","body":{}}': UserMessageAwaited(),
    '{"n":1,"type":"process_ended","body":{"pid":7,"code":-9}}': ProcessEnded(pid=7, code=-9),
    '{"n":1,"type":"take_run","body":{"data":"eJw="}}': UploadRun(data="eJw="),
    '{"n":1,"type":"get_rules","body":{}}': GetDebuggerConfig(),
    '{"n":1,"type":"set_stop","body":{"stop":'
    + A_BREAKPOINT
    + "}}": breakpoint_rules.SetBreakpoint(
        breakpoint=breakpoint_rules.BreakpointRule(id="s1", condition="depth > 1")
    ),
    '{"n":1,"type":"delete_stop","body":{"stop":"s1"}}': breakpoint_rules.DeleteBreakpoint(
        breakpoint="s1"
    ),
    '{"n":1,"type":"try_stop","body":{"stop":'
    + A_BREAKPOINT
    + ',"run":"Night run"}}': breakpoint_rules.DryRunBreakpoint(
        breakpoint=breakpoint_rules.BreakpointRule(id="s1", condition="depth > 1"), run="Night run"
    ),
    f'{{"n":1,"type":"set_edit_rule","body":{{"rule":{AN_EDIT_RULE}}}}}': SetEditRule(
        rule=the_edit_rule
    ),
    '{"n":1,"type":"delete_edit_rule","body":{"rule":"x1"}}': DeleteEditRule(rule="x1"),
    f'{{"n":1,"type":"try_edit_rule","body":{{"rule":{AN_EDIT_RULE},"run":null}}}}': DryRunEditRule(
        rule=the_edit_rule
    ),
    f'{{"n":1,"type":"export_edit_rule","body":{{"rule":{AN_EDIT_RULE}}}}}': ExportEditRule(
        rule=the_edit_rule
    ),
    '{"n":1,"type":"set_prices","body":{"prices":[{"model":"gpt-*","input":0.25,"output":2.0}]}}': (
        breakpoint_rules.SetPrices(
            prices=(breakpoint_rules.Price(model="gpt-*", input=0.25, output=2.0),)
        )
    ),
    '{"n":1,"type":"check_run","body":{"run":"Run #1","command":"pytest","exit_code":1,'
    '"line":"1 failed"}}': RecordCheckRun(
        run="Run #1", command="pytest", exit_code=1, line="1 failed"
    ),
    '{"n":1,"type":"scope_ended","body":{"scope":["agent:a:1","task:2"]}}': ScopeEnded(
        scope=("agent:a:1", "task:2")
    ),
    '{"n":1,"type":"bye","body":{"ending":"crashed","failure":{"type":"E","message":"m"}}}': Bye(
        ending=RunEnding.CRASHED, failure=Failure(type="E", message="m")
    ),
}


@pytest.mark.parametrize("text", FROM_AGENT, ids=range(len(FROM_AGENT)))
def test_from_agent(text: str) -> None:
    assert from_agent.encode(FROM_AGENT[text], 1) == text
    assert from_agent.decode(text)[1] == FROM_AGENT[text]


@pytest.mark.parametrize("text", TO_AGENT, ids=range(len(TO_AGENT)))
def test_to_agent(text: str) -> None:
    assert to_agent.encode(TO_AGENT[text], 1) == text
    assert to_agent.decode(text)[1] == TO_AGENT[text]


def test_every_kind_of_message_is_above() -> None:
    for golden, table in ((FROM_AGENT, from_agent), (TO_AGENT, to_agent)):
        assert {type(message) for message in golden.values()} == set(table.types.values())
        assert {json.loads(text)["type"] for text in golden} == set(table.types)


HELLO = json.loads(next(iter(FROM_AGENT)))["body"]
EVENT = {"id": "e", "kind": "llm_query", "at": 1.0, "clock": 1.0}
REACHED = {"id": "b", "event": "e", "side": "begin", "waits": True, "at": 1, "clock": 1, "data": 0}
FAILS = '{"n":1,"type":"%s","body":%s}'


@pytest.mark.parametrize(
    ("type", "body", "says"),
    [
        ("hello", HELLO | {"run": ""}, r"length >= 1 - at `\$.run`"),
        ("hello", HELLO | {"run": "x" * 201}, r"length <= 200 - at `\$.run`"),
        ("hello", HELLO | {"program": "x" * 1001}, r"length <= 1000 - at `\$.program`"),
        ("hello", HELLO | {"pid": 2**70}, r"at `\$.pid`"),
        ("hello", HELLO | {"version": "2"}, r"Expected `int`, got `str` - at `\$.version`"),
        ("event", EVENT | {"kind": "nap"}, r"Invalid enum value 'nap' - at `\$.kind`"),
        ("event", EVENT | {"at": 1e300}, r"< 253402300800.0 - at `\$.at`"),
        ("event", EVENT | {"at": -1}, r">= 0.0 - at `\$.at`"),
        ("event", EVENT | {"at": "now"}, r"got `str` - at `\$.at`"),
        ("event", EVENT | {"id": 7}, r"got `int` - at `\$.id`"),
        ("breakpoint", REACHED | {"side": "middle"}, r"'middle' - at `\$.side`"),
        ("breakpoint", REACHED | {"waits": 1}, r"Expected `bool`, got `int` - at `\$.waits`"),
        ("breakpoint", {"id": "b"}, "missing required field `event`"),
        ("breakpoint", REACHED | {"usage": {"input_tokens": 1.5}}, r"at `\$.usage.input_tokens`"),
        ("commit", {"id": "c", "at": 1, "title": "t", "changes": [{}]}, r"at `\$.changes\[0\]`"),
        ("bye", {"ending": "well"}, r"'well' - at `\$.ending`"),
        ("withdraw", {}, "missing required field `breakpoint`"),
        ("hello", HELLO | {"sent": -1}, r">= 0 - at `\$.sent`"),
        ("hello", HELLO | {"waiting": [7]}, r"got `int` - at `\$.waiting\[0\]`"),
        ("process_ended", {"pid": 1, "code": "9"}, r"got `str` - at `\$.code`"),
        ("breakpoint", REACHED | {"epoch": -1}, r">= 0 - at `\$.epoch`"),
        ("breakpoint", REACHED | {"stops": [""]}, r"length >= 1 - at `\$.stops\[0\]`"),
        (
            "breakpoint",
            REACHED | {"pieces": {"number": 1, "then": [[]]}},
            r"at `\$.pieces.then\[0\]`",
        ),
        ("hello", HELLO | {"mode": "run"}, r"'run' - at `\$.mode`"),
        ("breakpoint", REACHED | {"approval": {"why": ""}}, "field `risk` - at `..approval`"),
        (
            "breakpoint",
            REACHED | {"approval": {"risk": "low", "why": "x" * 1001}},
            r"<= 1000 - at `\$.approval.why`",
        ),
        ("decide", {"breakpoint": "b"}, "field `approved`"),
        ("decide", {"breakpoint": "b", "approved": False, "reason": "x" * 10_001}, r"`\$.reason`"),
    ],
    ids=range(28),
)
def test_a_wrong_field_is_named(type: str, body: object, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as refused:
        from_agent.decode(FAILS % (type, json.dumps(body)))
    assert refused.value.code == "invalid_message"
    assert str(refused.value).startswith(f"{type}: ")


@pytest.mark.parametrize("data", ["NaN", '"\\ud800"', "tru", "[1,]"])
def test_contents_are_json(data: str) -> None:
    body = json.dumps(REACHED).replace('"data": 0', f'"data": {data}')
    with pytest.raises(ProtocolError) as refused:
        from_agent.decode(FAILS % ("breakpoint", body))
    assert refused.value.code == "malformed"
