"""What may go wrong, or wait, on the way of an answer.

A tool call with malformed arguments is no fault of the way: write `Call("tool", '{"half": ')`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from threading import Event


@dataclass(frozen=True)
class Refuse:
    """Answer the first attempts at a request with an error, then the reply.

    Attempts are counted for each distinct request, so that two conversations each get theirs.
    """

    status: int = 503
    times: int | None = 1
    """How many attempts are refused; None refuses every one."""
    retry_after: float = 0.001
    """Seconds that the client is asked to wait before it tries again."""


@dataclass(frozen=True)
class Drop:
    """Break off in the middle of the answer."""

    after: int = 1
    """Pieces that are still sent: a stream has one for each chunk, a whole answer two halves."""
    clean: bool = False
    """End as if all had been said: a stream that only lacks its end. Else the connection breaks."""


@dataclass(frozen=True)
class Hold:
    """Pause in the middle of the answer until `server.gate(name).open()`."""

    name: str
    after: int = 0
    """Pieces that are sent before the pause, as for `Drop`."""


Fault = Refuse | Drop | Hold


class Gate:
    """Where answers with a `Hold` of one name wait, for code that runs beside the server."""

    def __init__(self) -> None:
        self._reached = Event()
        self._opened = Event()

    def wait_reached(self, timeout: float | None = None) -> bool:
        """Wait until an answer stands at the gate; False where none did in `timeout` seconds."""
        return self._reached.wait(timeout)

    def open(self) -> None:
        """Let the answers that wait, and all that come later, go on."""
        self._opened.set()

    def pass_through(self) -> None:
        """Stand at the gate until it is open."""
        self._reached.set()
        self._opened.wait()


class BrokenOffError(ConnectionError):
    """A `Drop` breaks the connection here."""


def with_fault(
    pieces: Iterable[bytes], fault: Fault | None, gates: Mapping[str, Gate]
) -> Iterator[bytes]:
    """The pieces of an answer, as far and as fast as the fault lets them.

    Raises:
        BrokenOffError: The connection is to be broken.
    """
    for index, piece in enumerate(pieces):
        match fault:
            case Drop(after, clean) if index == after:
                if clean:
                    return
                raise BrokenOffError
            case Hold(name, after) if index == after:
                gates[name].pass_through()
        yield piece
