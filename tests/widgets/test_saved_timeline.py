"""The static timeline: what it says, how long it gets, and that no text of an agent does harm in it."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agentstepper_nb.protocol.agent import Timeline
from agentstepper_nb.protocol.data_model import (
    Actor,
    AgentLabel,
    AnswerKind,
    ChangeKind,
    Commit,
    EventKind,
    EventOutcome,
    EventSide,
    Failure,
    FileChange,
    Run,
    RunEnding,
    RunState,
    TimelineRow,
)
from agentstepper_nb.widgets.saved_timeline import (
    MAX_BYTES,
    render_missing_timeline,
    render_timeline,
)
from tests.helpers.sampling import select_sample
from tests.widgets.pages import Page

START = 1_763_776_923.4  # 2025-11-22 02:02:03 UTC


def run(**fields: Any) -> Run:
    usual: dict[str, Any] = {
        "id": "r",
        "name": "Run #1 of P",
        "program": "P",
        "started_at": START,
        "ended_at": START + 12.34,
        "state": RunState.IDLE,
        "ending": RunEnding.FINISHED,
        "rows": 2,
    }
    return Run(**usual | fields)


def row(seq: int, **fields: Any) -> TimelineRow:
    """A query's row, unless it is said to be another's."""
    usual: dict[str, Any] = {
        "id": f"row-{seq}",
        "seq": seq,
        "event": f"event-{seq}",
        "kind": EventKind.LLM_QUERY,
        "side": EventSide.BEGIN,
        "source": Actor.AGENT,
        "target": Actor.LLM,
        "summary": f"summary {seq}",
        "at": START,
        "size": 2,
        "answer": AnswerKind.RESUME,
    }
    return TimelineRow(**usual | fields)


def result(seq: int, event: str, **fields: Any) -> TimelineRow:
    """The row of a tool's end."""
    end = {"kind": EventKind.TOOL_INVOCATION, "side": EventSide.END, "event": event}
    return row(seq, source=Actor.TOOLS, target=Actor.AGENT, **end | fields)


def commit(seq: int, *changes: FileChange, **fields: Any) -> Commit:
    return Commit(id=f"commit-{seq}", at=START, seq=seq, changes=changes, **{"title": "T"} | fields)


def changed(path: str, **fields: Any) -> FileChange:
    return FileChange(path=path, **{"kind": ChangeKind.CHANGED} | fields)


def page(*rows: TimelineRow, commits: tuple[Commit, ...] = (), **fields: Any) -> Page:
    made = render_timeline(Timeline(run=run(**fields), rows=rows, commits=commits))
    assert "\n\n" not in made, "an empty line ends HTML within Markdown"
    parsed = Page(made)
    assert parsed.found == []
    return parsed


# ---- what it says ----------------------------------------------------------------------------------


def test_the_header() -> None:
    text = page(rows=1234).text
    assert "Run #1 of P: ✓ finished" in text
    assert "1,234 events, 0 commits." in text
    assert "Started 2025-11-22 02:02:03 UTC, ended 2025-11-22 02:02:15 UTC: 12.3 s." in text


@pytest.mark.parametrize(
    ("ending", "words"),
    [
        (RunEnding.STOPPED, "■ stopped"),
        (RunEnding.CRASHED, "✗ crashed"),
        (RunEnding.LOST, "✗ lost"),
        (None, "not ended"),
    ],
)
def test_endings(ending: RunEnding | None, words: str) -> None:
    assert f"Run #1 of P: {words}" in page(ending=ending).text


def test_what_ended_it() -> None:
    failed = page(ending=RunEnding.CRASHED, failure=Failure(type="KeyError", message="'a'"))
    assert "KeyError: 'a'" in failed.text


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (-9, "✗ crashed (killed by SIGKILL)"),
        (-99, "✗ crashed (killed by signal 99)"),
        (3, "✗ crashed (exit code 3)"),
        (0, "✗ crashed\n"),
        (None, "✗ crashed\n"),
    ],
)
def test_what_became_of_its_process(code: int | None, words: str) -> None:
    assert words in page(ending=RunEnding.CRASHED, exit_code=code).text


def test_the_last_event_of_a_run_that_broke_off() -> None:
    text = page(ending=RunEnding.LOST, last_event="tool call <b>run_tests</b> (row 12)").text
    assert "The last event: tool call <b>run_tests</b> (row 12)" in text


def test_an_agent_that_is_away() -> None:
    text = page(ending=None, state=RunState.DETACHED).text
    assert "Run #1 of P: its agent was away when this was kept" in text


def test_a_commit_that_a_model_put_into_a_sentence() -> None:
    made = {"title": "2 files", "model_summary": "It rounds once."}
    assert (
        "Commit: It rounds once. ("
        in page(row(1), commits=(commit(1, has_rule_title=True, **made),)).text
    )
    assert (
        "Commit: 2 files (" in page(row(1), commits=(commit(1, has_rule_title=False, **made),)).text
    )


def test_clocks_that_disagree_claim_no_duration() -> None:
    text = page(ended_at=START - 5).text
    assert "Started 2025-11-22 02:02:03 UTC." in text
    assert "ended" not in text.partition("Started")[2]


def test_rows() -> None:
    shown = page(row(1), result(2, "event-2", duration=1.5)).rows
    assert shown == [
        ["#", "From → to", "What", "Took"],
        ["1", "Agent → LLM", "summary 1", ""],
        ["2", "Tools → Agent", "summary 2", "1.50 s"],
    ]


def test_the_end_of_a_tool_call_names_its_tool() -> None:
    assert page(result(1, "event-1", name="search")).rows[1][2] == "search → summary 1"


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"edited": True}, "✎ edited by you"),
        ({"outcome": EventOutcome.ERROR}, "✗ failed"),
        (
            {"outcome": EventOutcome.STOPPED, "answer": AnswerKind.STOP},
            "■ stopped, ■ stopped by you",
        ),
        ({"answer": AnswerKind.SKIP}, "↷ skipped by you"),
        ({"answer": AnswerKind.DENY}, "⊘ denied by you"),
        ({"answer": AnswerKind.RAISE}, "✗ made to fail by you"),
        ({"answer": AnswerKind.WITHDRAWN}, "↶ taken back by the agent"),
        ({"edited": True, "outcome": EventOutcome.ERROR}, "✎ edited by you, ✗ failed"),
    ],
)
def test_marks(fields: dict[str, Any], words: str) -> None:
    assert page(row(1, **fields)).rows[1][2] == f"summary 1 — {words}"


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.0, "0 ms"),
        (-1.0, "0 ms"),
        (0.0042, "4 ms"),
        (0.9996, "1.00 s"),
        (12.34, "12.3 s"),
        (187.0, "3:07"),
        (3750.0, "1:02:30"),
    ],
)
def test_durations(seconds: float, words: str) -> None:
    assert page(row(1, duration=seconds)).rows[1][3] == words


# ---- files -----------------------------------------------------------------------------------------


def test_a_steps_files_stand_under_the_end_of_its_tool() -> None:
    steps = commit(
        1,
        changed("a.py", added=3, removed=1),
        changed("new.py", kind=ChangeKind.ADDED, added=1200),
        changed("old.py", kind=ChangeKind.DELETED, removed=2),
        changed("to.py", kind=ChangeKind.RENAMED, previous_path="from.py"),
        snapshot=True,
        event="tool",
    )
    begin = row(1, event="tool", kind=EventKind.TOOL_INVOCATION)
    shown = page(begin, result(2, "tool"), row(3), commits=(steps,)).rows
    assert [cells[0] or cells[2] for cells in shown[2:]] == [
        "2",
        "└ changed a.py +3 −1",
        "└ added new.py +1,200",
        "└ deleted old.py −2",
        "└ renamed from.py → to.py",
        "3",
    ]


def test_many_files_are_counted() -> None:
    many = commit(1, *(changed(f"{n}.py") for n in range(11)), snapshot=True, event="event-1")
    shown = page(row(1), commits=(many,)).rows
    assert [cells[2] for cells in shown[2:]][-2:] == ["└ changed 3.py", "└ … 7 more files"]


def test_a_commits_files_stand_there_once() -> None:
    step = commit(1, changed("a.py", added=1), snapshot=True, event="event-1")
    named = commit(1, changed("a.py", added=1), title="Fix it")
    both = page(row(1), commits=(step, named)).rows
    assert [cells[2] for cells in both[2:]] == [
        "└ changed a.py +1",
        "Commit: Fix it (1 file +1)",
    ]
    alone = page(row(1), commits=(named,)).rows
    assert [cells[2] for cells in alone[2:]] == [
        "Commit: Fix it (1 file +1)",
        "└ changed a.py +1",
    ]


def test_many_commits_of_one_row_are_counted() -> None:
    many = tuple(commit(1, title=str(n)) for n in range(10))
    shown = page(row(1), commits=many).rows
    assert [cells[2] for cells in shown[2:]][-2:] == ["Commit: 7 (0 files)", "└ … 2 more lines"]


def test_a_commit_before_all_rows_has_no_place() -> None:
    assert len(page(row(1), commits=(commit(0, changed("a.py")),)).rows) == 2


# ---- agents ----------------------------------------------------------------------------------------


def researcher(seq: int, task: int, **label: Any) -> TimelineRow:
    path = ("agent:planner:1", f"task:{task}", "agent:researcher:1", "tool:call")
    return row(seq, scope=path, label=AgentLabel(name="researcher", parent="planner", **label))


def test_agents_of_one_name_have_numbers() -> None:
    rows = (
        row(1),
        researcher(2, 1),
        researcher(3, 2, node="look up"),
        researcher(4, 1),
        row(5, scope=("task:3",), label=AgentLabel(name="", node="look up")),
        row(6, scope=("task:3", "agent:a:b:2")),
    )
    assert [cells[2] for cells in page(*rows).rows[1:]] == [
        "summary 1",
        "researcher: summary 2",
        "researcher 2 at look up: summary 3",
        "researcher: summary 4",
        "look up: summary 5",
        "a:b: summary 6",
    ]


def test_an_agent_s_name_is_a_text() -> None:
    label = AgentLabel(name="<script>$x$", node="<img>")
    made = page(row(1, scope=("agent:x:1",), label=label))
    assert made.rows[1][2] == "<script>$x$ at <img>: summary 1"


# ---- how long it gets ------------------------------------------------------------------------------


def test_the_middle_of_a_long_run_is_counted() -> None:
    shown = page(*(row(seq) for seq in range(1, 10_001)), rows=10_000).rows
    numbers = [cells[0] for cells in shown]
    assert numbers[1:3] == ["1", "2"]
    assert numbers[250:253] == ["250", "", "9751"]
    assert shown[251] == ["", "", "… 9,500 more"]
    assert numbers[-1] == "10000"


def test_rows_that_the_core_left_out_are_counted() -> None:
    assert page(row(1), row(12)).rows[2] == ["", "", "… 10 more"]


@pytest.mark.parametrize(
    "letter",
    select_sample(("a", "\N{GRINNING FACE}", "$", '"', "\0", "\u202e", "\ud800"), '"'),
)
def test_the_page_is_bounded_whatever_stands_in_it(letter: str) -> None:
    long = letter * 100_000
    files = [changed(long, previous_path=long) for _ in range(9)]
    label = AgentLabel(name=long, node=long)
    timeline = Timeline(
        run=run(name=long, program=long, failure=Failure(type=long, message=long)),
        rows=tuple(
            row(seq, summary=long, event="e", scope=(f"agent:{seq}",), label=label)
            for seq in range(1, 601)
        ),
        commits=tuple(
            commit(seq // 9, *files, title=long, snapshot=bool(seq % 2), event="e")
            for seq in range(6000)
        ),
    )
    made = render_timeline(timeline)
    assert len(made.encode()) <= MAX_BYTES
    parsed = Page(made)
    assert parsed.found == []
    assert "600" in parsed.rows[-1] or "600" in [cells[0] for cells in parsed.rows]


def test_a_long_word_can_be_broken() -> None:
    made = render_timeline(Timeline(run=run(), rows=(row(1, summary="&" * 70),), commits=()))
    amp = "&amp;"
    assert f">{amp * 30}<wbr>{amp * 30}<wbr>{amp * 10}<" in made


# ---- hostile texts ---------------------------------------------------------------------------------

HOSTILE = {
    "script": "<script>alert(1)</script>",
    "element": '<img src=x onerror="alert(1)">',
    "way out": "</span></td></table></div><iframe src='javascript:alert(1)'>",
    "link": "javascript:alert(1) [x](javascript:alert(1)) <a href=javascript:alert(1)>x</a>",
    "entity": "&lt;script&gt; &#60;b&#62;",
    "comment": "--><!-- <![CDATA[ <?php",
    "style": "<style>*{display:none}</style>",
    "quotes": "' onmouseover='alert(1)' \" autofocus onfocus=\"alert(1)\"",
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_texts_are_texts(what: str) -> None:
    evil = HOSTILE[what]
    shown = page(
        row(1, summary=evil, name=evil),
        result(2, "e", summary=evil, failure=Failure(type=evil, message=evil)),
        commits=(
            commit(2, changed(evil, previous_path=evil + "2"), title=evil),
            commit(2, changed(evil), snapshot=True, event="e", title=evil),
        ),
        name=evil,
        program=evil,
        failure=Failure(type=evil, message=evil),
        ending=RunEnding.CRASHED,
    )
    assert shown.rows[1][2] == evil
    assert shown.text.count(evil) >= 6
    assert Page(render_missing_timeline(evil)).found == []
    assert evil in Page(render_missing_timeline(evil)).text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "␛[31mred␛[0m"),
        ("a\u202eb", "a⟨U+202E⟩b"),
        ("zero\u200bwidth", "zero⟨U+200B⟩width"),
        ("bell\x07 del\x7f csi\x9b", "bell␇ del␡ csi⟨U+009B⟩"),
        ("half \ud83d", "half \ufffd"),
        ("two\n\nlines\r\n\tand\u2028more", "two lines and⟨U+2028⟩more"),
        ("👨\u200d👩", "👨\u200d👩"),
        ("filler\u3164soft\u00ad", "filler⟨U+3164⟩soft⟨U+00AD⟩"),
    ],
)
def test_what_hides_is_shown(text: str, shown: str) -> None:
    assert page(row(1, summary=text)).rows[1][2] == shown


@pytest.mark.parametrize(
    "formula",
    [r"$\href{javascript:alert(1)}{x}$", r"\(x\)", r"\[x\]", r"\begin{a}x\end{a}", "$$x$$"],
)
def test_formulas_are_texts(formula: str) -> None:
    """MathJax finds a formula only within one run of text, so that a lone sign is none."""
    made = render_timeline(Timeline(run=run(), rows=(row(1, summary=formula),), commits=()))
    assert Page(made).rows[1][2] == formula
    runs = re.split(r"<[^>]*>", made)
    assert not [text for text in runs if re.search(r"[$\\]", text) and len(text) > 1]
