"""What axe says of the view."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from playwright.sync_api import Page

from .jupyter import ROOT

#: There where the JavaScript was built with its tools.
AXE = ROOT / "js" / "node_modules" / "axe-core" / "axe.min.js"


def expect_clean(page: Page, rules: Sequence[str] | None = None) -> None:
    """Axe finds nothing in the view.

    Args:
        page: A page with a view.
        rules: The names of the rules to check; all that axe has unless told otherwise.
    """
    if not page.evaluate("'axe' in window"):
        page.evaluate(AXE.read_text())
    found: list[Any] = page.evaluate(
        """async rules => {
            const options = { resultTypes: ['violations'], ...(rules && { runOnly: rules }) };
            const { violations } = await axe.run('.as-Root', options);
            return violations.map(({ id, nodes }) => [id, nodes.map(({ html }) => html)]);
        }""",
        rules,
    )
    assert found == [], found
