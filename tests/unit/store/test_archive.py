"""The archive: all of a run there and back; damaged and hostile ones are refused, and nothing else."""

from __future__ import annotations

import base64
import io
import json
import random
import tracemalloc
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.data_model import AgentActivity, AnswerKind, RunState
from agentstepper_nb.protocol.records import RunHistory
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import archive
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.histories import (
    fold_records,
    make_full_history,
    make_random_history,
    make_random_records,
)

HISTORY = make_full_history()
DATA = archive.dump_archive(HISTORY)
RECORDED = (Path(__file__).parents[2] / "wire" / "recorded.run").read_bytes()


def unpack(data: bytes = DATA) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as file:
        return {name: file.read(name) for name in file.namelist()}


def pack(members: dict[str, bytes], kind: int = zipfile.ZIP_DEFLATED) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", kind) as packed:
        for name, data in members.items():
            packed.writestr(name, data)
    return file.getvalue()


def changed(member: str, change: Callable[[Any], object]) -> bytes:
    """The archive with the first line of a member changed."""
    members = unpack()
    first, *rest = members[member].splitlines() if member.endswith("l") else [members[member]]
    document = json.loads(first)
    change(document)
    return pack(members | {member: b"\n".join([json.dumps(document).encode(), *rest]) + b"\n"})


def refused(data: bytes, code: str, says: str | None = None, **options: Any) -> None:
    with pytest.raises(ProtocolError, match=says) as error:
        archive.load_archive(data, **options)
    assert error.value.code == code


# ---- there and back ---------------------------------------------------------------------------------


#: Fields of a live run, or counted anew from the rows.
_OF_LIVE_RUNS = ("pending", "step", "stopping", "halted_at", "query_bytes")


def test_every_field_comes_back() -> None:
    assert archive.load_archive(DATA) == HISTORY
    values: list[Any] = [HISTORY.run, *HISTORY.halt_points, *HISTORY.events, *HISTORY.commits]
    for kind in {type(value) for value in values}:
        for field in msgspec.structs.fields(kind):
            if field.required or field.name in _OF_LIVE_RUNS:
                continue
            said = [getattr(value, field.name) for value in values if type(value) is kind]
            assert any(each != field.default for each in said), field.name


@pytest.mark.parametrize("seed", range(40))
def test_a_debuggers_run_comes_back(seed: int) -> None:
    history = make_random_history(seed)
    if history.run.live:
        run = archive.load_archive(archive.dump_archive(history)).run
        assert (run.state, run.pending) == (RunState.IDLE, ())
        history = _finished(seed)
    assert archive.load_archive(archive.dump_archive(history)) == history


def _finished(seed: int) -> RunHistory:
    records = make_random_records(seed)
    harness = DebuggerHarness()
    harness.debugger.restore(records)
    harness.now, harness.records, harness._ids = 2000.0, records, 1000
    harness.finish()
    return fold_records(harness.records)


def test_the_same_run_makes_the_same_bytes() -> None:
    assert archive.dump_archive(HISTORY) == DATA


def test_an_import_is_a_run_of_its_own() -> None:
    history = archive.load_archive(DATA, "mine")
    items = (*history.events, *history.halt_points, *history.commits, *history.notes)
    assert {history.run.id, *(item.run for item in items)} == {"mine"}
    assert archive.load_archive(archive.dump_archive(history), HISTORY.run.id) == HISTORY


def test_a_run_that_was_live_has_ended() -> None:
    harness = DebuggerHarness()
    harness.start()
    harness.now += 5
    harness.begin_query()
    history = archive.load_archive(archive.dump_archive(fold_records(harness.records)))
    run = history.run
    assert (run.state, run.agent_state, run.pending, run.ending, run.ended_at) == (
        RunState.IDLE,
        AgentActivity.FINISHED,
        (),
        None,
        harness.now,
    )
    assert [point.answer for point in history.halt_points] == [AnswerKind.WITHDRAWN]


def test_a_run_of_version_1_comes_back() -> None:
    history = runfile.load_run(RECORDED)
    assert archive.load_archive(archive.dump_archive(history)) == history


@pytest.mark.parametrize(
    ("data", "whose"),
    [(DATA, HISTORY), (base64.b64encode(DATA), HISTORY), (RECORDED, runfile.load_run(RECORDED))],
    ids=["archive", "archive in base64", ".run"],
)
def test_each_form_is_told_by_its_beginning(data: bytes, whose: RunHistory) -> None:
    assert archive.load_run_file(data) == whose


def test_what_other_programs_pack_is_read() -> None:
    members = unpack() | {"__MACOSX/._run.json": b"\0\5", "../../etc/passwd": b"x"}
    assert archive.load_archive(pack(members, zipfile.ZIP_STORED)) == HISTORY


# ---- refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "not the archive"),
        (RECORDED, "not the archive"),
        (DATA[:-1], "or is incomplete"),
        (DATA + b"more", "or is incomplete"),
        (pack({}), "lacks manifest.json"),
        (pack({"a": b"b"}), "lacks manifest.json"),
        (pack(unpack() | {"run.json": b"{"}), "run.json is damaged"),
        (pack(unpack() | {"events.jsonl": b"\xff\n"}), "events.jsonl is damaged"),
        (pack({k: v for k, v in unpack().items() if k != "notes.jsonl"}), "lacks notes.jsonl"),
        (pack({f"{number:0200}": b"" for number in range(400)}), "more members"),
        (pack(unpack(), zipfile.ZIP_LZMA), "compression isn't supported"),
        (changed("manifest.json", lambda d: d.update(format="zip")), "not the archive of a run"),
        (changed("manifest.json", lambda d: d.update(version=0)), "not the archive of a run"),
    ],
)
def test_what_is_no_archive(data: bytes, says: str) -> None:
    refused(data, "corrupt_import", says)


@pytest.mark.parametrize(
    ("member", "change", "says"),
    [
        ("run.json", {"id": ""}, "without an id"),
        ("run.json", {"name": "x" * 1001}, "long a name"),
        ("run.json", {"started_at": -1}, "an invalid time"),
        ("run.json", {"ended_at": 1e300}, "an invalid time"),
        ("run.json", {"tags": [""]}, "tag"),
        ("run.json", {"tags": ["x"] * 21}, "tags"),
        ("run.json", {"hits": [{"stop": "", "count": 1, "last": 1}]}, "a breakpoint without an id"),
        ("run.json", {"hits": [{"stop": "s", "count": 0, "last": 1}]}, "invalid count"),
        ("run.json", {"hits": [{"stop": "s", "count": 1, "last": 0}]}, "invalid count"),
        ("run.json", {"hits": [{"stop": "s", "count": 1, "last": 1}] * 2}, "count twice"),
        (
            "run.json",
            {"hits": [{"stop": f"s{n}", "count": 1, "last": 1} for n in range(1001)]},
            "too many breakpoints",
        ),
        ("run.json", {"state": "lively"}, "run.json is damaged"),
        ("events.jsonl", {"id": "d"}, "one event twice"),
        ("events.jsonl", {"id": "f"}, "a halt point of no event"),
        ("events.jsonl", {"kind": "llm_query"}, "a halt point of no event"),
        ("events.jsonl", {"name": "No Type"}, "an event of no type"),
        ("events.jsonl", {"data": "{"}, "not JSON"),
        ("events.jsonl", {"depth": -1}, "a depth"),
        ("breakpoints.jsonl", {"id": "c"}, "one row twice"),
        ("breakpoints.jsonl", {"id": "d"}, "one row twice"),
        ("breakpoints.jsonl", {"id": "x" * 201}, "an id"),
        ("breakpoints.jsonl", {"seq": 2}, "one number twice"),
        ("breakpoints.jsonl", {"seq": 0}, "no number"),
        ("breakpoints.jsonl", {"seq": 9}, "no order"),
        ("breakpoints.jsonl", {"seq": 2**60}, "no number"),
        ("breakpoints.jsonl", {"data": "{"}, "not JSON"),
        ("breakpoints.jsonl", {"strict": True}, "not JSON"),
        ("breakpoints.jsonl", {"edit": ""}, "not JSON"),
        ("breakpoints.jsonl", {"revision": 0}, "an invalid revision"),
        ("breakpoints.jsonl", {"answered_at": -5}, "an invalid time"),
        ("breakpoints.jsonl", {"stops": ["s"] * 201}, "too many breakpoints"),
        ("breakpoints.jsonl", {"stops": [""]}, "a breakpoint without an id"),
        ("breakpoints.jsonl", {"stop_error": "x" * 1001}, "too long an error"),
        ("breakpoints.jsonl", {"reason": "x" * 10_001}, "too long a reason"),
        ("breakpoints.jsonl", {"approval": {"risk": "low", "why": "w"}}, "an approval of no call"),
        ("commits.jsonl", {"id": ""}, "an id"),
        ("commits.jsonl", {"seq": -1}, "at no row"),
        (
            "commits.jsonl",
            {"changes": [{"path": "a", "kind": "added", "added": -1}]},
            "an invalid count",
        ),
        ("notes.jsonl", {"message": "e"}, "a note on no row"),
        ("notes.jsonl", {"text": ""}, "empty"),
        ("notes.jsonl", {"text": "x" * 10_001}, "too long"),
    ],
)
def test_what_contradicts_itself(member: str, change: dict[str, Any], says: str) -> None:
    refused(changed(member, lambda document: document.update(change)), "corrupt_import", says)


def test_a_commit_or_a_note_that_comes_twice() -> None:
    for member in ("commits.jsonl", "notes.jsonl"):
        members = unpack()
        refused(pack(members | {member: members[member] * 2}), "corrupt_import", "twice")


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_member_that_comes_twice() -> None:
    file = io.BytesIO(DATA)
    with zipfile.ZipFile(file, "a") as packed:
        packed.writestr("run.json", b"{}")
    refused(file.getvalue(), "corrupt_import", "a member twice")


def test_an_encrypted_member() -> None:
    data = bytearray(DATA)
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    refused(bytes(data), "corrupt_import", "encrypted")


def test_a_newer_version_is_named() -> None:
    newer = changed("manifest.json", lambda d: d.update(version=2, written_by="agentstepper_nb 9"))
    refused(
        newer, "newer_import", "is of version 2, written by agentstepper_nb 9; .* up to version 1"
    )


# ---- in bounds --------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_bomb_is_not_unpacked() -> None:
    bomb = pack(unpack() | {"notes.jsonl": bytes(80 * 1024**2)})
    tracemalloc.start()
    try:
        refused(bomb, "too_large", "more than 4 MiB", limit=4 * 1024**2)
        assert tracemalloc.get_traced_memory()[1] < 40 * 1024**2
    finally:
        tracemalloc.stop()


def test_all_members_together_are_counted() -> None:
    size = sum(map(len, unpack().values()))
    assert archive.load_archive(DATA, limit=size) == HISTORY
    refused(DATA, "too_large", limit=size - 1)


def test_a_size_that_lies_is_not_believed() -> None:
    data = bytearray(pack(unpack() | {"notes.jsonl": bytes(8 * 1024**2)}))
    at = data.rindex(b"notes.jsonl") - 46
    data[at + 24 : at + 28] = (10).to_bytes(4, "little")
    refused(bytes(data), "corrupt_import", limit=1024**2)


def test_more_lines_than_anyone_has() -> None:
    refused(pack(unpack() | {"notes.jsonl": b"\n" * 500_001}), "too_large", "lines")


def test_deep_nesting_is_refused() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    for data in (
        changed("breakpoints.jsonl", lambda d: d.update(data=deep)),
        pack(unpack() | {"events.jsonl": deep.encode()}),
    ):
        refused(data, "too_large", "nests deeper than 500 levels")


# ---- by chance --------------------------------------------------------------------------------------


def mutated(data: bytes, chance: random.Random) -> bytes:
    """An archive with a few bytes changed, taken out or doubled; half of them below the zip."""
    if chance.random() < 0.5:
        members = unpack(data)
        name = chance.choice(sorted(members))
        return pack(members | {name: _hurt(members[name], chance)})
    return _hurt(data, chance)


def _hurt(data: bytes, chance: random.Random) -> bytes:
    hurt = bytearray(data)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(hurt) or 1)
        match chance.randrange(4):
            case 0:
                hurt[at : at + 1] = bytes([chance.randrange(256)])
            case 1:
                del hurt[at : at + chance.randint(1, 40)]
            case 2:
                hurt[at:at] = hurt[at : at + chance.randint(1, 40)]
            case _:
                hurt[at : at + 4] = chance.randbytes(4)
    return bytes(hurt)


def takes_or_refuses(seeds: range) -> None:
    sources = [
        DATA,
        *(archive.dump_archive(make_random_history(seed, steps=6)) for seed in range(4)),
    ]
    taken = 0
    for seed in seeds:
        chance = random.Random(seed)
        data = mutated(chance.choice(sources), chance)
        try:
            history = archive.load_archive(data)
        except ProtocolError:
            continue
        taken += 1
        again = archive.load_archive(archive.dump_archive(history))
        assert again == history
        assert not again.run.live
    assert 0 < taken < len(seeds)


def test_damaged_archives_are_refused_or_sound() -> None:
    takes_or_refuses(range(150))


def test_a_header_that_counts_wrong_is_counted_anew() -> None:
    wrong = archive.dump_archive(replace_run(HISTORY, rows=77))
    assert archive.load_archive(wrong) == HISTORY


def replace_run(history: RunHistory, **changes: Any) -> RunHistory:
    return replace(history, run=replace(history.run, **changes))


def test_rows_with_gaps_between_their_numbers_are_numbered_anew() -> None:
    whole = make_full_history()
    begin, end, asked = whole.halt_points
    event, said, call = whole.events
    gaps = replace(
        whole,
        events=(event, replace(said, seq=900), call),
        halt_points=(replace(begin, seq=7), replace(end, seq=40), replace(asked, seq=1000)),
        commits=(replace(whole.commits[0], seq=50),),
        run=replace(whole.run, hits=(replace(whole.run.hits[0], last=40),)),
    )
    assert archive.load_archive(archive.dump_archive(gaps)) == archive.load_archive(
        archive.dump_archive(whole)
    )
    before = replace(gaps, commits=(replace(whole.commits[0], seq=6),))
    assert archive.load_archive(archive.dump_archive(before)).commits[0].seq == 0
