"""Agents of both versions, scripted over real sockets, so that a test reads like a conversation.

Every peer answers to the same few verbs, whatever its version: an agent starts, asks, hears its answer
and finishes; a UI (in `uis`) finds a run, waits until it is halted, steps, edits, continues and halts.
"""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from typing import Any, Final

from websockets.sync.client import ClientConnection

#: Seconds after which a test that waits for what never comes fails.
TIMEOUT_S: Final = 30

Json = Any


def new_id() -> str:
    return str(uuid.uuid4())


class SocketPeer:
    """One end of a socket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def send(self, text: str | bytes) -> None:
        """Send a frame as it is."""
        self.socket.send(text)

    def receive_text(self) -> str:
        text = self.socket.recv(timeout=TIMEOUT_S)
        assert isinstance(text, str)
        return text

    def receive(self) -> Json:
        """The next message."""
        return json.loads(self.receive_text())

    def disconnect(self) -> None:
        self.socket.close()


class SocketAgent(SocketPeer, ABC):
    """A program with events. The newest event is the one that is meant."""

    event: str

    @abstractmethod
    def start(self, program: str = "P") -> None:
        """The program starts; its first halt point is not sent."""

    @abstractmethod
    def begin(self, kind: str = "llm_query", data: Json = None) -> str:
        """An event begins."""

    @abstractmethod
    def reach(self, data: Json, event: str | None = None, **fields: Json) -> str:
        """The begin, or after it the end, of an event is reached, and waits."""

    @abstractmethod
    def receive_answer(self) -> Json:
        """The next message is an answer: the data to go on with."""

    @abstractmethod
    def receive_error(self) -> Json:
        """The next message is an error."""

    @abstractmethod
    def commit(self, title: str = "Change") -> str:
        """The workspace was committed."""

    def begin_query(self, prompt: Json = "hello") -> str:
        """Begin a query and reach its begin, which waits."""
        self.begin()
        return self.reach(prompt)

    def begin_tool_call(self, tool: str = "ls", argument: Json = None) -> str:
        self.begin("tool_invocation")
        return self.reach({"Tool": tool, "Argument": argument})

    def post_debug_message(self, text: str) -> None:
        """Post a debug message."""
        self.begin("debug_message", text)

    @abstractmethod
    def finish(self) -> None:
        """The program ends and says so."""


class AgentV1(SocketAgent):
    """As the original's API speaks."""

    def send_message(self, message: str, data: Json) -> None:
        self.send(json.dumps({"message": message, "data": data}))

    def start(self, program: str = "P") -> None:
        self.begin("program_started", program)

    def begin(self, kind: str = "llm_query", data: Json = None, **fields: Json) -> str:
        self.event = new_id()
        event = {"uuid": self.event, "type": kind.upper(), "time": 1e9, "data": data}
        self.send_message("event", event | {"breakpoints": []} | fields)
        return self.event

    def reach(self, data: Json, event: str | None = None, **fields: Json) -> str:
        point = {
            "uuid": new_id(),
            "agent": "A",
            "event_id": event or self.event,
            "time": 1e9,
            "original_data": data,
            "modified_data": None,
            "summary": None,
        } | fields
        self.send_message("breakpoint", point)
        return point["uuid"]

    def receive_answer(self) -> Json:
        message = self.receive()
        assert message["message"] == "breakpoint", message
        point = message["data"]
        edit = point["modified_data"]
        return point["original_data"] if edit is None else edit

    def receive_error(self) -> Json:
        message = self.receive()
        assert message["message"] == "error", message
        return message["data"]

    def commit(self, title: str = "Change", **fields: Json) -> str:
        commit = {"id": uuid.uuid4().hex, "date": 1e9, "title": title, "changes": []} | fields
        self.send_message("commit", commit)
        return commit["id"]

    def finish(self) -> None:
        self.begin("program_finished")


class AgentV2(SocketAgent):
    """As our SDK speaks."""

    run: str

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self._sent = 0
        self._begun: set[str] = set()

    def next_number(self) -> int:
        self._sent += 1
        return self._sent

    def send_message(self, type: str, **body: Json) -> int:
        n = self.next_number()
        self.send(json.dumps({"n": n, "type": type, "body": body}))
        return n

    def receive_text(self) -> str:
        """The next message that is neither an acknowledgement nor a lease."""
        while json.loads(text := super().receive_text())["type"] in ("acknowledged", "lease"):
            pass
        return text

    def send_hello(self, program: str = "P", **fields: Json) -> None:
        self.run = new_id()
        hello = {"version": 2, "sdk": "test", "program": program, "run": self.run, "secret": "s"}
        self.send_message("hello", **hello | {"pid": 1, "host": "h", "boot": ""} | fields)

    def start(self, program: str = "P") -> None:
        self.send_hello(program)
        assert self.receive()["type"] == "welcome"
        self.begin("program_started", program)

    def begin(self, kind: str = "llm_query", data: Json = None, **fields: Json) -> str:
        self.event = new_id()
        event = {"id": self.event, "kind": kind, "at": 1e9, "clock": 1.0, "data": data}
        self.send_message("event", **event | fields)
        return self.event

    def reach(self, data: Json, event: str | None = None, **fields: Json) -> str:
        event = event or self.event
        point = {
            "id": new_id(),
            "event": event,
            "side": "end" if event in self._begun else "begin",
            "waits": True,
            "at": 1e9,
            "clock": 1.0,
            "data": data,
        } | fields
        self._begun.add(event)
        self.send_message("breakpoint", **point)
        self._data = data
        return point["id"]

    def receive_answer_body(self) -> Json:
        """The next message is an answer: how, and to what."""
        message = self.receive()
        assert message["type"] == "answer", message
        return message["body"]

    def receive_answer(self) -> Json:
        how = self.receive_answer_body()["answer"]
        assert how["kind"] == "resume", how
        return how.get("data", self._data)

    def receive_error(self) -> Json:
        message = self.receive()
        assert message["type"] == "error", message
        return message["body"]

    def commit(self, title: str = "Change", **fields: Json) -> str:
        commit = {"id": uuid.uuid4().hex, "at": 1e9, "title": title} | fields
        self.send_message("commit", **commit)
        return commit["id"]

    def withdraw(self, halt_point: str) -> None:
        self.send_message("withdraw", breakpoint=halt_point)

    def finish(self, ending: str = "finished", **fields: Json) -> None:
        self.send_message("bye", ending=ending, **fields)
