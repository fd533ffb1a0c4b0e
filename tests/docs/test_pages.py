"""What the pages promise by their form: no dead link, no missing picture, short code."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.pages import GUIDE, PAGES, README, ROOT, anchors, blocks, links, prose

TROUBLESHOOTING = GUIDE / "troubleshooting.md"
#: Pages that are tables: nothing of theirs runs.
TABLES = {TROUBLESHOOTING, *(GUIDE / f"{name}.md" for name in ("README", "dap", "scale"))}


def name(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_and_pictures_are_there(page: Path) -> None:
    for link in links(page):
        if link.startswith("https://"):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{page.name} links to {link}"
        if anchor:
            assert anchor in anchors(target), f"{page.name} links to {link}"


def test_every_page_of_the_guide_is_in_its_index() -> None:
    listed = {link for link in links(GUIDE / "README.md") if "/" not in link}
    assert listed == {page.name for page in GUIDE.glob("*.md")} - {"README.md"}


def test_the_guide_leads_from_page_to_page() -> None:
    """Who follows “Next:” from the first page reads them all, in the index's order."""
    order = [link for link in links(GUIDE / "README.md") if "/" not in link]
    for page, following in pairwise(order):
        last = prose(GUIDE / page).strip().splitlines()[-1]
        assert last.startswith("Next: ") and f"]({following})" in last, page


def test_the_guide_is_found() -> None:
    assert {"docs/guide/README.md", "docs/guide/troubleshooting.md"} <= set(links(README))
    assert "../extending.md" in links(GUIDE / "README.md")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_code_is_short(page: Path) -> None:
    """What a reader has to take in at once; `docs/extending.md` has a limit of its own."""
    for block in blocks(page):
        assert len(block.lines) <= 25, block.text


def test_the_readme_asks_for_two_make_commands() -> None:
    made = [
        line
        for block in blocks(README)
        for line in block.text.splitlines()
        if line.startswith("make ")
    ]
    assert [line.split()[1] for line in made] == ["demo", "test"]


@pytest.mark.parametrize(
    "page", sorted(set(GUIDE.glob("*.md")) - {GUIDE / "README.md", TROUBLESHOOTING}), ids=name
)
def test_a_page_begins_with_what_its_reader_can_do(page: Path) -> None:
    _, first, *_ = page.read_text().split("\n\n")
    assert first.startswith("After this page "), first


@pytest.mark.parametrize("page", sorted(set(GUIDE.glob("*.md")) - TABLES), ids=name)
def test_an_example_comes_before_the_first_table(page: Path) -> None:
    text = page.read_text()
    assert "\n| " not in text.partition("\n```")[0]
