"""Small tables as text and as HTML, for environments without pandas."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from itertools import zip_longest

Cells = Sequence[str]


def format_text_table(head: Cells, rows: Sequence[Cells]) -> str:
    """Format a table with aligned columns.

    Args:
        head: The columns' headings; no heading line if all are empty.
        rows: The cells of each row. White space and line ends are shown as a space.
    """
    lines = [[" ".join(cell.split()) for cell in row] for row in ([head] if any(head) else [])]
    lines += [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip_longest(*lines, fillvalue="")]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=False)).rstrip()
        for line in lines
    )


def format_html_table(head: Cells, rows: Sequence[Cells]) -> str:
    """Format a table as HTML for notebooks. The cells are text, and are escaped."""
    lines = [_line("td", row) for row in rows]
    return f"<table><thead>{_line('th', head)}</thead><tbody>{''.join(lines)}</tbody></table>"


def _line(tag: str, cells: Cells) -> str:
    inside = "".join(
        f'<{tag} style="text-align:left"><span dir="auto">{escape(cell)}</span></{tag}>'
        for cell in cells
    )
    return f"<tr>{inside}</tr>"
