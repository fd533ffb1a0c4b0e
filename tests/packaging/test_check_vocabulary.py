"""The check of names that `make lint` runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import check_vocabulary


def modules(folder: Path, **sources: str) -> Path:
    for name, source in sources.items():
        (folder / f"{name}.py").write_text(source)
    return folder


def test_a_name_that_stands_twice_is_refused(tmp_path: Path) -> None:
    package = modules(
        tmp_path,
        store="class Reader: ...\nclass _Row: ...\n",
        view="class Reader: ...\nclass _Row: ...\nclass View:\n    class Reader: ...\n",
    )
    assert check_vocabulary.problems(package) == [
        "The class Reader stands in store.py, view.py: give each its own name."
    ]


def test_a_module_that_is_named_for_an_activity_is_refused(tmp_path: Path) -> None:
    package = modules(tmp_path, reading="", call_tracing="", string_map="")
    (package / "keeping").mkdir()
    assert check_vocabulary.problems(package) == [
        "The module keeping is named for an activity: name it for what it holds.",
        "The module reading.py is named for an activity: name it for what it holds.",
    ]


def test_a_private_word_is_refused_with_its_term(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("A trial.\nIndustrial trials, and a verdict.\n")
    assert check_vocabulary.replaced_words(tmp_path) == [
        "README.md:1: “trial” is a private word. Write: dry run; fork.",
        "README.md:2: “trials” is a private word. Write: dry run; fork.",
        "README.md:2: “verdict” is a private word. Write: edit; decision.",
    ]


@pytest.mark.slow
def test_every_exception_is_needed() -> None:
    assert set(check_vocabulary.TWICE) <= set(check_vocabulary.repeated(check_vocabulary.PACKAGE))
    named = {path.as_posix() for path in check_vocabulary.activities(check_vocabulary.PACKAGE)}
    assert set(check_vocabulary.ACTIVITIES) == named
    for path, word in check_vocabulary.KEPT:
        assert word in (check_vocabulary.ROOT / path).read_text()
