"""The whole bundle on pages that aren't Jupyter's: nothing fetched, readable, kept when drawn again."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext, expect

from agentstepper_nb import AgentStepper
from agentstepper_nb.widgets.kernel_core import KernelCore
from tests.helpers.sampling import select_sample

from .axe import expect_clean
from .hosts import HOSTS, kernel, show
from .lab import DebuggerView
from .test_page import edit_argument


@contextmanager
def agent(core: KernelCore, calls: int) -> Iterator[None]:
    """An agent that makes so many calls of a tool."""

    def work() -> None:
        found = core.endpoint
        # Where a test fails it halts still, and loses its Core.
        with (
            suppress(ConnectionError),
            AgentStepper("cart", url=found.url, token=found.token) as dbg,
        ):
            for number in range(calls):
                with dbg.tool("count", {"number": number}) as tool:
                    tool.result = number * 2

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    yield
    thread.join(60)
    assert not thread.is_alive()


@pytest.mark.parametrize("name", select_sample(HOSTS, "vscode-dark"))
def test_the_view_is_readable_and_fetches_nothing(
    context: BrowserContext, screenshots: Path, name: str
) -> None:
    page = context.new_page()
    fetched: list[str] = []
    wrong: list[str] = []
    page.on("request", lambda request: fetched.append(request.url))
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda said: wrong.append(said.text) if said.type == "error" else None)
    host = HOSTS[name]
    with kernel() as (core, address):
        view = show(page, host, address)
        expect(view.root).to_contain_text("Run an agent to step it")
        with agent(core, 3):
            view.expect_state("Halted")
            view.press("Step")
            view.expect_state("Halted before tool call")
            expect_clean(page)
            page.screenshot(path=screenshots / f"host-{name}-halted.png")
            assert _is_dark(view) == host.dark
            edit_argument(view, "41")
            view.root.get_by_role("tab", name="JSON", exact=True).click()
            expect(view.root.locator(".cm-content")).to_contain_text("41")
            expect_clean(page)
            page.screenshot(path=screenshots / f"host-{name}-edited.png")
            view.press("Step with edit")
            view.expect_state("Halted after tool call")
            view.root.get_by_role("tab", name="Changes").click()
            expect_clean(page)
            page.keyboard.press("?")
            expect(view.root).to_contain_text("through the kernel")
            page.screenshot(path=screenshots / f"host-{name}-help.png")
            page.keyboard.press("Escape")
            view.press("Continue")
            view.expect_state("Finished")
    assert [url for url in fetched if not url.startswith("blob:")] == []
    assert wrong == []


def _is_dark(view: DebuggerView) -> bool:
    """Whether light text stands on a dark ground."""
    dark: bool = view.root.evaluate(
        """root => {
            const light = css => css.match(/[\\d.]+/g).slice(0, 3).reduce((a, b) => a + +b, 0);
            const { color, backgroundColor } = getComputedStyle(root.querySelector('.as-View'));
            return light(color) > light(backgroundColor);
        }"""
    )
    return dark


#: Where the person is.
_PLACE = """() => {
    const root = document.querySelector('.as-Root');
    const { activeElement } = document;
    return {
        top: root.querySelector('.as-mod-timeline').scrollTop,
        selected: root.querySelector('.as-Row[aria-selected=true]')?.dataset.row,
        focused: root.contains(activeElement) && activeElement.dataset.row,
        same: root.isTheSame === true,
    };
}"""


def test_drawn_again_the_view_is_as_it_was(context: BrowserContext) -> None:
    page = context.new_page()
    with kernel() as (core, address), agent(core, 60):
        view = show(page, HOSTS["vscode-light"], address)
        view.expect_state("Halted")
        view.press("Continue")
        view.expect_state("Finished")
        view.root.evaluate("root => { root.isTheSame = true; }")
        timeline = view.root.locator(".as-mod-timeline")
        timeline.evaluate("node => { node.scrollTop = 650; }")
        view.rows().nth(20).click()
        timeline.evaluate("node => { node.scrollTop = 600; }")
        page.evaluate("() => new Promise(requestAnimationFrame)")
        before = page.evaluate(_PLACE)
        assert before["top"] == 600 and before["selected"] == before["focused"] != ""
        for _ in range(2):
            page.evaluate("() => window.draw()")
            expect(view.root).to_have_count(1)
            page.evaluate("() => new Promise(requestAnimationFrame)")
            assert page.evaluate(_PLACE) == before


def test_what_is_being_edited_is_kept_when_drawn_again(context: BrowserContext) -> None:
    page = context.new_page()
    with kernel() as (core, address), agent(core, 1):
        view = show(page, HOSTS["colab-light"], address)
        view.expect_state("Halted")
        view.press("Step")
        view.expect_state("Halted before tool call")
        view.press(re.compile("^Edit this"))
        field = view.root.get_by_label("number")
        field.fill("4")
        page.evaluate("() => window.draw()")
        expect(field).to_be_focused()
        page.keyboard.type("2")
        expect(field).to_have_value("42")
        view.press("Step with edit")
        view.expect_state("Halted after tool call")
        view.press("Continue")
        view.expect_state("Finished")
