"""The README's moving picture moves, and is small."""

from __future__ import annotations

import re

from PIL import Image

from tests.docs.pages import README, ROOT


def test_the_moving_picture_is_small() -> None:
    (path,) = re.findall(r"\((docs/images/\S+\.webp)\)", README.read_text())
    assert (ROOT / path).stat().st_size < 3_000_000
    with Image.open(ROOT / path) as picture:
        assert getattr(picture, "n_frames", 1) > 5
