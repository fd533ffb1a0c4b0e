"""What people do with runs that are kept: find, tag, note, export, import; what they are told of it."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from msgspec.structs import replace

from agentstepper_nb.errors import CommandError
from agentstepper_nb.hub import AccessRights
from agentstepper_nb.protocol.data_model import HaltPoint
from agentstepper_nb.protocol.records import SummarySaved
from tests.hub.harness import FakeConnection, ScriptedView, open_hub, start_run
from tests.hub.test_slow_reads import settle

Json = Any


# ---- commands --------------------------------------------------------------------------------------


async def test_tags_are_told_to_all() -> None:
    hub = await open_hub()
    await start_run(hub)
    first, second = ScriptedView(hub), ScriptedView(hub)
    answer = await first.request("tag_run", run="r", tags=["slow", " kept  long", "slow"])
    assert answer["type"] == "ok"
    for person in (first, second):
        assert (await person.connection.receive("run"))["run"]["tags"] == ["slow", "kept long"]
    refused = await first.request("tag_run", run="r", tags=["  "])
    assert (refused["type"], refused["body"]["code"]) == ("error", "invalid_message")
    await hub.close()


async def test_notes_are_told_where_the_run_is_open() -> None:
    hub = await open_hub()
    agent = await start_run(hub)
    writer, reader, other = ScriptedView(hub), ScriptedView(hub), ScriptedView(hub)
    await reader.request("open_run", run="r")
    for message, text in (("b", "why?"), ("said", "indeed"), ("b", "because")):
        assert (await writer.request("note", run="r", message=message, text=text))["type"] == "ok"
    told = [each["note"] for each in reader.connection.take_bodies("note")]
    assert [(note["message"], note["text"]) for note in told] == [
        ("b", "why?"),
        ("said", "indeed"),
        ("b", "because"),
    ]
    assert other.connection.take_bodies("note") == []
    agent.send_bye()
    await writer.request("note", run="r", message="said", text=" ")  # also once it has ended
    opened = await writer.request("read_run", run="r")
    assert [(note["message"], note["text"]) for note in opened["body"]["notes"]] == [
        ("b", "because")
    ]
    for message in ("e-b", "none"):
        refused = await writer.request("note", run="r", message=message, text="x")
        assert refused["body"]["code"] == "unknown_content"
    refused = await writer.request("note", run="none", message="b", text="x")
    assert refused["body"]["code"] == "unknown_run"
    await hub.close()


async def test_a_run_that_is_only_read_is_told_no_more() -> None:
    hub = await open_hub()
    agent = await start_run(hub)
    person = ScriptedView(hub)
    assert (await person.request("read_run", run="r"))["type"] == "run_opened"
    agent.begin("more", kind="debug_message", data="x")
    await settle()
    assert person.connection.take_bodies("row") == []
    await hub.close()


async def test_who_may_only_watch_may_read_and_search() -> None:
    hub = await open_hub()
    await start_run(hub)
    person = ScriptedView(hub, control=False)
    for command, body in (
        ("tag_run", {"run": "r", "tags": []}),
        ("note", {"run": "r", "message": "b", "text": "x"}),
    ):
        assert (await person.request(command, **body))["body"]["code"] == "watch_only"
    assert (await person.request("read_run", run="r"))["type"] == "run_opened"
    assert (await person.request("search", query="hello"))["type"] == "found"
    await hub.close()


async def test_words_are_found() -> None:
    hub = await open_hub()
    for number in range(3):
        await start_run(hub, f"r{number}", "a needle in the hay")
    person = ScriptedView(hub)
    found = (await person.request("search", query="needle hay"))["body"]
    assert ([hit["run"] for hit in found["hits"]], found["more"]) == (["r2", "r1", "r0"], False)
    found = (await person.request("search", query="needle", limit=2))["body"]
    assert (len(found["hits"]), found["more"]) == (2, True)
    found = (await person.request("search", query="needle", run="r1"))["body"]
    assert [(hit["run"], hit["place"], hit["id"]) for hit in found["hits"]] == [("r1", "row", "b")]
    refused = await person.request("search", query='"open')
    assert refused["body"]["code"] == "invalid_search"
    assert (await person.request("search", query="x", run="no"))["body"]["code"] == "unknown_run"
    await hub.close()


async def test_an_archive_has_all_there_is() -> None:
    hub = await open_hub()
    agent = await start_run(hub)
    person = ScriptedView(hub)
    await person.request("note", run="r", message="b", text="why?")
    await person.request("tag_run", run="r", tags=["mine"])
    agent.send_bye()
    exported = (await person.request("export_run", run="r", format="archive"))["body"]
    assert exported["format"] == "archive"
    whole = base64.b64decode(exported["data"])
    for data in (exported["data"].encode(), whole):
        imported = await hub.import_run(data)
        history = await hub.history(imported.id)
        original = await hub.history("r")
        assert history.run == replace(original.run, id=imported.id)
        assert [point.data for point in history.halt_points] == ['"hello"', "null"]
        assert [note.text for note in history.notes] == ["why?"]
    command = await person.request("import_run", data=exported["data"])
    assert command["body"]["run"]["tags"] == ["mine"]
    plain = (await person.request("export_run", run="r"))["body"]
    assert plain["format"] == "run"
    assert (await person.request("import_run", data=plain["data"]))["type"] == "run_imported"
    await hub.close()


async def test_an_agents_side_may_bring_a_run_in_without_one_of_its_own() -> None:
    hub = await open_hub()
    agent = await start_run(hub)
    agent.send_bye()
    _, data = await hub.export("r")
    line = FakeConnection()
    session = hub.connect_agent(line, 2, AccessRights())

    def send(data: str) -> None:
        message = {"n": 1, "type": "take_run", "id": "q", "body": {"data": data}}
        session.receive(json.dumps(message))

    send(data.decode())
    assert (await line.receive("run_taken"))["run"]["name"] == "Run #1 of P"
    send("damaged")
    assert (await line.receive("error"))["code"] == "corrupt_import"
    session.on_closed()
    assert len(hub.runs()) == 2
    await hub.close()


async def test_a_sentence_is_told_and_kept() -> None:
    hub = await open_hub()
    agent = await start_run(hub)
    person = ScriptedView(hub)
    await person.request("open_run", run="r")

    def made(id: str, text: str) -> SummarySaved:
        return SummarySaved(run="r", id=id, key=text, text=text)

    await hub.record_summary(made("b", "It says hello."))
    assert (await person.connection.receive("row"))["row"]["pending"]
    hub.perform(hub.commands.step("r", hub.clock()))
    await hub.record_summary(made("b", "It greets."))
    row = await person.connection.receive("row", run="r")
    row = (await person.connection.receive("row", run="r"))["row"]
    assert (row["id"], row["pending"]) == ("b", False)
    await hub.record_summary(made("k", "It changes a."))
    commit = (await person.connection.receive("commit_changed"))["commit"]
    assert (commit["sentence"], commit["ruled"], commit["changes"][0]["body"]) == (
        "It changes a.",
        True,
        None,
    )
    found = await hub.find_row("r", "b")
    assert isinstance(found, HaltPoint)
    assert found.model_summary == "It greets."
    for id in ("said", "none"):
        with pytest.raises(CommandError, match="no such message"):
            await hub.record_summary(made(id, "x"))
    agent.send_bye()
    await hub.close()
