"""What is found where: the records of a real debugger, looked for by their words."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    Commit,
    EventKind,
    EventSide,
    Failure,
    FileBody,
    FileChange,
)
from agentstepper_nb.protocol.records import CommitSaved, ImportedRunSaved, RunStarted
from agentstepper_nb.protocol.run_queries import SearchHit, SearchHitPlace
from agentstepper_nb.store.search.index import SearchIndex
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.histories import fold_records, make_full_history, make_random_history


class IndexHarness(DebuggerHarness):
    """A stage whose records are taken in by an index."""

    def __init__(self) -> None:
        super().__init__()
        self.index = SearchIndex(None)

    def perform(self, outputs: Any) -> None:
        before = len(self.records)
        super().perform(outputs)
        self.index.apply(self.records[before:], {})

    def find_hits(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        return self.index.find(query, run, limit)

    def find_places(
        self, query: str, run: str | None = None
    ) -> list[tuple[SearchHitPlace, str | None]]:
        return [(hit.place, hit.id) for hit in self.find_hits(query, run)]


@pytest.fixture
def harness() -> Iterator[IndexHarness]:
    harness = IndexHarness()
    harness.start()
    yield harness
    harness.index.close()


def prompt(*contents: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": each} for each in contents]})


# ---- what is looked at ------------------------------------------------------------------------------


def test_contents(harness: IndexHarness) -> None:
    asked = harness.reach(harness.begin(), data=prompt("Where does the Müller of a_file stand?"))
    for words in ("does where", "MULLER", "müller", "file", "a_file", '"a_file stand"', "sta"):
        assert harness.find_places(words) == [(SearchHitPlace.ROW, asked)], words
    for words in ("nowhere", "doe where", "tand", '"stand a_file"', '"sta"'):
        assert harness.find_places(words) == [], words


def test_names_of_members_and_roles_are_not_words(harness: IndexHarness) -> None:
    harness.reach(harness.begin(), data=prompt("hello"))
    assert (
        harness.find_places("messages")
        == harness.find_places("content")
        == harness.find_places("user")
        == []
    )
    said = harness.post_debug_message('{"role": "the user\'s own"}')
    assert harness.find_places("user own") == [(SearchHitPlace.ROW, said)]


def test_what_an_agent_says_of_itself(harness: IndexHarness) -> None:
    event = harness.begin(EventKind.TOOL_INVOCATION, name="fetch_page")
    begin = harness.reach(event, summary="Fetches the minutes")
    harness.step()
    failure = Failure(type="httpx.ReadTimeout", message="took ages")
    end = harness.reach(event, EventSide.END, data="null", failure=failure)
    assert harness.find_places("minutes") == [(SearchHitPlace.ROW, begin)]
    assert harness.find_places("fetch_page") == [
        (SearchHitPlace.ROW, end),
        (SearchHitPlace.ROW, begin),
    ]
    assert harness.find_places("ReadTimeout ages") == [(SearchHitPlace.ROW, end)]


def test_debug_messages(harness: IndexHarness) -> None:
    said = harness.post_debug_message('"the cache is cold"')
    assert harness.find_places("cold") == [(SearchHitPlace.ROW, said)]


def test_sentences(harness: IndexHarness) -> None:
    _, asked = harness.begin_query()
    harness.commit(id="c")
    harness.record_summary(harness.find_halt_point(asked), "It wants lunch.")
    made = Commit(id="c", run="run", at=0.0, title="")
    harness.record_summary(made, "It mends lunch.")
    assert harness.find_places("wants lunch") == [(SearchHitPlace.ROW, asked)]
    assert harness.find_places("mends lunch") == [(SearchHitPlace.COMMIT, "c")]


def test_commits(harness: IndexHarness) -> None:
    body = FileBody(diff="--- a\n+++ b\n-gone line\n+fresh line\n", content="", previous_content="")
    changes = (
        FileChange(path="src/parser.py", kind=ChangeKind.CHANGED, body=body),
        FileChange(
            path="new.md",
            kind=ChangeKind.RENAMED,
            previous_path="old.md",
            body=FileBody(content="whole text"),
        ),
    )
    commit = Commit(id="c", run="run", at=0.0, title="Mend it", description="why", changes=changes)
    harness.index.apply([CommitSaved(commit=commit)], {})
    for words in ("mend", "why", "parser.py", "src/parser.py", "old.md", '"fresh line"', "whole"):
        assert harness.find_places(words) == [(SearchHitPlace.COMMIT, "c")], words
    assert harness.find_places("gone") == []


def test_notes(harness: IndexHarness) -> None:
    _, asked = harness.begin_query()
    harness.note(asked, "look here again")
    assert harness.find_places("again") == [(SearchHitPlace.NOTE, asked)]
    harness.note(asked, "no more")
    assert harness.find_places("again") == []
    harness.note(asked, "")
    assert harness.find_places("more") == []


def test_runs(harness: IndexHarness) -> None:
    harness.rename("Nightly benchmark")
    harness.tag("flaky", "to-do")
    for words in ("nightly", "flaky bench", "do"):
        assert harness.find_places(words) == [(SearchHitPlace.RUN, None)], words
    harness.tag("solved")
    assert harness.find_places("flaky") == []
    harness.finish(failure=Failure(type="ValueError", message="no luck"))
    assert harness.find_places("luck")[0] == (SearchHitPlace.RUN, None)


# ---- edits ------------------------------------------------------------------------------------------


def test_an_edit_is_found_until_it_is_another(harness: IndexHarness) -> None:
    asked = harness.reach(harness.begin(), data='"original words"')
    harness.edit(asked, '"edited words"')
    assert (
        harness.find_places("edited")
        == harness.find_places("original")
        == [(SearchHitPlace.ROW, asked)]
    )
    harness.edit(asked, '"other words"')
    assert harness.find_places("edited") == []
    harness.edit(asked, '"edited words"')
    assert harness.find_places("edited") == [(SearchHitPlace.ROW, asked)]
    harness.edit(asked, None)
    assert harness.find_places("edited") == []
    assert harness.find_places("original") == [(SearchHitPlace.ROW, asked)]


def test_a_row_that_matches_twice_is_given_once(harness: IndexHarness) -> None:
    asked = harness.reach(harness.begin(), data='"one"')
    harness.edit(asked, '"one two"')
    assert harness.find_places("one") == [(SearchHitPlace.ROW, asked)]


# ---- what is new ------------------------------------------------------------------------------------


def test_a_call_and_a_result_that_come_again_are_found_again(harness: IndexHarness) -> None:
    call = '{"Tool": "read", "Argument": {"path": "src/the_same_file_as_before.py"}}'
    result = '"the very same contents of the file, line by line"'
    begins, ends = [], []
    for _ in range(3):
        event = harness.begin(EventKind.TOOL_INVOCATION, name="read")
        begins.insert(0, (SearchHitPlace.ROW, harness.reach(event, data=call)))
        harness.step()
        ends.insert(0, (SearchHitPlace.ROW, harness.reach(event, EventSide.END, data=result)))
        harness.step()
    assert harness.find_places("the_same_file_as_before") == begins
    assert harness.find_places('"very same contents"') == ends
    harness.reach(harness.begin(), data=prompt("the very same contents of the file, line by line"))
    assert harness.find_places('"very same contents"') == ends


def test_what_is_said_again_is_found_where_it_was_first(harness: IndexHarness) -> None:
    long = "a first message that is long enough to be told again in every prompt"
    first = harness.reach(harness.begin(), data=prompt(long))
    harness.step()
    second = harness.reach(harness.begin(), data=prompt(long, "and a second one"))
    assert harness.find_places("enough") == [(SearchHitPlace.ROW, first)]
    assert harness.find_places("second") == [(SearchHitPlace.ROW, second)]


def test_each_run_has_its_own_first_time(harness: IndexHarness) -> None:
    harness.start("other")
    long = "the same long sentence, said in two runs"
    mine = harness.reach(harness.begin(), data=prompt(long))
    other = harness.reach(harness.begin(run="other"), data=prompt(long), run="other")
    assert [(hit.run, hit.id) for hit in harness.find_hits("sentence")] == [
        ("other", other),
        ("run", mine),
    ]
    assert [hit.id for hit in harness.find_hits("sentence", "run")] == [mine]


def test_records_that_come_twice_change_nothing(harness: IndexHarness) -> None:
    asked = harness.reach(
        harness.begin(), data=prompt("words that are long enough to be remembered")
    )
    harness.index.apply(harness.records, {})
    assert harness.find_places("remembered") == [(SearchHitPlace.ROW, asked)]


# ---- how it is given --------------------------------------------------------------------------------


def test_newest_first_and_no_more_than_asked_for(harness: IndexHarness) -> None:
    said = [harness.post_debug_message(f'"word {number}"') for number in range(5)]
    assert [hit.id for hit in harness.find_hits("word")] == said[::-1]
    assert [hit.id for hit in harness.find_hits("word", limit=2)] == said[:2:-1]


def test_a_snippet_is_plain_and_found_in_turns(harness: IndexHarness) -> None:
    harness.post_debug_message('"before\\n  found   between found, after"')
    (hit,) = harness.find_hits("found")
    assert hit.snippet == ("before ", "found", " between ", "found", ", after")
    (hit,) = harness.find_hits('"between found"')
    assert hit.snippet == ("before found ", "between found", ", after")


def test_a_snippet_is_a_piece_of_a_long_text(harness: IndexHarness) -> None:
    harness.post_debug_message(json.dumps("word " * 500 + "needle" + " word" * 500))
    (hit,) = harness.find_hits("needle")
    assert hit.snippet[1] == "needle"
    assert sum(map(len, hit.snippet)) < 300


@pytest.mark.parametrize("text", ["\0nul\0", "\ue000\ue001", "\ud83d half", "😀", "a" * 100_000])
def test_any_text(harness: IndexHarness, text: str) -> None:
    said = harness.post_debug_message(json.dumps(text + " needle"))
    (hit,) = harness.find_hits("needle")
    assert (hit.id, hit.snippet[1]) == (said, "needle")


def test_contents_that_are_no_strict_json(harness: IndexHarness) -> None:
    said = harness.post_debug_message('[NaN, "needle \\q"]')
    assert harness.find_places("needle") == [(SearchHitPlace.ROW, said)]


def test_encoded_bytes_are_cut(harness: IndexHarness) -> None:
    harness.post_debug_message(json.dumps("QUJD" * 100_000))
    assert harness.index._db.execute(
        "SELECT length(text) FROM words ORDER BY rowid DESC"
    ).fetchone() < (1000,)


# ---- whole runs -------------------------------------------------------------------------------------


def everything(index: SearchIndex) -> list[tuple[object, ...]]:
    """All documents but their order, with their texts."""
    return sorted(
        index._db.execute(
            "SELECT runs.id, place, documents.id, part, text FROM documents"
            " JOIN runs ON number = run JOIN words ON words.rowid = document"
        )
    )


@pytest.mark.parametrize("seed", range(12))
def test_a_run_taken_in_whole_is_as_one_that_was_followed(seed: int) -> None:
    history = make_random_history(seed)
    whole, imported = SearchIndex(None), SearchIndex(None)
    whole.replace(history, 3)
    whole.replace(history, 4)
    imported.apply([ImportedRunSaved(history=history)], {"run": 4})
    assert everything(whole) == everything(imported) != []
    assert whole.read_change_counts() == {"run": 4}
    for index in (whole, imported):
        index.close()


def test_following_a_run_finds_what_taking_it_in_finds(harness: IndexHarness) -> None:
    asked = harness.reach(harness.begin(), data=prompt("question"), summary="Asks")
    harness.edit(asked, prompt("other question"))
    harness.note(asked, "mine")
    harness.record_summary(harness.find_halt_point(asked), "It asks.")
    harness.step()
    harness.post_debug_message('"debugging"')
    harness.tag("blue")
    whole = SearchIndex(None)
    whole.replace(fold_records(harness.records), 1)
    assert everything(whole) == everything(harness.index)
    whole.close()


def test_a_run_that_is_deleted_is_found_no_more(harness: IndexHarness) -> None:
    harness.post_debug_message('"needle"')
    harness.finish()
    harness.delete()
    assert harness.find_places("needle") == harness.find_places("P") == []
    assert harness.index.read_change_counts() == {}


def test_every_byte_of_a_deleted_run_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    index = SearchIndex(path)
    other = make_random_history(1, "other")
    index.replace(other, 1)
    history = make_full_history()
    secret = replace(history, run=replace(history.run, name="Zwiebelkuchen"))
    index.replace(secret, 1)
    assert any(b"wiebelkuchen" in file.read_bytes() for file in tmp_path.iterdir())
    index.forget("r")
    assert index.needs_cleanup
    index.close()
    index = SearchIndex(path)  # an earlier process had no time for it
    assert index.needs_cleanup
    assert index.clean_up(lambda: True)
    assert not index.needs_cleanup
    for file in tmp_path.iterdir():
        assert b"wiebelkuchen" not in file.read_bytes().lower(), file
    assert index.find("named", None, 1)
    index.close()


def test_tidying_is_broken_off_and_taken_up_again(tmp_path: Path) -> None:
    index = SearchIndex(tmp_path / "search.sqlite")
    for number in range(3):
        history = make_random_history(number, f"run{number}", 40)
        index.replace(history, 1)
    index.forget("run1")
    assert not index.clean_up(lambda: False)
    assert index.needs_cleanup
    assert index.clean_up(lambda: True)
    index.close()


def test_the_file_is_its_owners_alone(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    index = SearchIndex(path)
    index.apply([RunStarted(run=make_full_history().run)], {})
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    index.close()
