"""A run of 100,000 halt points: opened, read page by page, filtered; and the memory that it takes."""

from __future__ import annotations

import random
from typing import Final

import pytest

from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import TimelineRow
from bench.leased_agent import LeasedAgent, ViewClient, open_socket
from bench.long_runs import BLOCK, BODY_BYTES, read_memory_bytes, start_core

BREAKPOINTS: Final = 100_000
#: That of the program's start is one more.
ROWS: Final = BREAKPOINTS + 1


@pytest.mark.timeout(600)  # the time is the agent's: it reaches 100,000 halt points
def test_a_run_of_100_000_breakpoints_is_read_through_a_window() -> None:
    with (
        start_core() as (process, agents, uis),
        open_socket(agents) as socket,
        open_socket(uis) as view,
    ):
        agent, person = LeasedAgent(socket, BODY_BYTES), ViewClient(view)
        for _ in range(BREAKPOINTS // BLOCK):
            agent.send_turns(agent.prepare(BLOCK))
        opens_at_its_end(person, agent.run)
        pages_are_right(person, agent.run)
        all_is_found(person, agent.run)
        assert read_memory_bytes(process) < 300_000_000


def opens_at_its_end(person: ViewClient, run: str) -> None:
    answer = person.request("open", ui.OpenRun(run=run))
    assert len(answer.encode()) < 256 * 1024
    _, opened = ui.to_ui.decode(answer)
    assert isinstance(opened, ui.RunOpened)
    assert opened.run.rows == ROWS
    assert numbers(opened.rows) == list(range(ROWS - 199, ROWS + 1))


def pages_are_right(person: ViewClient, run: str) -> None:
    chance = random.Random(1)
    for turn in range(50):
        first = chance.randrange(1, ROWS)
        rows = page(person, ui.GetRows(run=run, first=first, last=first + 499), f"page{turn}")
        assert numbers(rows) == list(range(first, min(first + 499, ROWS) + 1))
        middle = chance.choice(rows)
        around = page(person, ui.GetRows(run=run, around=middle.id), f"around{turn}")
        assert len(around) == 200
        assert middle in around


def all_is_found(person: ViewClient, run: str) -> None:
    """Each content begins with its number."""
    _, found = ui.to_ui.decode(person.request("find", ui.FindRows(run=run, text="tests 777:")))
    assert isinstance(found, ui.RowsFound)
    assert found.seqs == tuple(range(779, ROWS + 1, 1000))
    _, found = ui.to_ui.decode(person.request("all", ui.FindRows(run=run, text="llm")))
    assert isinstance(found, ui.RowsFound)
    assert found.total == BREAKPOINTS
    assert found.seqs == tuple(range(ROWS - 9_999, ROWS + 1))


def page(person: ViewClient, command: ui.GetRows, id: str) -> tuple[TimelineRow, ...]:
    _, told = ui.to_ui.decode(person.request(id, command))
    assert isinstance(told, ui.RowsPage)
    return told.rows


def numbers(rows: tuple[TimelineRow, ...]) -> list[int]:
    return [row.seq for row in rows]
