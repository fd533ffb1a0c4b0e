"""Two runs of a real Core side by side in a browser: where they differ, and in what."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, expect

from .axe import expect_clean
from .jupyter import Jupyter
from .lab import open_page
from .test_runs import row_of, run_to_its_end


@pytest.mark.slow
def test_two_runs_are_compared_from_difference_to_difference(
    context: BrowserContext, jupyter: Jupyter
) -> None:
    page, view = open_page(context, jupyter)
    run_to_its_end(view, jupyter, "compared-before", "an oak")
    run_to_its_end(view, jupyter, "compared-after", "an elm")
    view.rows().last.focus()
    page.keyboard.press("r")
    for program in ("compared-before", "compared-after"):
        row_of(view, program).get_by_role("checkbox").check()
    view.press("Compare")

    pairs = view.root.get_by_role("grid", name="Events of both runs").get_by_role("row")
    expect(pairs).to_have_count(4)  # the start, the call, its result, the end
    differing = pairs.filter(has_text="differs")
    contents = view.root.get_by_role("region", name="Contents of both")
    expect(differing).to_have_count(2)
    expect(differing.first).to_have_attribute("aria-selected", "true")
    expect(contents.locator(".as-Diff")).to_contain_text("compared-after")
    page.keyboard.press("j")
    expect(differing.last).to_have_attribute("aria-selected", "true")
    expect(differing.last).to_contain_text("an oak")
    expect(differing.last).to_contain_text("an elm")
    expect(contents.locator(".as-Diff")).to_contain_text("elm")
    expect_clean(page)

    page.keyboard.press("ArrowDown")
    expect(contents).to_contain_text("The same on both sides.")
    page.keyboard.press("Escape")
    expect(row_of(view, "compared-before")).to_be_visible()
