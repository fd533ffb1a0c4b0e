"""The site's pages: what is made for it, where links lead, and that the navigation has every page.

`make docs` builds the whole, strictly; these need no MkDocs.
"""

from __future__ import annotations

import re
import traceback
from importlib import import_module
from pathlib import Path

import pytest

from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.protocol.error_codes import CODES
from scripts import site_pages
from tests.docs.pages import DOCS, ROOT, anchors

NAVIGATION = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
ERRORS = DOCS / "errors.md"


def test_every_code_has_an_anchor() -> None:
    assert set(CODES) - anchors(ERRORS) == set()


@pytest.mark.parametrize("kind", [CommandError, ProtocolError])
def test_a_traceback_names_the_codes_place(kind: type[CommandError | ProtocolError]) -> None:
    shown = "".join(traceback.format_exception_only(kind("unknown_run", "There is no run a.")))
    found = re.search(r"^(docs/\S+)#(\S+) says what to do\.$", shown, re.MULTILINE)
    assert found is not None and ROOT / found[1] == ERRORS
    assert found[2] in anchors(ERRORS)


def test_the_navigation_has_every_page() -> None:
    listed = re.findall(r"\S+\.md", NAVIGATION)
    assert len(set(listed)) == len(listed)
    made = {path for path in site_pages.list_sources() if path.endswith(".md")}
    api = {f"api/{module}.md" for module in ("index", *site_pages.API_MODULES)}
    written = {path.relative_to(DOCS).as_posix() for path in DOCS.rglob("*.md")}
    assert set(listed) == made | api | written


@pytest.mark.parametrize("module", site_pages.API_MODULES)
def test_the_api_names_modules_that_exist(module: str) -> None:
    assert import_module(f"agentstepper_nb.{module}").__doc__


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("index.md", "docs/guide/install.md", "guide/install.md"),
        ("index.md", "docs/design/", "design/README.md"),
        ("index.md", "notebooks/02_history.ipynb", "tutorials/02_history.md"),
        ("index.md", "https://example.org/docs/a.md", "https://example.org/docs/a.md"),
        ("guide/README.md", "../../notebooks/02_history.ipynb", "../tutorials/02_history.md"),
        ("guide/README.md", "install.md#a-sandbox", "install.md#a-sandbox"),
        ("guide/coding.md", "../../js/schema/chat.json", "../schema/chat.json"),
        ("guide/coding.md", "../nowhere.md", "../nowhere.md"),
        ("tutorials/02_history.md", "../docs/guide/replay.md#x", "../guide/replay.md#x"),
        ("project/changelog.md", "docs/guide/install.md", "../guide/install.md"),
    ],
)
def test_links_of_the_repository_are_links_of_the_site(page: str, link: str, expected: str) -> None:
    sources = site_pages.list_sources()
    rewritten = site_pages.rewrite_links(f"See [this]({link}).", page, sources)
    assert rewritten == f"See [this]({expected})."


NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# First\n", "\n", "Read this."]},
        {
            "cell_type": "code",
            "source": ["print('a')"],
            "outputs": [
                {"output_type": "stream", "text": ["\x1b[31ma\x1b[0m\n"]},
                {
                    "output_type": "execute_result",
                    "data": {
                        "text/plain": ["b"],
                        "text/html": ['<style>p{}</style>\n<table border="1" class="dataframe">'],
                    },
                },
            ],
        },
    ]
}


def test_a_notebook_is_shown_with_its_outputs() -> None:
    page = site_pages.notebook_to_markdown(NOTEBOOK, "first.ipynb")
    title, note, text, code, *outputs = page.strip().split("\n\n")
    assert (title, text) == ("# First", "Read this.")
    assert "](first.ipynb)" in note
    assert code == "````python\nprint('a')\n````"
    shown = "\n".join(outputs)
    assert "````text\na\n````" in shown
    assert "<table>" in shown and "style" not in shown


def test_every_tutorial_has_its_title_and_an_output() -> None:
    for page, source in site_pages.list_sources().items():
        if source.endswith(".ipynb"):
            text = site_pages.load_page(source)
            assert text.startswith("# ") and '<div class="output"' in text, page


def test_examples_of_docstrings_are_fenced() -> None:
    docstring = "Runs an agent::\n\n    with a:\n        b()\n\nArgs:\n    a: First::\n\n        c"
    assert site_pages.fence_literal_blocks(docstring) == (
        "Runs an agent:\n\n```python\nwith a:\n    b()\n```\n\n"
        "Args:\n    a: First:\n\n    ```python\n    c\n    ```"
    )


def test_a_text_without_examples_stays() -> None:
    text = "Takes `a::b`.\n\nArgs:\n    a: First.\n    b: Second."
    assert site_pages.fence_literal_blocks(text) == text


def test_the_site_asks_for_nothing_from_elsewhere() -> None:
    """Without its own copy, the offline plugin links to a script of another host."""
    config = (ROOT / "mkdocs.yml").read_text()
    assert "font: false" in config
    [polyfill] = re.findall(r"polyfills: \[(\S+)\]", config)
    assert "iframe-worker" in polyfill and (Path(DOCS) / polyfill).is_file()


@pytest.mark.parametrize(
    "page",
    [*DOCS.rglob("*.md"), *(ROOT / source for source in site_pages.COPIED_PAGES.values())],
    ids=lambda page: page.relative_to(ROOT).as_posix(),
)
def test_blocks_in_lists_are_indented_by_four(page: Path) -> None:
    """By less they end the list on the site, where GitHub shows them in it."""
    blocks = re.findall(r"\n\n {1,3}\S.*|\n {1,3}```.*", page.read_text())
    assert blocks == []
