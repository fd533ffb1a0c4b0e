"""An agent of version 2 that does what a test tells it, one message at a time."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from typing import Any
from uuid import uuid4

from msgspec import Raw, Struct
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import agent as wire
from agentstepper_nb.protocol.answers import Answer, ResumeAnswer
from agentstepper_nb.protocol.data_model import (
    ApprovalPrompt,
    EventKind,
    EventSide,
    FileChange,
    RunEnding,
)
from agentstepper_nb.protocol.envelope import SUBPROTOCOL, VERSION
from tests.helpers.auth_headers import agent_headers, bearer_headers


class SocketAgent:
    """A connected agent, its run begun but not halted yet."""

    def __init__(self, url: str, program: str = "demo", token: str | None = None) -> None:
        headers = bearer_headers(token) if token else agent_headers(url)
        self._open = ExitStack()
        self._socket = self._open.enter_context(
            connect(
                url,
                subprotocols=[Subprotocol(SUBPROTOCOL)],
                additional_headers=headers,
                compression=None,
                proxy=None,
            )
        )
        self._sent = 0
        self.is_edit_sticky = False  # whether the last answer's edit is to hold in later prompts
        self.run = str(uuid4())
        self._send(
            wire.Hello(
                version=VERSION,
                sdk="test",
                program=program,
                run=self.run,
                secret="s",
                pid=os.getpid(),
                host="here",
                boot="",
                can_stick_edits=True,
            )
        )
        self._receive(wire.Welcome)

    def begin(self, kind: EventKind, name: str | None = None, data: Any = None) -> str:
        """Begin an event and return its id; `data` makes it a debug message."""
        event = str(uuid4())
        body = {} if data is None else {"data": Raw(json.dumps(data).encode())}
        self._send(wire.EventBegun(id=event, kind=kind, at=1.0, clock=1.0, name=name, **body))
        return event

    def reach(
        self,
        event: str,
        side: EventSide,
        data: str,
        waits: bool = True,
        approval: ApprovalPrompt | None = None,
    ) -> str:
        """Reach a halt point, with its JSON text, and return its id."""
        id = str(uuid4())
        self._send(
            wire.HaltPointReached(
                id=id,
                event=event,
                side=side,
                waits=waits,
                at=1.0,
                clock=1.0,
                data=Raw(data.encode()),
                approval=approval,
            )
        )
        return id

    def receive_answer(self) -> str:
        """Wait for an answer: `resume`, the JSON text of an edit, or `stop`."""
        answered = self.receive_whole_answer()
        if isinstance(answered, ResumeAnswer):
            self.is_edit_sticky = answered.sticky
            text = bytes(answered.data).decode() if isinstance(answered.data, Raw) else "resume"
            return text
        return type(answered).__name__.removesuffix("Answer").lower()

    def receive_whole_answer(self) -> Answer:
        answered: Answer = self._receive(wire.AnswerMessage).answer
        return answered

    def begin_query(self, prompt: Any) -> str:
        """Begin an LLM query and reach its begin; the query's event."""
        event = self.begin(EventKind.LLM_QUERY)
        self.reach(event, EventSide.BEGIN, json.dumps(prompt))
        return event

    def begin_tool_call(self, tool: str, **arguments: Any) -> str:
        """Begin a tool invocation and reach its begin; the invocation's event."""
        event = self.begin(EventKind.TOOL_INVOCATION, tool)
        self.reach(event, EventSide.BEGIN, json.dumps({"Tool": tool, "Argument": arguments}))
        return event

    def commit(self, title: str, *changes: FileChange) -> None:
        """Say that files changed."""
        self._send(wire.CommitMade(id=uuid4().hex, at=1.0, title=title, changes=changes))

    def send_bye(self, ending: RunEnding = RunEnding.FINISHED) -> None:
        """Say goodbye."""
        self._send(wire.Bye(ending=ending))
        self.close()

    def close(self) -> None:
        self._open.close()

    def _send(self, message: Struct) -> None:
        self._sent += 1
        self._socket.send(wire.from_agent.encode(message, self._sent))

    def _receive(self, kind: type) -> Any:
        while True:
            _, message = wire.to_agent.decode(self._socket.recv(timeout=30))
            if isinstance(message, kind):
                return message
            assert not isinstance(message, wire.AgentError), message
