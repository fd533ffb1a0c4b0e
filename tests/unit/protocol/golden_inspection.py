"""Messages about stacks and locals, as they travel: parts of the tables of golden messages."""

from __future__ import annotations

from typing import Any

from agentstepper_nb.protocol import inspection as wire

TO_AGENT: dict[str, Any] = {
    '{"n":1,"type":"inspect","body":{"request":"q1","breakpoint":"b1","what'
    '":{"kind":"stack"}}}': wire.InspectHaltPoint(
        request="q1", halt_point="b1", what=wire.StackRequest()
    ),
    '{"n":1,"type":"inspect","body":{"request":"q1","breakpoint":"b1","what'
    '":{"kind":"variables","frame":1,"path":[2,0],"start":100,"count":100}}'
    "}": wire.InspectHaltPoint(
        request="q1", halt_point="b1", what=wire.VariablesRequest(frame=1, path=(2, 0), start=100)
    ),
    '{"n":1,"type":"inspect","body":{"request":"q1","breakpoint":"b1","what'
    '":{"kind":"variables","frame":1,"result":3,"path":[],"start":0,"count"'
    ":100}}}": wire.InspectHaltPoint(
        request="q1", halt_point="b1", what=wire.VariablesRequest(frame=1, result=3)
    ),
    '{"n":1,"type":"inspect","body":{"request":"q1","breakpoint":"b1","what'
    '":{"kind":"evaluate","frame":0,"expression":"a + 1"}}}': wire.InspectHaltPoint(
        request="q1", halt_point="b1", what=wire.EvaluationRequest(frame=0, expression="a + 1")
    ),
    '{"n":1,"type":"inspect","body":{"request":"q1","breakpoint":"b1","what'
    '":{"kind":"complete","frame":0,"text":"ab","cursor":2}}}': wire.InspectHaltPoint(
        request="q1", halt_point="b1", what=wire.CompletionRequest(frame=0, text="ab", cursor=2)
    ),
    '{"n":1,"type":"inspect","body":{"request":"q1","breakpoint":"b1","what'
    '":{"kind":"pdb"}}}': wire.InspectHaltPoint(
        request="q1", halt_point="b1", what=wire.PdbRequest()
    ),
}
FROM_AGENT: dict[str, Any] = {
    '{"n":1,"type":"inspected","body":{"request":"q1","result":{"kind":"sta'
    'ck","frames":[{"location":{"file":"/a.py","line":4,"function":"f","cel'
    'l":2},"is_own":true,"source":{"first":3,"lines":["a","b"]}}],"thread":'
    '"MainThread","is_task":false,"omitted":0,"pdb_refusal":"no"},"refusal"'
    ":null}}": wire.HaltPointInspected(
        request="q1",
        result=wire.StackSnapshot(
            frames=(
                wire.StackFrame(
                    location=wire.SourceLocation(file="/a.py", line=4, function="f", cell=2),
                    is_own=True,
                    source=wire.SourceLines(first=3, lines=("a", "b")),
                ),
            ),
            thread="MainThread",
            pdb_refusal="no",
        ),
    ),
    '{"n":1,"type":"inspected","body":{"request":"q1","result":{"kind":"var'
    'iables","variables":[{"name":"a","value":"1","type":"int","children":0'
    ',"masked":false}],"start":0,"total":1},"refusal":null}}': wire.HaltPointInspected(
        request="q1",
        result=wire.VariablesPage(
            variables=(wire.Variable(name="a", value="1", type="int"),), start=0, total=1
        ),
    ),
    '{"n":1,"type":"inspected","body":{"request":"q1","result":{"kind":"eva'
    'luation","value":{"name":"a","value":"[1]","type":"list","children":1,'
    '"masked":false},"result":1,"error":null,"output":""},"refusal":null}}': wire.HaltPointInspected(
        request="q1",
        result=wire.Evaluation(
            value=wire.Variable(name="a", value="[1]", type="list", children=1), result=1
        ),
    ),
    '{"n":1,"type":"inspected","body":{"request":"q1","result":{"kind":"eva'
    'luation","value":null,"error":"KeyError: 1","output":"x"},"refusal":nu'
    "ll}}": wire.HaltPointInspected(
        request="q1", result=wire.Evaluation(error="KeyError: 1", output="x")
    ),
    '{"n":1,"type":"inspected","body":{"request":"q1","result":{"kind":"com'
    'pletions","start":0,"end":2,"matches":["abc"]},"refusal":null}}': wire.HaltPointInspected(
        request="q1", result=wire.CompletionList(start=0, end=2, matches=("abc",))
    ),
    '{"n":1,"type":"inspected","body":{"request":"q1","result":{"kind":"pdb'
    '_ready","where":"below"},"refusal":null}}': wire.HaltPointInspected(
        request="q1", result=wire.PdbReady(where="below")
    ),
    '{"n":1,"type":"inspected","body":{"request":"q1","result":null,"refusa'
    'l":"no"}}': wire.HaltPointInspected(request="q1", refusal="no"),
}
FROM_UI: dict[str, Any] = {
    '{"n":1,"type":"get_stack","id":"c","body":{"run":"r1","breakpoint":"b1"}}': wire.GetStack(
        run="r1", halt_point="b1"
    ),
    '{"n":1,"type":"get_variables","id":"c","body":{"run":"r1","breakpoint"'
    ':"b1","frame":0,"path":[1],"start":0,"count":10}}': wire.GetVariables(
        run="r1", halt_point="b1", frame=0, path=(1,), count=10
    ),
    '{"n":1,"type":"get_variables","id":"c","body":{"run":"r1","breakpoint"'
    ':"b1","frame":0,"result":2,"path":[],"start":0,"count":100}}': wire.GetVariables(
        run="r1", halt_point="b1", frame=0, result=2
    ),
    '{"n":1,"type":"evaluate","id":"c","body":{"run":"r1","breakpoint":"b1"'
    ',"frame":0,"expression":"a"}}': wire.EvaluateExpression(
        run="r1", halt_point="b1", frame=0, expression="a"
    ),
    '{"n":1,"type":"complete","id":"c","body":{"run":"r1","breakpoint":"b1"'
    ',"frame":0,"text":"a","cursor":1}}': wire.CompleteExpression(
        run="r1", halt_point="b1", frame=0, text="a", cursor=1
    ),
    '{"n":1,"type":"enter_pdb","id":"c","body":{"run":"r1","breakpoint":"b1'
    '","revision":1}}': wire.EnterPdb(run="r1", halt_point="b1", revision=1),
}
TO_UI: dict[str, Any] = {
    '{"n":1,"type":"stack","id":"c","body":{"kind":"stack","frames":[{"loca'
    'tion":{"file":"/a.py","line":4,"function":"f","cell":2},"is_own":true,'
    '"source":{"first":3,"lines":["a","b"]}}],"thread":"MainThread","is_tas'
    'k":false,"omitted":0,"pdb_refusal":"no"}}': wire.StackSnapshot(
        frames=(
            wire.StackFrame(
                location=wire.SourceLocation(file="/a.py", line=4, function="f", cell=2),
                is_own=True,
                source=wire.SourceLines(first=3, lines=("a", "b")),
            ),
        ),
        thread="MainThread",
        pdb_refusal="no",
    ),
    '{"n":1,"type":"variables","id":"c","body":{"kind":"variables","variabl'
    'es":[{"name":"a","value":"1","type":"int","children":0,"masked":false}'
    '],"start":0,"total":1}}': wire.VariablesPage(
        variables=(wire.Variable(name="a", value="1", type="int"),), start=0, total=1
    ),
    '{"n":1,"type":"evaluated","id":"c","body":{"kind":"evaluation","value"'
    ':{"name":"a","value":"[1]","type":"list","children":1,"masked":false},'
    '"result":1,"error":null,"output":""}}': wire.Evaluation(
        value=wire.Variable(name="a", value="[1]", type="list", children=1), result=1
    ),
    '{"n":1,"type":"evaluated","id":"c","body":{"kind":"evaluation","value"'
    ':null,"error":"KeyError: 1","output":"x"}}': wire.Evaluation(error="KeyError: 1", output="x"),
    '{"n":1,"type":"completions","id":"c","body":{"kind":"completions","sta'
    'rt":0,"end":2,"matches":["abc"]}}': wire.CompletionList(start=0, end=2, matches=("abc",)),
    '{"n":1,"type":"pdb_ready","id":"c","body":{"kind":"pdb_ready","where":'
    '"below"}}': wire.PdbReady(where="below"),
}
