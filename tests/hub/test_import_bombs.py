"""Small files that would take the server down: refused before anything is built, off the loop."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from agentstepper_nb.hub.run_imports import RunImporter
from agentstepper_nb.protocol.data_model import Failure, Run
from agentstepper_nb.protocol.records import EndedRunLoaded
from agentstepper_nb.store import MemoryStore, archive
from tests.helpers.decompression_bombs import (
    BOMBS,
    QUOTED,
    change_archive_member,
    dump_bomb_json,
    load_archive,
    make_bomb,
    pack_bomb,
)
from tests.helpers.endless_file import EndlessLoader
from tests.helpers.histories import make_full_history
from tests.helpers.sampling import select_sample
from tests.hub.harness import ScriptedView, open_hub

#: MiB by which a refusal may raise the peak of a process's memory.
GROWTH = 100
HISTORY = make_full_history()


@pytest.mark.parametrize("name", select_sample(BOMBS, "depth"))
def test_a_bomb_is_refused_with_little_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb.run"
    path.write_bytes(pack_bomb(BOMBS[name]))
    assert path.stat().st_size < 1_500_000
    said, grown = load_archive(path)
    assert (said, grown < GROWTH) == ("too_large", True), grown


@pytest.mark.parametrize("name", select_sample(("lenient values", "depth", "events"), "depth"))
def test_a_bomb_of_bare_json(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb.run"
    path.write_bytes(dump_bomb_json(BOMBS[name]))
    said, grown = load_archive(path)
    assert (said, grown < GROWTH) == ("too_large", True), grown


@pytest.mark.slow
def test_a_refusal_quotes_little(tmp_path: Path) -> None:
    path = tmp_path / "quoted.run"
    path.write_bytes(pack_bomb(QUOTED))
    said, grown = load_archive(path)  # which looks at the refusal's length
    assert (said, grown < GROWTH) == ("corrupt_import", True), grown


def with_content(text: bytes) -> bytes:
    """The first halt point's line with another content."""

    def change(lines: bytes) -> bytes:
        first, rest = lines.split(b"\n", 1)
        point = msgspec.json.decode(first) | {"data": text.decode(), "strict": False}
        return msgspec.json.encode(point) + b"\n" + rest

    return change_archive_member(archive.dump_archive(HISTORY), "breakpoints.jsonl", change)


ARCHIVES = {
    "values of a content": lambda: with_content(b"[NaN" + b",{}" * 4_000_000 + b"]"),
    "depth of a content": lambda: with_content(b"[" * 1_000_000),
    "lines": lambda: change_archive_member(
        archive.dump_archive(HISTORY), "notes.jsonl", lambda _: b"\n" * 1_000_000
    ),
    "values": lambda: change_archive_member(
        archive.dump_archive(HISTORY),
        "run.json",
        lambda _: b'{"tags": [0' + b",0" * 11_000_000 + b"]}",
    ),
    "size": lambda: change_archive_member(
        archive.dump_archive(HISTORY), "events.jsonl", lambda _: b" " * (130 << 20)
    ),
}


@pytest.mark.parametrize("name", select_sample(ARCHIVES, "depth of a content", "lines"))
def test_a_bomb_in_an_archive(tmp_path: Path, name: str) -> None:
    path = tmp_path / "bomb.zip"
    path.write_bytes(ARCHIVES[name]())
    assert path.stat().st_size < 1_500_000
    said, grown = load_archive(path)
    assert (said, grown < GROWTH) == ("too_large", True), grown


@pytest.mark.slow
def test_a_file_of_many_empty_lines_is_counted_without_a_list(tmp_path: Path) -> None:
    change = '{"path": "a", "change_type": "new file", "content": "' + "\\n" * (12 << 20) + '"}'
    commit = f'{{"id": "c", "date": 1, "title": "t", "changes": [{change}]}}'
    head = '{"uuid": "r", "name": "n", "program_name": "p", "start_time": 1, "commits": ['
    path = tmp_path / "lines.run"
    path.write_text(head + commit + "]}")
    said, grown = load_archive(path)
    assert (said, grown < 90) == ("taken", True), grown  # and not 8 bytes a line


# ---- on the loop ------------------------------------------------------------------------------------


@pytest.mark.slow
async def test_others_are_answered_while_a_file_is_read() -> None:
    hub = await open_hub()
    sender, other = ScriptedView(hub), ScriptedView(hub)
    bomb = pack_bomb(BOMBS["lenient values"]).decode()
    importing = asyncio.ensure_future(sender.request("import_run", data=bomb))
    answered = await other.request("set_prices", prices=[])
    assert (answered["type"], importing.done()) == ("ok", False)
    refused = await importing
    assert (refused["type"], refused["body"]["code"]) == ("error", "too_large")
    await hub.close()


@pytest.mark.parametrize("by_closing", [False, True])
async def test_work_for_nobody_ends(by_closing: bool) -> None:
    loader = EndlessLoader()
    imports = RunImporter(loader)
    task = asyncio.ensure_future(imports.load(b"endless", "r"))
    assert await asyncio.to_thread(loader.begun.wait, 30)
    if by_closing:
        imports.close()
    else:
        task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.to_thread(loader.ended.wait, 30)


async def test_an_import_ends_with_its_view() -> None:
    loader = EndlessLoader()
    hub = await open_hub()
    hub._imports = RunImporter(loader)
    person = ScriptedView(hub)
    person.send_command("import_run", data="endless")
    assert await asyncio.to_thread(loader.begun.wait, 30)
    person.session.on_closed()
    assert await asyncio.to_thread(loader.ended.wait, 30)
    assert hub.runs() == []
    await hub.close()


@pytest.mark.parametrize(
    "data", [pack_bomb(make_bomb(b'"', b"x", 400_000, b'"')), archive.dump_archive(HISTORY)]
)
def test_a_check_ends_the_reading(data: bytes) -> None:
    class Ended(Exception):
        pass

    def check() -> None:
        raise Ended

    assert archive.load_run_file(data).run.id
    with pytest.raises(Ended):
        archive.load_run_file(data, check=check)


# ---- headers ----------------------------------------------------------------------------------------

LONG = "x" * 3_000_000


def long_header(run: Run) -> Run:
    return replace(
        run,
        failure=Failure(type=LONG, message=LONG),
        workspace=LONG,
        host=LONG,
        last_event=LONG,
        notice=LONG,
    )


async def test_an_imported_headers_texts_are_cut_for_all_views() -> None:
    hub = await open_hub()
    data = archive.dump_archive(replace(HISTORY, run=long_header(HISTORY.run)))
    await hub.import_run(data)
    person = ScriptedView(hub)
    hello = await person.connection.receive("hello")
    assert len(msgspec.json.encode(hello)) < 50_000
    assert hello["runs"][0]["failure"]["message"].endswith("x…")
    await hub.close()


async def test_a_header_that_was_kept_before_is_cut() -> None:
    class Kept(MemoryStore):
        def load(self):  # type: ignore[no-untyped-def]
            yield EndedRunLoaded(run=long_header(HISTORY.run))

    hub = await open_hub(Kept())
    person = ScriptedView(hub)
    hello = await person.connection.receive("hello")
    assert len(msgspec.json.encode(hello)) < 50_000
    await hub.close()


def test_a_rows_failure_is_cut() -> None:
    point = replace(HISTORY.halt_points[-1], failure=Failure(type="E", message=LONG))
    data = archive.dump_archive(replace(HISTORY, halt_points=(*HISTORY.halt_points[:-1], point)))
    failure = archive.load_run_file(data).halt_points[-1].failure
    assert failure is not None and len(failure.message) == 10_000
