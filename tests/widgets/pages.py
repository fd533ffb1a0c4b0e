"""What a saved page is made of, as an HTML parser sees it."""

from __future__ import annotations

from html.parser import HTMLParser

#: All that may stand in a saved timeline.
TAGS = {"div", "p", "b", "span", "wbr", "table", "caption", "thead", "tbody", "tr", "th", "td"}
ATTRIBUTES = {"scope", "colspan", "dir", "style"}
STYLES = {"text-align:left"}


class Page(HTMLParser):
    """A page, parsed.

    Args:
        html: The page.

    Attributes:
        found: The kinds of all that stands there besides text, where it isn't allowed.
        rows: The texts of the table's cells, by row.
        text: All text, as it is read.
    """

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(html)
        self.close()
        assert self._open == [], "every element is closed"

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in TAGS:
            self.found.append(tag)
        for name, value in attrs:
            if name not in ATTRIBUTES or (name == "style" and value not in STYLES):
                self.found.append(f"{tag} {name}={value}")
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
        if tag != "wbr":  # has no end; some writers give it one all the same
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag != "wbr":
            assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if "td" in self._open or "th" in self._open:
            self.rows[-1][-1] += data.replace("\N{NO-BREAK SPACE}", " ")

    def handle_comment(self, data: str) -> None:
        self.found.append("comment")

    def handle_decl(self, decl: str) -> None:
        self.found.append("declaration")

    def handle_pi(self, data: str) -> None:
        self.found.append("instruction")
