"""The gallery: every state of the view with fixed data, in a browser, without a server.

Its scenes are in `js/tests/gallery/scenes.ts`; this builds the page and opens them.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from .axe import AXE, expect_clean
from .jupyter import ROOT

JS = ROOT / "js"
#: Whether the JavaScript's tools are here: without them there is no gallery, and no axe.
BUILDABLE = AXE.exists()

Theme = Literal["light", "dark", "forced"]

#: Each width that is looked at, with a height: a side panel is tall.
HEIGHTS: Final = {340: 680, 700: 480, 1400: 480}
#: Each look of a scene.
LOOKS: Final[tuple[tuple[int, Theme], ...]] = (
    *((width, theme) for width in HEIGHTS for theme in ("light", "dark")),
    (700, "forced"),
)
#: The looks whose pictures are kept: all would be too much to fetch with the repository.
PICTURED: Final = tuple(look for look in LOOKS if look not in ((1400, "dark"), (700, "forced")))
#: What is around the view.
MARGIN: Final = 8


@dataclass(frozen=True)
class Gallery:
    """A built gallery and the browser to look at it with.

    Attributes:
        folder: Where the page and its script are.
        scenes: The names of all scenes.
        still: Those that are a picture by themselves: the others go on.
    """

    folder: Path
    browser: Browser
    scenes: tuple[str, ...]
    still: tuple[str, ...]

    def open(
        self,
        scene: str,
        width: int,
        theme: Theme = "light",
        height: int = 520,
        *,
        media: Mapping[str, Any] | None = None,
    ) -> Page:
        """A page with a scene that stands still; to be closed by who opened it.

        Args:
            scene: One of `scenes`.
            width: The view's, in pixels.
            theme: `forced` are the forced colours of an operating system.
            height: The view's, in pixels.
            media: Further features to emulate, such as `{"reduced_motion": "reduce"}`.
        """
        page = self.browser.new_page(
            viewport={"width": width + 2 * MARGIN, "height": height + 3 * MARGIN},
            timezone_id="UTC",
            locale="en-GB",
            **(media or {}),
        )
        page.set_default_timeout(20_000)
        self.show(page, scene, width, theme, height)
        return page

    def show(
        self, page: Page, scene: str, width: int, theme: Theme = "light", height: int = 520
    ) -> None:
        """Show another scene in a page; parameters as in `open`."""
        self._emulate(page, theme)
        said: list[str] = []
        page.once("pageerror", lambda error: said.append(str(error)))
        asked = {
            "scene": scene,
            "width": width,
            "height": height,
            "theme": "dark" if theme == "dark" else "light",
        }
        page.goto(f"{page_of(self.folder)}?{urlencode(asked)}")
        page.wait_for_selector("body[data-ready]", timeout=20_000)
        assert said == [], said

    def paint(self, page: Page, theme: Theme) -> None:
        """Show a page's scene in another theme, as a person changes it."""
        self._emulate(page, theme)
        light = str(theme != "dark").lower()
        page.evaluate("light => { document.body.dataset.jpThemeLight = light; }", light)

    def _emulate(self, page: Page, theme: Theme) -> None:
        page.emulate_media(
            color_scheme="dark" if theme == "dark" else "light",
            forced_colors="active" if theme == "forced" else "none",
        )


#: What a person must be able to read whatever the width is: none of it may end in dots, or be cut.
_TOLD = """
    .as-State > span, .as-State > small.as-mod-kept, .as-Controls .as-Button, .as-Tab, .as-Figures,
    .as-Banner-text > span, .as-Notice-text, .as-Empty > *, .as-Segments, .as-Segments button,
    .as-RunItem-edit .as-Spring, .as-Foot span, .as-NewLine, .as-Help dt, .as-Field-error,
    .as-Row-n, .as-Row-fig
"""

_UNREADABLE = """told => {
    const view = document.querySelector('.as-View');
    const { left, right } = view.getBoundingClientRect();
    const seen = (each) => each.getClientRects().length > 0 && !each.matches('.as-Hidden');
    const name = (each) => `${each.className}: ${each.textContent.slice(0, 40)}`;
    const outside = [...view.querySelectorAll('button, [role=row], [role=status], .as-Figures > *')]
        .filter(seen).filter((each) => {
            const box = each.getBoundingClientRect();
            return box.right > right + 0.5 || box.left < left - 0.5;
        });
    const cut = [...view.querySelectorAll(told)].filter(seen).filter((each) =>
        each.scrollWidth > each.clientWidth + 1 && getComputedStyle(each).display !== 'inline'
        || each.scrollHeight > each.clientHeight + 1
            && getComputedStyle(each).overflowY === 'hidden');
    const sideways = [...view.querySelectorAll('.as-Scroll')]
        .filter((each) => each.scrollWidth > each.clientWidth + 1);
    const disorderly = [...view.querySelectorAll('[role=row]')].filter(seen).filter((row) => {
        const inRow = (each) => getComputedStyle(each).position !== 'absolute';
        const places = [...row.children].filter(inRow)
            .map((each) => each.getBoundingClientRect().left);
        return places.some((place, at) => place < (places[at - 1] ?? 0) - 0.5);
    });
    return [
        ...disorderly.map((each) => `out of order ${name(each)}`),
        ...outside.map((each) => `outside ${name(each)}`),
        ...cut.map((each) => `cut ${name(each)}`),
        ...sideways.map((each) => `scrolls sideways ${name(each)}`),
    ];
}"""


def expect_good(page: Page, scene: str, rules: Sequence[str] | None = None) -> None:
    """Nothing sticks out, nothing is cut that must be read, and axe finds nothing.

    Args:
        page: A page with a scene.
        scene: Its name.
        rules: The rules that axe checks; all unless told otherwise.
    """
    unreadable: list[str] = page.evaluate(_UNREADABLE, _TOLD)
    if unreadable:
        raise AssertionError(f"{scene}: {unreadable}")
    expect_clean(page, rules)


def page_of(folder: Path) -> str:
    """The address of a built gallery's page."""
    return (folder / "gallery.html").as_uri()


def build_gallery(folder: Path, browser: Browser) -> Gallery:
    """Build the gallery into a folder.

    Raises:
        AssertionError: Node is missing, or the build fails; its output is in the message.
    """
    node = shutil.which("node")
    assert node, "Node is missing: CONTRIBUTING.md says which."
    command = [node, str(JS / "tests" / "gallery" / "build.mjs"), str(folder)]
    built = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert built.returncode == 0, built.stderr
    page = browser.new_page()
    page.goto(page_of(folder))
    page.wait_for_selector("body[data-ready]", timeout=20_000)
    scenes: list[str] = page.evaluate("gallery.scenes")
    moving: list[str] = page.evaluate("gallery.moving")
    page.close()
    still = tuple(scene for scene in scenes if scene not in moving)
    return Gallery(folder, browser, tuple(scenes), still)
