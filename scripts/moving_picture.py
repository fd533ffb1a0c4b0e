"""Make the README's moving picture of the first tutorial, from the frames of its browser test."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
FRAMES = ROOT / "test-results" / "images" / "first-steps"
PICTURE = ROOT / "docs" / "images" / "first-steps.webp"
#: Each frame's time, in milliseconds; a reader has time for the last.
FRAME_MS, LAST_FRAME_MS = 2_000, 5_000
#: GitHub's column is about 900 px wide.
WIDTH = 1_000


def make(frames: Sequence[Path], picture: Path) -> None:
    """Write an animated WebP that repeats without end.

    Args:
        frames: Pictures of one size, in the order in which they are shown.
        picture: The file to write.

    Raises:
        SystemExit: There are no frames.
    """
    if not frames:
        raise SystemExit(f"No frames in {FRAMES}. `make screenshots` takes them first.")
    images = [_scale(Image.open(frame).convert("RGB")) for frame in frames]
    times = [FRAME_MS] * (len(images) - 1) + [LAST_FRAME_MS]
    images[0].save(
        picture,
        save_all=True,
        append_images=images[1:],
        duration=times,
        loop=0,
        quality=80,
        method=6,
        minimize_size=True,
    )


def _scale(image: Image.Image) -> Image.Image:
    height = round(image.height * WIDTH / image.width)
    return image.resize((WIDTH, height), Image.Resampling.LANCZOS)


if __name__ == "__main__":
    make(sorted(FRAMES.glob("*.png")), PICTURE)
