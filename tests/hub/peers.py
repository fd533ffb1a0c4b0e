"""Agents and UIs of both versions, scripted over real sockets, so that a test reads like a conversation.

Every peer answers to the same few verbs, whatever its version: an agent asks, hears, replies and leaves;
a UI finds a run, waits until it is halted, steps, edits, continues and halts.
"""

from __future__ import annotations

import json
import uuid
from abc import ABC, abstractmethod
from typing import Any, Final

from websockets.sync.client import ClientConnection

#: Seconds after which a test that waits for what never comes fails.
PATIENCE: Final = 30

Json = Any


def new_id() -> str:
    return str(uuid.uuid4())


class Peer:
    """One end of a socket."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    def say(self, text: str | bytes) -> None:
        """Send a frame as it is."""
        self.socket.send(text)

    def hear_text(self) -> str:
        text = self.socket.recv(timeout=PATIENCE)
        assert isinstance(text, str)
        return text

    def hear(self) -> Json:
        """The next message."""
        return json.loads(self.hear_text())

    def hang_up(self) -> None:
        self.socket.close()


class Agent(Peer, ABC):
    """A program with events. The newest event is the one that is meant."""

    event: str

    @abstractmethod
    def start(self, program: str = "P") -> None:
        """The program starts; its first breakpoint is not sent."""

    @abstractmethod
    def begin(self, kind: str = "llm_query", data: Json = None) -> str:
        """An event begins."""

    @abstractmethod
    def reach(self, data: Json, event: str | None = None, **fields: Json) -> str:
        """The begin, or after it the end, of an event is reached, and waits."""

    @abstractmethod
    def answer(self) -> Json:
        """The next message is an answer: the data to go on with."""

    @abstractmethod
    def error(self) -> Json:
        """The next message is an error."""

    @abstractmethod
    def commit(self, title: str = "Change") -> str:
        """The workspace was committed."""

    def ask(self, prompt: Json = "hello") -> str:
        """Begin a query and reach its begin, which waits."""
        self.begin()
        return self.reach(prompt)

    def call(self, tool: str = "ls", argument: Json = None) -> str:
        self.begin("tool_invocation")
        return self.reach({"Tool": tool, "Argument": argument})

    def post(self, text: str) -> None:
        """Post a debug message."""
        self.begin("debug_message", text)

    @abstractmethod
    def finish(self) -> None:
        """The program ends and says so."""


class AgentV1(Agent):
    """As the original's API speaks."""

    def send(self, message: str, data: Json) -> None:
        self.say(json.dumps({"message": message, "data": data}))

    def start(self, program: str = "P") -> None:
        self.begin("program_started", program)

    def begin(self, kind: str = "llm_query", data: Json = None, **fields: Json) -> str:
        self.event = new_id()
        event = {"uuid": self.event, "type": kind.upper(), "time": 1e9, "data": data}
        self.send("event", event | {"breakpoints": []} | fields)
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
        self.send("breakpoint", point)
        return point["uuid"]

    def answer(self) -> Json:
        message = self.hear()
        assert message["message"] == "breakpoint", message
        point = message["data"]
        edit = point["modified_data"]
        return point["original_data"] if edit is None else edit

    def error(self) -> Json:
        message = self.hear()
        assert message["message"] == "error", message
        return message["data"]

    def commit(self, title: str = "Change", **fields: Json) -> str:
        commit = {"id": uuid.uuid4().hex, "date": 1e9, "title": title, "changes": []} | fields
        self.send("commit", commit)
        return commit["id"]

    def finish(self) -> None:
        self.begin("program_finished")


class AgentV2(Agent):
    """As our SDK speaks."""

    run: str

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self._sent = 0
        self._begun: set[str] = set()

    def send(self, type: str, **body: Json) -> int:
        self._sent += 1
        self.say(json.dumps({"n": self._sent, "type": type, "body": body}))
        return self._sent

    def hello(self, program: str = "P", **fields: Json) -> None:
        self.run = new_id()
        hello = {"version": 2, "sdk": "test", "program": program, "run": self.run, "secret": "s"}
        self.send("hello", **hello | {"pid": 1, "host": "h", "boot": ""} | fields)

    def start(self, program: str = "P") -> None:
        self.hello(program)
        assert self.hear()["type"] == "welcome"
        self.begin("program_started", program)

    def begin(self, kind: str = "llm_query", data: Json = None, **fields: Json) -> str:
        self.event = new_id()
        event = {"id": self.event, "kind": kind, "at": 1e9, "clock": 1.0, "data": data}
        self.send("event", **event | fields)
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
        self.send("breakpoint", **point)
        self._data = data
        return point["id"]

    def answered(self) -> Json:
        """The next message is an answer: how, and to what."""
        message = self.hear()
        assert message["type"] == "answer", message
        return message["body"]

    def answer(self) -> Json:
        how = self.answered()["answer"]
        assert how["kind"] == "resume", how
        return how.get("data", self._data)

    def error(self) -> Json:
        message = self.hear()
        assert message["type"] == "error", message
        return message["body"]

    def commit(self, title: str = "Change", **fields: Json) -> str:
        commit = {"id": uuid.uuid4().hex, "at": 1e9, "title": title} | fields
        self.send("commit", **commit)
        return commit["id"]

    def withdraw(self, breakpoint: str) -> None:
        self.send("withdraw", breakpoint=breakpoint)

    def finish(self, ending: str = "finished", **fields: Json) -> None:
        self.send("bye", ending=ending, **fields)


class Ui(Peer, ABC):
    """A person at a view. It remembers the runs it was told of, by their id."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self.runs: dict[str, Json] = {}

    @abstractmethod
    def greet(self) -> None:
        """Take the snapshot."""

    @abstractmethod
    def learn(self, message: Json) -> None:
        """Take in one message that tells something."""

    @abstractmethod
    def pending(self, run: str) -> str | None:
        """The message that a run is halted at, as told so far."""

    @abstractmethod
    def act(self, what: str, **fields: Json) -> None:
        """Give a command by version 1's name, and wait until it is carried out."""

    @abstractmethod
    def refused(self, what: str, **fields: Json) -> Json:
        """Give a command that is answered by an error: code, message and run."""

    @abstractmethod
    def error(self) -> Json:
        """The next answer is an error that belongs to no command."""

    @abstractmethod
    def edit(self, run: str, message: str, value: Json) -> None:
        """Set an edit."""

    def find(self, program: str) -> str:
        """The newest run of a program, once told."""
        while True:
            found = [id for id, run in self.runs.items() if self.program(run) == program]
            if found:
                return found[-1]
            self.learn(self.hear())

    @staticmethod
    def program(run: Json) -> str:
        return str(run.get("program") or run.get("programName"))

    def until(self, run: str, state: str) -> Json:
        """Wait until a run is told to be in a state: its header."""
        while self.runs.get(run, {}).get("state") != state:
            self.learn(self.hear())
        return self.runs[run]

    def halted(self, run: str, message: str | None = None) -> str:
        """Wait until a run is halted (at that message, where one is named): the message."""
        while (pending := self.pending(run)) is None or message not in (None, pending):
            self.learn(self.hear())
        return pending

    def step(self, run: str) -> None:
        self.act("step", run=run)

    def resume(self, run: str) -> None:
        self.act("continue", run=run)

    def halt(self, run: str) -> None:
        self.act("halt", run=run)


class UiV1(Ui):
    """As the original's web UI speaks."""

    def greet(self) -> None:
        self.learn(self.hear())

    def send(self, event: str, content: Json) -> None:
        self.say(json.dumps({"event": event, "content": content}))

    def learn(self, message: Json) -> None:
        content = message["content"]
        match message["event"]:
            case "init_app_state":
                self.runs = {run["uuid"]: run for run in content["runs"]}
                self.active, self.halted_at = content["activeRun"], content["haltedAt"]
            case "new_run":
                self.runs[content["run"]["uuid"]] = content["run"]
            case "update_run_state":
                run = self.runs[content["run"]]
                run |= {key: content[key] for key in ("state", "agentState", "haltedAt")}
            case "new_message":
                self.runs[content["run"]]["messages"].append(content["message"])
            case "new_commit":
                self.runs[content["run"]]["commits"].append(content["commit"])
            case "error":
                raise AssertionError(content)

    def pending(self, run: str) -> str | None:
        return self.runs.get(run, {}).get("haltedAt")

    def hear_event(self, event: str) -> Json:
        """The next message of an event; what is told before it is learned."""
        while (message := self.hear())["event"] != event:
            self.learn(message)
        return message["content"]

    def act(self, what: str, **fields: Json) -> None:
        self.send(what, fields)
        self.barrier()

    def barrier(self) -> None:
        """Wait until all that was sent is carried out: a command that nobody knows tells when."""
        assert self.refused("barrier")["code"] == "unknown_command"

    def refused(self, what: str, **fields: Json) -> Json:
        self.send(what, fields)
        return self.error()

    def error(self) -> Json:
        return self.hear_event("error")

    def edit(self, run: str, message: str, value: Json) -> None:
        self.act("update_msg_content", run=run, message=message, content=value)

    def download(self, run: str) -> Json:
        self.send("download_run_request", {"run": run})
        return self.hear_event("run_export")


class UiV2(Ui):
    """As our view speaks."""

    NAMES: Final = {"download_run_request": "export_run", "update_msg_content": "edit"}

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self._sent = 0
        self.rows: dict[str, Json] = {}  # of opened runs, by id
        self.commits: list[Json] = []

    def greet(self) -> None:
        self.hello = self.command("hello", version=2, client="test")
        self.runs = {run["id"]: run for run in self.hello["runs"]}

    def give(self, type: str, **body: Json) -> str:
        """Send a command: its id."""
        self._sent += 1
        id = f"c{self._sent}"
        self.say(json.dumps({"n": self._sent, "type": type, "id": id, "body": body}))
        return id

    def result(self, id: str | None) -> Json:
        """The answer to a command; what is told before it is learned."""
        while (message := self.hear()).get("id") != id:
            self.learn(message)
        return message

    def command(self, type: str, **body: Json) -> Json:
        """Give a command that is carried out: its answer."""
        message = self.result(self.give(type, **body))
        assert message["type"] != "error", message
        return message["body"]

    def learn(self, message: Json) -> None:
        body = message["body"]
        match message["type"]:
            case "run":
                self.runs[body["run"]["id"]] = body["run"]
            case "run_gone":
                del self.runs[body["run"]]
            case "row":
                self.rows[body["row"]["id"]] = body["row"]
            case "commit":
                self.commits.append(body["commit"])
            case "error":
                raise AssertionError(body)

    def pending(self, run: str) -> str | None:
        return next(iter(self.runs.get(run, {}).get("pending", ())), None)

    def open(self, run: str) -> Json:
        opened = self.command("open_run", run=run)
        self.rows |= {row["id"]: row for row in opened["rows"]}
        return opened

    def act(self, what: str, **fields: Json) -> None:
        self.command(self.NAMES.get(what, what), **fields)

    def refused(self, what: str, **fields: Json) -> Json:
        message = self.result(self.give(self.NAMES.get(what, what), **fields))
        assert message["type"] == "error", message
        return message["body"]

    def error(self) -> Json:
        while (message := self.hear())["type"] != "error":
            self.learn(message)
        return message["body"]

    def barrier(self) -> None:
        self.command("close_run", run="")

    def edit(self, run: str, message: str, value: Json) -> None:
        body = self.command("get_message", run=run, message=message)
        revision = body["revision"]
        self.command("edit", run=run, breakpoint=message, revision=revision, edit=json.dumps(value))
