"""The gallery: every state of the view with fixed data, in a browser, without a server.

Its scenes are in `js/tests/gallery/scenes.ts`; this builds the page and opens them.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

from playwright.sync_api import Browser, Page

from .jupyter import ROOT

JS = ROOT / "js"
#: Whether the JavaScript's tools are here: without them there is no gallery, and no axe.
BUILDABLE = (JS / "node_modules" / "axe-core").exists()

Theme = Literal["light", "dark", "forced"]


@dataclass(frozen=True)
class Gallery:
    """A built gallery and the browser to look at it with.

    Attributes:
        folder: Where the page and its script are.
        scenes: The names of all scenes.
    """

    folder: Path
    browser: Browser
    scenes: tuple[str, ...]

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
            viewport={"width": width + 24, "height": height + 40},
            color_scheme="dark" if theme == "dark" else "light",
            forced_colors="active" if theme == "forced" else "none",
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
        assert said == []


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
    page.close()
    return Gallery(folder, browser, tuple(scenes))
