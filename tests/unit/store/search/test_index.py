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
from tests.helpers.histories import history_by_chance, kept, with_every_field
from tests.helpers.stage import Stage


class Found(Stage):
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
def stage() -> Iterator[Found]:
    stage = Found()
    stage.start()
    yield stage
    stage.index.close()


def prompt(*contents: str) -> str:
    return json.dumps({"messages": [{"role": "user", "content": each} for each in contents]})


# ---- what is looked at ------------------------------------------------------------------------------


def test_contents(stage: Found) -> None:
    asked = stage.reach(stage.begin(), data=prompt("Where does the Müller of a_file stand?"))
    for words in ("does where", "MULLER", "müller", "file", "a_file", '"a_file stand"', "sta"):
        assert stage.places(words) == [(SearchHitPlace.ROW, asked)], words
    for words in ("nowhere", "doe where", "tand", '"stand a_file"', '"sta"'):
        assert stage.places(words) == [], words


def test_names_of_members_and_roles_are_not_words(stage: Found) -> None:
    stage.reach(stage.begin(), data=prompt("hello"))
    assert stage.places("messages") == stage.places("content") == stage.places("user") == []
    said = stage.say('{"role": "the user\'s own"}')
    assert stage.places("user own") == [(SearchHitPlace.ROW, said)]


def test_what_an_agent_says_of_itself(stage: Found) -> None:
    event = stage.begin(EventKind.TOOL_INVOCATION, name="fetch_page")
    begin = stage.reach(event, summary="Fetches the minutes")
    stage.step()
    failure = Failure(type="httpx.ReadTimeout", message="took ages")
    end = stage.reach(event, EventSide.END, data="null", failure=failure)
    assert stage.places("minutes") == [(SearchHitPlace.ROW, begin)]
    assert stage.places("fetch_page") == [(SearchHitPlace.ROW, end), (SearchHitPlace.ROW, begin)]
    assert stage.places("ReadTimeout ages") == [(SearchHitPlace.ROW, end)]


def test_debug_messages(stage: Found) -> None:
    said = stage.say('"the cache is cold"')
    assert stage.places("cold") == [(SearchHitPlace.ROW, said)]


def test_sentences(stage: Found) -> None:
    _, asked = stage.query()
    stage.commit(id="c")
    stage.sentence(stage.point(asked), "It wants lunch.")
    made = Commit(id="c", run="run", at=0.0, title="")
    stage.sentence(made, "It mends lunch.")
    assert stage.places("wants lunch") == [(SearchHitPlace.ROW, asked)]
    assert stage.places("mends lunch") == [(SearchHitPlace.COMMIT, "c")]


def test_commits(stage: Found) -> None:
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
    stage.index.apply([CommitSaved(commit=commit)], {})
    for words in ("mend", "why", "parser.py", "src/parser.py", "old.md", '"fresh line"', "whole"):
        assert stage.places(words) == [(SearchHitPlace.COMMIT, "c")], words
    assert stage.places("gone") == []


def test_notes(stage: Found) -> None:
    _, asked = stage.query()
    stage.note(asked, "look here again")
    assert stage.places("again") == [(SearchHitPlace.NOTE, asked)]
    stage.note(asked, "no more")
    assert stage.places("again") == []
    stage.note(asked, "")
    assert stage.places("more") == []


def test_runs(stage: Found) -> None:
    stage.rename("Nightly benchmark")
    stage.tag("flaky", "to-do")
    for words in ("nightly", "flaky bench", "do"):
        assert stage.places(words) == [(SearchHitPlace.RUN, None)], words
    stage.tag("solved")
    assert stage.places("flaky") == []
    stage.finish(failure=Failure(type="ValueError", message="no luck"))
    assert stage.places("luck")[0] == (SearchHitPlace.RUN, None)


# ---- edits ------------------------------------------------------------------------------------------


def test_an_edit_is_found_until_it_is_another(stage: Found) -> None:
    asked = stage.reach(stage.begin(), data='"original words"')
    stage.edit(asked, '"edited words"')
    assert stage.places("edited") == stage.places("original") == [(SearchHitPlace.ROW, asked)]
    stage.edit(asked, '"other words"')
    assert stage.places("edited") == []
    stage.edit(asked, '"edited words"')
    assert stage.places("edited") == [(SearchHitPlace.ROW, asked)]
    stage.edit(asked, None)
    assert stage.places("edited") == []
    assert stage.places("original") == [(SearchHitPlace.ROW, asked)]


def test_a_row_that_matches_twice_is_given_once(stage: Found) -> None:
    asked = stage.reach(stage.begin(), data='"one"')
    stage.edit(asked, '"one two"')
    assert stage.places("one") == [(SearchHitPlace.ROW, asked)]


# ---- what is new ------------------------------------------------------------------------------------


def test_a_call_and_a_result_that_come_again_are_found_again(stage: Found) -> None:
    call = '{"Tool": "read", "Argument": {"path": "src/the_same_file_as_before.py"}}'
    result = '"the very same contents of the file, line by line"'
    begins, ends = [], []
    for _ in range(3):
        event = stage.begin(EventKind.TOOL_INVOCATION, name="read")
        begins.insert(0, (SearchHitPlace.ROW, stage.reach(event, data=call)))
        stage.step()
        ends.insert(0, (SearchHitPlace.ROW, stage.reach(event, EventSide.END, data=result)))
        stage.step()
    assert stage.places("the_same_file_as_before") == begins
    assert stage.places('"very same contents"') == ends
    stage.reach(stage.begin(), data=prompt("the very same contents of the file, line by line"))
    assert stage.places('"very same contents"') == ends


def test_what_is_said_again_is_found_where_it_was_first(stage: Found) -> None:
    long = "a first message that is long enough to be told again in every prompt"
    first = stage.reach(stage.begin(), data=prompt(long))
    stage.step()
    second = stage.reach(stage.begin(), data=prompt(long, "and a second one"))
    assert stage.places("enough") == [(SearchHitPlace.ROW, first)]
    assert stage.places("second") == [(SearchHitPlace.ROW, second)]


def test_each_run_has_its_own_first_time(stage: Found) -> None:
    stage.start("other")
    long = "the same long sentence, said in two runs"
    mine = stage.reach(stage.begin(), data=prompt(long))
    other = stage.reach(stage.begin(run="other"), data=prompt(long), run="other")
    assert [(hit.run, hit.id) for hit in stage.hits("sentence")] == [
        ("other", other),
        ("run", mine),
    ]
    assert [hit.id for hit in stage.hits("sentence", "run")] == [mine]


def test_records_that_come_twice_change_nothing(stage: Found) -> None:
    asked = stage.reach(stage.begin(), data=prompt("words that are long enough to be remembered"))
    stage.index.apply(stage.records, {})
    assert stage.places("remembered") == [(SearchHitPlace.ROW, asked)]


# ---- how it is given --------------------------------------------------------------------------------


def test_newest_first_and_no_more_than_asked_for(stage: Found) -> None:
    said = [stage.say(f'"word {number}"') for number in range(5)]
    assert [hit.id for hit in stage.hits("word")] == said[::-1]
    assert [hit.id for hit in stage.hits("word", limit=2)] == said[:2:-1]


def test_a_snippet_is_plain_and_found_in_turns(stage: Found) -> None:
    stage.say('"before\\n  found   between found, after"')
    (hit,) = stage.hits("found")
    assert hit.snippet == ("before ", "found", " between ", "found", ", after")
    (hit,) = stage.hits('"between found"')
    assert hit.snippet == ("before found ", "between found", ", after")


def test_a_snippet_is_a_piece_of_a_long_text(stage: Found) -> None:
    stage.say(json.dumps("word " * 500 + "needle" + " word" * 500))
    (hit,) = stage.hits("needle")
    assert hit.snippet[1] == "needle"
    assert sum(map(len, hit.snippet)) < 300


@pytest.mark.parametrize("text", ["\0nul\0", "\ue000\ue001", "\ud83d half", "😀", "a" * 100_000])
def test_any_text(stage: Found, text: str) -> None:
    said = stage.say(json.dumps(text + " needle"))
    (hit,) = stage.hits("needle")
    assert (hit.id, hit.snippet[1]) == (said, "needle")


def test_contents_that_are_no_strict_json(stage: Found) -> None:
    said = stage.say('[NaN, "needle \\q"]')
    assert stage.places("needle") == [(SearchHitPlace.ROW, said)]


def test_encoded_bytes_are_cut(stage: Found) -> None:
    stage.say(json.dumps("QUJD" * 100_000))
    assert stage.index._db.execute(
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


def test_following_a_run_finds_what_taking_it_in_finds(stage: Found) -> None:
    asked = stage.reach(stage.begin(), data=prompt("question"), summary="Asks")
    stage.edit(asked, prompt("other question"))
    stage.note(asked, "mine")
    stage.sentence(stage.point(asked), "It asks.")
    stage.step()
    stage.say('"debugging"')
    stage.tag("blue")
    whole = SearchIndex(None)
    whole.replace(kept(stage.records), 1)
    assert everything(whole) == everything(stage.index)
    whole.close()


def test_a_run_that_is_deleted_is_found_no_more(stage: Found) -> None:
    stage.say('"needle"')
    stage.finish()
    stage.delete()
    assert stage.places("needle") == stage.places("P") == []
    assert stage.index.read_change_counts() == {}


def test_every_byte_of_a_deleted_run_is_gone(tmp_path: Path) -> None:
    path = tmp_path / "search.sqlite"
    index = SearchIndex(path)
    other = history_by_chance(1, "other")
    index.replace(other, 1)
    history = with_every_field()
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
    index.apply([RunStarted(run=with_every_field().run)], {})
    assert {file.stat().st_mode & 0o777 for file in tmp_path.iterdir()} == {0o600}
    index.close()
