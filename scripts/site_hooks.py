"""What MkDocs calls when it builds the site: pages from outside of `docs/`, and links between them."""

from __future__ import annotations

import logging
import re
import sys
from pathlib import Path
from typing import Any

import griffe
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from mkdocs.utils import get_relative_url
from site_pages import ROOT, api_pages, fence_literal_blocks, list_sources, load_page, rewrite_links

log = logging.getLogger("mkdocs.hooks.site")

_SOURCES = list_sources()
#: The theme would load Mermaid from another host. `make docs` has put the file beside this interpreter.
_MERMAID = "site/mermaid.min.js"


class Docstrings(griffe.Extension):
    """Lets griffe understand this package's docstrings."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Called with each object of the package once it is complete."""
        if obj.docstring is None:
            return
        text = fence_literal_blocks(obj.docstring.value)
        if obj.is_class and "__init__" not in obj.all_members and "dataclass" not in obj.labels:
            # A Struct or NamedTuple: its arguments are its fields, whose types griffe knows.
            text = text.replace("Args:\n", "Attributes:\n")
        obj.docstring.value = text


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that no file of `docs/` holds."""
    for path, source in _SOURCES.items():
        if path.endswith(".md"):
            files.append(File.generated(config, path, content=load_page(source)))
        else:
            files.append(File.generated(config, path, abs_src_path=str(ROOT / source)))
        if source.endswith(".ipynb"):
            name = path.removesuffix(".md") + ".ipynb"
            files.append(File.generated(config, name, abs_src_path=str(ROOT / source)))
    mermaid = Path(sys.prefix) / "mermaid.min.js"
    files.append(File.generated(config, _MERMAID, abs_src_path=str(mermaid)))
    package = griffe.load("agentstepper_nb", search_paths=[ROOT])
    for path, text in api_pages(package).items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Let links that hold in the repository hold on the site."""
    return rewrite_links(markdown, page.file.src_uri, _SOURCES)


def on_page_content(html: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Load a picture once it is scrolled to, and Mermaid where a page has a diagram."""
    html = html.replace("<img ", '<img loading="lazy" ')
    if 'class="mermaid"' in html:
        html += f'<script src="{get_relative_url(_MERMAID, page.url)}"></script>'
    return html


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Warn of what a browser would fetch from another host; a warning fails the build."""
    for tag in re.findall(
        r'<(?:script|link|img|iframe)\b[^>]*\b(?:src|href)="https?:[^>]*>', output
    ):
        log.warning("%s would fetch from another host: %s", page.file.src_uri, tag)
    return output
