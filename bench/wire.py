"""What a conversation that grows takes on the wire: from its agent, and to a view that looks at it."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from msgspec import Struct
from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from agentstepper_nb import AgentStepper
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import EventKind, EventSide, TimelineRow
from agentstepper_nb.protocol.delta_decoding import decode_contents
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL, VERSION

from .access import CONTROL, TOKENS
from .conversations_text import CONVERSATIONS, ConversationMakers, TextTurn, count_new_bytes
from .measured_server import start_process

#: Bytes that are passed on at once.
_READ_BYTES = 1 << 16


@dataclass(frozen=True)
class WireCost:
    """What a conversation took."""

    name: str  # what happened to it beside that it grew
    turns: int
    new_bytes: int  # bytes that were said for the first time
    agent_bytes: int  # from the agent to the Core
    view_bytes: int  # from the Core to a view, each prompt looked at


class Relay:
    """Passes one connection on to a port, and counts what passes."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self.bytes_up = 0  # bytes, to that port
        self.bytes_down = 0
        self._threads = [threading.Thread(target=self._run, daemon=True)]

    def __enter__(self) -> Relay:
        self._threads[0].start()
        return self

    def __exit__(self, *error: object) -> None:
        self._listening.close()
        for thread in self._threads:
            thread.join()

    def _run(self) -> None:
        near, _ = self._listening.accept()
        with near, socket.create_connection(("127.0.0.1", self._target)) as far:
            back = threading.Thread(target=self._pump, args=(far, near, "bytes_down"))
            back.start()
            self._pump(near, far, "bytes_up")
            back.join()

    def _pump(self, source: socket.socket, sink: socket.socket, way: str) -> None:
        with suppress(OSError):
            while data := source.recv(_READ_BYTES):
                setattr(self, way, getattr(self, way) + len(data))
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)


class View:
    """A view that lets all agents go on, and looks at what they sent."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._decoder = DeltaDecoder()
        self._sent = 0
        self._request(ui.UiHello(version=VERSION, client="bench"))

    def resume_first_run(self) -> str:
        """Wait until a run halts, and let it; the run."""
        while True:
            _, message = self._receive()
            if isinstance(message, ui.RunChanged) and message.run.pending:
                self._request(ui.ContinueRun(run=message.run.id))
                return message.run.id

    def list_prompts(self, run: str) -> list[TimelineRow]:
        """The prompts of a run."""
        rows = self._request(ui.ReadRun(run=run)).rows
        return [
            row for row in rows if (row.kind, row.side) == (EventKind.LLM_QUERY, EventSide.BEGIN)
        ]

    def get_text(self, run: str, row: TimelineRow) -> str:
        """Look at a message."""
        body: ui.MessageBody = self._request(ui.GetMessage(run=run, message=row.id))
        return body.data

    def _request(self, command: Struct) -> Any:
        self._sent += 1
        id = f"c{self._sent}"
        self._socket.send(ui.from_ui.encode(command, self._sent, id))
        while True:
            answers, message = self._receive()
            if answers == id:
                return message

    def _receive(self) -> tuple[object, Struct]:
        envelope, message = ui.to_ui.decode(self._socket.recv())
        return envelope.id, decode_contents(message, self._decoder)


def measure(turns: int, conversations: ConversationMakers = CONVERSATIONS) -> list[WireCost]:
    """Measure conversations.

    Args:
        turns: Of each.
        conversations: Which ones.
    """
    return [_measure_one(name, list(talk(turns))) for name, talk in conversations.items()]


def _measure_one(name: str, turns: list[TextTurn]) -> WireCost:
    with ExitStack() as stack:
        client_port, ui_port = json.loads(stack.enter_context(start_process("server", "relaxed")))
        agents, views = (stack.enter_context(Relay(port)) for port in (client_port, ui_port))
        with _connect_view(views.port) as view:
            run = _run_agent(agents.port, turns, view)
            prompts = view.list_prompts(run)
            before = views.bytes_down
            shown = [json.loads(view.get_text(run, row)) for row in prompts]
            after = views.bytes_down
    assert shown == [turn.prompt for turn in turns]
    return WireCost(name, len(turns), count_new_bytes(turns), agents.bytes_up, after - before)


@contextmanager
def _connect_view(port: int) -> Iterator[View]:
    with connect(
        f"ws://127.0.0.1:{port}",
        additional_headers=CONTROL,
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        compression=None,
        max_size=MAX_MESSAGE_BYTES,
        proxy=None,
    ) as socket:
        yield View(socket)


def _run_agent(port: int, turns: Iterable[TextTurn], view: View) -> str:
    """Let an agent have a conversation; its run."""
    going: list[str] = []
    letting = threading.Thread(target=lambda: going.append(view.resume_first_run()))
    letting.start()
    with AgentStepper("bench", "127.0.0.1", port, token=TOKENS.agent) as dbg:
        letting.join()
        for number, turn in enumerate(turns):
            with dbg.llm(turn.prompt) as query:
                query.response = turn.raw_answer or turn.answer
            if turn.result is not None:
                with dbg.tool("read", {"path": f"file_{number}.txt"}) as tool:
                    tool.result = turn.result
    return going[0]
