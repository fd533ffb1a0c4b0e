"""What a notebook keeps of runs that ended, in real kernels: saved, exported, read without a view."""

from __future__ import annotations

import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import cast

import nbformat
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter, MarkdownExporter

from agentstepper_nb.hub.standalone import AgentStepperCore
from agentstepper_nb.magics import timeline_saver
from agentstepper_nb.protocol import ui as v2
from agentstepper_nb.protocol.agent import Bye
from agentstepper_nb.protocol.data_model import RunEnding
from agentstepper_nb.sdk import BaseStepper
from agentstepper_nb.widgets import DisplayedView
from tests.widgets import hostile
from tests.widgets.kernel import CellResult, Kernel
from tests.widgets.pages import Page
from tests.widgets.person import KernelTestView, connect_view

pytestmark = pytest.mark.slow

VIEW = "application/vnd.agentstepper.view+json"
WIDGET = "application/vnd.jupyter.widget-view+json"

AGENT = """%%step tidy --workspace place
from pathlib import Path
print("READY")
with dbg.llm({"prompt": "What now?"}) as q:
    q.response = "Write a file."
with dbg.tool("write_file", {"path": "a.py"}) as t:
    Path("place/a.py").write_text("one\\ntwo\\n")
    t.result = "written"
dbg.commit_agent_changes("Add a")
"""


def let_go(person: KernelTestView) -> None:
    """Wait until an agent halts, and press Continue."""
    person.run_command(v2.ContinueRun(run=person.wait_until_halted().id))


def pages(ran: CellResult) -> list[str]:
    """The pages that stood under a cell's view, one after the other."""
    shown = [content["data"] for kind, content in ran.outputs if "display_data" in kind]
    return [data["text/html"] for data in shown if VIEW in data]


@pytest.fixture(scope="module", autouse=True)
def place(kernel: Kernel) -> None:
    """The folders that the agents work on."""
    made = "[pathlib.Path(name).mkdir() for name in ('place', 'hostile')]"
    assert kernel.run(f"import pathlib; {made}").status == "ok"


# ---- under %%step ----------------------------------------------------------------------------------


def test_the_timeline_takes_the_sentences_place(kernel: Kernel, person: KernelTestView) -> None:
    ran = kernel.run(AGENT, lambda: let_go(person))
    assert ran.status == "ok", ran
    before, after = pages(ran)
    assert "Once the run has ended, this output shows its timeline." in before
    page = Page(after)
    assert page.found == []
    assert "of tidy: ✓ finished" in page.text
    assert ["3", "LLM → Agent", "Write a file."] in [cells[:3] for cells in page.rows]
    assert any("added a.py +2" in cells[-1] for cells in page.rows)
    first, second = (c["data"] for kind, c in ran.outputs if "display_data" in kind)
    kept = {"text/html": after, VIEW: first[VIEW] | {"kept": True}}
    assert first | kept == second, "all else stays as it is"


def test_how_it_ended(kernel: Kernel, person: KernelTestView) -> None:
    crashed = Page(pages(kernel.run("%%step bad\nraise KeyError('<b>')"))[-1])
    assert crashed.found == []
    assert "of bad: ✗ crashed" in crashed.text
    assert "KeyError: '<b>'" in crashed.text
    endless = "%%step endless\nprint('READY')\nwhile True: dbg.tool('t', {}).__enter__()"
    stopped = kernel.run(endless, person.stop)
    assert "of endless: ■ stopped" in Page(pages(stopped)[-1]).text


def test_a_connection_that_was_lost(kernel: Kernel) -> None:
    ran = kernel.run(
        "%%step gone\nlink = dbg._current_session().link\nlink.give_up()\nlink.closed.result(60)"
    )
    assert "could not be read from the Core" in Page(pages(ran)[-1]).text


# ---- under %agentstepper ---------------------------------------------------------------------------

ASYNC = """
async def main():
    async with agentstepper_nb.AsyncAgentStepper("async agent", stop_on_entry=False) as dbg:
        await dbg.post_debug_message("hello")
await main()
"""


def test_each_run_of_the_kernel_is_kept_under_the_last_view(kernel: Kernel) -> None:
    kernel.run("import agentstepper_nb")
    first, second = kernel.run("%agentstepper"), kernel.run("%agentstepper")
    assert pages(first) != []
    ids = [shown_as(ran) for ran in (first, second)]
    plain = kernel.run("agentstepper_nb.AgentStepper('plain', stop_on_entry=False).close()")
    assert [shown_as(plain)] == ids[1:], "the view before keeps what it has"
    assert "of plain: ✓ finished" in Page(pages(plain)[-1]).text
    awaited = kernel.run(ASYNC)
    assert "of async agent: ✓ finished" in Page(pages(awaited)[-1]).text
    assert "hello" in Page(pages(awaited)[-1]).text


def shown_as(ran: CellResult) -> str:
    """The display id of a cell's view."""
    (id,) = {c["transient"]["display_id"] for kind, c in ran.outputs if "display_data" in kind}
    return str(id)


def test_a_run_that_has_ended_is_there_at_once(kernel: Kernel, person: KernelTestView) -> None:
    kernel.run("%%step over\npass")
    assert "of over: ✓ finished" in Page(pages(kernel.run("%agentstepper"))[-1]).text


def test_a_forked_child_leaves_the_notebook_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timeline_saver, "on_closing", lambda callback: None)
    monkeypatch.setattr(timeline_saver, "render_timeline", lambda timeline: "page")
    monkeypatch.setattr(timeline_saver, "_ended", lambda timeline, bye: timeline)
    keeper, view, bye = timeline_saver._TimelineSaver(), SavedView(), Bye(ending=RunEnding.FINISHED)
    keeper.following = cast(DisplayedView, view)
    keeper.pid = os.getpid() + 1
    keeper._on_closing(cast(BaseStepper, SavedView()), bye)
    assert view.saved == []
    keeper.pid = os.getpid()
    keeper._on_closing(cast(BaseStepper, SavedView()), bye)
    assert view.saved == ["page"]


class SavedView:
    """What was kept; also a run that ends."""

    run_id = "r"

    def __init__(self) -> None:
        self.saved: list[str] = []

    def set_fallback(self, html: str) -> None:
        self.saved.append(html)

    def _timeline(self) -> str:
        return "timeline"


# ---- saved and exported ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def saved(core: AgentStepperCore, environment: dict[str, str], folder: Path) -> Path:
    """A notebook with an agent and a hostile one, executed as by `jupyter execute`, and saved."""
    env = environment | {
        "AGENTSTEPPER_URL": f"ws://127.0.0.1:{core.client_port}",
        "AGENTSTEPPER_TOKEN": core.tokens.agent,
    }
    codes = ("%load_ext agentstepper_nb", AGENT, hostile.CELL)
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(code) for code in codes])
    client = NotebookClient(
        notebook, timeout=120, allow_errors=True, resources={"metadata": {"path": str(folder)}}
    )
    with connect_view(f"ws://127.0.0.1:{core.ui_port}") as person, ThreadPoolExecutor() as pool:
        stepped = pool.submit(lambda: [let_go(person) for _ in (AGENT, hostile.CELL)])
        client.execute(env=env)
        stepped.result(60)
    path = folder / "saved.ipynb"
    nbformat.write(notebook, path)
    return path


@pytest.fixture(scope="module")
def web(saved: Path) -> str:
    """The notebook, exported to HTML."""
    text: str = HTMLExporter().from_filename(str(saved))[0]
    return text


def read_saved_pages(path: Path) -> list[str]:
    """The pages in a saved notebook."""
    return [
        "".join(output["data"]["text/html"])
        for cell in json.loads(path.read_text())["cells"]
        for output in cell["outputs"]
        if VIEW in output.get("data", {})
    ]


def find_exported_pages(web: str) -> list[Page]:
    """The pages within an export, where they are written anew."""
    return [Page(each) for each in re.findall(r"(?s)<div>\n<p><b>.*?</table>\n</div>", web)]


def test_a_saved_notebook_has_the_timeline_and_no_widget_state(saved: Path) -> None:
    tidy, _ = read_saved_pages(saved)
    assert "of tidy: ✓ finished" in Page(tidy).text
    notebook = json.loads(saved.read_text())
    assert len(json.dumps(notebook["cells"][1], indent=1)) < 20_000
    assert "widgets" not in notebook["metadata"]


def test_an_export_shows_the_timeline(saved: Path, web: str) -> None:
    page, _ = read_saved_pages(saved)
    assert find_exported_pages(web)[0].rows == Page(page).rows
    assert WIDGET not in web
    assert "AgentStepper: the view of run" not in web, "the text of terminals"
    text, _ = MarkdownExporter().from_filename(str(saved))
    assert page in text
    assert "AgentStepper: the view of run" not in text


def test_a_hostile_run_is_harmless(saved: Path, web: str) -> None:
    _, made = read_saved_pages(saved)
    page = Page(made)
    assert page.found == []
    assert "window.hacked" in page.text, "it is read"
    assert "✗ crashed" in page.text
    assert "Evil" not in page.text, "the class has the name that it gave itself"
    assert any("javascript:window.hacked" in cells[-1] for cells in page.rows)
    assert any("[31m" in cells[2] for cells in page.rows)
    assert not set("\x1b\x00\u202e") & set(made)
    made.encode()  # nothing in it that a file can't hold
    _, exported = find_exported_pages(web)
    assert exported.found == []
    assert exported.text == page.text
