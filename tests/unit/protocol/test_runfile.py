"""The `.run` file: the original's loads and is written again; ours has more than version 1 can say."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb._version import __version__
from agentstepper_nb.core import Debugger, make_row
from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.data_model import (
    AgentActivity,
    AnswerKind,
    ChangeKind,
    Commit,
    Event,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileBody,
    FileChange,
    HaltPoint,
    Run,
    RunState,
)
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.v1 import runfile

RECORDED = (Path(__file__).parents[2] / "wire" / "recorded.run").read_bytes()


def unpack(data: bytes) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(data)))


def pack(document: Any) -> bytes:
    return base64.b64encode(zlib.compress(json.dumps(document).encode()))


DOCUMENT = unpack(RECORDED)


def refused(data: bytes, code: str, says: str | None = None, **options: Any) -> None:
    with pytest.raises(ProtocolError, match=says) as error:
        runfile.load_run(data, **options)
    assert error.value.code == code


# ---- the original's ---------------------------------------------------------------------------------


def test_the_recorded_run_is_written_again_as_it_was() -> None:
    assert unpack(runfile.dump_run(runfile.load_run(RECORDED))) == DOCUMENT


def test_an_import_is_a_run_of_its_own() -> None:
    history = runfile.load_run(RECORDED, "mine")
    assert {history.run.id} == {each.run for each in (*history.events, *history.halt_points)}
    assert history.run.id == "mine"
    assert unpack(runfile.dump_run(history)) == DOCUMENT | {"uuid": "mine"}


def test_what_the_recorded_run_holds() -> None:
    history = runfile.load_run(RECORDED)
    run = history.run
    assert (run.name, run.program, run.state, run.agent_state, run.rows, run.commits) == (
        "Recorded run",
        "Recorder",
        RunState.IDLE,
        AgentActivity.FINISHED,
        7,
        1,  # the first commit is the folder as it was
    )
    queries = [point for point in history.halt_points if point.kind is EventKind.LLM_QUERY]
    assert run.query_bytes == sum(len(point.data.encode()) for point in queries) > 0
    assert (run.started_at, run.ended_at, run.can_stop) == (1795295422.0, 1795295426.0, False)
    assert [(point.seq, point.kind.name, point.side.name) for point in history.halt_points] == [
        (1, "PROGRAM_STARTED", "BEGIN"),
        (2, "LLM_QUERY", "BEGIN"),
        (3, "LLM_QUERY", "END"),
        (4, "TOOL_INVOCATION", "BEGIN"),
        (5, "TOOL_INVOCATION", "END"),
        (7, "PROGRAM_FINISHED", "BEGIN"),
    ]
    assert [e.seq for e in history.events if e.kind is EventKind.DEBUG_MESSAGE] == [6]
    assert [point.edit is not None for point in history.halt_points] == [0, 1, 0, 1, 0, 0]
    assert all(point.answer is AnswerKind.RESUME for point in history.halt_points)
    assert [make_row(point).summary for point in history.halt_points] == [
        "Agent program started",
        "edited",
        "Calls write_file(path=b.txt, content=two)",
        "write_file(path=b.txt, content=two!)",
        "wrote 4 bytes to b.txt",
        "Agent execution finished",
    ]
    first, second = history.commits
    assert (first.title, first.seq) == ("Initialized repository", 1)
    assert [change.kind for change in second.changes] == [
        ChangeKind.ADDED,
        ChangeKind.CHANGED,
        ChangeKind.DELETED,
    ]


def test_it_is_taken_in_by_a_debugger() -> None:
    debugger = Debugger()
    debugger.commands.import_run(runfile.load_run(RECORDED))
    assert [run.name for run in debugger.runs] == ["Recorded run"]
    assert debugger.active is None


# ---- ours -------------------------------------------------------------------------------------------


def ours() -> RunHistory:
    """A run of version 2 with what version 1's file has no words for."""
    event = Event(
        id="e", run="r", kind=EventKind.LLM_QUERY, at=1.0, name="m", outcome=EventOutcome.ERROR
    )
    points = (
        HaltPoint(
            id="b1",
            run="r",
            event="e",
            seq=1,
            side=EventSide.BEGIN,
            kind=EventKind.LLM_QUERY,
            at=1.0,
            data='{"z": 1.0, "n": 12345678901234567890123, "x": NaN}',
            is_strict_json=False,
            edit='""',
            answer=AnswerKind.RESUME,
        ),
        HaltPoint(
            id="b2",
            run="r",
            event="e",
            seq=2,
            side=EventSide.END,
            kind=EventKind.LLM_QUERY,
            at=2.0,
            data='"half \\ud800"',
            is_strict_json=False,
            failure=Failure(type="E", message="m"),
            answer=AnswerKind.RESUME,
        ),
    )
    body = FileBody(diff="d", content="new", previous_content="old")
    change = FileChange(path="b", kind=ChangeKind.RENAMED, previous_path="a", body=body)
    commit = Commit(id="k", run="r", at=1.5, title="t", seq=1, event="e", changes=(change,))
    run = Run(id="r", name="N", program="P", started_at=0.5, rows=2, commits=1)
    return RunHistory(run=run, events=(event,), halt_points=points, commits=(commit,))


def test_contents_keep_their_letters_where_strict_json_allows_and_their_values_always() -> None:
    loaded = runfile.load_run(runfile.dump_run(ours()))
    assert [point.data for point in loaded.halt_points] == [
        '{"z": 1.0, "n": 12345678901234567890123, "x": NaN}',
        '"half \\ud800"',
    ]
    assert [point.is_strict_json for point in loaded.halt_points] == [False, False]
    assert [point.edit for point in loaded.halt_points] == ['""', None]
    assert (loaded.commits[0].seq, loaded.commits[0].event) == (1, "e")
    assert (
        unpack(runfile.dump_run(loaded)).__repr__() == unpack(runfile.dump_run(ours())).__repr__()
    )


def test_a_rename_is_filed_as_a_deletion_and_a_new_file() -> None:
    (commit,) = runfile.load_run(runfile.dump_run(ours())).commits
    assert [(change.path, change.kind) for change in commit.changes] == [
        ("a", ChangeKind.DELETED),
        ("b", ChangeKind.ADDED),
    ]


def test_snapshots_are_not_filed() -> None:
    history = ours()
    snapshot = replace(history.commits[0], id="s", snapshot=True)
    with_it = replace(history, commits=(snapshot, *history.commits))
    assert runfile.dump_run(with_it) == runfile.dump_run(history)


@pytest.mark.slow
def test_a_long_run_is_read_in_time_that_grows_with_it() -> None:
    """What is done for each event must not look at all the others."""
    events = [
        {"uuid": f"e{n}", "type": "DEBUG_MESSAGE", "time": 1.0 + n, "data": "x", "breakpoints": []}
        for n in range(30_000)
    ]
    commits = [{"id": f"c{n}", "date": 1.0 + n, "title": "t", "changes": []} for n in range(5000)]
    document = DOCUMENT | {"events": events, "commits": commits}
    assert runfile.load_run(pack(document)).run.rows == 30_000


# ---- versions ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("version", ["0", "0.0.1", __version__, "", "unknown", "0.0.1rc1", "²"])
def test_an_older_file_is_read(version: str) -> None:
    document = DOCUMENT | {"server_version": version}
    assert runfile.load_run(pack(document)).run.name == "Recorded run"


@pytest.mark.parametrize("version", ["999", "0.999.1", f"{__version__}.1", "9" * 9])
def test_a_newer_file_is_refused_by_name(version: str) -> None:
    with pytest.raises(ProtocolError) as error:
        runfile.load_run(pack(DOCUMENT | {"server_version": version}))
    assert error.value.code == "newer_import"
    assert version in error.value.message
    assert __version__ in error.value.message
    assert "Upgrade agentstepper_nb" in error.value.message


# ---- what version 1 has no words for -----------------------------------------------------------------


def nested(at: tuple[float, float, float, float]) -> RunHistory:
    """A tool that asks a model, and says something meanwhile; with the times of its four halt points."""
    outer = Event(id="o", run="r", kind=EventKind.TOOL_INVOCATION, at=at[0], name="t")
    inner = Event(id="i", run="r", kind=EventKind.LLM_QUERY, at=at[1], parent="o", depth=1)
    said = Event(
        id="s", run="r", kind=EventKind.DEBUG_MESSAGE, at=at[2], seq=3, depth=1, data='"hi"'
    )
    order = (
        (outer, EventSide.BEGIN),
        (inner, EventSide.BEGIN),
        (inner, EventSide.END),
        (outer, EventSide.END),
    )
    points = tuple(
        HaltPoint(
            id=f"{event.id} {side}",
            run="r",
            event=event.id,
            seq=seq,
            side=side,
            kind=event.kind,
            name=event.name,
            depth=event.depth,
            at=time,
            data="{}",
            answer=AnswerKind.RESUME,
            answered_at=time,
        )
        for seq, time, (event, side) in zip((1, 2, 4, 5), at, order, strict=True)
    )
    run = Run(id="r", name="N", program="P", started_at=0.5, rows=5)
    return RunHistory(run=run, events=(outer, inner, said), halt_points=points)


def test_nested_events_come_back_in_order() -> None:
    for at in ((1.0, 2.0, 3.0, 4.0), (1.0, 1.0, 1.0, 1.0)):
        loaded = runfile.load_run(runfile.dump_run(nested(at)))
        assert [(point.seq, point.id, point.depth) for point in loaded.halt_points] == [
            (1, "o begin", 0),
            (2, "i begin", 1),
            (4, "i end", 1),
            (5, "o end", 0),
        ]
        assert [(event.id, event.parent, event.seq) for event in loaded.events] == [
            ("o", None, 0),
            ("i", "o", 0),
            ("s", None, 3),
        ]
        assert loaded.run.rows == 5


def test_nested_events_of_an_older_file_are_put_in_order_by_time() -> None:
    document = unpack(runfile.dump_run(nested((1.0, 2.0, 3.0, 4.0))))
    for event in document["events"]:
        for item in (event, *event["breakpoints"]):
            item.pop("seq", None)
    loaded = runfile.load_run(pack(document))
    assert [point.id for point in loaded.halt_points] == ["o begin", "i begin", "i end", "o end"]
    assert len({point.seq for point in loaded.halt_points}) == 4


def test_a_file_of_events_one_after_another_has_no_numbers() -> None:
    assert '"seq"' not in json.dumps(unpack(runfile.dump_run(runfile.load_run(RECORDED))))


@pytest.mark.parametrize(
    ("row", "seq", "says"),
    [(0, 2, "numbered wrong"), (0, None, "numbered wrong"), (0, 9, "ends before it begins")],
)
def test_rows_that_are_numbered_wrong(row: int, seq: int | None, says: str) -> None:
    document = unpack(runfile.dump_run(nested((1.0, 2.0, 3.0, 4.0))))
    point = document["events"][0]["breakpoints"][row]
    if seq is None:
        del point["seq"]
    else:
        point["seq"] = seq
    refused(pack(document), "corrupt_import", says)


@pytest.mark.parametrize("depth", [2**52, 3])
def test_a_depth_that_no_run_has_is_refused(depth: int) -> None:
    document = unpack(runfile.dump_run(nested((1.0, 2.0, 3.0, 4.0))))
    document["events"][1]["depth"] = depth
    refused(pack(document), "corrupt_import", "inside of more than there are")


def test_exceptions_and_summaries_travel() -> None:
    begin, end = ours().halt_points
    failed = replace(
        end, failure=Failure(type="ValueError", message="no"), outcome=EventOutcome.ERROR
    )
    begin = replace(begin, model_summary="Asks for it")
    data = runfile.dump_run(replace(ours(), halt_points=(begin, failed)))
    filed = unpack(data)["events"][0]["breakpoints"]
    assert [point["summary"] for point in filed] == ["Asks for it", "ValueError: no"]
    loaded = runfile.load_run(data).halt_points
    assert (loaded[1].failure, loaded[1].outcome) == (failed.failure, EventOutcome.ERROR)
    assert [make_row(point).summary for point in loaded] == [
        "Asks for it",
        "Failed: ValueError: no",
    ]


@pytest.mark.parametrize("packed", [bytes, base64.b64encode])
def test_a_file_that_is_not_compressed_is_read(packed: Any) -> None:
    for text in (json.dumps(DOCUMENT), "\n " + json.dumps(DOCUMENT, indent=1)):
        assert unpack(runfile.dump_run(runfile.load_run(packed(text.encode())))) == DOCUMENT
