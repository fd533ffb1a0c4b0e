"""The server: a script, reachable on this machine as the APIs that models are asked by."""

from __future__ import annotations

from threading import Thread
from types import TracebackType
from typing import Self

from .faults import Gate
from .http import HTTPServer
from .model import Exchange, ScriptedModel
from .script import Script


class ScriptedServer:
    """Serves a script on 127.0.0.1, on threads of its own, until it is closed.

    It answers OpenAI's `POST /v1/chat/completions` and `POST /v1/responses` and Anthropic's
    `POST /v1/messages`, as JSON and as streams, and `GET /v1/models`. It asks for no key. Use it as a
    context manager, or call `start` and `close`.

    Args:
        script: What the model says.
        port: Where to listen; 0 takes a free port.
    """

    def __init__(self, script: Script, *, port: int = 0) -> None:
        self._model = ScriptedModel(script)
        self._port = port
        self._http: HTTPServer | None = None
        self._thread: Thread | None = None

    @property
    def base_url(self) -> str:
        """What clients take as OPENAI_BASE_URL.

        Raises:
            RuntimeError: The server is not started.
        """
        return f"{self.root_url}/v1"

    @property
    def root_url(self) -> str:
        """What clients take as ANTHROPIC_BASE_URL: they add the `/v1` themselves.

        Raises:
            RuntimeError: The server is not started.
        """
        if self._http is None:
            raise RuntimeError("the scripted server is not started")
        return f"http://127.0.0.1:{self._http.server_port}"

    @property
    def exchanges(self) -> list[Exchange]:
        """The requests that came and how they were answered, oldest first."""
        return self._model.exchanges

    def gate(self, name: str) -> Gate:
        """The gate where answers with `Hold(name)` wait.

        Raises:
            KeyError: No rule holds there.
        """
        return self._model.gates[name]

    def start(self) -> Self:
        """Listen; returns when clients can connect. Started already, it does nothing.

        Raises:
            OSError: The port is taken.
        """
        if self._http is None:
            self._http = HTTPServer(self._port, self._model)
            self._thread = Thread(
                target=self._http.serve_forever,
                kwargs={"poll_interval": 0.05},
                name="scripted-server",
                daemon=True,
            )
            self._thread.start()
        return self

    def close(self) -> None:
        """Stop listening, break what is connected, open the gates, and wait for the threads."""
        http, thread, self._http, self._thread = self._http, self._thread, None, None
        if http is None or thread is None:
            return
        http.shutdown()
        thread.join()
        http.server_close()
        # In this order: who waits at a gate must not be answered after all.
        http.break_connections()
        for gate in self._model.gates.values():
            gate.open()
        http.join_connections()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()
