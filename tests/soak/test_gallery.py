"""Every state of the view in every width and theme; `make screenshots` keeps the pictures."""

from __future__ import annotations

from collections.abc import Sequence

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


#: The scenes are shared out, so that no test takes long and each worker has its part.
PARTS = 8


@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("width", HEIGHTS)
def test_every_scene_in_every_look(
    gallery: Gallery, pictures: Pictures, width: int, part: int
) -> None:
    """A scene is shown once for each width, and then painted in each theme.

    All that axe checks it checks in the first; what a theme can spoil are the contrasts.
    """
    first, *others = (theme for each, theme in LOOKS if each == width)
    page = gallery.open(gallery.scenes[part], width, first, HEIGHTS[width])
    wrong: list[str] = []

    def check(scene: str, theme: Theme, rules: Sequence[str] | None = None) -> None:
        pictures.take(
            page,
            f"gallery/{scene}-{width}-{theme}",
            kept=scene in gallery.still and (width, theme) in PICTURED,
        )
        try:
            expect_good(page, scene, rules)
        except AssertionError as error:
            wrong.append(f"{theme}: {error}")

    for scene in gallery.scenes[part::PARTS]:
        gallery.show(page, scene, width, first, HEIGHTS[width])
        check(scene, first)
        for theme in others:
            gallery.paint(page, theme)
            check(scene, theme, ["color-contrast"])
    page.close()
    assert not wrong, "\n".join(wrong)
