"""The page on runs that are kept: its command and its Python, as a reader runs them."""

from __future__ import annotations

import asyncio
import zipfile
from pathlib import Path

import pytest
from msgspec.structs import replace

import agentstepper_nb
from agentstepper_nb.protocol.records import ImportedRunSaved
from agentstepper_nb.store import open_store
from tests.docs.conftest import stranger
from tests.docs.pages import GUIDE, Block, blocks
from tests.docs.programs import ForkedPrograms
from tests.helpers.histories import make_full_history

PAGE = GUIDE / "history.md"


def printed(text: str) -> Block:
    (found,) = [block for block in blocks(PAGE) if text in block.text]
    return found


async def store_example_run(folder: Path) -> None:
    """One run, called as on the page."""
    history = make_full_history()
    run = replace(history.run, name="night run", failure=None)
    said = replace(history.events[1], data='"a timeout, again"')
    store = open_store(folder)
    try:
        kept = asyncio.Event()
        changed = replace(history, run=run, events=(history.events[0], said, *history.events[2:]))
        store.append([ImportedRunSaved(history=changed)], on_synced=kept.set)
        await kept.wait()
    finally:
        store.close()


@pytest.mark.slow
def test_the_page_from_top_to_bottom(home: Path, programs: ForkedPrograms) -> None:
    folder = home / "jupyter" / "data" / "agentstepper"
    asyncio.run(store_example_run(folder))
    done = programs.run(printed("agentstepper export").text.strip(), stranger(home), home)
    assert (done.returncode, done.stderr) == (0, "")
    assert "run.json" in zipfile.ZipFile(home / "night.zip").namelist()
    printed_code = (
        printed(text).text for text in ("print(agentstepper_nb.", "run.events()", "import_run")
    )
    (home / "page.py").write_text("".join(printed_code))
    done = programs.run("python page.py", stranger(home), home, "pandas")
    assert done.returncode == 0, done.stderr
    for said in ("night run", "crashed", "custom", "Mend it", "a timeout, again"):
        assert said in done.stdout
    assert list(agentstepper_nb.list_runs(folder).name) == ["night run", "night run"]
