"""Narrow views still say what is looked at and why it is halted."""

from __future__ import annotations

import pytest
from playwright.sync_api import Browser, expect

from .gallery import BUILDABLE, HEIGHTS, Gallery, build_gallery

pytestmark = pytest.mark.skipif(not BUILDABLE, reason="the JavaScript was built without its tools")


@pytest.fixture(scope="module")
def gallery(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    return build_gallery(tmp_path_factory.mktemp("gallery"), browser)


@pytest.mark.parametrize("width", list(HEIGHTS))
@pytest.mark.parametrize(
    "scene", ["halted-call", "halted-result", "draft", "edited-diff", "edit-call", "edit-prompt"]
)
def test_no_title_is_cut(gallery: Gallery, scene: str, width: int) -> None:
    page = gallery.open(scene, width, height=HEIGHTS[width])
    title = page.locator(".as-Inspector .as-Title > .as-Ellipsis")
    shown, whole = title.evaluate("each => [each.clientWidth, each.scrollWidth]")
    assert shown >= whole
    page.close()


@pytest.mark.parametrize("width", list(HEIGHTS))
def test_why_it_is_halted_is_said_at_each_width(gallery: Gallery, width: int) -> None:
    page = gallery.open("halted-by-stop", width, height=HEIGHTS[width])
    stop = "at the stop “Before a tool where"
    expect(page.get_by_text(stop).locator("visible=true")).to_have_count(1)
    page.close()


@pytest.mark.parametrize("width", list(HEIGHTS))
def test_step_and_continue_say_that_they_send_the_edit(gallery: Gallery, width: int) -> None:
    page = gallery.open("draft", width, height=HEIGHTS[width])
    for name in ("Step with edit", "Continue with edit"):
        button = page.get_by_role("button", name=name, exact=True)
        expect(button).to_be_visible()
        said = button.evaluate(
            """button => button.innerText.includes('with edit')
                || [...button.querySelectorAll('svg')].some((each) => each.clientWidth > 0)"""
        )
        assert said
    page.close()
