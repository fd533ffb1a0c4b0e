"""What is shown of an agent's text as Markdown: elements without attributes, and nothing that acts."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page, Request

from .gallery import BUILDABLE, Gallery, page_of

pytestmark = pytest.mark.skipif(not BUILDABLE, reason="the JavaScript was built without its tools")


@pytest.fixture(scope="module")
def page(browser: Browser, gallery: Gallery) -> Iterator[Page]:
    page = browser.new_page()
    page.goto(page_of(gallery.folder))
    page.wait_for_selector("body[data-ready]")
    yield page
    page.close()


SHOW = """text => {
    const box = document.createElement('div');
    document.body.append(box);
    box.replaceChildren(gallery.elementsOf(text));
    return box.innerHTML.trim();
}"""


@pytest.mark.parametrize(
    ("text", "html"),
    [
        (
            "# One\n\n- *a*\n- **b**",
            "<h1>One</h1>\n<ul>\n<li><em>a</em></li>\n<li><strong>b</strong></li>\n</ul>",
        ),
        ("`x < 1`", "<p><code>x &lt; 1</code></p>"),
        ("```py\nif x:\n  pass\n```", "<pre><code>if x:\n  pass\n</code></pre>"),
        (
            "[here](https://x.test/?a=1&b)",
            "<p>here (<code>https://x.test/?a=1&amp;b</code>)</p>",
        ),
        ("![a cat](https://x.test/a.png)", "<p>a cat (<code>https://x.test/a.png</code>)</p>"),
        ("a <b>b</b>", "<p>a &lt;b&gt;b&lt;/b&gt;</p>"),
    ],
)
def test_it_is_shown_without_anything_that_leads_away(page: Page, text: str, html: str) -> None:
    assert page.evaluate(SHOW, text) == html


HOSTILE = (
    "<script>window.hit = 1</script>",
    "<img src=https://x.test/x onerror='window.hit = 1'>",
    "a <b onclick='window.hit = 1'>b</b> c",
    "<svg><style><img src=x onerror='window.hit = 1'></style></svg>",
    "[x](javascript:window.hit=1)",
    "<a href='javascript:window.hit = 1'>x</a>",
    '![x](x"onerror=window.hit=1)',
    "![x](https://x.test/b.png)",
    "<iframe srcdoc='<script>parent.hit = 1</script>'></iframe>",
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 '
    'onerror=window.hit=1&gt;">',
    "<form action=https://x.test><input name=body><input name=attributes></form>",
    "<div style='position:fixed;inset:0;background:url(https://x.test/c)'>x</div>",
    '```"onmouseover=window.hit=1\nx\n```',
    "[a]: https://x.test/d '\"><img src=x onerror=window.hit=1>'\n\n[a]",
    "&lt;img src=x onerror=window.hit=1&gt;",
    "| <img src=x onerror=window.hit=1> |\n|---|\n| x |",
)
ALLOWED = "p, code, pre, em, strong, br, li, ul, ol, td, th, tr, table, thead, tbody"


@pytest.mark.parametrize("text", HOSTILE)
def test_nothing_hostile_becomes_of_it(page: Page, text: str) -> None:
    asked: list[Request] = []

    def note(request: Request) -> None:
        asked.append(request)

    page.on("request", note)
    page.evaluate(SHOW, text)
    others = page.evaluate(
        """allowed => [...document.body.lastElementChild.querySelectorAll('*')]
            .filter((each) => !each.matches(allowed) || each.getAttributeNames().length > 0)
            .map((each) => each.outerHTML)""",
        ALLOWED,
    )
    page.evaluate("() => new Promise((done) => requestAnimationFrame(() => setTimeout(done)))")
    page.remove_listener("request", note)
    assert others == []
    assert page.evaluate("window.hit") is None
    assert asked == []
