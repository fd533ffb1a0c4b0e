"""Version 2's messages between view and Core, as they stand on the wire.

A change here is a change of the protocol: views of another version meet it.
"""

from __future__ import annotations

import json

import pytest
from msgspec import Struct

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import (
    EventKind,
    EventSide,
)
from agentstepper_nb.protocol.edit_rules import (
    DeleteEditRule,
    DryRunEditRule,
    ExportEditRule,
    SetEditRule,
)
from agentstepper_nb.protocol.start_methods import WorkspaceMode
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from tests.unit.protocol import golden_forks, golden_inspection, golden_programs, golden_samples
from tests.unit.protocol.golden_to_ui import (
    BREAKPOINT,
    EDIT_RULE,
    PRICES,
    TO_UI,
    the_edit_rule,
    the_prices,
    the_stop,
)

FROM_UI: dict[str, Struct] = {
    **golden_inspection.FROM_UI,
    **golden_programs.FROM_UI,
    **golden_samples.FROM_UI,
    **golden_forks.FROM_UI,
    '{"n":1,"type":"hello","id":"c","body":{"version":2,"client":"view"}}': ui.UiHello(
        version=2, client="view"
    ),
    '{"n":1,"type":"open_run","id":"c","body":{"run":"r"}}': ui.OpenRun(run="r"),
    '{"n":1,"type":"close_run","id":"c","body":{"run":"r"}}': ui.CloseRun(run="r"),
    '{"n":1,"type":"read_run","id":"c","body":{"run":"r"}}': ui.ReadRun(run="r"),
    '{"n":1,"type":"list_runs","id":"c","body":{"before":"r","limit":2000}}': ui.ListRuns(
        before="r"
    ),
    '{"n":1,"type":"get_rows","id":"c","body":{"run":"r","first":1,"last":200,"around":"b"}}': (
        ui.GetRows(run="r", around="b")
    ),
    '{"n":1,"type":"find_rows","id":"c","body":{"run":"r","text":"ls"}}': ui.FindRows(
        run="r", text="ls"
    ),
    '{"n":1,"type":"get_commits","id":"c","body":{"run":"r","before":7,"limit":200}}': ui.GetCommits(
        run="r", before=7
    ),
    '{"n":1,"type":"get_message","id":"c","body":{"run":"r","message":"m"}}': ui.GetMessage(
        run="r", message="m"
    ),
    '{"n":1,"type":"get_change","id":"c","body":{"run":"r","commit":"k","path":"a.py"}}': ui.GetChange(
        run="r", commit="k", path="a.py"
    ),
    '{"n":1,"type":"step","id":"c","body":{"run":"r","breakpoint":null,"revision":null,"edit":null}}': (
        ui.StepRun(run="r")
    ),
    '{"n":1,"type":"step","id":"c","body":{"run":"r","breakpoint":"b","revision":2,"edit":"null"}}': (
        ui.StepRun(run="r", halt_point="b", revision=2, edit="null")
    ),
    '{"n":1,"type":"step","id":"c","body":{"run":"r","breakpoint":null,"revision":null,"edit":null,'
    '"target":{"kind":"to","scope":[],"freeze_others":false,"event":null,"depth":null,'
    '"event_kind":"llm_query","side":"begin","name":null,"point":null}}}': ui.StepRun(
        run="r",
        target=StepTarget(
            kind=StepKind.TO, scope=(), event_kind=EventKind.LLM_QUERY, side=EventSide.BEGIN
        ),
    ),
    '{"n":1,"type":"continue","id":"c","body":{"run":"r","breakpoint":"b","revision":1,'
    '"edit":"\\"\\""}}': (ui.ContinueRun(run="r", halt_point="b", revision=1, edit='""')),
    '{"n":1,"type":"approve","id":"c","body":{"run":"r","breakpoint":"b","revision":2,"edit":"{}",'
    '"always":true,"confirmed":true}}': (
        ui.ApproveCall(run="r", halt_point="b", revision=2, edit="{}", always=True, confirmed=True)
    ),
    '{"n":1,"type":"deny","id":"c","body":{"run":"r","breakpoint":"b","revision":2,'
    '"reason":"Not today."}}': (
        ui.DenyCall(run="r", halt_point="b", revision=2, reason="Not today.")
    ),
    '{"n":1,"type":"halt","id":"c","body":{"run":"r"}}': ui.HaltRun(run="r"),
    '{"n":1,"type":"stop","id":"c","body":{"run":"r"}}': ui.StopRun(run="r"),
    '{"n":1,"type":"edit","id":"c","body":{"run":"r","breakpoint":"b","revision":1,"edit":null}}': (
        ui.SetEdit(run="r", halt_point="b", revision=1, edit=None)
    ),
    f'{{"n":1,"type":"set_stop","id":"c","body":{{"stop":{BREAKPOINT}}}}}': ui.SetBreakpoint(
        breakpoint=the_stop
    ),
    '{"n":1,"type":"delete_stop","id":"c","body":{"stop":"s"}}': ui.DeleteBreakpoint(
        breakpoint="s"
    ),
    f'{{"n":1,"type":"try_stop","id":"c","body":{{"stop":{BREAKPOINT},'
    f'"run":null}}}}': ui.DryRunBreakpoint(breakpoint=the_stop),
    '{"n":1,"type":"skip","id":"c","body":{"run":"r","breakpoint":"b","revision":1,"result":"7"}}': (
        ui.SkipCall(run="r", halt_point="b", revision=1, result="7")
    ),
    '{"n":1,"type":"raise","id":"c","body":{"run":"r","breakpoint":"b","revision":1,"message":"m",'
    '"type":"ValueError"}}': ui.RaiseError(
        run="r", halt_point="b", revision=1, message="m", type="ValueError"
    ),
    '{"n":1,"type":"guide","id":"c","body":{"run":"r","breakpoint":"b","revision":1,"text":"t",'
    '"edit":null}}': ui.GuidePrompt(run="r", halt_point="b", revision=1, text="t"),
    f'{{"n":1,"type":"set_edit_rule","id":"c","body":{{"rule":{EDIT_RULE}}}}}': SetEditRule(
        rule=the_edit_rule
    ),
    '{"n":1,"type":"delete_edit_rule","id":"c","body":{"rule":"x"}}': DeleteEditRule(rule="x"),
    f'{{"n":1,"type":"try_edit_rule","id":"c","body":{{"rule":{EDIT_RULE},"run":"r"}}}}': (
        DryRunEditRule(rule=the_edit_rule, run="r")
    ),
    f'{{"n":1,"type":"export_edit_rule","id":"c","body":{{"rule":{EDIT_RULE}}}}}': (
        ExportEditRule(rule=the_edit_rule)
    ),
    f'{{"n":1,"type":"set_prices","id":"c","body":{{"prices":{PRICES}}}}}': ui.SetPrices(
        prices=the_prices
    ),
    '{"n":1,"type":"rename_run","id":"c","body":{"run":"r","name":"x"}}': ui.RenameRun(
        run="r", name="x"
    ),
    '{"n":1,"type":"tag_run","id":"c","body":{"run":"r","tags":["kept","slow"]}}': ui.TagRun(
        run="r", tags=("kept", "slow")
    ),
    '{"n":1,"type":"note","id":"c","body":{"run":"r","message":"b","text":"here"}}': ui.WriteNote(
        run="r", message="b", text="here"
    ),
    '{"n":1,"type":"delete_run","id":"c","body":{"run":"r"}}': ui.DeleteRun(run="r"),
    '{"n":1,"type":"export_run","id":"c","body":{"run":"r","format":"archive"}}': ui.ExportRun(
        run="r", format="archive"
    ),
    '{"n":1,"type":"import_run","id":"c","body":{"data":"eJw="}}': ui.ImportRun(data="eJw="),
    '{"n":1,"type":"search","id":"c","body":{"query":"two words","run":null,"limit":100}}': (
        ui.SearchRuns(query="two words")
    ),
    '{"n":1,"type":"get_store","id":"c","body":{}}': ui.GetStore(),
    '{"n":1,"type":"get_profile","id":"c","body":{"run":"r"}}': ui.GetProfile(run="r"),
    '{"n":1,"type":"get_model_info","id":"c","body":{"models":["m"]}}': ui.GetModelInfo(
        models=("m",)
    ),
    '{"n":1,"type":"get_overview","id":"c","body":{"run":"r"}}': ui.GetOverview(run="r"),
    '{"n":1,"type":"start_again","id":"c","body":{"run":"r","row":7,"is_replay":false}}': (
        ui.StartAgain(run="r", row=7)
    ),
    '{"n":1,"type":"start_again","id":"c","body":{"run":"r","row":7,"is_replay":false,'
    '"workspace":"in_place"}}': ui.StartAgain(run="r", row=7, workspace=WorkspaceMode.IN_PLACE),
}


@pytest.mark.parametrize("text", FROM_UI, ids=range(len(FROM_UI)))
def test_from_ui(text: str) -> None:
    assert ui.from_ui.encode(FROM_UI[text], 1, "c") == text
    envelope, message = ui.from_ui.decode(text)
    assert (envelope.id, message) == ("c", FROM_UI[text])


@pytest.mark.parametrize("text", TO_UI, ids=range(len(TO_UI)))
def test_to_ui(text: str) -> None:
    assert ui.to_ui.encode(TO_UI[text], 1, "c") == text
    assert ui.to_ui.decode(text)[1] == TO_UI[text]


def test_every_kind_of_message_is_above() -> None:
    for golden, table in ((FROM_UI, ui.from_ui), (TO_UI, ui.to_ui)):
        assert {type(message) for message in golden.values()} == set(table.types.values())
        assert {json.loads(text)["type"] for text in golden} == set(table.types)


@pytest.mark.parametrize(
    ("type", "body", "says"),
    [
        ("step", {}, "missing required field `run`"),
        ("step", {"run": 7}, r"Expected `str`, got `int` - at `\$.run`"),
        ("step", {"run": "r", "revision": "1"}, r"at `\$.revision`"),
        ("step", {"run": "r", "edit": {"a": 1}}, r"Expected `str \| null`, got `object`"),
        ("edit", {"run": "r", "breakpoint": "b", "edit": "1"}, "field `revision`"),
        ("import_run", {"data": None}, r"at `\$.data`"),
        ("hello", {"version": 2}, "field `client`"),
        ("tag_run", {"run": "r", "tags": [""]}, r"length >= 1 - at `\$.tags\[0\]`"),
        ("tag_run", {"run": "r", "tags": ["t"] * 21}, r"length <= 20 - at `\$.tags`"),
        ("note", {"run": "r", "message": "m", "text": "x" * 10_001}, r"at `\$.text`"),
        ("search", {"query": "x", "limit": 501}, r"<= 500 - at `\$.limit`"),
        ("search", {"query": "x" * 1001}, r"at `\$.query`"),
        ("export_run", {"run": "r", "format": "pickle"}, r"at `\$.format`"),
        ("set_stop", {"stop": {"id": ""}}, r"length >= 1 - at `\$.stop.id`"),
        ("set_stop", {"stop": {"id": "s", "nth": 0}}, r">= 1 - at `\$.stop.nth`"),
        ("set_stop", {"stop": {"id": "s", "program": ""}}, r"at `\$.stop.program`"),
        ("set_stop", {"stop": {"id": "s", "condition": "x" * 4097}}, r"<= 4096"),
        ("set_stop", {"stop": {"id": "s", "watch": {"kind": "nap"}}}, r"'nap'"),
        ("set_stop", {"stop": {"id": "s", "watch": {"kind": "cost", "limit": -1}}}, r">= 0"),
        ("try_stop", {"run": "r"}, "field `stop`"),
        ("set_prices", {"prices": [{"model": "m", "input": 1}]}, "field `output`"),
        ("list_runs", {"before": "r", "limit": 2001}, r"<= 2000 - at `\$.limit`"),
        ("get_rows", {"run": "r", "first": -1}, r">= 0 - at `\$.first`"),
        ("get_commits", {"run": "r", "limit": 0}, r">= 1 - at `\$.limit`"),
        ("approve", {"run": "r", "breakpoint": "b"}, "field `revision`"),
        ("deny", {"run": "r", "breakpoint": "b", "revision": 1}, "field `reason`"),
    ],
    ids=range(26),
)
def test_a_wrong_field_is_named(type: str, body: object, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as refused:
        ui.from_ui.decode(json.dumps({"n": 1, "type": type, "body": body}))
    assert refused.value.code == "invalid_message"


def test_an_unknown_command_is_its_own_error() -> None:
    with pytest.raises(
        ProtocolError,
        match=r"“jump” isn't a message type here\. The types are: answer_bisect, approve",
    ) as no:
        ui.from_ui.decode('{"n":1,"type":"jump","body":{}}')
    assert no.value.code == "unknown_command"
