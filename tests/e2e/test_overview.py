"""Which tool lied: found in the view alone, with the agents whose tools do."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from .axe import AXE, expect_clean
from .jupyter import ROOT, Jupyter
from .lab import DebuggerView, open_page
from .test_several_agents import choose


def run_example(jupyter: Jupyter, name: str, folder: Path) -> None:
    """Run an agent of the examples to its end, under the server's Core."""
    script = ROOT / "examples" / f"{name}.py"
    subprocess.run(
        [sys.executable, str(script), str(folder)],
        env=jupyter.environment(),
        check=True,
        timeout=100,
        capture_output=True,
    )


def open_run(context: BrowserContext, jupyter: Jupyter, program: str) -> tuple[Page, DebuggerView]:
    page, view = open_page(context, jupyter)
    page.set_viewport_size({"width": 1200, "height": 760})
    choose(view, program)
    return page, view


@pytest.mark.slow
def test_the_edit_that_was_dropped_is_found_by_keys_alone(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path
) -> None:
    run_example(jupyter, "repair_agent", tmp_path)
    page, view = open_run(context, jupyter, "repair-agent")
    root = view.root
    # Nothing is green over a run whose last tests failed.
    banner = root.locator(".as-Banner.as-mod-warn")
    expect(banner).to_contain_text("It says that it succeeded, but its last tests failed")
    expect(root.locator(".as-State.as-mod-good")).to_have_count(0)
    expect(root.locator(".as-Row", has_text="I round the sum.").first).to_be_visible()

    root.locator('.as-Row[tabindex="0"]').focus()
    page.keyboard.press("5")
    panel = root.get_by_role("tabpanel", name="Overview")
    marked = panel.get_by_role("region", name="Claim against effect")
    expect(marked).to_contain_text("This edit of cart.py had no effect")
    expect(marked).to_contain_text("the tool may have dropped it")
    expect(panel.get_by_role("region", name="Repeated calls")).to_contain_text("no file changed")
    if AXE.exists():
        expect_clean(page)
    link = marked.get_by_role("button").first
    link.focus()
    page.keyboard.press("Enter")
    row = root.locator('.as-Row[aria-selected="true"]')
    expect(row).to_contain_text("write_fix")
    expect(row.get_by_role("img", name="effect check")).to_be_visible()
    expect(root.locator(".as-Effects")).to_contain_text("nearly the same")


def test_the_file_is_shown_as_it_was_at_a_row(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path
) -> None:
    run_example(jupyter, "repair_agent", tmp_path)
    page, view = open_run(context, jupyter, "repair-agent")
    root = view.root
    root.get_by_role("tab", name="Overview").click()
    root.get_by_role("button", name="cart.py", exact=True).click()
    shown = root.get_by_role("region", name="The file")
    expect(shown).to_contain_text(
        "return round(sum(price * quantity for price, quantity in items))"
    )
    expect(shown).not_to_contain_text("items), 2)")
    page.get_by_label("at row").fill("3")
    page.keyboard.press("Enter")
    expect(shown).to_contain_text("return sum(price * quantity for price, quantity in items)")


def test_the_container_that_started_is_found_and_a_check_can_be_hidden(
    context: BrowserContext, jupyter: Jupyter, tmp_path: Path
) -> None:
    run_example(jupyter, "execution_agent", tmp_path)
    _, view = open_run(context, jupyter, "execution-agent")
    root = view.root
    banner = root.locator(".as-Banner.as-mod-warn")
    expect(banner).to_contain_text("Gave up")
    banner.get_by_role("button", name="Go to row").click()
    expect(root.locator(".as-Effects")).to_contain_text(
        "It reports failure (“Error: container web did not start.”), but created run/web.cid."
    )
    header = root.get_by_role("button", name="3 marked rows")
    header.click()
    root.get_by_role("checkbox", name="What an earlier call reported as failed exists").uncheck()
    expect(root.get_by_role("button", name="1 marked row")).to_be_visible()
    root.get_by_role("checkbox", name="What an earlier call reported as failed exists").check()
    expect(root.get_by_role("button", name="3 marked rows")).to_be_visible()
