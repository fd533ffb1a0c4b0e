"""What the Core sends to UIs: the texts on the wire, and the messages that they are."""

from __future__ import annotations

import json

from msgspec import Struct

from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.breakpoint_rules import (
    BreakpointRule,
    DryRunOutcome,
    Price,
    Reaction,
    TokenBudget,
)
from agentstepper_nb.protocol.data_model import (
    Actor,
    AnswerKind,
    ApprovalPrompt,
    BreakpointHits,
    ChangeKind,
    Commit,
    EventKind,
    EventOutcome,
    EventSide,
    FileBody,
    FileChange,
    Risk,
    RowNote,
    Run,
    TimelineRow,
    Usage,
)
from agentstepper_nb.protocol.delta_encoding import EncodedContent
from agentstepper_nb.protocol.edit_rules import (
    EditRuleDefinition,
    EditRuleOutcome,
    ReplaceText,
    RuleEdit,
)
from agentstepper_nb.protocol.overview import Contradiction, RunOutcome
from agentstepper_nb.protocol.run_profile import ModelPricing, ProfiledEvent, PromptSizes
from agentstepper_nb.protocol.run_queries import SearchHit, SearchHitPlace
from agentstepper_nb.protocol.store_info import Durability, StoreInfo
from tests.unit.protocol import golden_forks, golden_inspection, golden_programs, golden_samples

BREAKPOINT = (
    '{"id":"s","program":"fix_*","kind":"tool_invocation","side":"begin","name":"write_*",'
    '"on_error":false,"condition":"data.path == \'a\'","watch":{"kind":"tokens","limit":1000},"nth":2,'
    '"once":true,"then":"log","enabled":false}'
)
the_stop = BreakpointRule(
    id="s",
    program="fix_*",
    kind=EventKind.TOOL_INVOCATION,
    side=EventSide.BEGIN,
    name="write_*",
    condition="data.path == 'a'",
    watch=TokenBudget(limit=1000),
    hit_count=2,
    once=True,
    reaction=Reaction.LOG,
    enabled=False,
)
PRICES = '[{"model":"gpt-*","input":2.5,"output":10.0}]'
the_prices = (Price(model="gpt-*", input=2.5, output=10.0),)

EDIT_RULE = (
    '{"id":"x","kind":"llm_query","side":"begin","path":"/messages",'
    '"change":{"kind":"replace","pattern":"(a)b","replacement":"c"},"program":"*","agent":"r*",'
    '"name":null,"once":true,"enabled":false}'
)
the_edit_rule = EditRuleDefinition(
    id="x",
    kind=EventKind.LLM_QUERY,
    side=EventSide.BEGIN,
    path="/messages",
    change=ReplaceText(pattern="(a)b", replacement="c"),
    agent="r*",
    once=True,
    enabled=False,
)


RUN = (
    '{"id":"r","name":"Run #1 of P","program":"P","started_at":1.5,"ended_at":null,"state":"halted",'
    '"agent_state":"halted","mode":"step","pending":["b"],"ending":null,"failure":null,'
    '"can_stop":true,"stopping":false,"rows":1,"commits":0,"workspace":null,"pid":null,"host":null,'
    '"tags":["kept"],"usage":{"input_tokens":3,"output_tokens":4,"cost":0.5,"estimated":false},'
    '"query_bytes":0,"halted_at":null,"halted_s":null,'
    '"detached_at":2.5,"exit_code":-9,"last_event":"tool call ls (row 1)",'
    '"hits":[{"stop":"s","count":2,"last":1}],"notice":""}'
)
run = json.loads(RUN)
ROW = (
    '{"id":"b","seq":1,"event":"e","kind":"llm_query","side":"begin","source":"agent","target":"llm",'
    '"summary":"Hi","at":1.5,"size":4,"name":null,"depth":0,"pending":false,"revision":2,'
    '"edited":true,"answer":"deny","outcome":null,"failure":null,"usage":null,"duration":null,'
    '"stops":["s"],"stop_error":"no number","approval":true,"reason":"Not today."}'
)
COMMIT = (
    '{"id":"k","run":"r","at":1.5,"title":"t","description":"","event":"e","seq":1,"snapshot":false,'
    '"ruled":true,"sentence":"It changes a.","changes":'
    '[{"path":"a.py","kind":"changed","previous_path":null,"added":1,"removed":2,"binary":false,'
    '"size":null,"digest":null,"body":null}]}'
)
the_run = Run(
    id="r",
    name="Run #1 of P",
    program="P",
    started_at=1.5,
    state="halted",  # the words are the wire's
    agent_state="halted",
    pending=("b",),
    rows=1,
    tags=("kept",),
    usage=Usage(input_tokens=3, output_tokens=4, cost=0.5),
    detached_at=2.5,
    exit_code=-9,
    last_event="tool call ls (row 1)",
    hits=(BreakpointHits(breakpoint="s", count=2, last=1),),
)
the_row = TimelineRow(
    id="b",
    seq=1,
    event="e",
    kind=EventKind.LLM_QUERY,
    side=EventSide.BEGIN,
    source=Actor.AGENT,
    target=Actor.LLM,
    summary="Hi",
    at=1.5,
    size=4,
    revision=2,
    edited=True,
    answer=AnswerKind.DENY,
    breakpoints=("s",),
    breakpoint_error="no number",
    approval=True,
    reason="Not today.",
)
the_commit = Commit(
    id="k",
    run="r",
    at=1.5,
    title="t",
    event="e",
    seq=1,
    has_rule_title=True,
    model_summary="It changes a.",
    changes=(FileChange(path="a.py", kind=ChangeKind.CHANGED, added=1, removed=2),),
)

NOTE = '{"run":"r","message":"b","text":"here","at":1.5}'
the_note = RowNote(run="r", message="b", text="here", at=1.5)
STORE = '{"kind":"sqlite","durability":"durable","folder":"/d","size":null,"trouble":"full"}'
the_store = StoreInfo(kind="sqlite", durability=Durability.DURABLE, folder="/d", trouble="full")

TO_UI: dict[str, Struct] = {
    **golden_inspection.TO_UI,
    **golden_programs.TO_UI,
    **golden_samples.TO_UI,
    **golden_forks.TO_UI,
    '{"n":1,"type":"hello","id":"c","body":{"version":2,"core":"agentstepper_nb 0.1.0","control":true,'
    f'"runs":[{RUN}],"more":3,"store":{STORE},"stops":[{BREAKPOINT}],'
    f'"prices":{PRICES}}}}}': ui.CoreHello(
        version=2,
        core="agentstepper_nb 0.1.0",
        control=True,
        runs=(the_run,),
        more=3,
        store=the_store,
        breakpoints=(the_stop,),
        prices=the_prices,
    ),
    f'{{"n":1,"type":"stop","id":"c","body":{{"stop":{BREAKPOINT}}}}}': ui.BreakpointChanged(
        breakpoint=the_stop
    ),
    '{"n":1,"type":"stop_gone","id":"c","body":{"stop":"s"}}': ui.BreakpointGone(breakpoint="s"),
    f'{{"n":1,"type":"prices","id":"c","body":{{"prices":{PRICES}}}}}': ui.PricesChanged(
        prices=the_prices
    ),
    f'{{"n":1,"type":"edit_rule","id":"c","body":{{"rule":{EDIT_RULE}}}}}': ui.EditRuleChanged(
        rule=the_edit_rule
    ),
    '{"n":1,"type":"edit_rule_gone","id":"c","body":{"rule":"x"}}': ui.EditRuleGone(rule="x"),
    '{"n":1,"type":"edit_rule_tried","id":"c","body":{"outcomes":[{"run":"r","rows":9,"edits":['
    '{"seq":2,"before":"1","after":"2"}],"total":1,"error":null}]}}': ui.EditRuleDryRun(
        outcomes=(
            EditRuleOutcome(
                run="r", rows=9, edits=(RuleEdit(seq=2, before="1", after="2"),), total=1
            ),
        )
    ),
    '{"n":1,"type":"edit_rule_exported","id":"c","body":{"code":"pass"}}': ui.EditRuleExported(
        code="pass"
    ),
    '{"n":1,"type":"stop_tried","id":"c","body":{"trials":[{"run":"r","rows":9,"hits":[2,4],"total":2,'
    '"error":"no number"}]}}': ui.DryRunAnswer(
        outcomes=(DryRunOutcome(run="r", rows=9, hits=(2, 4), total=2, error="no number"),)
    ),
    f'{{"n":1,"type":"runs","id":"c","body":{{"runs":[{RUN}],"more":0}}}}': ui.RunsListed(
        runs=(the_run,), more=0
    ),
    f'{{"n":1,"type":"rows","id":"c","body":{{"run":"r","rows":[{ROW}],"commits":[{COMMIT}]}}}}': (
        ui.RowsPage(run="r", rows=(the_row,), commits=(the_commit,))
    ),
    '{"n":1,"type":"overview","id":"c","body":{"run":"r","rows":7,"outcome":"gave_up","reason":"",'
    '"said":"","said_row":null,"contradictions":[{"text":"t","row":3}],"tools":[],"queries":0,'
    '"query_seconds":0.0,"files":[],"more_files":0,"repeated":[],"errors":[],"marked":[],'
    '"checks":[],"check_runs":[]}}': ui.RunOverview(
        run="r",
        rows=7,
        outcome=RunOutcome.GAVE_UP,
        contradictions=(Contradiction(text="t", row=3),),
    ),
    '{"n":1,"type":"rows_found","id":"c","body":{"run":"r","seqs":[1,4],"total":2}}': ui.RowsFound(
        run="r", seqs=(1, 4), total=2
    ),
    f'{{"n":1,"type":"commits","id":"c","body":{{"run":"r","commits":[{COMMIT}],"before":null}}}}': (
        ui.CommitsPage(run="r", commits=(the_commit,), before=None)
    ),
    f'{{"n":1,"type":"run","id":"c","body":{{"run":{RUN}}}}}': ui.RunChanged(run=the_run),
    '{"n":1,"type":"run_gone","id":"c","body":{"run":"r"}}': ui.RunRemoved(run="r"),
    f'{{"n":1,"type":"row","id":"c","body":{{"run":"r","row":{ROW}}}}}': ui.RowChanged(
        run="r", row=the_row
    ),
    f'{{"n":1,"type":"commit","id":"c","body":{{"run":"r","commit":{COMMIT}}}}}': ui.CommitAdded(
        run="r", commit=the_commit
    ),
    f'{{"n":1,"type":"note","id":"c","body":{{"note":{NOTE}}}}}': ui.NoteChanged(note=the_note),
    f'{{"n":1,"type":"commit_changed","id":"c","body":{{"run":"r","commit":{COMMIT}}}}}': (
        ui.CommitChanged(run="r", commit=the_commit)
    ),
    f'{{"n":1,"type":"store","id":"c","body":{{"store":{STORE}}}}}': ui.StoreChanged(
        store=the_store
    ),
    '{"n":1,"type":"ok","id":"c","body":{}}': ui.CommandDone(),
    f'{{"n":1,"type":"run_opened","id":"c","body":{{"run":{RUN},"rows":[{ROW}],'
    f'"commits":[{COMMIT}],"notes":[{NOTE}]}}}}': (
        ui.RunOpened(run=the_run, rows=(the_row,), commits=(the_commit,), notes=(the_note,))
    ),
    '{"n":1,"type":"message","id":"c","body":{"run":"r","message":"b","revision":2,'
    '"data":"{\\"z\\": 1.0}","pieces":null,"edit":"null","strict":true,"approval":{"risk":"high",'
    '"why":"It deletes files.","rule":"rm *"},"reason":null,"always":true,'
    '"traceback":""}}': ui.MessageBody(
        run="r",
        message="b",
        revision=2,
        data='{"z": 1.0}',
        edit="null",
        is_strict_json=True,
        approval=ApprovalPrompt(risk=Risk.HIGH, why="It deletes files.", rule="rm *"),
        always=True,
    ),
    '{"n":1,"type":"message","id":"c","body":{"run":"r","message":"b","revision":2,"data":"",'
    '"pieces":{"number":1,"like":0,"keep":0,"then":["[","7]"]},"edit":null,'
    '"strict":true,"approval":null,"reason":"no","always":false,"traceback":""}}': ui.MessageBody(
        run="r",
        message="b",
        revision=2,
        data="",
        edit=None,
        is_strict_json=True,
        pieces=EncodedContent(number=1, rest=("[", "7]")),
        reason="no",
    ),
    '{"n":1,"type":"change","id":"c","body":{"run":"r","commit":"k","path":"a.py","body":{"diff":"d",'
    '"content":"c","previous_content":"p"}}}': ui.ChangeBody(
        run="r",
        commit="k",
        path="a.py",
        body=FileBody(diff="d", content="c", previous_content="p"),
    ),
    '{"n":1,"type":"run_exported","id":"c","body":{"name":"Run #1 of P","data":"eJw=",'
    '"format":"run"}}': ui.RunExported(name="Run #1 of P", data="eJw="),
    f'{{"n":1,"type":"run_imported","id":"c","body":{{"run":{RUN}}}}}': ui.RunImported(run=the_run),
    '{"n":1,"type":"found","id":"c","body":{"hits":[{"run":"r","place":"row","id":"b",'
    '"snippet":["says ","two"," words"]}],"more":false}}': ui.SearchResults(
        hits=(
            SearchHit(
                run="r", place=SearchHitPlace.ROW, id="b", snippet=("says ", "two", " words")
            ),
        ),
        more=False,
    ),
    '{"n":1,"type":"profile","id":"c","body":{"run":"r","events":[{"seq":2,"kind":"llm_query",'
    '"name":"m","scope":["agent:a:1"],"label":null,"started_at":1.5,"duration_s":0.25,"outcome":"ok",'
    '"usage":null,"prompt":{"system":1,"tools":2,"history":3,"new":4}}],"first_row":1}}': ui.RunProfile(
        run="r",
        events=(
            ProfiledEvent(
                seq=2,
                kind=EventKind.LLM_QUERY,
                name="m",
                scope=("agent:a:1",),
                label=None,
                started_at=1.5,
                duration_s=0.25,
                outcome=EventOutcome.OK,
                usage=None,
                prompt=PromptSizes(system=1, tools=2, history=3, new=4),
            ),
        ),
        first_row=1,
    ),
    '{"n":1,"type":"model_info","id":"c","body":{"source":"p 1","models":[{"model":"m","input":0.5,'
    '"output":2.0,"context_window":null}]}}': ui.ModelInfoList(
        source="p 1", models=(ModelPricing(model="m", input=0.5, output=2.0),)
    ),
    '{"n":1,"type":"started_again","id":"c","body":{"run":"s","cell":"x"}}': (
        ui.RunStartedAgain(run="s", cell="x")
    ),
    '{"n":1,"type":"error","id":"c","body":{"code":"stale","message":"m","run":"r"}}': ui.UiError(
        code="stale", message="m", run="r"
    ),
}
