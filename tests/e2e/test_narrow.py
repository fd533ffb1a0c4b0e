"""Narrow views still say what is looked at and why it is halted."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.helpers.sampling import select_sample

from .gallery import BUILDABLE, HEIGHTS, MARGIN, Gallery

pytestmark = pytest.mark.skipif(not BUILDABLE, reason="the JavaScript was built without its tools")


@pytest.fixture(scope="module")
def page(gallery: Gallery) -> Iterator[Page]:
    """A page for all tests: each goes to a scene of its own."""
    page = gallery.open("halted-call", 700)
    yield page
    page.close()


def show(gallery: Gallery, page: Page, scene: str, width: int) -> None:
    height = HEIGHTS[width]
    page.set_viewport_size({"width": width + 2 * MARGIN, "height": height + 3 * MARGIN})
    gallery.show(page, scene, width, height=height)


@pytest.mark.parametrize("width", select_sample(HEIGHTS, 340))
@pytest.mark.parametrize(
    "scene", ["halted-call", "halted-result", "draft", "edited-diff", "edit-call", "edit-prompt"]
)
def test_no_title_is_cut(gallery: Gallery, page: Page, scene: str, width: int) -> None:
    show(gallery, page, scene, width)
    title = page.locator(".as-Inspector .as-Title > .as-Ellipsis")
    shown, whole = title.evaluate("each => [each.clientWidth, each.scrollWidth]")
    assert shown >= whole


@pytest.mark.parametrize("width", select_sample(HEIGHTS, 340))
def test_why_it_is_halted_is_said_at_each_width(gallery: Gallery, page: Page, width: int) -> None:
    show(gallery, page, "halted-by-breakpoint", width)
    breakpoint = "at the breakpoint “Before a tool where"
    expect(page.get_by_text(breakpoint).locator("visible=true")).to_have_count(1)


@pytest.mark.parametrize("width", select_sample(HEIGHTS, 340))
def test_step_and_continue_say_that_they_send_the_edit(
    gallery: Gallery, page: Page, width: int
) -> None:
    show(gallery, page, "draft", width)
    for name in ("Step with edit", "Continue with edit"):
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_be_visible()
        said = button.evaluate(
            """button => button.innerText.includes('with edit')
                || [...button.querySelectorAll('svg')].some((each) => each.clientWidth > 0)"""
        )
        assert said
