"""What a model is asked, and what is taken of whatever it answers."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.core.summaries import MAX_SUMMARY_CHARS, summarize
from agentstepper_nb.core.summary_prompts import (
    HEAD_CHARS,
    TAIL_CHARS,
    extract_first_sentence,
    make_prompt,
    shows_model_summary,
)
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileBody,
    FileChange,
    HaltPoint,
)

POINT = HaltPoint(
    id="b",
    run="r",
    event="e",
    seq=3,
    side=EventSide.BEGIN,
    kind=EventKind.TOOL_INVOCATION,
    name="run_tests",
    at=0,
    data='"tests/test_cart.py"',
)
QUERY = replace(POINT, kind=EventKind.LLM_QUERY, name=None)
COMMIT = Commit(id="c", run="r", at=0, title="Change 1 file", has_rule_title=True)


def change(path: str, diff: str = "", **fields: Any) -> FileChange:
    body = FileBody(diff=diff) if diff else None
    return FileChange(path=path, kind=ChangeKind.CHANGED, added=1, removed=2, body=body, **fields)


# ---- what is shown ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        ("It reads cart.py.", "It reads cart.py"),
        ("  Reads cart.py  ", "Reads cart.py"),
        ("Reads it. Then it breakpoints.", "Reads it"),
        ("Fails with 3 errors! Why?", "Fails with 3 errors!"),
        ("Sets v1.2 of cart.py, e.g. for tests.", "Sets v1.2 of cart.py, e.g. for tests"),
        ("Reads\ncart.py", "Reads"),
        ("Here is the sentence:\n\nReads cart.py.", "Reads cart.py"),
        ("**Summary:**\n- Reads `cart.py`.", "Reads `cart.py`"),
        ("Summary: reads cart.py", "reads cart.py"),
        ("# Reads cart.py", "Reads cart.py"),
        ("1. Reads cart.py.\n2. Breakpoints.", "Reads cart.py"),
        ('"Reads cart.py."', "Reads cart.py"),
        ("“Reads it.”", "Reads it"),
        ("*Reads it.*", "Reads it"),
        ("Reads `cart.py`", "Reads `cart.py`"),
        ("'cart.py' is read, and 'b.py'", "'cart.py' is read, and 'b.py'"),
        ("3 files change.", "3 files change"),
        ("```\nReads it.\n```", "Reads it"),
        ("<think>Hm. What is it?\nA call.</think>\n\nReads it.", "Reads it"),
        ("<think>Hm. What is it? And so on, to the end of all", None),
        ("Waits...", "Waits..."),
        ("読む。止まる。", "読む。"),
        ("\x1b[31mRed\x07 \u202egnp.exe\u2066", "[31mRed gnp.exe"),
        ("é\u200db\u3164", "é\u200db"),
        ("<b>Bold</b>", "<b>Bold</b>"),
        ("x" * 500, "x" * (MAX_SUMMARY_CHARS - 1) + "…"),
        ("", None),
        (" \n\t ", None),
        ("```", None),
        ("**", None),
        ("Here it is:", None),
        ("\x00\x01", None),
        ("*" * 1_000_000, None),
        ("- " * 500_000, None),
        ("# " * 500_000 + "x", None),
        ("<think>" * 100_000, None),
    ],
)
def test_one_sentence_of_whatever_is_answered(answer: str, sentence: str | None) -> None:
    assert extract_first_sentence(answer) == sentence


@pytest.mark.parametrize(
    ("fields", "shown"),
    [
        ({}, "It tests"),
        ({"summary": "The agent's own"}, "The agent's own"),
        ({"failure": Failure(type="OSError", message="no")}, "Failed: OSError: no"),
        ({"outcome": EventOutcome.STOPPED}, "Stopped"),
        ({"outcome": EventOutcome.OK}, "It tests"),
        ({"model_summary": None}, "An extension's"),
        ({"model_summary": "\x1b"}, "run_tests"),
    ],
)
def test_what_comes_before_a_sentence_and_after_it(fields: dict[str, Any], shown: str) -> None:
    point = replace(POINT, **{"model_summary": "It tests"} | fields)
    if shown == "run_tests":
        shown = summarize(replace(point, model_summary=None))
    assert summarize(point, lambda _: "An extension's") == shown


# ---- what is asked ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("about", "shows"),
    [
        (POINT, True),
        (QUERY, True),
        (replace(POINT, kind=EventKind.CUSTOM), True),
        (replace(POINT, outcome=EventOutcome.OK), True),
        (replace(POINT, outcome=EventOutcome.ERROR), True),
        (replace(POINT, outcome=EventOutcome.STOPPED), False),
        (replace(POINT, failure=Failure(type="E", message="")), False),
        (replace(POINT, summary="mine"), False),
        (replace(POINT, kind=EventKind.PROGRAM_STARTED), False),
        (replace(POINT, kind=EventKind.PROGRAM_FINISHED), False),
        (COMMIT, True),
        (replace(COMMIT, snapshot=True), True),
        (replace(COMMIT, has_rule_title=False), False),
    ],
)
def test_only_what_would_show_it_is_asked_about(about: HaltPoint | Commit, shows: bool) -> None:
    assert shows_model_summary(about) == shows


def test_a_step_is_asked_about_with_its_kind_and_what_is_in_force() -> None:
    assert make_prompt(POINT).prompt == (
        'The tool call run_tests:\n<data>\n"tests/test_cart.py"\n</data>'
    )
    edited = make_prompt(replace(POINT, edit='"other.py"', side=EventSide.END)).prompt
    assert edited == 'The tool result run_tests:\n<data>\n"other.py"\n</data>'


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ('{"model":"m","messages":[{"role":"user"}],"tools":[1]}', '[{"role":"user"}]'),
        ('{"input":"hi","stream":true}', '"hi"'),
        ('{"question":1}', '{"question":1}'),
        ('"text"', '"text"'),
        ("NaN", "NaN"),
        ("[" * 5000, None),
    ],
)
def test_of_a_query_its_messages_are_shown(data: str, shown: str | None) -> None:
    prompt = make_prompt(replace(QUERY, data=data)).prompt
    assert prompt == f"The LLM query:\n<data>\n{shown or data}\n</data>"


def test_an_answer_is_shown_as_it_is() -> None:
    data = '{"messages":[1],"tools":[2]}'
    assert data in make_prompt(replace(QUERY, side=EventSide.END, data=data)).prompt


def test_long_contents_are_cut_and_their_end_is_kept() -> None:
    data = f'"{"a" * 50_000}{"z" * 50_000}"'
    prompt = make_prompt(replace(POINT, data=data)).prompt
    assert len(prompt) < HEAD_CHARS + TAIL_CHARS + 200
    assert data[:HEAD_CHARS] in prompt
    assert data[-TAIL_CHARS:] in prompt
    assert f"{100_002 - HEAD_CHARS - TAIL_CHARS:,} characters are left out" in prompt


def test_a_commit_is_asked_about_with_its_files_and_diffs() -> None:
    renamed = change("new.py", previous_path="old.py")
    prompt = make_prompt(replace(COMMIT, changes=(change("cart.py", "-a\n+b"), renamed))).prompt
    assert prompt == (
        "The change:\n<data>\nchanged cart.py (+1 −2)\nchanged old.py to new.py (+1 −2)\n-a\n+b\n</data>"
    )


def test_a_huge_commit_is_cut() -> None:
    many = tuple(change("d/" * 500 + str(n), "+line\n" * 10_000) for n in range(1000))
    prompt = make_prompt(replace(COMMIT, changes=many)).prompt
    assert len(prompt) < HEAD_CHARS + TAIL_CHARS + 200
    few = tuple(change(f"{n}.py") for n in range(53))
    assert "and 3 more files" in make_prompt(replace(COMMIT, changes=few)).prompt


def test_the_same_question_to_the_same_model_has_the_same_key() -> None:
    elsewhere = replace(POINT, id="other", run="other", seq=99, at=5.0)
    assert make_prompt(elsewhere).cache_key("m") == make_prompt(POINT).cache_key("m")
    others = [
        make_prompt(POINT).cache_key("n"),
        make_prompt(replace(POINT, side=EventSide.END)).cache_key("m"),
        make_prompt(replace(POINT, kind=EventKind.CUSTOM)).cache_key("m"),
        make_prompt(replace(POINT, name="ls")).cache_key("m"),
        make_prompt(replace(POINT, edit="1")).cache_key("m"),
        make_prompt(COMMIT).cache_key("m"),
    ]
    assert len({make_prompt(POINT).cache_key("m"), *others}) == 7
