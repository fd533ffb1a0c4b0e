"""Small tables: as text, and as HTML, for who has no pandas."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import zip_longest

Cells = Sequence[str]


def format_text_table(head: Cells, rows: Sequence[Cells]) -> str:
    """A table in columns of one width each.

    Args:
        head: What stands over the columns; of none where all are empty.
        rows: The cells of each row. What would end a line is shown as a space.
    """
    lines = [[" ".join(cell.split()) for cell in row] for row in ([head] if any(head) else [])]
    lines += [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    )


def format_html_table(head: Cells, rows: Sequence[Cells]) -> str:
    """The same for notebooks. The cells are text: nothing in them is HTML."""
    lines = [_line("td", row) for row in rows]
    return f"<table><thead>{_line('th', head)}</thead><tbody>{''.join(lines)}</tbody></table>"


def _line(tag: str, cells: Cells) -> str:
    inside = "".join(
        f'<{tag} style="text-align:left"><span dir="auto">{escape(cell)}</span></{tag}>'
        for cell in cells
    )
    return f"<tr>{inside}</tr>"
