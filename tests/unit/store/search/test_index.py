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
from tests.helpers.histories import fold_records, history_by_chance, make_full_history


class Found(DebuggerHarness):
    """A stage whose records are taken in by an index."""

    def __init__(self) -> None:
        super().__init__()
        self.index = SearchIndex(None)

    def perform(self, outputs: Any) -> None:
        before = len(self.records)
        super().perform(outputs)
        self.index.apply(self.records[before:], {})

    def hits(self, query: str, run: str | None = None, limit: int = 100) -> list[SearchHit]:
        return self.index.find(query, run, limit)

    def places(self, query: str, run: str | None = None) -> list[tuple[SearchHitPlace, str | None]]:
        return [(hit.place, hit.id) for hit in self.hits(query, run)]


@pytest.fixture
def harness() -> Iterator[Found]:
    harness = Found()
    harness.start()
    yield harness
    harness.index.close()


def prompt(*contents: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": each} for each in contents]})


# ---- what is looked at ------------------------------------------------------------------------------


def test_contents(harness: Found) -> None:
    asked = harness.reach(harness.begin(), data=prompt("Where does the Müller of a_file stand?"))
    for words in ("does where", "MULLER", "müller", "file", "a_file", '"a_file stand"', "sta"):
        assert harness.places(words) == [(SearchHitPlace.ROW, asked)], words
    for words in ("nowhere", "doe where", "tand", '"stand a_file"', '"sta"'):
        assert harness.places(words) == [], words


def test_names_of_members_and_roles_are_not_words(harness: Found) -> None:
    harness.reach(harness.begin(), data=prompt("hello"))
    assert harness.places("messages") == harness.places("content") == harness.places("user") == []
    said = harness.say('{"role": "the user\'s own"}')
    assert harness.places("user own") == [(SearchHitPlace.ROW, said)]


def test_what_an_agent_says_of_itself(harness: Found) -> None:
    event = harness.begin(EventKind.TOOL_INVOCATION, name="fetch_page")
    begin = harness.reach(event, summary="Fetches the minutes")
    harness.step()
    failure = Failure(type="httpx.ReadTimeout", message="took ages")
    end = harness.reach(event, EventSide.END, data="null", failure=failure)
    assert harness.places("minutes") == [(SearchHitPlace.ROW, begin)]
    assert harness.places("fetch_page") == [(SearchHitPlace.ROW, end), (SearchHitPlace.ROW, begin)]
    assert harness.places("ReadTimeout ages") == [(SearchHitPlace.ROW, end)]


def test_debug_messages(harness: Found) -> None:
    said = harness.say('"the cache is cold"')
    assert harness.places("cold") == [(SearchHitPlace.ROW, said)]


def test_sentences(harness: Found) -> None:
    _, asked = harness.query()
    harness.commit(id="c")
    harness.sentence(harness.point(asked), "It wants lunch.")
    made = Commit(id="c", run="run", at=0.0, title="")
    harness.sentence(made, "It mends lunch.")
    assert harness.places("wants lunch") == [(SearchHitPlace.ROW, asked)]
    assert harness.places("mends lunch") == [(SearchHitPlace.COMMIT, "c")]


def test_commits(harness: Found) -> None:
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
        assert harness.places(words) == [(SearchHitPlace.COMMIT, "c")], words
    assert harness.places("gone") == []


def test_notes(harness: Found) -> None:
    _, asked = harness.query()
    harness.note(asked, "look here again")
    assert harness.places("again") == [(SearchHitPlace.NOTE, asked)]
    harness.note(asked, "no more")
    assert harness.places("again") == []
    harness.note(asked, "")
    assert harness.places("more") == []


def test_runs(harness: Found) -> None:
    harness.rename("Nightly benchmark")
    harness.tag("flaky", "to-do")
    for words in ("nightly", "flaky bench", "do"):
        assert harness.places(words) == [(SearchHitPlace.RUN, None)], words
    harness.tag("solved")
    assert harness.places("flaky") == []
    harness.finish(failure=Failure(type="ValueError", message="no luck"))
    assert harness.places("luck")[0] == (SearchHitPlace.RUN, None)


# ---- edits ------------------------------------------------------------------------------------------


def test_an_edit_is_found_until_it_is_another(harness: Found) -> None:
    asked = harness.reach(harness.begin(), data='"original words"')
    harness.edit(asked, '"edited words"')
    assert harness.places("edited") == harness.places("original") == [(SearchHitPlace.ROW, asked)]
    harness.edit(asked, '"other words"')
    assert harness.places("edited") == []
    harness.edit(asked, '"edited words"')
    assert harness.places("edited") == [(SearchHitPlace.ROW, asked)]
    harness.edit(asked, None)
    assert harness.places("edited") == []
    assert harness.places("original") == [(SearchHitPlace.ROW, asked)]


def test_a_row_that_matches_twice_is_given_once(harness: Found) -> None:
    asked = harness.reach(harness.begin(), data='"one"')
    harness.edit(asked, '"one two"')
    assert harness.places("one") == [(SearchHitPlace.ROW, asked)]


# ---- what is new ------------------------------------------------------------------------------------


def test_a_call_and_a_result_that_come_again_are_found_again(harness: Found) -> None:
    call = '{"Tool": "read", "Argument": {"path": "src/the_same_file_as_before.py"}}'
    result = '"the very same contents of the file, line by line"'
    begins, ends = [], []
    for _ in range(3):
        event = harness.begin(EventKind.TOOL_INVOCATION, name="read")
        begins.insert(0, (SearchHitPlace.ROW, harness.reach(event, data=call)))
        harness.step()
        ends.insert(0, (SearchHitPlace.ROW, harness.reach(event, EventSide.END, data=result)))
        harness.step()
    assert harness.places("the_same_file_as_before") == begins
    assert harness.places('"very same contents"') == ends
    harness.reach(harness.begin(), data=prompt("the very same contents of the file, line by line"))
    assert harness.places('"very same contents"') == ends


def test_what_is_said_again_is_found_where_it_was_first(harness: Found) -> None:
    long = "a first message that is long enough to be told again in every prompt"
    first = harness.reach(harness.begin(), data=prompt(long))
    harness.step()
    second = harness.reach(harness.begin(), data=prompt(long, "and a second one"))
    assert harness.places("enough") == [(SearchHitPlace.ROW, first)]
    assert harness.places("second") == [(SearchHitPlace.ROW, second)]


def test_each_run_has_its_own_first_time(harness: Found) -> None:
    harness.start("other")
    long = "the same long sentence, said in two runs"
    mine = harness.reach(harness.begin(), data=prompt(long))
    other = harness.reach(harness.begin(run="other"), data=prompt(long), run="other")
    assert [(hit.run, hit.id) for hit in harness.hits("sentence")] == [
        ("other", other),
        ("run", mine),
    ]
    assert [hit.id for hit in harness.hits("sentence", "run")] == [mine]


def test_records_that_come_twice_change_nothing(harness: Found) -> None:
    asked = harness.reach(
        harness.begin(), data=prompt("words that are long enough to be remembered")
    )
    harness.index.apply(harness.records, {})
    assert harness.places("remembered") == [(SearchHitPlace.ROW, asked)]


# ---- how it is given --------------------------------------------------------------------------------


def test_newest_first_and_no_more_than_asked_for(harness: Found) -> None:
    said = [harness.say(f'"word {number}"') for number in range(5)]
    assert [hit.id for hit in harness.hits("word")] == said[::-1]
    assert [hit.id for hit in harness.hits("word", limit=2)] == said[:2:-1]


def test_a_snippet_is_plain_and_found_in_turns(harness: Found) -> None:
    harness.say('"before\\n  found   between found, after"')
    (hit,) = harness.hits("found")
    assert hit.snippet == ("before ", "found", " between ", "found", ", after")
    (hit,) = harness.hits('"between found"')
    assert hit.snippet == ("before found ", "between found", ", after")


def test_a_snippet_is_a_piece_of_a_long_text(harness: Found) -> None:
    harness.say(json.dumps("word " * 500 + "needle" + " word" * 500))
    (hit,) = harness.hits("needle")
    assert hit.snippet[1] == "needle"
    assert sum(map(len, hit.snippet)) < 300


@pytest.mark.parametrize("text", ["\0nul\0", "\ue000\ue001", "\ud83d half", "😀", "a" * 100_000])
def test_any_text(harness: Found, text: str) -> None:
    said = harness.say(json.dumps(text + " needle"))
    (hit,) = harness.hits("needle")
    assert (hit.id, hit.snippet[1]) == (said, "needle")


def test_contents_that_are_no_strict_json(harness: Found) -> None:
    said = harness.say('[NaN, "needle \\q"]')
    assert harness.places("needle") == [(SearchHitPlace.ROW, said)]


def test_encoded_bytes_are_cut(harness: Found) -> None:
    harness.say(json.dumps("QUJD" * 100_000))
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
    history = history_by_chance(seed)
    whole, imported = SearchIndex(None), SearchIndex(None)
    whole.replace(history, 3)
    whole.replace(history, 4)
    imported.apply([ImportedRunSaved(history=history)], {"run": 4})
    assert everything(whole) == everything(imported) != []
    assert whole.read_change_counts() == {"run": 4}
    for index in (whole, imported):
        index.close()


def test_following_a_run_finds_what_taking_it_in_finds(harness: Found) -> None:
    asked = harness.reach(harness.begin(), data=prompt("question"), summary="Asks")
    harness.edit(asked, prompt("other question"))
    harness.note(asked, "mine")
    harness.sentence(harness.point(asked), "It asks.")
    harness.step()
    harness.say('"debugging"')
    harness.tag("blue")
    whole = SearchIndex(None)
    whole.replace(fold_records(harness.records), 1)
    assert everything(whole) == everything(harness.index)
    whole.close()


def test_a_run_that_is_deleted_is_found_no_more(harness: Found) -> None:
    harness.say('"needle"')
    harness.finish()
    harness.delete()
    assert harness.places("needle") == harness.places("P") == []
    assert harness.index.read_change_counts() == {}


def test_every_byte_of_a_deleted_run_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    index = SearchIndex(path)
    other = history_by_chance(1, "other")
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
        history = history_by_chance(number, f"run{number}", 40)
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
