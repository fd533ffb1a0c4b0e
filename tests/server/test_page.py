"""`/agentstepper/app` and the built files."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from tornado.httpclient import HTTPClientError


class TagCollector(HTMLParser):
    """The attributes of a page's tags."""

    def __init__(self, page: bytes) -> None:
        super().__init__()
        self.found: dict[str, dict[str, str | None]] = {}
        self.feed(page.decode())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        self.found[attributes.get("id") or tag] = attributes


@pytest.fixture
def static_folder(tmp_path: Path) -> Path:
    """A folder of built files, empty at first."""
    folder = tmp_path / "static"
    folder.mkdir()
    return folder


@pytest.fixture
def built(static_folder: Path) -> Path:
    (static_folder / "page.abc.js").write_text("export {};")
    (static_folder / "manifest.json").write_text(json.dumps({"page": "page.abc.js"}))
    return static_folder


async def test_page(built: Path, extension: Any, jp_fetch: Any, jp_base_url: str) -> None:
    response = await jp_fetch("agentstepper", "app", params={"run": '"><script>alert(1)'})
    assert response.headers["Content-Type"] == "text/html; charset=utf-8"
    tags = TagCollector(response.body).found
    assert tags["as-app"] == {
        "id": "as-app",
        "data-base-url": jp_base_url,
        "data-run": '"><script>alert(1)',
    }
    assert tags["script"]["type"] == "module"
    script = tags["script"]["src"]
    assert script == f"{jp_base_url}static/agentstepper/page.abc.js"


async def test_page_obeys_a_policy(built: Path, extension: Any, jp_fetch: Any) -> None:
    response = await jp_fetch("agentstepper", "app")
    policy = response.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self'" in policy
    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert response.headers["X-Content-Type-Options"] == "nosniff"


async def test_built_files_need_no_login(built: Path, extension: Any, jp_fetch: Any) -> None:
    """The notebook's module loader sends no referrer, which Jupyter would ask for."""
    nobody = {"Authorization": "none"}
    response = await jp_fetch("static", "agentstepper", "page.abc.js", headers=dict(nobody))
    assert response.body == b"export {};"
    assert "javascript" in response.headers["Content-Type"]


@pytest.mark.parametrize("outside", ["../kept/token", "%2e%2e/kept/token", "/etc/passwd"])
async def test_nothing_else_is_served(
    built: Path, extension: Any, jp_fetch: Any, outside: str
) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("static", "agentstepper", outside)
    assert caught.value.code in (403, 404)


@pytest.mark.parametrize("manifest", [None, "{", "{}", '{"page": 3}', '{"page": "gone.js"}'])
async def test_page_that_is_not_built(
    static_folder: Path, extension: Any, jp_fetch: Any, manifest: str | None
) -> None:
    if manifest is not None:
        (static_folder / "manifest.json").write_text(manifest)
    response = await jp_fetch("agentstepper", "app")
    assert response.code == 200
    assert b"make js" in response.body
    assert "script" not in TagCollector(response.body).found


async def test_page_without_login(extension: Any, jp_fetch: Any) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch(
            "agentstepper", "app", headers={"Authorization": "none"}, follow_redirects=False
        )
    assert caught.value.code == 302
    assert caught.value.response is not None
    assert "/login" in caught.value.response.headers["Location"]


@pytest.mark.parametrize("granted", [{"execute"}])
async def test_page_without_the_right_to_read(extension: Any, jp_fetch: Any) -> None:
    with pytest.raises(HTTPClientError) as caught:
        await jp_fetch("agentstepper", "app")
    assert caught.value.code == 403
