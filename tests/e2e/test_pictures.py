"""Pictures for the docs: small files that show what was on the screen."""

from __future__ import annotations

import base64
from pathlib import Path

from playwright.sync_api import Browser, Page

from .pictures import Pictures

#: Gives a picture's size and some of its pixels.
READ = """async ({ png, places }) => {
    const picture = await createImageBitmap(await (await fetch(png)).blob());
    const context = new OffscreenCanvas(picture.width, picture.height).getContext("2d");
    context.drawImage(picture, 0, 0);
    const pixel = ([x, y]) => [...context.getImageData(x, y, 1, 1).data.slice(0, 3)];
    return { size: [picture.width, picture.height], pixels: places.map(pixel) };
}"""


def read(page: Page, png: bytes, *places: tuple[int, int]) -> dict[str, list[list[int]]]:
    address = f"data:image/png;base64,{base64.b64encode(png).decode()}"
    found: dict[str, list[list[int]]] = page.evaluate(READ, {"png": address, "places": places})
    return found


def test_areas_keep_their_colours_and_the_file_is_small(browser: Browser, tmp_path: Path) -> None:
    page = browser.new_page(viewport={"width": 600, "height": 400})
    helper = browser.new_page()
    page.set_content(
        f"""<body style="margin: 0; background: #e1edf9">
        <div style="height: 60px; background: linear-gradient(90deg, #f9f9f9 40%, red, blue)"></div>
        <p>{"Some words of a page. " * 60}</p>"""
    )
    Pictures(tmp_path, helper).take(page, "folder/one")
    whole, made = page.screenshot(), (tmp_path / "folder" / "one.png").read_bytes()
    assert len(made) < len(whole) / 2
    found = read(helper, made, (2, 65), (5, 5), (599, 5))
    assert found["size"] == [600, 400]
    assert found["pixels"][:2] == [[0xE1, 0xED, 0xF9], [0xF9, 0xF9, 0xF9]]
    red, green, blue = found["pixels"][2]
    assert blue > 200 and max(red, green) < 50
    helper.close()
    page.close()
