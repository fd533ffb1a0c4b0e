"""Pictures for people: those under `docs/images` are made by the tests, with `make screenshots`.

They are PNG of 256 colours, a quarter of what a browser writes: areas keep their colours, and the many
shades at the edges of letters are rounded.
"""

from __future__ import annotations

import base64
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Locator, Page

from .jupyter import ROOT

#: Gives a picture as indices into a palette of at most 256 colours, both in Base64.
_INDEX: Final = """async png => {
    const picture = await createImageBitmap(await (await fetch(png)).blob());
    const { width, height } = picture;
    const context = new OffscreenCanvas(width, height).getContext("2d");
    context.drawImage(picture, 0, 0);
    const { data } = context.getImageData(0, 0, width, height);
    const colours = new Uint32Array(width * height);
    for (let at = 0; at < colours.length; at += 1)
        colours[at] = (data[4 * at] << 16) | (data[4 * at + 1] << 8) | data[4 * at + 2];
    const counted = () => {
        const counts = new Map();
        for (const colour of colours) counts.set(colour, (counts.get(colour) ?? 0) + 1);
        return counts;
    };
    const channels = colour => [colour >> 16, (colour >> 8) & 255, colour & 255];
    const rounded = colour => channels(colour).reduce(
        (sum, value) => (sum << 8) | Math.min(255, Math.round(value / 32) * 32), 0);
    const areas = counted();
    colours.forEach((colour, at) => {
        if (areas.get(colour) < colours.length / 2000) colours[at] = rounded(colour);
    });
    const counts = counted();
    const distance = (a, b) => {
        const other = channels(b);
        return channels(a).reduce((sum, value, at) => sum + (value - other[at]) ** 2, 0);
    };
    const byCount = [...counts.keys()].sort((a, b) => counts.get(b) - counts.get(a));
    const palette = byCount.slice(0, 256);
    const indices = new Map(palette.map((colour, at) => [colour, at]));
    for (const colour of byCount.slice(256)) {
        const nearest = palette.reduce((best, one) =>
            distance(colour, one) < distance(colour, best) ? one : best);
        indices.set(colour, indices.get(nearest));
    }
    const text = bytes => {
        let made = "";
        for (const byte of bytes) made += String.fromCharCode(byte);
        return btoa(made);
    };
    const pixels = colours.reduce((all, colour, at) => {
        all[at] = indices.get(colour);
        return all;
    }, new Uint8Array(colours.length));
    return { width, height, palette: text(palette.flatMap(channels)), pixels: text(pixels) };
}"""

#: Where what the docs don't show can be looked at.
LOOKED_AT: Final = ROOT / "test-results" / "images"


@dataclass(frozen=True)
class Pictures:
    """Takes pictures.

    Args:
        folder: Where those go that the docs show; None makes none for the docs.
        helper: A page of its own that makes them small: an application's may forbid that.
    """

    folder: Path | None
    helper: Page

    def take(self, shown: Page | Locator, name: str, *, kept: bool = True) -> None:
        """Take a picture.

        Args:
            shown: A page, or a part of one.
            name: The file's, below the folder, without its ending.
            kept: Whether the docs show it; the others are only to be looked at.
        """
        if self.folder is None or not kept:
            path = LOOKED_AT / f"{name}.png"
            path.parent.mkdir(parents=True, exist_ok=True)
            shown.screenshot(path=path)
            return
        png = shown.screenshot()
        address = f"data:image/png;base64,{base64.b64encode(png).decode()}"
        path = self.folder / f"{name}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(_indexed_png(**self.helper.evaluate(_INDEX, address)))


def _indexed_png(*, width: int, height: int, **encoded: Any) -> bytes:
    """A PNG file with a palette."""
    palette, pixels = (base64.b64decode(encoded[name]) for name in ("palette", "pixels"))
    lines = (pixels[at : at + width] for at in range(0, width * height, width))
    unfiltered = b"".join(b"\0" + line for line in lines)
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        (
            _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
            _chunk(b"PLTE", palette),
            _chunk(b"IDAT", zlib.compress(unfiltered, 9)),
            _chunk(b"IEND", b""),
        )
    )


def _chunk(kind: bytes, content: bytes) -> bytes:
    return (
        struct.pack(">I", len(content))
        + kind
        + content
        + struct.pack(">I", zlib.crc32(kind + content))
    )


def pictures_folder() -> Path | None:
    """Where the docs' pictures go: the folder that `SCREENSHOTS` names."""
    named = os.environ.get("SCREENSHOTS")
    return ROOT / named if named else None
