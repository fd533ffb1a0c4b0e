"""The pages for people, as tests read them: code blocks, links, headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import nbformat

ROOT: Final = Path(__file__).resolve().parents[2]
DOCS: Final = ROOT / "docs"
GUIDE: Final = DOCS / "guide"
EXTENDING: Final = DOCS / "extending.md"
README: Final = ROOT / "README.md"
#: What a stranger reads.
PAGES: Final = (
    README,
    EXTENDING,
    DOCS / "gallery.md",
    DOCS / "images" / "README.md",
    *sorted(GUIDE.rglob("*.md")),
)

_FENCE: Final = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_LINK: Final = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
_HEADING: Final = re.compile(r"^#{1,6} (.+)$", re.MULTILINE)


@dataclass(frozen=True)
class Block:
    """One code block.

    Args:
        page: Where it stands.
        language: As its fence says; empty where it says none.
        text: What it holds.
    """

    page: Path
    language: str
    text: str

    @property
    def name(self) -> str | None:
        """The file that it is, where its first line says so."""
        found = re.match(r"# ([\w-]+\.(?:py|toml))\n", self.text)
        return found[1] if found else None

    @property
    def lines(self) -> list[str]:
        """Its lines that say something; the one that names the file doesn't count."""
        lines = self.text.splitlines()[bool(self.name) :]
        return [line for line in lines if line.strip()]


def blocks(page: Path) -> list[Block]:
    """The code blocks of a page, in order."""
    return [Block(page, found[1], found[2]) for found in _FENCE.finditer(page.read_text())]


def files(page: Path) -> dict[str, str]:
    """The files that a page prints, by name."""
    named = [block for block in blocks(page) if block.name]
    assert len({block.name for block in named}) == len(named), f"{page} prints a file twice"
    return {block.name: block.text for block in named if block.name}


def write_files(page: Path, folder: Path) -> None:
    """Write the files that a page prints, as it prints them."""
    for name, text in files(page).items():
        (folder / name).write_text(text)


def prose(page: Path) -> str:
    """A page, or a notebook's Markdown, without code blocks."""
    return _FENCE.sub("", _text(page))


def _text(page: Path) -> str:
    if page.suffix != ".ipynb":
        return page.read_text()
    cells = nbformat.read(page, as_version=4).cells
    return "\n\n".join(cell.source for cell in cells if cell.cell_type == "markdown")


def links(page: Path) -> Iterator[str]:
    """What a page links to and shows."""
    for found in _LINK.finditer(prose(page)):
        yield found[1]


def anchors(page: Path) -> set[str]:
    """The anchors that GitHub gives a page's headings."""
    return {_anchor(found[1]) for found in _HEADING.finditer(prose(page))}


def _anchor(heading: str) -> str:
    words = re.sub(r"[^\w\- ]", "", heading.replace("`", "").lower())
    return words.replace(" ", "-")
