"""Every state of the view, looked at in each width and theme: axe finds nothing, nothing sticks out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, ViewportSize, expect

from scripts import gallery as docs
from tests.helpers.sampling import select_sample

from .axe import expect_clean
from .gallery import BUILDABLE, HEIGHTS, LOOKS, MARGIN, PICTURED, Gallery, Theme, expect_good

pytestmark = pytest.mark.skipif(not BUILDABLE, reason="the JavaScript was built without its tools")


@pytest.fixture(scope="module")
def module_page(gallery: Gallery) -> Iterator[Page]:
    """A page for all tests: each goes to a scene of its own, which knows nothing of those before."""
    page = gallery.open("halted-call", 700)
    page.add_init_script("localStorage.clear(); sessionStorage.clear();")
    yield page
    page.close()


Open = Callable[..., Page]


@pytest.fixture
def opened(gallery: Gallery, module_page: Page) -> Open:
    """Shows a scene at a width, in the light theme unless told otherwise."""

    def show(scene: str, width: int, theme: Theme = "light") -> Page:
        height = HEIGHTS.get(width, 520)
        size = ViewportSize(width=width + 2 * MARGIN, height=height + 3 * MARGIN)
        module_page.set_viewport_size(size)
        gallery.show(module_page, scene, width, theme, height)
        return module_page

    return show


@pytest.mark.slow
@pytest.mark.parametrize(("turn", "look"), list(enumerate(LOOKS)))
def test_every_scene_is_accessible_and_keeps_to_its_width(
    gallery: Gallery, opened: Open, turn: int, look: tuple[int, Theme]
) -> None:
    """Every fourteenth scene, in one look each, by turns; `tests/soak` has each in all of them."""
    width, theme = look
    scenes = gallery.scenes[turn :: 14 * len(LOOKS)]
    assert len(scenes) > 1
    for scene in scenes:
        expect_good(opened(scene, width, theme), scene)


def test_the_docs_show_every_scene(gallery: Gallery) -> None:
    """Each is in the list of what was judged, which their page is made of, and has its pictures."""
    text = docs.LIST.read_text()
    assert sorted(docs.scenes(text)) == sorted(gallery.still)
    assert docs.PAGE.read_text() == docs.page(text), "`make screenshots` makes it"
    assert {path.name for path in (docs.DOCS / "images" / "gallery").iterdir()} == {
        f"{scene}-{width}-{theme}.png" for scene in gallery.still for width, theme in PICTURED
    }


#: JupyterLab's own names for the colours that its themes are made of.
MATERIAL = {
    "blue-300": "#64b5f6",
    "blue-700": "#1976d2",
    "cyan-300": "#4dd0e1",
    "green-300": "#81c784",
    "green-500": "#4caf50",
    "grey-300": "#e0e0e0",
    "orange-300": "#ffb74d",
    "red-300": "#e57373",
    "red-500": "#f44336",
    "red-700": "#d32f2f",
}
HIGH_CONTRAST = (
    Path(sys.prefix, "share/jupyter/lab/themes/@jupyterlab")
    / "theme-dark-high-contrast-extension/index.css"
)


CONTRASTED = (
    "halted-prompt",
    "file",
    "changes",
    "edit-invalid",
    "approval",
    "runs",
    "history",
    "crashed",
    "problem",
    "agents-running",
    "chat",
    "lanes",
)


@pytest.mark.parametrize("scene", select_sample(CONTRASTED, "file", "chat"))
def test_jupyterlabs_high_contrast_is_accessible(
    opened: Open, screenshots: Path, scene: str
) -> None:
    page = opened(scene, 700, theme="dark")
    colours = "".join(f"--md-{name}: {value};" for name, value in MATERIAL.items())
    page.add_style_tag(content=f":root {{ {colours} }}")
    page.add_style_tag(path=HIGH_CONTRAST)
    page.evaluate("document.body.classList.remove('as-StandIns')")
    page.screenshot(path=screenshots / f"{scene}-700-contrast.png")
    expect_clean(page)
    disabled, enabled = (
        page.locator(f".as-Header .as-Button{which}").first.evaluate(
            "(each) => getComputedStyle(each).color"
        )
        for which in ("[aria-disabled]", ":not([aria-disabled]):not(.as-mod-primary)")
    )
    assert disabled != enabled


# ---- nothing moves ------------------------------------------------------------------------------------

#: Where each thing stands that must keep its place, by its name.
PLACES = """() => {
    const named = '.as-Header button, .as-Tab, .as-Search, .as-PaneBar button, .as-Title > .as-Actor';
    return Object.fromEntries(
        [...document.querySelectorAll(named)]
            .filter((each) => each.offsetParent !== null)
            .map((each, at) => {
                const { x, y, height } = each.getBoundingClientRect();
                return [at, [Math.round(x), Math.round(y), Math.round(height)]];
            }),
    );
}"""

#: Adds up what the browser itself counts as shifts, those after a key or a click as well.
SHIFTS = """() => {
    window.shifts = [];
    new PerformanceObserver((list) => {
        for (const { value, sources } of list.getEntries())
            window.shifts.push([value, sources.map(({ node }) => node?.className ?? '?')]);
    }).observe({ type: 'layout-shift', buffered: false });
}"""


def settle(page: Page) -> None:
    """Wait until two frames have been drawn."""
    page.evaluate("() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))")


@pytest.mark.parametrize("width", select_sample(HEIGHTS, 700))
def test_nothing_moves_from_row_to_row(opened: Open, width: int) -> None:
    """Whatever kind of row is looked at, the inspector's controls stand where they stood."""
    page = opened("halted-result", width)
    page.locator(".as-Row.as-mod-halted").focus()
    before = page.evaluate(PLACES)
    page.evaluate(SHIFTS)
    for _ in range(12):
        page.keyboard.press("ArrowUp")
        settle(page)
        assert page.evaluate(PLACES) == before
    assert page.evaluate("shifts") == []


@pytest.mark.parametrize("width", select_sample(HEIGHTS, 340))
def test_nothing_moves_while_commits_and_summaries_come(opened: Open, width: int) -> None:
    """Rows and files that come leave what a person reads where it is."""
    page = opened("arriving", width)
    row = page.locator(".as-Row", has_text="read me")
    row.click()
    before, place = page.evaluate(PLACES), row.bounding_box()
    page.evaluate(SHIFTS)
    steps = 0
    while page.evaluate("gallery.core.next()"):
        settle(page)
        steps += 1
        assert page.evaluate(PLACES) == before
        assert row.bounding_box() == place
    assert steps == 4
    expect(page.locator(".as-Row.as-mod-file").first).to_be_attached()
    assert page.evaluate("shifts") == []


@pytest.mark.parametrize("width", select_sample(HEIGHTS, 1400))
def test_what_differs_between_two_runs_is_in_sight(opened: Open, width: int) -> None:
    page = opened("compare-changed", width)
    differing = page.locator(".as-Diff td.d, .as-Diff td.a").first
    pane = page.get_by_role("region", name="Contents", exact=True)
    line, around = differing.bounding_box(), pane.bounding_box()
    assert line and around
    assert around["y"] <= line["y"] < around["y"] + around["height"] - line["height"]


#: Say something more in a chat, as its newest message.
SAY = """([id, content]) => {
    const { chat } = window.gallery;
    return chat.tells({ ...chat.sessions.get('s').messages.at(-1), id, content });
}"""
#: How far a chat is from its end.
TO_END = """() => {
    const log = document.querySelector('.as-Log-scroll');
    return Math.round(log.scrollHeight - log.clientHeight - log.scrollTop);
}"""


@pytest.mark.parametrize("width", select_sample(HEIGHTS, 340))
def test_nothing_moves_while_a_chat_goes_on(opened: Open, width: int) -> None:
    """What is read stays where it is while more comes above and below; who is at the end stays there."""
    page = opened("chat-window", width)
    log = page.get_by_role("log", name="Conversation")
    for top in (0, 60, 0):  # as with a wheel, up and down
        log.evaluate("(log, top) => { log.scrollTop = top }", top)
        settle(page)
        assert log.evaluate("log => log.scrollTop") == top
    read = log.get_by_role("article").first
    text = read.inner_text()
    before = read.bounding_box()
    page.get_by_role("button", name="Show earlier messages").click()
    expect(log.get_by_role("article")).to_have_count(32)
    read = log.get_by_role("article").nth(10)
    assert read.inner_text() == text
    assert before
    after = read.bounding_box()
    assert after
    assert abs(after["y"] - before["y"]) <= 1
    page.evaluate(SAY, ["long", "a line\n" * 60])
    settle(page)
    assert read.bounding_box() == after
    page.get_by_role("button", name="3 new").click()
    assert page.evaluate(TO_END) <= 1
    for lines in (40, 70, 300):
        page.evaluate(SAY, ["long", "another line\n" * lines])
        settle(page)
        assert page.evaluate(TO_END) <= 1
    expect(page.locator(".as-Log-end")).to_have_count(0)


# ---- the focus is never lost --------------------------------------------------------------------------

Act = Callable[[Page], None]


def in_view(page: Page) -> bool:
    inside: bool = page.evaluate(
        "document.querySelector('.as-View').contains(document.activeElement)"
    )
    return inside


def clear_filter(page: Page) -> None:
    page.get_by_role("button", name="Clear the filter").click()


def close_keys(page: Page) -> None:
    page.get_by_role("dialog").get_by_role("button").focus()
    page.keyboard.press("Escape")


def switch_tabs(page: Page) -> None:
    page.locator(".as-Row[tabindex='0']").focus()
    page.keyboard.press("2")
    expect(page.get_by_role("tab", name="Changes")).to_have_attribute("aria-selected", "true")


def answer_edited(page: Page) -> None:
    page.locator(".as-Field .as-Input").first.focus()
    page.evaluate("gallery.core.next()")
    expect(page.locator(".as-Field")).to_have_count(0)


def end_run(page: Page) -> None:
    page.get_by_role("button", name="Step", exact=True).focus()
    page.evaluate("gallery.core.next()")
    expect(page.locator(".as-State").first).to_contain_text("Lost")


def dismiss(page: Page) -> None:
    page.get_by_role("button", name="Dismiss").click()


def fold_under(page: Page) -> None:
    page.locator(".as-Row.as-mod-file").first.click()
    page.locator(".as-Twist").click()


def show_in_changes(page: Page) -> None:
    page.locator(".as-Row.as-mod-file").first.click()
    page.keyboard.press("Enter")


@pytest.mark.parametrize(
    ("scene", "act"),
    [
        ("filter-none", clear_filter),
        ("keys", close_keys),
        ("halted-call", switch_tabs),
        ("answered-edit", answer_edited),
        ("ending", end_run),
        ("problem", dismiss),
        ("halted-result", fold_under),
        ("halted-result", show_in_changes),
    ],
)
def test_the_focus_stays_in_the_view(opened: Open, scene: str, act: Act) -> None:
    page = opened(scene, 700)
    page.locator(".as-Row[tabindex='0']").or_(page.locator(".as-View")).first.focus()
    act(page)
    settle(page)
    assert in_view(page)


def test_everything_is_reached_by_keyboard(opened: Open) -> None:
    """Tab leads through each region once, and out again; the splitter and the edge move by arrows."""
    page = opened("file", 1000)
    page.evaluate("document.body.tabIndex = -1, document.body.focus()")
    seen: list[str] = []
    for _ in range(30):
        page.keyboard.press("Tab")
        name: str | None = page.evaluate(
            """() => document.querySelector('.as-Root').contains(document.activeElement)
                ? document.activeElement.getAttribute('aria-label')
                    ?? document.activeElement.className : null"""
        )
        if name is None:
            break
        seen.append(name)
    for wanted in ["Step", "Filter events", "Resize timeline and inspector", "Resize the view"]:
        assert wanted in seen, seen
    assert len(seen) < 20
    splitter = page.get_by_role("separator", name="Resize timeline and inspector")
    before = splitter.bounding_box()
    splitter.focus()
    page.keyboard.press("ArrowLeft")
    settle(page)
    after = splitter.bounding_box()
    assert before and after
    assert round(before["x"] - after["x"]) == 16


def test_less_motion_stops_the_spinner(gallery: Gallery) -> None:
    for motion, running in (("no-preference", 1), ("reduce", 0)):
        page = gallery.open("llm-thinking", 700, media={"reduced_motion": motion})
        spinning = page.evaluate(
            "document.querySelector('.as-Header .as-Spin').getAnimations().length"
        )
        page.close()
        assert spinning == running


def test_text_from_right_to_left_turns_nothing_around(opened: Open) -> None:
    """Number, actors and figure keep their order; the words begin where all words begin."""
    page = opened("bidi", 700)
    order = """(row) => [...row.children].map((each) => each.getBoundingClientRect().x)"""
    for row in page.locator(".as-Row:not(.as-mod-file)").all():
        places = row.evaluate(order)
        assert places == sorted(places)
    starts = page.locator(".as-Row-what").evaluate_all(
        """(all) => all.map((each) => {
            const text = document.createRange();
            text.selectNodeContents(each);
            return Math.round(text.getBoundingClientRect().left);
        })"""
    )
    assert len(set(starts)) == 1
