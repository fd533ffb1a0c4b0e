"""Reads lists of rows that may need more than one message."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

Row = TypeVar("Row")

#: Asks the Core for a page.
PageReader = Callable[[int, int], Awaitable[tuple[tuple[Row, ...], bool]]]


async def read_pages(read_page: PageReader[Row], limit: int, offset: int = 0) -> list[Row]:
    """Read all wanted rows, in as many requests as needed.

    An answer that is too large for one message is cut short.

    Args:
        read_page: Called with the most rows to return and the number of rows to skip; returns rows,
            and whether there are more.
        limit: The most rows to return.
        offset: How many rows to skip.
    """
    rows: list[Row] = []
    more = True
    while more and len(rows) < limit:
        page, more = await read_page(limit - len(rows), offset + len(rows))
        rows += page
    return rows
