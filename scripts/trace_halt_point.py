"""Print the path of one halt point with an edit: files and functions, in order of first call.

An agent, a Core and a view of version 2 talk in this process over real sockets. What is traced begins
as the agent asks, and ends once it has the edited prompt: the agent's threads, the Core's loop and its
store. It is the run's second halt point, so that what only happens at a run's start isn't in it. A
comprehension or a lambda belongs to the function that it stands in.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from websockets.sync.client import ClientConnection, connect
from websockets.typing import Subprotocol

from agentstepper_nb import AgentStepper, AgentStepperCore
from agentstepper_nb.protocol.envelope import SUBPROTOCOL

PACKAGE = Path(__file__).parents[1] / "agentstepper_nb"
Function = tuple[str, str]


class Tracer:
    """Notes which functions of the package are called, on threads that begin after it."""

    def __init__(self) -> None:
        self.functions: dict[Function, None] = {}  # in order of first call
        self._recording = False

    def __call__(self, frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if self._recording and event == "call" and code.co_filename.startswith(f"{PACKAGE}/"):
            file = str(Path(code.co_filename).relative_to(PACKAGE))
            if not code.co_name.startswith("<"):
                self.functions.setdefault((file, code.co_qualname))

    @contextmanager
    def recording(self) -> Iterator[None]:
        """Note what is called inside."""
        self._recording = True
        try:
            yield
        finally:
            self._recording = False

    @property
    def files(self) -> dict[str, list[str]]:
        """The functions of each file, in order of first call."""
        files: dict[str, list[str]] = {}
        for file, name in self.functions:
            files.setdefault(file, []).append(name)
        return files


class EditingView:
    """A view of version 2, which edits the prompt that the agent halts at.

    Args:
        socket: Its connection to the Core.
    """

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._sent_count = 0
        self._request("hello", version=2, client="trace")

    def edit_and_step(self, text: str) -> None:
        """Change what the agent is halted with, and let it go on."""
        run = self._wait_for_halt()
        message = run["pending"][0]
        shown = self._request("get_message", run=run["id"], message=message)["body"]
        asked = {"run": run["id"], "breakpoint": message, "revision": shown["revision"]}
        self._request("edit", **asked, edit=json.dumps(text))
        self._request("step", run=run["id"])

    def _wait_for_halt(self) -> Any:
        while True:
            message = self._receive()
            if message["type"] == "run" and message["body"]["run"]["pending"]:
                return message["body"]["run"]

    def _request(self, kind: str, **body: Any) -> Any:
        self._sent_count += 1
        id = f"c{self._sent_count}"
        said = {"n": self._sent_count, "type": kind, "id": id, "body": body}
        self._socket.send(json.dumps(said))
        while True:
            message = self._receive()
            if message.get("id") == id:
                if message["type"] == "error":
                    raise RuntimeError(f"The Core refused {kind}: {message['body']}")
                return message

    def _receive(self) -> Any:
        return json.loads(self._socket.recv(timeout=30))


def trace() -> Tracer:
    """Trace one halt point with an edit."""
    tracer = Tracer()
    threading.setprofile(tracer)
    sys.setprofile(tracer)
    try:
        with (
            AgentStepperCore("127.0.0.1", client_port=0, ui_port=0) as core,
            _connect_view(core) as socket,
        ):
            _trace_edit(tracer, core, EditingView(socket))
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return tracer


def _connect_view(core: AgentStepperCore) -> ClientConnection:
    return connect(
        f"ws://127.0.0.1:{core.ui_port}",
        subprotocols=[Subprotocol(SUBPROTOCOL)],
        additional_headers={"Authorization": f"Bearer {core.tokens.control}"},
        proxy=None,
        compression=None,
    )


def _trace_edit(tracer: Tracer, core: AgentStepperCore, view: EditingView) -> None:
    sees = threading.Thread(target=_edit_both, args=(view,))
    sees.start()
    url = f"ws://127.0.0.1:{core.client_port}"
    with AgentStepper("Traced", url=url, token=core.tokens.agent, stop_on_entry=False) as dbg:
        dbg.begin_llm_query_breakpoint("first")  # the run's lease is there once it is answered
        with tracer.recording():
            prompt = dbg.begin_llm_query_breakpoint("asked")
        if prompt != "edited":
            raise RuntimeError(f"The prompt came back as {prompt!r}.")
    sees.join()


def _edit_both(view: EditingView) -> None:
    view.edit_and_step("edited first")
    view.edit_and_step("edited")


def main() -> None:
    """Print the path and its figures."""
    tracer = trace()
    for file, names in tracer.files.items():
        lines = len((PACKAGE / file).read_text(encoding="utf-8").splitlines())
        print(f"{file} ({lines} lines)")
        for name in names:
            print(f"    {name}")
    print(f"{len(tracer.files)} files, {len(tracer.functions)} functions")


if __name__ == "__main__":
    main()
