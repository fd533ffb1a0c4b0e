"""Every state of the view in every width and theme; `make screenshots` keeps the pictures."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Browser

from tests.e2e.gallery import (
    BUILDABLE,
    HEIGHTS,
    LOOKS,
    PICTURED,
    Gallery,
    Theme,
    build_gallery,
    expect_good,
)
from tests.e2e.pictures import Pictures

pytestmark = pytest.mark.skipif(not BUILDABLE, reason="the JavaScript was built without its tools")


@pytest.fixture(scope="module")
def gallery(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Gallery:
    return build_gallery(tmp_path_factory.mktemp("gallery"), browser)


@pytest.mark.timeout(400)  # some seventy pages
@pytest.mark.parametrize(("width", "theme"), LOOKS)
def test_every_scene_in_every_look(
    gallery: Gallery, pictures: Pictures, screenshots: Path, width: int, theme: Theme
) -> None:
    page = gallery.open(gallery.scenes[0], width, theme, HEIGHTS[width])
    wrong: list[str] = []
    for scene in gallery.scenes:
        gallery.show(page, scene, width, theme, HEIGHTS[width])
        if scene in gallery.still and (width, theme) in PICTURED:
            pictures.take(page, f"gallery/{scene}-{width}-{theme}")
        else:
            page.screenshot(path=screenshots / f"{scene}-{width}-{theme}.png")
        try:
            expect_good(page, scene)
        except AssertionError as error:
            wrong.append(str(error))
    page.close()
    assert not wrong, "\n".join(wrong)
