"""A whole session of version 2, replayed: our agent and a view as they spoke when it was recorded.

`tests/goldens/version2.jsonl` has each frame of both connections, in the order in which they passed. The
client's half is sent again, and what the Core says is compared, but for times and ids of its own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from websockets.sync.client import ClientConnection

from tests.hub.conftest import SocketHarness
from tests.hub.socket_agents import TIMEOUT_S

Json = Any

RECORDED = Path(__file__).parents[1] / "goldens" / "version2.jsonl"
#: What is the Core's own, or that of the machine that it runs on.
OWN = frozenset({"core", "store", "n"})


def normalised(value: Json, key: str = "") -> Json:
    """A value without times, and without what is the Core's own."""
    if isinstance(value, dict):
        return {each: normalised(value[each], each) for each in value if each not in OWN}
    if isinstance(value, list):
        return [normalised(each) for each in value]
    is_time = key == "duration" or key.endswith(("at", "_s"))
    return 0 if is_time and isinstance(value, float) else value


class ReceivedMessages:
    """What one peer has heard: the newest of each thing that is pushed, and all else in order."""

    def __init__(self, ids: dict[str, str]) -> None:
        self.pushed: dict[str, Json] = {}
        self.rest: list[Json] = []
        self._ids = ids

    def receive(self, text: str) -> None:
        for ours, theirs in self._ids.items():
            text = text.replace(ours, theirs)
        message = json.loads(text)
        kind, body = message["type"], message["body"]
        if kind == "acknowledged":
            return  # when one comes is up to the clock
        if kind in ("row", "run"):
            self.pushed[f"{kind} {body[kind].get('seq', '')}"] = normalised(without_ids(body))
        else:
            self.rest.append(normalised(without_ids(message)))

    def __eq__(self, other: object) -> bool:
        assert isinstance(other, ReceivedMessages)
        return (self.pushed, self.rest) == (other.pushed, other.rest)

    __hash__ = None  # type: ignore[assignment]


def without_ids(value: Json) -> Json:
    """A value without the id of the row that the Core makes at a run's end."""
    if isinstance(value, dict):
        made = value.get("kind") == "program_finished"
        return {
            key: "made" if made and key in ("id", "event") else without_ids(each)
            for key, each in value.items()
        }
    return [without_ids(each) for each in value] if isinstance(value, list) else value


class Replay:
    """The recording against a Core."""

    def __init__(self, socket_harness: SocketHarness) -> None:
        assert socket_harness.core.ui_port is not None
        self._ports = {
            "agent": socket_harness.core.client_port,
            "view": socket_harness.core.ui_port,
        }
        self._stand = socket_harness
        self._sockets: dict[str, ClientConnection] = {}
        self._ids: dict[str, str] = {}  # of the Core's own making: ours, and the recording's
        self._theirs = {link: ReceivedMessages({}) for link in self._ports}
        self._ours = {link: ReceivedMessages(self._ids) for link in self._ports}

    def play(self, link: str, way: str, text: str) -> None:
        if way == "out":
            self._theirs[link].receive(text)
            return
        self._catch_up()
        if way == "close":
            self._sockets[link].close()
            return
        if link not in self._sockets:
            self._sockets[link] = self._stand.socket(self._ports[link], 2)
        for ours, theirs in self._ids.items():
            text = text.replace(theirs, ours)
        self._sockets[link].send(text)

    def _catch_up(self) -> None:
        """Hear on both connections until all that the recording's peers heard was heard."""
        for link, theirs in self._theirs.items():
            ours = self._ours[link]
            while ours != theirs:
                self._receive(link, ours, theirs)

    def _receive(self, link: str, ours: ReceivedMessages, theirs: ReceivedMessages) -> None:
        try:
            text = self._sockets[link].recv(timeout=TIMEOUT_S)
        except TimeoutError:
            assert (ours.pushed, ours.rest) == (theirs.pushed, theirs.rest)
            raise
        assert isinstance(text, str)
        message = json.loads(text)
        if message["type"] == "check_edit":
            asked = [each for each in theirs.rest if each["type"] == "check_edit"]
            self._ids[message["body"]["check"]] = asked[-1]["body"]["check"]
        ours.receive(text)


def test_the_recorded_session_of_version_2(socket_harness: SocketHarness) -> None:
    replay = Replay(socket_harness)
    for line in RECORDED.read_text(encoding="utf-8").splitlines():
        replay.play(**json.loads(line))
