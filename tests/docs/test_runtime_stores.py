"""runtime-stores.md: the store that it prints passes the suite, and the tables are read as it says."""

from __future__ import annotations

import asyncio
import runpy
import sys
import tempfile
from pathlib import Path

import pytest

from agentstepper_nb.store.lance import LanceRuntimeStore
from tests.docs.pages import GUIDE, files, write_files

pytest.register_assert_rewrite("agentstepper_nb.store.runtime.conformance")

from agentstepper_nb.store.runtime.conformance.base_suite import (  # noqa: E402
    begin_session,
    make_step,
    write_session,
)

PAGE = GUIDE / "runtime-stores.md"


def printed_suite() -> type:
    """The class of tests that the page prints, with what it imports from beside it."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(PAGE, Path(folder))
        sys.path.insert(0, folder)
        try:
            found = runpy.run_path(str(Path(folder) / "test_logged_store.py"))["TestLoggedStore"]
        finally:
            sys.path.remove(folder)
            sys.modules.pop("logged_store", None)
    assert isinstance(found, type)
    return found


class TestPrinted(printed_suite()):  # type: ignore[misc]
    random_schedules = 1

    @pytest.fixture(autouse=True)
    def beneath(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


def test_the_tables_are_read_as_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def kept() -> None:
        store = await LanceRuntimeStore.open(tmp_path / "agents")
        await begin_session(store)
        await write_session(store, steps=(make_step(iteration=0), make_step(iteration=1)))
        await store.close()

    asyncio.run(kept())
    write_files(PAGE, tmp_path)
    monkeypatch.chdir(tmp_path)
    runpy.run_path("read_steps.py")
    assert capsys.readouterr().out.splitlines() == ["s 0 step 0", "s 1 step 1"]


def test_the_page_prints_these_files() -> None:
    assert set(files(PAGE)) == {"read_steps.py", "logged_store.py", "test_logged_store.py"}
