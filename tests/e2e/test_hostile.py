"""A run that means harm, in every shell: what it says is text, and the view goes on."""

from __future__ import annotations

import re
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Page, Request, expect

from tests.helpers.sampling import select_sample
from tests.widgets import hostile

from .lab import DebuggerView
from .pictures import Pictures
from .shells import SHELLS, Shell

#: What in the view could act, or load, or look like something else than the view's own.
ACTIVE = """root => {
    const found = [...root.querySelectorAll(
        'script, style, link, meta, base, img, image, picture, video, audio, source, iframe, frame,'
        + 'object, embed, applet, form, math, template, foreignObject, animate, set,'
        + 'a:not(.as-View a[target="_blank"])'
    )].map(({ outerHTML }) => outerHTML.slice(0, 200));
    for (const element of root.querySelectorAll('*'))
        for (const { name, value } of element.attributes)
            if (name.startsWith('on') || /^(href|src|action|srcdoc)$/.test(name)
                && /^\\s*(javascript|data|vbscript):/i.test(value)) found.push(`${name}=${value}`);
    return found;
}"""


class WatchedPage:
    """A tab, and what it did that only a page could do whose scripts were taken over."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.requested_urls: list[str] = []
        page.on("request", self._record)
        page.on(
            "dialog", lambda dialog: (self.requested_urls.append(dialog.message), dialog.dismiss())
        )

    def _record(self, request: Request) -> None:
        to, here = urlsplit(request.url), urlsplit(self.page.url)
        if to.scheme in ("http", "https", "ws", "wss") and to.netloc != here.netloc:
            self.requested_urls.append(request.url)

    def expect_harmless(self, view: DebuggerView) -> None:
        """Nothing of the run's ran, and nothing of it is more than text."""
        assert self.page.evaluate("'hacked' in window || 'hacked' in {}") is False
        assert self.requested_urls == []
        assert view.root.evaluate(ACTIVE) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", select_sample(SHELLS, "page"))
def test_a_hostile_run_is_harmless(
    request: pytest.FixtureRequest, pictures: Pictures, name: str
) -> None:
    shell: Shell = SHELLS[name](request, hostile.agent, hostile.PROGRAM)
    view = shell.view
    watched = WatchedPage(view.root.page)
    view.expect_state("Halted before LLM query")
    expect(view.root).to_contain_text("<script>window.hacked=1</script>")
    watched.expect_harmless(view)
    view.press("Step")
    view.expect_state("Halted after LLM query")
    view.press("Step")
    view.expect_state("Halted before tool call")
    edit_argument(view, "a", hostile.TEXT + hostile.FORMULA)
    watched.expect_harmless(view)
    view.press("Step with edit")
    view.expect_state("Halted after tool call")
    view.press("Continue")
    view.expect_state("Crashed", timeout=60_000)
    look_at_every_row(view)
    watched.expect_harmless(view)
    pictures.take(view.root.page, f"hostile-{name}")

    view.root.get_by_role("tab", name="Changes").click()
    expect(view.root.locator(".as-Commits")).to_contain_text("<script>")
    expect(view.root.locator(".as-Diff")).to_be_visible()
    watched.expect_harmless(view)
    view.root.get_by_role("tab", name="Timeline").click()
    view.rows().last.focus()
    view.root.page.keyboard.press("r")
    expect(view.root.get_by_role("grid", name="Runs")).to_contain_text("<script>")
    view.root.locator(".as-Run").click()
    expect(view.root.get_by_role("dialog")).to_contain_text("<script>")
    watched.expect_harmless(view)


def edit_argument(view: DebuggerView, name: str, text: str) -> None:
    """Put a text into a field of the pending call."""
    view.press(re.compile("^Edit this"))
    field = view.root.get_by_label(name, exact=True)
    field.fill(text)
    field.blur()


def look_at_every_row(view: DebuggerView) -> None:
    """Go through the rows from the last to the first, as read and as the agent sent it."""
    raw = view.root.get_by_role("tab", name="Raw", exact=True)
    view.rows().last.click()
    view.root.page.keyboard.press("Home")
    numbers = view.rows().locator(".as-Row-n")
    total = int(view.root.locator(".as-Rows").get_attribute("aria-rowcount") or 0)
    assert total > 20
    for _ in range(total):
        selected = view.root.locator('.as-Row[aria-selected="true"]')
        expect(selected).to_have_count(1)
        expect(view.root.locator(".as-Inspector")).not_to_contain_text("Loading")
        if "as-mod-file" not in (selected.get_attribute("class") or ""):
            raw.click()
            selected.focus()
        view.root.page.keyboard.press("ArrowDown")
    expect(numbers.last).to_be_visible()
