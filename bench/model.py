"""`python -m bench.model`: a model in a process of its own, whose answers cost as little as can be.

It answers each request for a chat completion at once, whole or as a stream of `TOKENS` events, each with
another text. It prints its port and ends when its input ends.
"""

from __future__ import annotations

import json
import sys
from contextlib import suppress
from itertools import count
from socketserver import StreamRequestHandler, ThreadingTCPServer
from threading import Thread
from typing import Any, Final

#: Events of a stream that have a text, which is the text of a whole answer too.
TOKENS: Final = 200
_NUMBER: Final = b"#NUMBER#"
_TEXT: Final = ["#NUMBER#", *(" discount" for _ in range(TOKENS - 1))]


def main() -> None:
    with ModelServer(("127.0.0.1", 0), CompletionHandler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        print(server.server_address[1], flush=True)
        sys.stdin.read()
        server.shutdown()


class ModelServer(ThreadingTCPServer):
    daemon_threads = True


class CompletionHandler(StreamRequestHandler):
    """One connection."""

    disable_nagle_algorithm = True
    numbers = count()

    def handle(self) -> None:
        with suppress(ConnectionError):  # the client has gone
            self._answer()

    def _answer(self) -> None:
        while (length := self._read_head()) is not None:
            is_stream = b'"stream":true' in self.rfile.read(length)
            number = b"%d" % next(self.numbers)
            if not is_stream:
                self.wfile.write(_WHOLE.replace(_NUMBER, number.ljust(len(_NUMBER))))
                continue
            self.wfile.write(_STREAM_HEAD)
            for event in _EVENTS:
                self.wfile.write(event.replace(_NUMBER, number.ljust(len(_NUMBER))))

    def _read_head(self) -> int | None:
        """The length of the next request's body; None where the client has gone."""
        length = None
        while (line := self.rfile.readline()) not in (b"\r\n", b""):
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        return length


def _encode(kind: str, choice: dict[str, Any]) -> bytes:
    common = {"id": "chatcmpl-1", "created": 0, "model": "m"}
    return json.dumps({**common, "object": kind, "choices": [{"index": 0, **choice}]}).encode()


def _make_whole_response() -> bytes:
    message = {"role": "assistant", "content": "".join(_TEXT)}
    body = _encode("chat.completion", {"message": message, "finish_reason": "stop"})
    head = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n"
    return head % len(body) + body


def _make_event_chunks() -> list[bytes]:
    deltas = [{"delta": {"role": "assistant", "content": text}} for text in _TEXT]
    choices = [*deltas, {"delta": {}, "finish_reason": "stop"}]
    datas = [*(_encode("chat.completion.chunk", choice) for choice in choices), b"[DONE]"]
    events = [b"data: %s\n\n" % data for data in datas]
    return [*(b"%x\r\n%s\r\n" % (len(event), event) for event in events), b"0\r\n\r\n"]


_STREAM_HEAD: Final = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)
_WHOLE: Final = _make_whole_response()
_EVENTS: Final = _make_event_chunks()


if __name__ == "__main__":
    main()
