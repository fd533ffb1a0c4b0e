"""`%agentstepper stop …` and `price …` in a real kernel."""

from __future__ import annotations

import pytest

from tests.widgets.kernel import Kernel


def test_stops_from_a_cell(kernel: Kernel) -> None:
    assert kernel.run("%agentstepper stops").value == "No stops are set."
    said = kernel.run('%agentstepper stop before tool open where "a" in args.path nth 2')
    assert said.text == (
        'Stop 1 is set for all agents: before tool open nth 2 where "a" in args.path. '
        "%agentstepper stop try 1 tells where it would have hit.\n"
    )
    kernel.run("%%step reader\npass")
    assert (
        "for agents called “reader”: after error."
        in kernel.run("%agentstepper stop after error").text
    )
    assert (
        "for all agents: tokens 50000."
        in kernel.run("%agentstepper stop tokens 50000 all agents").text
    )
    listed = kernel.run("%agentstepper stop off 1 3")
    assert [line.split()[:3] for line in (listed.value or "").splitlines()] == [
        ["stop", "agents"],
        ["1", "off", "before"],
        ["2", "on", "after"],
        ["3", "off", "tokens"],
    ]
    assert (kernel.run("%agentstepper stop try 2").value or "").startswith("No hit in this run.")
    assert kernel.run("%agentstepper stop delete all").value == "No stops are set."


def test_prices_from_a_cell(kernel: Kernel) -> None:
    listed = kernel.run("%agentstepper price gpt-mini 0.25 $2")
    assert (listed.value or "").splitlines()[-1].split() == ["gpt-mini", "$0.25", "$2"]
    assert kernel.run("%agentstepper prices").value == listed.value
    assert kernel.run("%agentstepper price delete gpt-mini").value == "No prices are set."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("stop", "usage: %agentstepper stop"),
        ("stop off", "usage: %agentstepper stop"),
        ("stop off two", "usage: %agentstepper stop"),
        ("stop try", "usage: %agentstepper stop"),
        ("stop delete 7", "There is no stop of that number"),
        ("stop elsewhere", "“elsewhere” isn't understood here"),
        ("stop tool where args.", "The condition can't be read"),
        ("stops all", "usage: %agentstepper stop"),
        ("price gpt-mini", "usage: %agentstepper price"),
        ("price gpt-mini much 2", "usage: %agentstepper price"),
        ("price gpt-mini -1 2", ">= 0"),
        ("prices all", "usage: %agentstepper price"),
    ],
)
def test_lines_that_are_wrong(kernel: Kernel, line: str, said: str) -> None:
    ran = kernel.run(f"%agentstepper {line}")
    assert (ran.status, ran.error) == ("error", "UsageError")
    assert said in ran.text
    assert kernel.run("%agentstepper stops").value == "No stops are set."


@pytest.mark.parametrize("how", ["stop", "stop try"])
def test_a_caret_stands_below_what_is_wrong(kernel: Kernel, how: str) -> None:
    said = kernel.run(f"%agentstepper {how} before tool where args.i >").text
    assert said.splitlines()[-2:] == ["    args.i >", "            ^"]
    said = kernel.run(f"%agentstepper {how} before tool where args.i = 3 once").text
    assert "Did you mean “==”?" in said
    assert said.splitlines()[-2:] == ["    args.i = 3", "           ^"]


def test_names_in_quotes(kernel: Kernel) -> None:
    listed = kernel.run("%agentstepper price 'a model' 0.25 2").value or ""
    assert listed.splitlines()[-1].split() == ["a", "model", "$0.25", "$2"]
    deleted = kernel.run('%agentstepper price delete "a model"')
    assert deleted.value == "No prices are set."


def test_words_are_completed(kernel: Kernel) -> None:
    asked = "get_ipython().Completer.complete(line_buffer={0!r}, cursor_pos=len({0!r}))[1]"
    for line, offered in {"%agentstepper sto": "stops", "%agentstepper stop be": "before"}.items():
        assert offered in (kernel.run(asked.format(line)).value or "")
