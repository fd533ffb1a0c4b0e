"""The editor keeps every key, whatever its speed and however slow the page is, and its focus."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from playwright.sync_api import Page, expect

from .gallery import BUILDABLE, Gallery

pytestmark = pytest.mark.skipif(not BUILDABLE, reason="the JavaScript was built without its tools")

#: Milliseconds between two keys.
SPEEDS = (0, 20, 60, 120, 200)
#: How many times slower the page's processor is made by `make soak`.
MUCH_SLOWER = 6
#: The same each time: it is made slow by work, which takes as long as the page is slow.
SLOWER = 2
#: 200 keys; nearly each makes the JSON invalid, valid, or another.
KEYS = (
    '{"Tool": "f", "Argument": {"n": -1.50, "text": "a\\"b, [c]", "l": [1, {"x": null}]}} ' * 3
)[:200]


@contextmanager
def slow(gallery: Gallery, scene: str, slower: int = SLOWER) -> Iterator[Page]:
    """A page with a scene, whose processor is slow from then on."""
    page = gallery.open(scene, 1000)
    try:
        session = page.context.new_cdp_session(page)
        session.send("Emulation.setCPUThrottlingRate", {"rate": slower})
        yield page
    finally:
        page.close()


def json_text(page: Page) -> str:
    lines: list[str] = page.locator(".cm-line").all_inner_texts()
    return "\n".join(lines)


def typed(*delays: int) -> pytest.MarkDecorator:
    """Some keys as fast as they can be typed; by `make soak` all of them, at each speed."""
    long = [
        pytest.param(delay, KEYS, MUCH_SLOWER, id=str(delay), marks=pytest.mark.soak)
        for delay in delays
    ]
    few = pytest.param(0, KEYS[:70], SLOWER, id="few")
    return pytest.mark.parametrize(("delay", "text", "slower"), [few, *long])


@pytest.mark.slow
@typed(*SPEEDS)
def test_json_keeps_each_key_in_its_place(
    gallery: Gallery, delay: int, text: str, slower: int
) -> None:
    with slow(gallery, "edit-call", slower) as page:
        code = page.locator(".cm-content")
        code.focus()
        page.keyboard.press("Control+a")
        page.keyboard.press("Delete")
        page.keyboard.type(text, delay=delay)
        assert json_text(page) == text
        expect(code).to_be_focused()


@typed(*SPEEDS[:3])
def test_a_field_keeps_each_key_and_so_does_the_json_beside_it(
    gallery: Gallery, delay: int, text: str, slower: int
) -> None:
    with slow(gallery, "edit-call", slower) as page:
        field = page.locator(".as-Form textarea").first
        field.focus()
        page.keyboard.press("Control+a")
        page.keyboard.type(text, delay=delay)
        expect(field).to_have_value(text)
        escaped = text.replace("\\", "\\\\").replace('"', '\\"')
        assert escaped in json_text(page)
        expect(field).to_be_focused()


def test_the_focus_stays_in_the_json_when_fields_come_beside_it(gallery: Gallery) -> None:
    with slow(gallery, "halted-result") as page:
        page.locator(".as-Row.as-mod-halted").focus()
        page.keyboard.press("e")
        code = page.locator(".cm-content")
        code.focus()
        page.keyboard.press("Control+a")
        page.keyboard.type("[1]", delay=20)
        expect(page.locator(".as-Form")).to_have_count(0)
        page.keyboard.press("Control+a")
        page.keyboard.type('"once more"', delay=20)
        expect(page.locator(".as-Form textarea")).to_have_value("once more")
        expect(code).to_be_focused()
        assert json_text(page) == '"once more"'


def messages(page: Page) -> list[list[str]]:
    """What each message's fields hold, top down."""
    found: list[list[str]] = page.evaluate(
        """() => {
            const found = [];
            for (const group of document.querySelectorAll('[data-message]'))
                (found[Number(group.dataset.message)] ??= []).push(
                    ...[...group.querySelectorAll('textarea, .as-Field input')]
                        .map((each) => each.value));
            return found;
        }"""
    )
    return found


def test_messages_are_moved_deleted_and_added_by_keys(gallery: Gallery) -> None:
    with slow(gallery, "edit-prompt") as page:
        before = messages(page)
        last, above = (page.locator(f'[data-message="{len(before) - n}"]').first for n in (1, 2))
        last.locator(".as-MessageUp").focus()
        page.keyboard.press("Enter")
        expect(above.locator(".as-MessageUp")).to_be_focused()
        assert messages(page) == [*before[:-2], before[-1], before[-2]]
        above.locator(".as-MessageDelete").focus()
        page.keyboard.press("Enter")
        expect(last).to_have_count(0)
        expect(above.locator(".as-MessageDelete")).to_be_focused()
        assert messages(page) == before[:-1]
        page.get_by_role("button", name="Add message").focus()
        page.keyboard.press("Enter")
        page.keyboard.type("Once more, please.")
        assert messages(page) == [*before[:-1], ["Once more, please."]]
        expect(page.get_by_text("Added by you")).to_be_visible()
        expect(page.get_by_text("1 field edited")).to_be_visible()
