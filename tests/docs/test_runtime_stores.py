"""runtime-stores.md: the store that it prints passes the suite, and the tables are read as it says."""

from __future__ import annotations

import asyncio
import json
import runpy
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.cli.project import load_embedding
from agentstepper_nb.protocol.runtime_store_messages import ChangeQuery
from agentstepper_nb.store.lance.projection import Projection
from agentstepper_nb.store.runtime.sqlite import SqliteRuntimeStore
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


@pytest.mark.slow
class TestPrinted(printed_suite()):  # type: ignore[misc]
    random_schedules = 1

    @pytest.fixture(autouse=True)
    def beneath(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, which has the page's files."""
    write_files(PAGE, tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def tables(folder: Path) -> None:
    """The projection `agents` of two steps, in this folder."""

    async def project() -> None:
        store = SqliteRuntimeStore(None)
        await begin_session(store)
        texts = ("all about loops", "a loop of loops")
        steps = (make_step(iteration=n, text=text, latency_ms=2.0) for n, text in enumerate(texts))
        await write_session(store, steps=tuple(steps))
        projection = await Projection.open(str(folder / "agents"), "memory")
        await projection.write(await store.changes(ChangeQuery()))
        await projection.compact()
        projection.close()
        await store.close()

    asyncio.run(project())


@pytest.mark.slow
@pytest.mark.usefixtures("tables")
def test_the_tables_are_read_as_printed(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path("read_steps.py")
    assert sorted(capsys.readouterr().out.splitlines()) == [
        "s 0 all about loops",
        "s 1 a loop of loops",
    ]
    runpy.run_path("count_steps.py")
    assert capsys.readouterr().out.split() == ["count", "median", "session_id", "s", "2", "2.0"]


class EmbeddingEndpoint(BaseHTTPRequestHandler):
    """An endpoint of embeddings: how long each text is."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        made = [
            {"object": "embedding", "index": n, "embedding": [float(len(text)), 1.0]}
            for n, text in enumerate(asked["input"])
        ]
        body = json.dumps({"object": "list", "model": asked["model"], "data": made}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is said."""


@pytest.mark.usefixtures("folder")
def test_the_embedding_is_loaded_as_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    server = HTTPServer(("127.0.0.1", 0), EmbeddingEndpoint)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{server.server_port}/v1")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    monkeypatch.setattr(sys, "path", [*sys.path])
    try:
        embed = load_embedding("my_embedding:embed")
        assert [list(vector) for vector in embed(["four", "three"])] == [[4, 1], [5, 1]]
    finally:
        server.shutdown()
        serving.join()
        server.server_close()
        sys.modules.pop("my_embedding").client.close()


def test_the_page_prints_these_files() -> None:
    assert set(files(PAGE)) == {
        *("read_steps.py", "count_steps.py", "my_embedding.py"),
        *("logged_store.py", "test_logged_store.py"),
    }
