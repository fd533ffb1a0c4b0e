"""What a person types, as FTS5 gets it: all words and phrases, and nothing that is an operator."""

from __future__ import annotations

import sqlite3

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.errors import ProtocolError
from agentstepper_nb.store.search.query import MAX_TERMS, make_fts_expression


@pytest.mark.parametrize(
    ("query", "becomes"),
    [
        ("word", '"word"*'),
        ("two words", '"two" "words"*'),
        ('"a phrase"', '"a phrase"'),
        ('before "a phrase" after', '"before" "a phrase" "after"*'),
        ("“curly quotes„", '"curly quotes"'),
        ("foo_bar.baz()", '"foo_bar.baz()"*'),
        ("a == b", '"a" "b"*'),
        ('x "--" y', '"x" "y"*'),
        ("NOT this OR* that: (NEAR", '"NOT" "this" "OR*" "that:" "(NEAR"*'),
        ("nul\0 in \ud83d", '"nul" "in"*'),
        ("größe 日本", '"größe" "日本"*'),
    ],
)
def test_words_and_phrases(query: str, becomes: str) -> None:
    assert make_fts_expression(query) == becomes


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("", "no word"),
        (" \n", "no word"),
        ('""', "no word"),
        ("== -- ++", "no word"),
        ('"open', "isn't closed"),
        ('a " b', "isn't closed"),
        ("w " * (MAX_TERMS + 1), f"up to {MAX_TERMS}."),
    ],
)
def test_what_can_not_be_looked_for(query: str, says: str) -> None:
    with pytest.raises(ProtocolError, match=says) as error:
        make_fts_expression(query)
    assert error.value.code == "invalid_search"


@given(st.text(max_size=60) | st.text('"*:()^-+{}ANDORTNE \0a', max_size=60))
def test_whatever_is_typed_fts5_takes(query: str) -> None:
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE t USING fts5 (text)")
    try:
        db.execute("SELECT * FROM t WHERE t MATCH ?", (make_fts_expression(query),)).fetchall()
    except ProtocolError as error:
        assert error.code == "invalid_search"
    finally:
        db.close()
