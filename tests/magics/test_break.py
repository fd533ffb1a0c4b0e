"""`%agentstepper break`: how a line is read."""

from __future__ import annotations

import pytest

from agentstepper_nb import breakpoints
from agentstepper_nb.magics import break_command as magic


def test_tabs_separate_words_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(magic, "find_core", lambda mode: None)
    monkeypatch.setattr(breakpoints, "list_breakpoints", list)
    monkeypatch.setattr(breakpoints, "delete_price", lambda model: f"without {model}")
    assert magic.run_break_command("break\tdelete\tall ") == []
    assert magic.run_break_command("price\tdelete a") == "without a"


def test_a_number_that_is_given_twice_counts_once(monkeypatch: pytest.MonkeyPatch) -> None:
    deleted: list[str] = []
    monkeypatch.setattr(magic, "find_core", lambda mode: None)
    monkeypatch.setattr(breakpoints, "list_breakpoints", lambda: ["first", "second"])
    monkeypatch.setitem(magic._DO, "delete", deleted.append)
    magic.run_break_command("break delete 2 1 2 01")
    assert deleted == ["second", "first"]
