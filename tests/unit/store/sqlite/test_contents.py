"""Contents: whatever is put in comes out to the letter, and a prompt costs what is new in it."""

from __future__ import annotations

import json
import random
import sqlite3
from collections.abc import Iterator
from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.errors import DamagedRunError
from agentstepper_nb.protocol.segments import MIN_SPLIT_BYTES, split_content
from agentstepper_nb.store.sqlite import migrations
from agentstepper_nb.store.sqlite.contents import MAX_KNOWN_NODES, ContentReader, ContentWriter
from agentstepper_nb.store.sqlite.row_codec import decode_text as lenient

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=40) | st.dictionaries(st.text(), inner),
    max_leaves=200,
)
#: JSON with all that Python's may hold (NaN, escapes of half a pair), spaced in many ways, and no JSON.
texts = st.one_of(
    st.text(),
    st.text(st.characters()),
    st.builds(
        json.dumps,
        json_values,
        ensure_ascii=st.booleans(),
        indent=st.sampled_from([None, 0, 3, "\t"]),
        separators=st.sampled_from([None, (",", ":"), (" ,\n", "\t: ")]),
    ),
    st.lists(st.sampled_from(['"\\ud800"', "[", "]", "{", '"a":', ",", "1" * 300, " ", "NaN"])).map(
        "".join
    ),
    st.lists(st.text(min_size=1, max_size=300), max_size=30).map(
        lambda items: json.dumps({"messages": items, "n": 10**40})
    ),
)


@pytest.fixture
def tables() -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(":memory:", isolation_level=None)
    connection.text_factory = lenient
    for number in range(1, migrations.VERSION + 1):
        for statement in migrations.read_statements(number):
            connection.execute(statement)
    yield connection
    connection.close()


def writer(connection: sqlite3.Connection, max_known_nodes: int = MAX_KNOWN_NODES) -> ContentWriter:
    counts = {"blobs": count(1), "nodes": count(1)}
    return ContentWriter(connection, lambda table: next(counts[table]), max_known_nodes)


def rows(connection: sqlite3.Connection, table: str) -> int:
    found: int = connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
    return found


@pytest.mark.slow
@given(texts)
def test_pieces_joined_are_the_text(text: str) -> None:
    data = text.encode(errors="surrogatepass")
    pieces = split_content(data)
    assert b"".join(pieces) == data
    assert all(pieces) or data == b""


def test_texts_come_out_as_they_went_in(tables: sqlite3.Connection) -> None:
    keeps = writer(tables)
    kept: list[tuple[object, str]] = []

    @given(texts)
    def put(text: str) -> None:
        content = keeps.put(1, "run", text)
        kept.append((content, text))
        assert ContentReader(tables, 1, "run").text(content) == text

    put()
    whole = ContentReader(tables, 1, "run", is_preloaded=True)
    assert [whole.text(content) for content, _ in kept] == [text for _, text in kept]


def test_a_short_text_stands_in_its_row(tables: sqlite3.Connection) -> None:
    keeps = writer(tables)
    assert keeps.put(1, "run", None) is None
    assert keeps.put(1, "run", "") == b""
    assert keeps.put(1, "run", "ü" * (MIN_SPLIT_BYTES // 2)) == "ü".encode() * (
        MIN_SPLIT_BYTES // 2
    )
    assert isinstance(keeps.put(1, "run", "ü" * (MIN_SPLIT_BYTES // 2 + 1)), int)


def test_what_comes_again_is_kept_once(tables: sqlite3.Connection) -> None:
    keeps = writer(tables)
    text = json.dumps([f"{number} " * 300 for number in range(5)])
    assert keeps.put(1, "run", text) == keeps.put(1, "run", text)
    kept = rows(tables, "blobs")
    keeps.clear_cache()
    assert keeps.put(1, "run", text)
    assert rows(tables, "blobs") == kept
    keeps.put(2, "other", text)
    assert rows(tables, "blobs") == 2 * kept  # each run has its own


@pytest.mark.parametrize("known", [True, False])
def test_a_prompt_that_grows_costs_what_is_new(tables: sqlite3.Connection, known: bool) -> None:
    keeps = writer(tables)
    chance = random.Random(1)
    messages = []
    tools = [{"name": chance.randbytes(300).hex()} for _ in range(20)]
    for _ in range(50):
        messages.append({"role": "user", "content": chance.randbytes(300).hex()})
        keeps.put(1, "run", json.dumps({"model": "m", "messages": messages, "tools": tools}))
        if not known:
            keeps.clear_cache()
    # What is before, between and after the messages, and each of these.
    assert rows(tables, "blobs") == 3 + 50
    assert rows(tables, "nodes") == 1 + 50 + 49 + 50


def test_an_answer_costs_nothing_in_the_next_prompt(tables: sqlite3.Connection) -> None:
    keeps = writer(tables)
    asked = {"role": "user", "content": "why " * 300}
    answer = {"role": "assistant", "content": "because " * 300}
    keeps.put(1, "run", json.dumps({"messages": [asked]}))
    keeps.put(1, "run", json.dumps(answer))
    kept = rows(tables, "blobs")
    keeps.put(1, "run", json.dumps({"messages": [asked, answer]}))
    assert rows(tables, "blobs") == kept + 1  # the comma


def test_a_list_of_numbers_is_one_piece_and_a_long_one_of_texts_has_few() -> None:
    assert len(split_content(json.dumps(list(range(100_000))).encode())) == 1
    assert len(split_content(json.dumps(["a piece of 20 bytes"] * 50_000).encode())) < 10_000


def test_the_writer_remembers_the_latest_nodes(tables: sqlite3.Connection) -> None:
    keeps = writer(tables, max_known_nodes=8)
    text = json.dumps([f"{number} " * 300 for number in range(30)])
    node = keeps.put(1, "run", text)
    assert len(keeps._known) <= 8
    assert keeps.put(1, "run", text) == node


DAMAGE = {
    "a blob's bytes": "UPDATE blobs SET bytes = zeroblob(40) WHERE n = 3",
    "a blob that became text": "UPDATE blobs SET bytes = x'00' || substr(bytes, 2) WHERE n = 3",
    "a blob of another text": "UPDATE blobs SET bytes = (SELECT bytes FROM blobs WHERE n = 1)",
    "a blob's hash": "UPDATE blobs SET hash = zeroblob(16) WHERE n = 3",
    "a blob that is gone": "DELETE FROM blobs WHERE n = 3",
    "a blob of another type": "UPDATE blobs SET bytes = 7 WHERE n = 3",
    "a node's checksum": "UPDATE nodes SET checksum = x'00' WHERE n = 3",
    "a node's parent": "UPDATE nodes SET parent = 1 WHERE n = 3",
    "a node that begins": "UPDATE nodes SET parent = 0 WHERE n = 3",
    "a node's blob": "UPDATE nodes SET blob = 4 WHERE n = 3",
    "a node that is gone": "DELETE FROM nodes WHERE n = 3",
    "a node in a circle": "UPDATE nodes SET parent = 3 WHERE n = 3",
}


@pytest.mark.parametrize("is_preloaded", [True, False])
@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
def test_what_is_hurt_is_named(tables: sqlite3.Connection, damage: str, is_preloaded: bool) -> None:
    content = writer(tables).put(1, "run", json.dumps([f"{n} " * 300 for n in range(5)]))
    assert ContentReader(tables, 1, "run", is_preloaded=is_preloaded).text(content)
    tables.execute(damage)
    with pytest.raises(DamagedRunError, match="run run is damaged: a piece of a content"):
        ContentReader(tables, 1, "run", is_preloaded=is_preloaded).text(content)


@pytest.mark.parametrize("content", [1.5, "text", b"\xff", 99])
def test_a_content_of_no_known_form_is_damage(tables: sqlite3.Connection, content: object) -> None:
    with pytest.raises(DamagedRunError):
        ContentReader(tables, 1, "run").text(content)
