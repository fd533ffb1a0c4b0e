"""A whole session of the original, replayed: the same answers in the same order, and no others."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import SocketPeer
from tests.hub.socket_uis import ViewV1

Json = Any


class RecordedFrame(NamedTuple):
    """A frame of the recording, or the peer hanging up."""

    n: int
    link: str  # agent or ui
    way: str  # in: to the Core; out: from it; close
    text: str


def lines(wire: Path) -> Iterator[RecordedFrame]:
    for text in (wire / "session.jsonl").read_text(encoding="utf-8").splitlines():
        yield RecordedFrame(**json.loads(text))


def unpacked(data: str) -> Json:
    return json.loads(zlib.decompress(base64.b64decode(data)))


#: Where ids stand; the Core makes some of them.
IDS = {"uuid", "run", "haltedAt", "event_id"}
#: When the recorded run ended: by the Core's clock, and the only time that is.
ENDED = "2026-11-21T21:10:26+0000"


def items(value: dict[str, Json] | list[Json]) -> dict[Any, Json]:
    """What a container has at which place."""
    return value if isinstance(value, dict) else dict(enumerate(value))


class Replay:
    """The recording against a Core. `ids` has ours for each id that the original's Core made."""

    def __init__(self, socket_harness: SocketHarness) -> None:
        self.stand = socket_harness
        self.ids: dict[str, str] = {}
        self.peers: dict[str, SocketPeer] = {}

    def play(self, line: RecordedFrame) -> None:
        # Each snapshot of the recording greets a connection of its own.
        if "init_app_state" in line.text:
            self.peers["ui"] = ViewV1(self.stand.socket(self.stand.core.ui_port))
        elif line.link not in self.peers:
            self.peers["agent"] = self.stand.agent(1)
        peer = self.peers[line.link]
        match line.way:
            case "in":
                peer.send(self.translate(line.text))
            case "out":
                self.compare(line, json.loads(line.text), peer.receive())
            case "close":
                peer.disconnect()

    def translate(self, text: str) -> str:
        for theirs, ours in self.ids.items():
            text = text.replace(theirs, ours)
        return text

    def compare(self, line: RecordedFrame, theirs: Json, ours: Json, key: str = "") -> None:
        """Compare two values of the same place."""
        where = f"n={line.n}, {key}: {theirs!r} and {ours!r}"
        if isinstance(theirs, dict | list):
            assert type(ours) is type(theirs), where
            theirs, ours = items(theirs), items(ours)
            assert theirs.keys() == ours.keys(), where
            for each in theirs:
                self.compare(line, theirs[each], ours[each], each if isinstance(each, str) else key)
        elif key in IDS and isinstance(theirs, str):
            assert ours == theirs or self.ids.setdefault(theirs, ours) == ours, where
        elif theirs == ENDED:
            assert ours.endswith("+0000"), where
        elif key == "agentState" and theirs is None:
            assert ours == "Agent running...", where  # the original forgets it after the start
        elif key == "data" and str(theirs).startswith("eJ"):
            self.compare_files(line, unpacked(theirs), unpacked(ours))
        else:
            assert theirs == ours, where

    def compare_files(self, line: RecordedFrame, theirs: Json, ours: Json) -> None:
        """Compare two exports: only the last event is the Core's own."""
        last, other = theirs["events"].pop(), ours["events"].pop()
        self.compare(line, theirs, ours)
        assert last["type"] == other["type"]
        assert last["breakpoints"][0]["summary"] == other["breakpoints"][0]["summary"]


def test_the_recorded_session(socket_harness: SocketHarness, wire: Path) -> None:
    replay = Replay(socket_harness)
    for line in lines(wire):
        replay.play(line)
    # And nothing more was sent: the next that comes is the answer to what we ask now.
    ui = replay.peers["ui"]
    assert isinstance(ui, ViewV1)
    ui.send_event("nap", {})
    assert ui.receive()["content"]["code"] == "unknown_command"


def test_the_recorded_run_is_imported_shown_and_exported(
    socket_harness: SocketHarness, wire: Path
) -> None:
    recorded = (wire / "recorded.run").read_text()
    ui = socket_harness.ui(1)
    assert isinstance(ui, ViewV1)
    ui.send_event("import_run", {"data": recorded})
    run = ui.receive_event("new_run")["run"]
    shown = next(
        json.loads(line.text)["content"]["run"]
        for line in lines(wire)
        if line.n == 55  # what the original showed
    )
    assert run | {"uuid": ""} == shown | {"uuid": ""}
    exported = unpacked(ui.download(run["uuid"])["data"])
    assert exported == unpacked(recorded) | {"uuid": run["uuid"]}
    assert run["uuid"] != shown["uuid"]


def test_the_recorded_run_in_a_view_of_version_2(socket_harness: SocketHarness, wire: Path) -> None:
    ui = socket_harness.ui(2)
    run = ui.request("import_run", data=(wire / "recorded.run").read_text())["run"]["id"]
    opened = ui.open_run(run)
    assert opened["run"]["state"] == "idle"
    assert [row["seq"] for row in opened["rows"]] == [1, 2, 3, 4, 5, 6, 7]
    assert [commit["title"] for commit in opened["commits"]] == [
        "Initialized repository",
        "Add b.txt",
    ]
    (_, change, _) = opened["commits"][1]["changes"]
    assert (change["path"], change["body"], change["added"]) == ("a.txt", None, 1)
    body = ui.request("get_change", run=run, commit=opened["commits"][1]["id"], path="a.txt")
    assert body["body"]["content"] == "one\nmore\n"
    edited = ui.request("get_message", run=run, message=opened["rows"][1]["id"])
    assert json.loads(edited["edit"]) == {"messages": [{"role": "user", "content": "edited"}]}
    exported = unpacked(ui.request("export_run", run=run)["data"])
    assert exported == unpacked((wire / "recorded.run").read_text()) | {"uuid": run}
