"""`%agentstepper breakpoint …` and `price …` in a real kernel."""

from __future__ import annotations

import pytest

from tests.widgets.kernel import Kernel


def test_breakpoints_from_a_cell(kernel: Kernel) -> None:
    assert kernel.run("%agentstepper breakpoints").value == "No breakpoints are set."
    said = kernel.run('%agentstepper break before tool open where "a" in args.path hit 2')
    assert said.text == (
        'Breakpoint 1 is set for all agents: before tool open hit 2 where "a" in args.path. '
        "%agentstepper break dry-run 1 shows where it would have hit.\n"
    )
    kernel.run("%%step reader\npass")
    assert (
        "for agents called “reader”: after error."
        in kernel.run("%agentstepper break after error").text
    )
    assert (
        "for all agents: tokens 50000."
        in kernel.run("%agentstepper break tokens 50000 all agents").text
    )
    listed = kernel.run("%agentstepper break disable 1 3")
    assert [line.split()[:3] for line in (listed.value or "").splitlines()] == [
        ["breakpoint", "agents"],
        ["1", "disabled", "before"],
        ["2", "enabled", "after"],
        ["3", "disabled", "tokens"],
    ]
    assert (kernel.run("%agentstepper break dry-run 2").value or "").startswith(
        "No hit in this run."
    )
    assert kernel.run("%agentstepper break delete all").value == "No breakpoints are set."


def test_prices_from_a_cell(kernel: Kernel) -> None:
    listed = kernel.run("%agentstepper price gpt-mini 0.25 $2")
    assert (listed.value or "").splitlines()[-1].split() == ["gpt-mini", "$0.25", "$2"]
    assert kernel.run("%agentstepper prices").value == listed.value
    assert kernel.run("%agentstepper price delete gpt-mini").value == "No prices are set."


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("break", "usage: %agentstepper break"),
        ("break disable", "usage: %agentstepper break"),
        ("break disable two", "usage: %agentstepper break"),
        ("break dry-run", "usage: %agentstepper break"),
        ("break delete 7", "There is no breakpoint of that number"),
        ("break elsewhere", "“elsewhere” isn't understood here"),
        ("break tool where args.", "The condition can't be read"),
        ("breakpoints all", "usage: %agentstepper break"),
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
    assert kernel.run("%agentstepper breakpoints").value == "No breakpoints are set."


@pytest.mark.parametrize("how", ["break", "break dry-run"])
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
    for line, offered in {
        "%agentstepper br": "breakpoints",
        "%agentstepper break be": "before",
    }.items():
        assert offered in (kernel.run(asked.format(line)).value or "")
