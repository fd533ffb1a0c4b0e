"""UIs of both versions, scripted over real sockets; `peers` has the agents."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from typing import Final

import msgspec
from websockets.sync.client import ClientConnection

from agentstepper_nb.protocol.delta_encoding import DeltaDecoder, EncodedContent
from tests.hub.socket_agents import Json, SocketPeer


class SocketView(SocketPeer, ABC):
    """A person at a view. It remembers the runs it was told of, by their id."""

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self.runs: dict[str, Json] = {}

    @abstractmethod
    def connect(self) -> None:
        """Take the snapshot."""

    @abstractmethod
    def apply(self, message: Json) -> None:
        """Take in one message that tells something."""

    @abstractmethod
    def pending(self, run: str) -> str | None:
        """The message that a run is halted at, as told so far."""

    @abstractmethod
    def run_command(self, what: str, **fields: Json) -> None:
        """Give a command by version 1's name, and wait until it is carried out."""

    @abstractmethod
    def expect_refusal(self, what: str, **fields: Json) -> Json:
        """Give a command that is answered by an error: code, message and run."""

    @abstractmethod
    def receive_error(self) -> Json:
        """The next answer is an error that belongs to no command."""

    @abstractmethod
    def edit(self, run: str, message: str, value: Json) -> None:
        """Set an edit."""

    def find_run(self, program: str) -> str:
        """The newest run of a program, once told."""
        while True:
            found = [id for id, run in self.runs.items() if self.program(run) == program]
            if found:
                return found[-1]
            self.apply(self.receive())

    @staticmethod
    def program(run: Json) -> str:
        return str(run.get("program") or run.get("programName"))

    def wait_for_state(self, run: str, state: str) -> Json:
        """Wait until a run is told to be in a state: its header."""
        while self.runs.get(run, {}).get("state") != state:
            self.apply(self.receive())
        return self.runs[run]

    def wait_until_halted(self, run: str, message: str | None = None) -> str:
        """Wait until a run is halted (at that message, where one is named): the message."""
        while (pending := self.pending(run)) is None or message not in (None, pending):
            self.apply(self.receive())
        return pending

    def step(self, run: str) -> None:
        self.run_command("step", run=run)

    def resume(self, run: str) -> None:
        self.run_command("continue", run=run)

    def halt(self, run: str) -> None:
        self.run_command("halt", run=run)


class ViewV1(SocketView):
    """As the original's web UI speaks."""

    def connect(self) -> None:
        self.apply(self.receive())

    def send_event(self, event: str, content: Json) -> None:
        self.send(json.dumps({"event": event, "content": content}))

    def apply(self, message: Json) -> None:
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

    def receive_event(self, event: str) -> Json:
        """The next message of an event; what is told before it is learned."""
        while (message := self.receive())["event"] != event:
            self.apply(message)
        return message["content"]

    def run_command(self, what: str, **fields: Json) -> None:
        self.send_event(what, fields)
        self.barrier()

    def barrier(self) -> None:
        """Wait until all that was sent is carried out: a command that nobody knows tells when."""
        assert self.expect_refusal("barrier")["code"] == "unknown_command"

    def expect_refusal(self, what: str, **fields: Json) -> Json:
        self.send_event(what, fields)
        return self.receive_error()

    def receive_error(self) -> Json:
        return self.receive_event("error")

    def edit(self, run: str, message: str, value: Json) -> None:
        self.run_command("update_msg_content", run=run, message=message, content=value)

    def download(self, run: str) -> Json:
        self.send_event("download_run_request", {"run": run})
        return self.receive_event("run_export")


class ViewV2(SocketView):
    """As our view speaks."""

    NAMES: Final = {"download_run_request": "export_run", "update_msg_content": "edit"}

    def __init__(self, socket: ClientConnection) -> None:
        super().__init__(socket)
        self._sent = 0
        self.rows: dict[str, Json] = {}  # of opened runs, by id
        self.commits: list[Json] = []
        self._decoder = DeltaDecoder()

    def receive(self) -> Json:
        """The next message, its contents as they were before they travelled in pieces."""
        message = super().receive()
        if message["type"] == "message" and message["body"]["pieces"] is not None:
            pieces = msgspec.convert(message["body"].pop("pieces"), EncodedContent)
            message["body"] |= {"data": self._decoder.decode(pieces).decode(), "pieces": None}
        return message

    def connect(self) -> None:
        self.core_hello = self.request("hello", version=2, client="test")
        self.runs = {run["id"]: run for run in self.core_hello["runs"]}

    def send_command(self, type: str, **body: Json) -> str:
        """Send a command: its id."""
        self._sent += 1
        id = f"c{self._sent}"
        self.send(json.dumps({"n": self._sent, "type": type, "id": id, "body": body}))
        return id

    def receive_result(self, id: str | None) -> Json:
        """The answer to a command; what is told before it is learned."""
        while (message := self.receive()).get("id") != id:
            self.apply(message)
        return message

    def request(self, type: str, **body: Json) -> Json:
        """Give a command that is carried out: its answer."""
        message = self.receive_result(self.send_command(type, **body))
        assert message["type"] != "error", message
        return message["body"]

    def apply(self, message: Json) -> None:
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

    def open_run(self, run: str) -> Json:
        opened = self.request("open_run", run=run)
        self.rows |= {row["id"]: row for row in opened["rows"]}
        return opened

    def run_command(self, what: str, **fields: Json) -> None:
        self.request(self.NAMES.get(what, what), **fields)

    def expect_refusal(self, what: str, **fields: Json) -> Json:
        message = self.receive_result(self.send_command(self.NAMES.get(what, what), **fields))
        assert message["type"] == "error", message
        return message["body"]

    def receive_error(self) -> Json:
        while (message := self.receive())["type"] != "error":
            self.apply(message)
        return message["body"]

    def barrier(self) -> None:
        self.request("close_run", run="")

    def edit(self, run: str, message: str, value: Json) -> None:
        body = self.request("get_message", run=run, message=message)
        revision = body["revision"]
        self.request("edit", run=run, breakpoint=message, revision=revision, edit=json.dumps(value))
