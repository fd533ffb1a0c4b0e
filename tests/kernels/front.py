"""A front end at a kernel: it runs cells, answers `input()`, and plays the messages of views."""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Callable
from typing import Any

import zmq

from tests.widgets.kernel import TIMEOUT_S, CellResult, Kernel

Message = dict[str, Any]


def plain(text: str) -> str:
    """A text without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


class Frontend:
    """Reads all that comes from a kernel while something is waited for.

    Args:
        kernel: The kernel.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.cells: dict[str, CellResult] = defaultdict(CellResult)  # by the request's id
        self.models: dict[str, Message] = {}  # the state of each widget, by its comm's id
        self.said: dict[tuple[str, str], deque[Message]] = defaultdict(deque)  # by comm and link
        self.asked: deque[str] = deque()  # prompts of input()
        self._client = kernel.client
        self._channels = {
            channel.socket: channel
            for channel in (
                self._client.iopub_channel,
                self._client.shell_channel,
                self._client.stdin_channel,
                self._client.control_channel,
            )
        }
        self._replies: dict[str, Message] = {}  # by the request's id
        self._idle: set[str] = set()

    # ---- cells --------------------------------------------------------------------------------------

    def start(self, code: str, *, can_ask: bool = True) -> str:
        """Send a cell; gives its id."""
        return str(self._client.execute(code, stop_on_error=False, allow_stdin=can_ask))

    def run_aside(self, code: str, subshell: str) -> CellResult:
        """Run code in a subshell, while a cell keeps the main thread."""
        content = {"code": code, "silent": False, "store_history": False, "allow_stdin": False}
        return self.wait_for_end(self._send("execute_request", content, subshell))

    def wait_for_end(self, id: str) -> CellResult:
        """Wait until a cell's reply and its last output before that came."""
        self.read_until(lambda: id in self._replies and id in self._idle)
        ran, reply = self.cells[id], self._replies[id]["content"]
        ran.status, ran.error = reply["status"], reply.get("ename")
        return ran

    def run(self, code: str) -> CellResult:
        """Run a cell to its end."""
        return self.wait_for_end(self.start(code))

    def has_ended(self, id: str) -> bool:
        """Whether a cell's reply came, as far as was read."""
        return id in self._replies

    def wait_for_print(self, id: str, text: str) -> None:
        """Wait until a cell has printed a text."""
        self.read_until(lambda: text in self.cells[id].text)

    def answer_input(self, text: str) -> str:
        """Wait until the kernel asks for input, and give it; gives the prompt."""
        self.read_until(lambda: bool(self.asked))
        self._client.input(text)
        return self.asked.popleft()

    # ---- views --------------------------------------------------------------------------------------

    def wait_for_model(self, id: str) -> str:
        """Wait for the view that a cell shows; gives its comm's id."""
        mime = "application/vnd.jupyter.widget-view+json"

        def shown() -> list[str]:
            displayed = [c for kind, c in self.cells[id].outputs if kind == "display_data"]
            views = [c["data"][mime]["model_id"] for c in displayed if mime in c["data"]]
            return [view for view in views if view in self.models]

        self.read_until(lambda: bool(shown()))
        return shown()[-1]

    def run_and_show(self, code: str) -> str:
        """Run a cell that shows a view; gives the id of its comm.

        To its end: what comes just while ipykernel 7.3 sends a reply may stay unread, and all that this
        front end sends after it.
        """
        id = self.start(code)
        self.wait_for_end(id)
        return self.wait_for_model(id)

    def post(self, comm: str, content: Any, subshell: str | None = None) -> None:
        """Send a custom message to a widget, as its view does."""
        data = {"method": "custom", "content": content}
        self._send("comm_msg", {"comm_id": comm, "data": data}, subshell)

    def close_comm(self, comm: str) -> None:
        """Take a widget's view away from this side."""
        self._send("comm_close", {"comm_id": comm, "data": {}}, None)

    def make_subshell(self) -> str:
        """Have the kernel make a subshell; gives its id."""
        message = self._client.session.msg("create_subshell_request", {})
        self._client.control_channel.send(message)
        id = message["header"]["msg_id"]
        self.read_until(lambda: id in self._replies)
        return str(self._replies[id]["content"]["subshell_id"])

    def _send(self, kind: str, content: Message, subshell: str | None) -> str:
        message = self._client.session.msg(kind, content)
        message["buffers"] = []
        if subshell is not None:
            message["header"]["subshell_id"] = subshell
        self._client.shell_channel.send(message)
        return str(message["header"]["msg_id"])

    # ---- reading ------------------------------------------------------------------------------------

    def read_until(self, told: Callable[[], bool]) -> None:
        """Read until something holds."""
        while not told():
            self._read()

    def _read(self) -> None:
        poller = zmq.Poller()
        for socket in self._channels:
            poller.register(socket, zmq.POLLIN)
        ready = poller.poll(TIMEOUT_S * 1000)
        assert ready, f"nothing came from the kernel in {TIMEOUT_S} s; so far: {dict(self.cells)}"
        for socket, _ in ready:
            self._store_message(self._channels[socket].get_msg(timeout=TIMEOUT_S))

    def _store_message(self, message: Message) -> None:
        kind, content = message["header"]["msg_type"], message["content"]
        parent = message["parent_header"].get("msg_id", "")
        if kind.endswith("_reply"):
            self._replies[parent] = message
        elif kind == "input_request":
            self.asked.append(content["prompt"])
        elif kind == "comm_open":
            self.models[content["comm_id"]] = content["data"]["state"]
        elif kind == "comm_msg":
            self._store_comm_message(content["comm_id"], content["data"])
        elif kind == "status":
            if content["execution_state"] == "idle":
                self._idle.add(parent)
        else:
            self.cells[parent].outputs.append((kind, content))

    def _store_comm_message(self, comm: str, data: Message) -> None:
        if data.get("method") == "custom":
            said = data["content"]
            self.said[comm, said["link"]].append(said)


class CommConnection:
    """A link of a view, which a person sits at.

    Args:
        front: The front end.
        comm: The widget's comm.
        subshell: Where its messages go; None is the main thread's.
        link: The view's name for it.
    """

    def __init__(
        self, front: Frontend, comm: str, subshell: str | None = None, link: str = "view"
    ) -> None:
        self._front = front
        self._comm = comm
        self._subshell = subshell
        self._link = link
        self._texts: deque[str] = deque()
        self._post("open")

    def send(self, text: str, /) -> None:
        """Send a text in parts, as a view does."""
        middle = len(text) // 2
        self._post("text", text=text[:middle], more=True)
        self._post("text", text=text[middle:])

    def recv(self, timeout: float) -> str:
        """Wait for a text."""
        while not self._texts:
            said = self.wait_for_message()
            assert said["op"] == "texts", said
            self._texts.extend(said["texts"])
        return self._texts.popleft()

    def wait_for_message(self) -> Message:
        """Wait for a message."""
        said = self._front.said[self._comm, self._link]
        self._front.read_until(lambda: bool(said))
        return said.popleft()

    def close(self) -> None:
        """Leave."""
        self._post("close")

    def _post(self, op: str, **more: Any) -> None:
        content = {"link": self._link, "op": op, **more}
        self._front.post(self._comm, content, self._subshell)
