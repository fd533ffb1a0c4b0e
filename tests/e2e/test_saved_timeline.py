"""A saved timeline in browsers: it is shown without kernel and view, and nothing in it runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbconvert import HTMLExporter
from playwright.sync_api import BrowserContext, Locator, Page, expect

from agentstepper_nb.protocol.agent import Timeline
from agentstepper_nb.protocol.data_model import (
    Actor,
    AnswerKind,
    ChangeKind,
    Commit,
    EventKind,
    EventSide,
    Failure,
    FileChange,
    Run,
    RunEnding,
    TimelineRow,
)
from agentstepper_nb.widgets import VIEW_MIME
from agentstepper_nb.widgets.saved_timeline import render_timeline
from tests.helpers.sampling import select_sample
from tests.widgets import hostile, pages

from .conftest import LabOf
from .jupyter import Jupyter

TEXTS = (
    hostile.TEXT,
    hostile.FORMULA,
    hostile.HIDDEN,
    "مرحبا بالعالم",
    "a" * 400,
    "\N{ROBOT FACE} ok",
)

#: What an element and all in it are made of, and whether anything in it ran.
MADE_OF = """root => {
    const found = new Set();
    for (const element of [root, ...root.querySelectorAll('*')]) {
        found.add(element.localName);
        if (element !== root) for (const { name } of element.attributes) found.add('@' + name);
    }
    return { found: [...found], hacked: 'hacked' in window };
}"""


def saved_page() -> str:
    """The timeline of a run whose every text means harm."""
    rows, commits = [], []
    for text in TEXTS:
        for side, source, target in (
            (EventSide.BEGIN, Actor.AGENT, Actor.TOOLS),
            (EventSide.END, Actor.TOOLS, Actor.AGENT),
        ):
            rows.append(
                TimelineRow(
                    id=f"row-{len(rows)}",
                    seq=len(rows) + 1,
                    event=text,
                    kind=EventKind.TOOL_INVOCATION,
                    side=side,
                    source=source,
                    target=target,
                    summary=text,
                    at=1.0,
                    size=1,
                    name=text,
                    edited=side is EventSide.BEGIN,
                    answer=AnswerKind.RESUME,
                    duration=0.25 if side is EventSide.END else None,
                )
            )
        change = FileChange(path=text, kind=ChangeKind.RENAMED, previous_path=f"{text}2", added=2)
        for snapshot in (True, False):
            seq = len(rows)
            commits.append(
                Commit(
                    id=f"{seq} {snapshot}",
                    at=1.0,
                    title=text,
                    event=text,
                    seq=seq,
                    snapshot=snapshot,
                    changes=(change,),
                )
            )
    evil = "".join(TEXTS)
    run = Run(
        id="r",
        name=evil,
        program=evil,
        started_at=1.0,
        ended_at=2.0,
        ending=RunEnding.CRASHED,
        failure=Failure(type=evil, message=evil),
        rows=len(rows),
        commits=len(commits),
    )
    return render_timeline(Timeline(run=run, rows=tuple(rows), commits=tuple(commits)))


def write(path: Path, *outputs: dict[str, Any]) -> None:
    """Write a notebook with a cell for each output, which is given in all its forms but text."""
    spec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(metadata={"kernelspec": spec})
    for forms in outputs:
        data = forms | {"text/plain": "AgentStepper: the view"}
        output = nbformat.v4.new_output("display_data", data=data)
        notebook.cells.append(nbformat.v4.new_code_cell("pass", outputs=[output]))
    nbformat.write(notebook, path)


def expect_harmless(shown: Locator) -> None:
    """See that an output is made of what a saved page may be made of, and reads as it should."""
    found = shown.evaluate(MADE_OF)
    allowed = pages.TAGS | {f"@{name}" for name in pages.ATTRIBUTES}
    assert set(found["found"]) <= allowed
    assert not found["hacked"]
    expected = pages.Page(saved_page()).text
    assert " ".join((shown.text_content() or "").split()) == " ".join(expected.split())


@pytest.mark.parametrize("theme", select_sample(("light", "dark"), "light"))
def test_an_export_in_a_browser(
    context: BrowserContext, tmp_path: Path, screenshots: Path, theme: str
) -> None:
    write(tmp_path / "saved.ipynb", {"text/html": saved_page()})
    web, _ = HTMLExporter(theme=theme).from_filename(str(tmp_path / "saved.ipynb"))
    (tmp_path / "saved.html").write_text(web)
    page = context.new_page()
    page.route("http*://**", lambda route: route.abort())
    page.goto((tmp_path / "saved.html").as_uri())
    output = page.locator(".jp-RenderedHTMLCommon > div:has(table)")
    expect_harmless(output)
    output.screenshot(path=screenshots / f"saved-export-{theme}.png")


@pytest.mark.slow
def test_jupyterlab_shows_it_sanitised_and_trusted(
    lab_of: LabOf, jupyter: Jupyter, screenshots: Path
) -> None:
    # A formula in the second cell: once it is set, those of the first would be.
    write(jupyter.folder / "saved.ipynb", {"text/html": saved_page()}, {"text/html": "<p>$x$</p>"})
    lab = lab_of("saved.ipynb")
    for trusted in (False, True):
        _trust(lab.page, trusted)
        expect(lab.outputs(1).locator("mjx-container")).to_have_count(1)
        output = lab.outputs(0).locator(".jp-RenderedHTMLCommon > div:has(table)")
        expect(output).to_have_count(1)
        expect_harmless(output)
        expect(lab.outputs(0).locator("mjx-container")).to_have_count(0)
    output.screenshot(path=screenshots / "saved-lab-light.png")
    lab.set_theme("JupyterLab Dark")
    output.screenshot(path=screenshots / "saved-lab-dark.png")
    lab.set_theme("JupyterLab Light")


@pytest.mark.soak  # js/tests/lab/mime has it without a browser
@pytest.mark.parametrize("trusted", [False, True], ids=["untrusted", "trusted"])
def test_where_the_core_has_lost_the_run_its_timeline_stands_in_for_the_view(
    lab_of: LabOf, jupyter: Jupyter, screenshots: Path, trusted: bool
) -> None:
    asked = {"run": "of-another-server", "follow": False, "height": 520}
    write(
        jupyter.folder / "reopened.ipynb",
        {VIEW_MIME: {**asked, "kept": True}, "text/html": saved_page()},
        {VIEW_MIME: asked, "text/html": "<p>not its timeline</p>"},
    )
    lab = lab_of("reopened.ipynb")
    _trust(lab.page, trusted)
    expect(lab.outputs(0)).to_contain_text("This run is no longer in the debugger")
    expect_harmless(lab.outputs(0).locator(".jp-RenderedHTMLCommon > div:has(table)"))
    expect(lab.view(0).root).to_have_count(0)
    expect(lab.view(1).root).to_contain_text("This run isn’t here")
    expect(lab.outputs(1)).not_to_contain_text("not its timeline")
    lab.page.screenshot(path=screenshots / f"reopened-{'trusted' if trusted else 'untrusted'}.png")
    assert lab.errors == []


def _trust(page: Page, trusted: bool) -> None:
    """Trust the notebook's outputs or not: what isn't trusted is sanitised. They are made anew."""
    page.evaluate(
        """trusted => {
            for (const cell of window.jupyterapp.shell.currentWidget.content.model.cells) {
                const outputs = cell.outputs.toJSON();
                cell.outputs.clear();
                cell.trusted = trusted;
                cell.outputs.fromJSON(outputs);
            }
        }""",
        trusted,
    )
