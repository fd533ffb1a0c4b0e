"""Pages of the site that no file of `docs/` holds: notebooks with their outputs, and the API.

Pure functions, so that tests run them without MkDocs; `site_hooks.py` calls them.
"""

from __future__ import annotations

import json
import posixpath
import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath
from typing import Any

ROOT = Path(__file__).resolve().parents[1]

#: Files outside of `docs/` that are pages, by the site's path of each.
COPIED_PAGES = {
    "index.md": "README.md",
    "project/changelog.md": "CHANGELOG.md",
    "project/security.md": "SECURITY.md",
    "project/contributing.md": "CONTRIBUTING.md",
}
#: Public modules below the package, in the order of the navigation.
API_MODULES = (
    *("breakpoints", "history", "replay", "instrument", "runtime.client", "fleet"),
    *("chat", "chat.connectors", "coding.session", "coding.policy"),
    *("models.scripted", "models.local", "extend", "hub", "discover", "doctor", "errors"),
)

_LINK = re.compile(r"(?<=\]\()([^)\s#]+)(?=[#)])")
_ANSI = re.compile(r"\x1b\[[\d;]*m")
#: Looks that pandas gives a table; the site has its own.
_LOOKS = re.compile(r'<style.*?</style>\n?|(?<=<table) border="1" class="dataframe"', re.DOTALL)
_LITERAL = re.compile(r"^( *)(\S.*)?::\n((?:\n|\1    .*\n?)+)", re.MULTILINE)


def list_sources() -> dict[str, str]:
    """The repository's path of each page and file that isn't in `docs/`, by its site path."""
    notebooks = {
        f"tutorials/{path.stem}.md": f"notebooks/{path.name}"
        for path in sorted(ROOT.glob("notebooks/*.ipynb"))
    }
    examples = {
        f"examples/{path.stem}.md": f"examples/{path.name}"
        for path in sorted(ROOT.glob("examples/*.py"))
    }
    schemas = {
        f"schema/{path.name}": f"js/schema/{path.name}"
        for path in sorted(ROOT.glob("js/schema/*.json"))
    }
    return COPIED_PAGES | notebooks | examples | schemas


def load_page(source: str) -> str:
    """The Markdown of a file of the repository.

    Args:
        source: Its path from the root: a Markdown file, a notebook or a program.
    """
    text = (ROOT / source).read_text()
    match PurePosixPath(source).suffix:
        case ".ipynb":
            return notebook_to_markdown(json.loads(text), PurePosixPath(source).name)
        case ".py":
            return f"# {PurePosixPath(source).name}\n\n````python\n{text}````\n"
    return text


def rewrite_links(markdown: str, page: str, sources: Mapping[str, str]) -> str:
    """Let links to files of the repository name pages of the site.

    Args:
        markdown: A page, whose links are relative to its file in the repository.
        page: The page's path on the site.
        sources: What `list_sources` found.
    """
    folder = posixpath.dirname(sources.get(page, f"docs/{page}"))
    pages = {source: path for path, source in sources.items()}

    def rewrite(found: re.Match[str]) -> str:
        link = found[1]
        if ":" in link:
            return link
        target = posixpath.normpath(posixpath.join(folder, link))
        if target in pages:
            target = pages[target]
        elif target.startswith("docs/"):
            target = target.removeprefix("docs/") + ("/README.md" if link.endswith("/") else "")
        else:
            return link
        return posixpath.relpath(target, posixpath.dirname(page) or ".")

    return _LINK.sub(rewrite, markdown)


# ---- notebooks -------------------------------------------------------------------------------------


def notebook_to_markdown(notebook: Mapping[str, Any], name: str) -> str:
    """A notebook as a page: its cells, and the outputs that it was saved with. No cell is executed.

    Args:
        notebook: The notebook, of nbformat 4.
        name: Its file's name, which the page links to.
    """
    first, *others = (part for cell in notebook["cells"] for part in _render_cell(cell))
    note = (
        f"*This page is [the notebook `{name}`]({name}){{ download }} with the outputs that it was "
        "saved with. `make demo` opens the tutorials in JupyterLab.*"
    )
    title, _, rest = first.partition("\n")
    return "\n\n".join([title, note, rest.strip(), *others]) + "\n"


def _render_cell(cell: Mapping[str, Any]) -> Iterator[str]:
    source = "".join(cell["source"]).strip("\n")
    if cell["cell_type"] == "markdown":
        yield source
    elif source:
        yield f"````python\n{source}\n````"
    for output in cell.get("outputs", ()):
        yield f'<div class="output" markdown="1">\n{_render_output(output)}\n</div>'


def _render_output(output: Mapping[str, Any]) -> str:
    data = output.get("data", {})
    if "text/html" in data:
        return _LOOKS.sub("", "".join(data["text/html"]))
    traceback = "\n".join(output.get("traceback", ()))
    text = "".join(output.get("text", data.get("text/plain", traceback)))
    return f"\n````text\n{_ANSI.sub('', text).rstrip()}\n````\n"


# ---- the API ---------------------------------------------------------------------------------------


def api_pages(package: Any) -> dict[str, str]:
    """The pages of the API: one for each public module, with every name of its `__all__`.

    An object that several modules export is described once, on the page of the first; the package's own
    page lists all of its names, and describes what no module below it exports.

    Args:
        package: The package, as griffe loaded it.
    """
    described: dict[str, str] = {}
    pages = {}
    for module in API_MODULES:
        page = f"api/{module}.md"
        pages[page] = "\n".join(_render_module(package[module], page, described))
    pages["api/index.md"] = "\n".join(_render_module(package, "api/index.md", described))
    return pages


def public_names(module: Any) -> list[str]:
    """What a module exports: its `__all__`, or the public classes and functions that it defines."""
    if module.exports is not None:
        return sorted(str(name) for name in module.exports if str(name) != "__version__")
    return [
        name
        for name, member in module.members.items()
        if member.is_public and not member.is_alias and (member.is_class or member.is_function)
    ]


def _render_module(module: Any, page: str, described: dict[str, str]) -> Iterator[str]:
    yield f"# {module.path}\n"
    first = module.docstring.value.split("\n\n")[0] if module.docstring else ""
    yield f"{fence_literal_blocks(first)}\n"
    names = public_names(module)
    own = [name for name in names if module[name].canonical_path not in described]
    described |= {module[name].canonical_path: f"{module.path}.{name}" for name in own}
    yield "| Name | |\n|---|---|"
    for name in names:
        target = described[module[name].canonical_path]
        yield f"| [`{name}`][{target}] | {_summarize(module[name])} |"
    for name in own:
        yield f"\n::: {module.path}.{name}\n"


def _summarize(member: Any) -> str:
    text = member.docstring.value if member.docstring else ""
    sentence = re.split(r"(?<=\.)\s|\n\n|::", text.strip())[0]
    return " ".join(sentence.split()).replace("|", r"\|")


def fence_literal_blocks(docstring: str) -> str:
    """A docstring whose examples, which follow `::` by reStructuredText's rule, are fenced code."""

    def fence(found: re.Match[str]) -> str:
        indent, before, block = found[1], found[2], found[3]
        lines = [line.removeprefix(f"{indent}    ") for line in block.strip("\n").split("\n")]
        language = "text" if "─" in block else "python"
        code = "\n".join(
            indent + line if line else "" for line in ["```" + language, *lines, "```"]
        )
        return (f"{indent}{before}:\n\n" if before else "") + f"{code}\n\n"

    return _LITERAL.sub(fence, f"{docstring}\n").rstrip("\n")
