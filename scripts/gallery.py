"""Make docs/gallery.md, which shows each state of the view, from the list in docs/images/README.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[1] / "docs"
LIST = DOCS / "images" / "README.md"
PAGE = DOCS / "gallery.md"
#: The themes of each width that there are pictures of.
THEMES = {340: ("light", "dark"), 700: ("light", "dark"), 1400: ("light",)}

_HEADING = re.compile(r"## (.+)")
_SCENE = re.compile(r"\| `([\w-]+)` \| ([^|]+) \|")

_INTRODUCTION = """\
<!-- Made by scripts/gallery.py from images/README.md: `make screenshots`. -->
# Each state of the view

With fixed data, at the widths of a side panel and a cell in light and dark, and of a page in light.
[What was judged](images/README.md) in each is a page of its own.
"""


def scenes(text: str) -> list[str]:
    """The names of the scenes in the list, in order."""
    return [found[1] for found in map(_SCENE.match, text.splitlines()) if found]


def page(text: str) -> str:
    """The page that shows the scenes of the list."""
    return "\n".join([_INTRODUCTION, *_parts(text)])


def _parts(text: str) -> Iterator[str]:
    for line in text.splitlines():
        if heading := _HEADING.match(line):
            yield f"## {heading[1]}\n"
        elif scene := _SCENE.match(line):
            yield _shown(scene[1], scene[2])


def _shown(scene: str, what: str) -> str:
    rows = (
        f"| {width} | "
        + " | ".join(
            f"![{scene}, {theme}, {width} px](images/gallery/{scene}-{width}-{theme}.png)"
            for theme in themes
        )
        + " |" * (3 - len(themes))
        for width, themes in THEMES.items()
    )
    return "\n".join([f"### {what}\n", "| px | Light | Dark |", "|---|---|---|", *rows, ""])


if __name__ == "__main__":
    PAGE.write_text(page(LIST.read_text()))
