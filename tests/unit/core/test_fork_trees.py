"""The tree of runs that were started again from each other, and edits in one line."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import UNSET

from agentstepper_nb.core.fork_trees import describe_fork_edit, is_fork_point, select_tree
from agentstepper_nb.core.summaries import MAX_READ_CHARS
from agentstepper_nb.protocol.data_model import AnswerKind, Failure, Run
from agentstepper_nb.protocol.replay_marks import ReplayMark, ReplayRole
from agentstepper_nb.protocol.start_methods import ForkOrigin
from tests.unit.core.points import ASK, CALL, RESULT, point


def a_run(id: str, parent: str | None = None) -> Run:
    origin = UNSET if parent is None else ForkOrigin(run=parent, row=3)
    return Run(id=id, name=id, program="p", started_at=0.0, forked_from=origin)


RUNS = [
    a_run("other"),
    a_run("root"),
    a_run("a", "root"),
    a_run("b", "root"),
    a_run("a1", "a"),
    a_run("of other", "other"),
    a_run("a2", "a"),
    a_run("orphan", "deleted"),
]


def ids(run: str, limit: int = 100, runs: list[Run] = RUNS) -> tuple[list[str], int]:
    found, more = select_tree(runs, run, limit)
    return [each.id for each in found], more


@pytest.mark.parametrize("shown", ["root", "a", "b", "a1", "a2"])
def test_each_run_of_a_tree_has_the_whole_tree(shown: str) -> None:
    assert ids(shown) == (["root", "a", "a1", "a2", "b"], 0)


def test_other_trees_are_others() -> None:
    assert ids("of other") == (["other", "of other"], 0)
    assert ids("orphan") == (["orphan"], 0)  # its parent isn't here


def test_what_is_nearest_is_kept_where_there_are_too_many() -> None:
    assert ids("b", limit=2) == (["root", "b"], 3)
    assert ids("a", limit=3) == (["root", "a", "a1"], 2)


def test_imports_that_name_each_other_are_one_tree() -> None:
    runs = [a_run("a", "b"), a_run("b", "a")]
    assert ids("a", runs=runs) == (["b", "a"], 0)
    assert ids("b", runs=runs) == (["a", "b"], 0)


@given(st.lists(st.tuples(st.integers(0, 7), st.integers(0, 9)), max_size=8), st.integers(1, 4))
def test_any_origins_make_a_tree(origins: list[tuple[int, int]], limit: int) -> None:
    """Imports may name themselves, each other, or nothing that is here."""
    runs = [a_run(str(at)) for at in range(8)]
    for at, parent in origins:
        runs[at] = a_run(str(at), str(parent))
    for run in runs:
        whole, more = ids(run.id, runs=runs)
        assert more == 0
        assert run.id in whole
        assert len(set(whole)) == len(whole)
        some, more = ids(run.id, limit, runs)
        assert len(some) + more == len(whole)
        assert len(some) <= limit


def call(word: Any) -> str:
    return json.dumps({"Tool": "look_up", "Argument": {"word": word, "deep": [1, {"x": 2.0}]}})


@pytest.mark.parametrize(
    ("before", "after", "line"),
    [
        (call("a"), call("b"), "Argument.word: “a” → “b”"),
        (call("a"), call(None), "Argument.word: “a” → null"),
        ('{"a": 1, "b": 2}', '{"a": 3}', "a: 1 → 3, and 1 more"),
        ("[1, 2]", "[1, 2, 3]", "[2]: nothing → 3"),
        ('"A"', '"none"', "“A” → “none”"),
        ('"see"', '"see it"', "“see” → “see it”"),
        ("1", "1.0", "1 → 1.0"),
        ("true", "1", "true → 1"),
        ('{"a": 1}', '{ "a": 1 }', "written anew"),
        ("NaN", "1", "edited"),
        ("[" * 100_000, "1", "edited"),
        (
            json.dumps("x" * 100 + "old end"),
            json.dumps("x" * 100 + "new end"),
            "“…" + "x" * 12 + "old end” → “…" + "x" * 12 + "new end”",
        ),
        (json.dumps("a" * 90), '"b"', "“" + "a" * 40 + "…” → “b”"),
    ],
)
def test_an_edit_is_told_by_what_differs(before: str, after: str, line: str) -> None:
    assert describe_fork_edit(point(CALL, before, edit=after)) == line


def test_of_a_huge_edit_only_that_it_was_made_is_told() -> None:
    assert describe_fork_edit(point(ASK, '"hi"', edit=json.dumps("x" * MAX_READ_CHARS))) == "edited"


@pytest.mark.parametrize(
    ("fields", "line"),
    [
        ({}, ""),
        ({"edit": '"hi"'}, ""),  # the same
        ({"raised": Failure(type="OSError", message="full\nreally")}, "raised OSError: full"),
        ({"answer": AnswerKind.DENY, "reason": "not now"}, "denied: not now"),
        ({"answer": AnswerKind.DENY}, "denied"),
        ({"supplied": '{"a": 1}', "answer": AnswerKind.SKIP}, 'skipped, with {"a":1}'),
        ({"guides": ("one", "be brief")}, "message added: be brief"),
    ],
)
def test_other_answers_are_told_too(fields: dict[str, Any], line: str) -> None:
    assert describe_fork_edit(point(ASK, '"hi"', **fields)) == line


@pytest.mark.slow
@given(st.recursive(st.none() | st.integers() | st.text(), lambda it: st.lists(it)), st.text())
def test_an_edit_is_one_short_line(value: Any, text: str) -> None:
    line = describe_fork_edit(point(RESULT, json.dumps(value), edit=json.dumps({"a": text})))
    assert "\n" not in line
    assert 0 < len(line) <= 160


@pytest.mark.parametrize("role", ReplayRole)
def test_a_run_is_forked_where_its_mark_says_so(role: ReplayRole) -> None:
    marked = point(CALL, "{}", replay=ReplayMark(role=role))
    assert is_fork_point(marked) is (role is ReplayRole.FORKED)
    assert not is_fork_point(point(CALL, "{}"))
