"""Reading lists of rows that may be more than one message holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

Row = TypeVar("Row")

#: Asks the Core for a page.
PageReader = Callable[[int, int], Awaitable[tuple[tuple[Row, ...], bool]]]


async def read_pages(read_page: PageReader[Row], limit: int, offset: int = 0) -> list[Row]:
    """Rows of as many answers as it takes: one that doesn't fit into a message is cut short.

    Args:
        read_page: Given how many rows are wanted at most, and how many to leave out; gives rows, and
            whether there are more.
        limit: How many rows are wanted at most.
        offset: How many to leave out.
    """
    rows: list[Row] = []
    more = True
    while more and len(rows) < limit:
        page, more = await read_page(limit - len(rows), offset + len(rows))
        rows += page
    return rows
