"""A filter leaves the rows that the view's filter leaves: one table of cases holds both to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import msgspec
import pytest
from msgspec import UNSET

from agentstepper_nb.hub.row_search import RowFilter
from agentstepper_nb.protocol.data_model import Commit, TimelineRow

TABLE: Final = json.loads(
    (Path(__file__).parents[2] / "js" / "tests" / "helpers" / "filter_cases.json").read_text()
)
ROW: Final = {"kind": "custom", "side": "begin", "at": 0.0, "size": 0}
CHANGE: Final = {"kind": "changed"}


def rows() -> list[TimelineRow]:
    made = [ROW | {"id": f"r{fields['seq']}"} | fields for fields in TABLE["rows"]]
    return [msgspec.convert(fields, TimelineRow) for fields in made]


def commits() -> list[Commit]:
    return [
        msgspec.convert(
            {"id": f"c{at}", "at": 0.0, "title": "t"}
            | fields
            | {"changes": [CHANGE | change for change in fields["changes"]]},
            Commit,
        )
        for at, fields in enumerate(TABLE["commits"])
    ]


@pytest.mark.parametrize("size", [1, 3, 100])
@pytest.mark.parametrize(
    "case", TABLE["cases"], ids=lambda case: ascii(f"{case['filter']} {case.get('lanes', '')}")
)
def test_it_leaves_what_the_view_s_leaves_however_the_pages_are_cut(
    case: dict[str, Any], size: int
) -> None:
    """As a store does, each page brings the commits of its rows' events."""
    lanes = case.get("lanes")
    filter = RowFilter(case["filter"], UNSET if lanes is None else map(tuple, lanes))
    left, left_by_it = rows(), list[int]()
    while left:
        page, left = left[-size:], left[:-size]
        events = {row.event for row in page}
        filter.add_page(page, [commit for commit in commits() if commit.event in events])
        left_by_it += [row.seq for row in reversed(page) if filter.matches(row)]
    assert left_by_it[::-1] == case["seqs"]
