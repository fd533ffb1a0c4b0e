"""What `make demo` opens: a copy in which every link leads somewhere."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts import demo
from tests.docs.pages import links


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return demo.copy_of_the_tutorial(tmp_path_factory.mktemp("demo"))


def targets(page: Path) -> Iterator[Path]:
    """The files that a page links to."""
    for link in links(page):
        path = link.partition("#")[0]
        if path and "://" not in path:
            yield (page.parent / path).resolve()


@pytest.mark.slow
def test_every_link_leads_somewhere_in_the_copy(copy: Path) -> None:
    todo = sorted((copy / "notebooks").glob("*.ipynb"))
    assert len(todo) >= 7
    seen = set(todo)
    while todo:
        page = todo.pop()
        for target in targets(page):
            assert target.exists() and target.is_relative_to(copy), f"{page} links to {target}"
            if target.suffix in (".md", ".ipynb") and target not in seen:
                seen.add(target)
                todo.append(target)
    assert copy / "docs" / "guide" / "breakpoints.md" in seen


def test_what_a_tutorial_left_is_not_copied(copy: Path) -> None:
    assert {each.suffix for each in (copy / "notebooks").iterdir()} == {".ipynb"}
