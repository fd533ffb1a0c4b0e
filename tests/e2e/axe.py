"""What axe says of the view."""

from __future__ import annotations

from typing import Any

from playwright.sync_api import Page

from .jupyter import ROOT

#: There where the JavaScript was built with its tools.
AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"


def expect_clean(page: Page) -> None:
    """Axe finds nothing in the view."""
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    found: list[Any] = page.evaluate(
        """async () => (await axe.run('.as-Root')).violations.map(
            ({ id, nodes }) => [id, nodes.map(({ html }) => html)])"""
    )
    assert found == []
