"""Version 1's messages of agents: what the original's client writes, kept as it is."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from msgspec import Raw

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.protocol.data_model import ChangeKind, Commit, FileBody, FileChange
from agentstepper_nb.protocol.v1 import agent as v1
from agentstepper_nb.protocol.v1.commits import dump_changes, dump_commit, load_commit

HALT_POINT = (
    '{"message": "breakpoint", "data": {"uuid": "b", "agent": "A", "event_id": "e", "time": 1.5, '
    '"original_data": %s, "modified_data": null, "summary": null}}'
)


def halt_point(data: str) -> v1.V1Breakpoint:
    message = v1.decode_message(HALT_POINT % data)
    assert isinstance(message, v1.V1Breakpoint)
    return message


def contents(data: str) -> str:
    return bytes(halt_point(data).original_data).decode()


@pytest.mark.parametrize(
    "data",
    [
        "12345678901234567890123456789012345678901234567890",
        "1.0",
        "1e2",
        "-0.0",
        "1e999",
        '{"z": 1, "a": {"y": 2, "b": 3}}',
        '{"a": 1, "a": 2}',
        '{ "spaced" :\t[ 1 ,2 ] }',
        '"\\u2713 \\/ \\ud83d\\ude00"',
        '"✓"',
        "null",
        '""',
        "{}",
    ],
)
def test_contents_are_kept_to_the_letter(data: str) -> None:
    message, strict = v1.read_message(HALT_POINT % data)
    assert isinstance(message, v1.V1Breakpoint)
    assert (bytes(message.original_data).decode(), strict) == (data, True)
    assert f'"original_data":{data},' in v1.encode_message(message)


@pytest.mark.parametrize(
    ("data", "kept"),
    [
        ("NaN", "NaN"),
        ("[Infinity, -Infinity]", "[Infinity, -Infinity]"),
        ('"half \\ud800"', '"half \\ud800"'),
        ('{"z": NaN, "a": 1.0, "b": 12345678901234567890123}',) * 2,
        ('{"z":NaN,"a":"✓"}', '{"z": NaN, "a": "\\u2713"}'),
    ],
)
def test_what_only_pythons_parser_takes_is_taken_and_marked(data: str, kept: str) -> None:
    message, strict = v1.read_message(HALT_POINT % data)
    assert isinstance(message, v1.V1Breakpoint)
    assert (bytes(message.original_data).decode(), strict) == (kept, False)
    assert not v1.is_strict(kept)
    # The original's client reads it back.
    sent = json.loads(v1.encode_message(message))["data"]["original_data"]
    assert str(sent) == str(json.loads(data))


def test_half_a_surrogate_pair_outside_contents_is_replaced() -> None:
    text = (HALT_POINT % "1").replace('"summary": null', '"summary": "half \\ud800, whole ✓"')
    message = v1.decode_message(text)
    assert isinstance(message, v1.V1Breakpoint)
    assert message.summary == "half \ufffd, whole ✓"
    assert v1.encode_message(message)
    commit = v1.decode_message(
        '{"message": "commit", "data": {"id": "c", "date": 1, "title": "t", "changes": '
        '[{"path": "a", "change_type": "change", "content": "\\udcff"}]}}'
    )
    assert isinstance(commit, v1.V1Commit)
    assert commit.changes[0].content == "\ufffd"


def event(**fields: Any) -> str:
    data = {"uuid": "e", "type": "LLM_QUERY", "time": 1.0, "data": None, "breakpoints": []}
    return json.dumps({"message": "event", "data": data | fields})


def test_the_fields_of_an_event() -> None:
    message = v1.decode_message(event(data={"a": 1}))
    assert message == v1.V1Event(uuid="e", type="LLM_QUERY", time=1.0, data=Raw(b'{"a": 1}'))


DEEP = "[" * 100_000 + "]" * 100_000


@pytest.mark.parametrize(
    ("text", "code", "says"),
    [
        ("", "malformed", "Failed to parse the message"),
        ("nonsense", "malformed", "Failed to parse the message: JSON is malformed"),
        ("[]", "malformed", 'not of the form {"message": …, "data": {…}}'),
        ("null", "malformed", "Failed to parse the message"),
        ("{}", "malformed", "not of the form"),
        ('{"message": "event"}', "malformed", "not of the form"),
        ('{"message": "event", "data": []}', "malformed", "not of the form"),
        (DEEP, "malformed", "Expected `object`, got `array`"),
        (HALT_POINT % DEEP, "malformed", "recursion depth"),
        ('{"message": "nap", "data": {}}', "unknown_message", "client server event message: “nap”"),
        (
            '{"message": 7, "data": {}}',
            "unknown_message",
            "“7” is none of event, breakpoint, commit",
        ),
        ('{"message": "nap", "data": {"x": NaN}}', "unknown_message", "“nap” is none of"),
        ('{"message": "event", "data": {}}', "invalid_message", "missing required field `uuid`"),
        (event(uuid=7), "invalid_message", r"Expected `str`, got `int` - at `\$.uuid`"),
        (event(uuid=""), "invalid_message", r"length >= 1 - at `\$.uuid`"),
        (event(time="now"), "invalid_message", r"got `str` - at `\$.time`"),
        (event(time=1e300), "invalid_message", r"at `\$.time`"),
        (event(time=float("nan")), "invalid_message", r"at `\$.time`"),
        (event(time=float("inf")), "invalid_message", r"at `\$.time`"),
        (event(time=-1), "invalid_message", r"at `\$.time`"),
        (event(time=10**400), "invalid_message", r"at `\$.time`"),
    ],
    ids=range(21),
)
def test_what_is_no_message(text: str, code: str, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as refused:
        v1.decode_message(text)
    assert refused.value.code == code
    assert len(str(refused.value)) < 300


@pytest.mark.parametrize(
    ("data", "name"),
    [
        ('"Recorder"', "Recorder"),
        ('"half \\ud800"', "half \ufffd"),
        ("null", ""),
        ('{"a": 1}', '{"a": 1}'),
        ("NaN", "NaN"),
    ],
)
def test_a_programs_name(data: str, name: str) -> None:
    assert v1.decode_text_data(Raw(data.encode())) == name


# ---- commits ----------------------------------------------------------------------------------------


def change(path: str, kind: ChangeKind, **fields: Any) -> FileChange:
    return FileChange(path=path, kind=kind, **fields)


def test_commits_in_version_1s_words() -> None:
    body = FileBody(diff="d", content="new", previous_content="old")
    commit = Commit(
        id="c",
        at=1.5,
        title="t",
        changes=(
            change("a", ChangeKind.ADDED, body=FileBody(content="x")),
            change("b", ChangeKind.CHANGED, body=body),
            change("c", ChangeKind.DELETED, body=FileBody(previous_content="gone")),
            change("new", ChangeKind.RENAMED, previous_path="old", body=body),
            change("picture", ChangeKind.CHANGED, binary=True, size=9, digest="f"),
        ),
    )
    assert [(path, word, body.content) for path, word, body in dump_changes(commit)] == [
        ("a", "new file", "x"),
        ("b", "change", "new"),
        ("c", "deleted file", ""),
        ("old", "deleted file", ""),
        ("new", "new file", "new"),
        ("picture", "change", ""),
    ]
    wire = dump_commit(commit)
    assert (wire.id, wire.date, wire.title, wire.changes[3].previous_content) == (
        "c",
        1.5,
        "t",
        "old",
    )
    again = msgspec.json.decode(msgspec.json.encode(wire), type=v1.V1Commit)
    assert dump_commit(load_commit(again)) == wire


@pytest.mark.parametrize(
    ("fields", "added", "removed"),
    [
        ({"change_type": "new file", "content": "a\nb\n"}, 2, 0),
        ({"change_type": "deleted file", "previous_content": "a\nb"}, 0, 2),
        (
            {"change_type": "change", "diff": "--- a\n+++ b\n@@ -1 +1,2 @@\n one\n+more\n+x\n-y"},
            2,
            1,
        ),
    ],
)
def test_lines_are_counted(fields: dict[str, str], added: int, removed: int) -> None:
    wire = v1.V1Commit(id="c", date=1.0, title="t", changes=[v1.V1Change(path="a", **fields)])
    loaded = load_commit(wire).changes[0]
    assert (loaded.added, loaded.removed) == (added, removed)


def test_an_unknown_change_is_refused() -> None:
    wire = v1.V1Commit(
        id="c", date=1.0, title="t", changes=[v1.V1Change(path="a", change_type="x")]
    )
    with pytest.raises(ProtocolError, match="“x” is no change type; known: new file, change") as no:
        load_commit(wire)
    assert no.value.code == "invalid_message"
