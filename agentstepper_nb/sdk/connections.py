"""The connections of one run, one after the other: opened, read, and found back to when lost."""

from __future__ import annotations

import logging
import socket
import time
from collections.abc import Callable
from contextlib import ExitStack, suppress
from queue import Empty, SimpleQueue
from typing import Final, Literal, TypeGuard

from msgspec.structs import replace
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection

from ..discover import Endpoint, RuntimeFile, running_servers
from ..errors import ConnectionLostError, ProtocolError
from ..protocol.agent import Acknowledged, CheckEdit, Hello, Lease
from .dialects import Dialect, Version1, Version2
from .dialing import dial, greet, is_too_large, why_gone, why_lost, why_not_opened
from .edit_checks import EditChecks
from .lease import Leasehold
from .outbox import GOODBYE_PATIENCE, Outbox
from .reconnecting import Backoff, Reached, Unreached, candidates, reach
from .waiting import Waiting, new_future

log = logging.getLogger("agentstepper_nb.sdk")

#: What an agent does while its Core is away: it waits for it at the next breakpoint, goes on unedited,
#: or ends with ConnectionLostError.
OnDisconnect = Literal["wait", "continue", "raise"]

#: Seconds that one place has to answer an attempt to find back.
_PATIENCE: Final = 10.0

_ADVICE: Final = {
    "wait": (
        "The agent waits for it at the next breakpoint: start the Core again, with the same data "
        "folder. An interrupt (Ctrl+C) ends the wait."
    ),
    "continue": "The agent goes on without it, unedited, and what it does is told once it is back.",
}
_AGAIN: Final = "Start the agent again."
_LEASED: Final = (
    "The agent goes on, as its run continues, and waits for it where a stop halts: start the Core "
    "again, with the same data folder."
)


class Connections:
    """One run's connections. `run` is the reading thread's; the rest may be called from anywhere.

    Args:
        endpoint: Where the Core is.
        hello: Introduces the agent.
        on_disconnect: What to do where the Core goes away.
        patient: Whether it may be away from the start, and is known to speak version 2.
        waiting: Who waits for what.
    """

    def __init__(
        self,
        endpoint: Endpoint,
        hello: Hello,
        on_disconnect: OnDisconnect,
        patient: bool,
        waiting: Waiting,
    ) -> None:
        self.endpoint = endpoint
        self.opened = new_future()
        #: Why the Core isn't there, for a person.
        self.why = f"the Core at {endpoint.url} doesn't answer"
        #: Whether nothing needs to be said of what no Core acknowledged.
        self.settled = False
        #: Whether the Core, once it is open, has a word for snapshots of the workspace.
        self.snapshots = patient
        self._hello = hello
        self._on_disconnect = on_disconnect
        self._patient = patient
        self._waiting = waiting
        self._dialect: Dialect = Version2()
        known = self._dialect if patient else None
        self.outbox = Outbox(waiting, on_disconnect == "continue", self._break, known)
        self.leasehold = Leasehold(hello.program, self.outbox, waiting)
        self.edit_checks = EditChecks(self.leasehold.send)
        self._connection: ClientConnection | None = None
        self._introduced = False  # whether a Core may have heard hello
        self._backoff = Backoff()
        self._told = False  # that the Core is away
        #: Called, on the reading thread, where `away` may be another.
        self.on_away: Callable[[], None] = lambda: None
        self._wake: SimpleQueue[None] = SimpleQueue()
        self._until: float | None = None  # when the goodbye's patience ends
        self._given_up = False
        self._back_late = False
        self._broken: Exception | None = None

    @property
    def resumes(self) -> bool:
        """Whether the run outlives its connections."""
        return self._on_disconnect != "raise" and self._dialect.resumes

    @property
    def limit(self) -> int:
        """Bytes of the largest message that the Core, once it is open, takes."""
        return self._dialect.limit

    @property
    def away(self) -> bool:
        """Whether no Core is there, or one is back only since the goodbye."""
        return self._connection is None or self._back_late

    def close(self) -> None:
        """The goodbye is on its way: end when it is kept, or patience ends. Takes no lock."""
        self._until = time.monotonic() + GOODBYE_PATIENCE
        self._wake.put(None)

    def cut(self) -> None:
        """Give up on a Core that is away, or doesn't let us close."""
        self._given_up = True
        self._wake.put(None)
        connection = self._connection
        if connection is not None:
            with suppress(OSError):
                connection.socket.shutdown(socket.SHUT_RDWR)

    def abandon(self) -> None:
        """In a forked child: leave the connection to the parent, without a word on it."""
        if self._connection is not None:
            with suppress(OSError):
                self._connection.socket.close()

    def _break(self, error: Exception) -> None:
        """The writing failed, and with it all."""
        self._broken = error
        self._wake.put(None)
        if self._connection is not None:
            self._connection.close(1011)

    # ---- the reading thread -------------------------------------------------------------------------

    def run(self) -> ConnectionLostError | None:
        """Keep the run connected until it is over.

        Returns:
            Why it is over; None where this side ended it, or it never began.
        """
        try:
            lost = self._live()
        except Exception as error:
            lost = self._failed(error)
        if self._closing:
            return None
        if lost is not None and self._goes_on_alone():
            log.warning("%s The agent goes on alone, unedited.", lost)
            self.settled = True
            self.outbox.alone()
            while not self._ends():
                self._wake.get()
            return None
        return lost

    def _live(self) -> ConnectionLostError | None:
        found: Reached | ConnectionLostError | None
        if self._patient:
            self.opened.set_result(None)
            found = self._find_back("")
        else:
            found = self._open()
        while isinstance(found, Reached):
            gone = self._serve(found)
            if self._on_disconnect == "continue" and self._may_find_back(gone):
                self._tell(why_gone(gone))  # before breakpoints are passed unedited
            # By then all is known that the Core acknowledged, and what still waits.
            self.outbox.lost().result()
            found = self._after(gone)
        return found

    def _open(self) -> Reached | None:
        """Connect for the first time; what goes wrong is for whoever opens the link."""
        try:
            with ExitStack() as stack:
                connection = self._connection = stack.enter_context(dial(self.endpoint))
                self._introduced = True
                welcome = greet(connection, self._hello)
                received = 0 if welcome is None else welcome.received
                found = Reached(connection, stack.pop_all(), self.endpoint, received)
        except Exception as error:
            self._connection = None
            self.opened.set_exception(why_not_opened(self.endpoint, error))
            return None
        if welcome is None:
            self._dialect = Version1(self._hello.program)
            self.leasehold.forgo()
        return found

    def _serve(self, found: Reached) -> Exception:
        """Read from a connection until it is gone, and say why it is."""
        self.endpoint = found.endpoint
        try:
            with found.open:
                self._back_late = self._closing
                connection = self._connection = found.connection
                if self._given_up:
                    self.cut()
                self.outbox.connected(connection, self._dialect, found.received)
                self.snapshots = self._dialect.snapshots
                if not self.opened.done():
                    self.opened.set_result(None)
                self.on_away()
                while True:  # until recv raises ConnectionClosed
                    self._hear(connection.recv(decode=True))
        except Exception as error:
            return error
        finally:
            self._connection = None
            self.on_away()

    def _hear(self, text: str) -> None:
        reply = self._dialect.decode(text)
        if reply is None:
            return
        self._backoff.reset()
        if isinstance(reply, Acknowledged):
            self.outbox.acknowledged(reply)
            if self._closing:
                self._until = time.monotonic() + GOODBYE_PATIENCE
        elif isinstance(reply, Lease):
            self.leasehold.take(reply)
        elif isinstance(reply, CheckEdit):
            self.edit_checks.hear(reply)
        else:
            self._waiting.give(reply.key, reply.answer)

    def _after(self, gone: Exception) -> Reached | ConnectionLostError | None:
        """What becomes of the run now that a connection is gone."""
        if self._given_up or (self._closing and self._delivered()):
            return None
        if self._broken is not None or not isinstance(gone, ConnectionClosed):
            return self._failed(self._broken or gone)
        if self._may_find_back(gone):
            return self._find_back(why_gone(gone))
        return ConnectionLostError(why_lost(self.endpoint.url, gone, self.limit))

    def _delivered(self) -> bool:
        """Whether the goodbye was said, and is kept with all before it."""
        self.outbox.lost().result()  # it was put before we were told: by then it is taken in
        return not self.outbox.undelivered

    def _may_find_back(self, gone: Exception) -> TypeGuard[ConnectionClosed]:
        """Whether a Core can take the run up again."""
        lost = isinstance(gone, ConnectionClosed) and not is_too_large(gone)
        return lost and self.resumes and self._broken is None

    def _failed(self, error: Exception) -> ConnectionLostError:
        if isinstance(error, ProtocolError):
            return ConnectionLostError(
                f"What the Core at {self.endpoint.url} says isn't readable: {error} Is this the views' "
                "address? Agents have another."
            )
        if not self._closing:
            log.error("The connection to the Core failed.", exc_info=error)
        return ConnectionLostError(f"Connection lost to the Core at {self.endpoint.url}: {error!r}")

    # ---- finding back -------------------------------------------------------------------------------

    def _find_back(self, hint: str) -> Reached | ConnectionLostError | None:
        """Try until a Core goes on with the run.

        Args:
            hint: Why it is gone, as far as that is known.

        Returns:
            None where this side gave up.
        """
        while self._pause():
            places = candidates(self.endpoint, _running())
            found = reach(places, self._hello_again(), _PATIENCE)
            self._introduced |= isinstance(found, Reached) or found.greeted
            if isinstance(found, Reached):
                self._tell_back(found)
                return found
            if self._broken is not None:
                return self._failed(self._broken)
            if found.refused and not self._may_begin_again(found):
                return self._refusal(found)
            self.why = str(found.why)
            self._tell(hint or self.why)
        return None

    def _pause(self) -> bool:
        """Wait before the next attempt; whether there should be one."""
        wait = self._backoff.wait()
        if self._until is not None:
            wait = min(wait, max(0.0, self._until - time.monotonic()))
        with suppress(Empty):
            self._wake.get(timeout=wait)
        late = self._until is not None and time.monotonic() >= self._until
        return not (late or self._given_up)

    def _hello_again(self) -> Hello:
        if not self._introduced:
            return self._hello
        sent = self.outbox.last  # while this is made, the agent sends on
        asked = (id for id in self._waiting.breakpoints() if self._dialect.asked(id, sent))
        heard = self.outbox.heard
        return replace(self._hello, sent=sent, acknowledged=heard, waiting=tuple(asked))

    def _may_begin_again(self, found: Unreached) -> bool:
        """Whether a Core that doesn't know the run can be told all of it: nothing was forgotten yet."""
        if found.code == "unknown_run" and self.outbox.heard == 0:
            self._introduced = False
            return True
        return False

    def _refusal(self, found: Unreached) -> ConnectionLostError | None:
        self.why = str(found.why)
        if self._closing and found.code == "run_ended":
            self.settled = True  # the goodbye was heard, its acknowledgement wasn't
        said = f"The Core at {found.endpoint.url} doesn't go on with this run: {found.why}"
        # Most refusals of a Core's say it themselves.
        advice = "" if _AGAIN.casefold() in said.casefold() else f" {_AGAIN}"
        return ConnectionLostError(said + advice)

    def _tell(self, why: str) -> None:
        """Say once that the Core is away; who says goodbye hears of it by what isn't delivered."""
        if not (self._told or self._closing):
            self._told = True
            goes_on = self._on_disconnect == "wait" and self.leasehold.goes_on
            advice = _LEASED if goes_on else _ADVICE[self._on_disconnect]
            log.warning("Connection lost to the Core at %s: %s. %s", self.endpoint.url, why, advice)

    def _tell_back(self, found: Reached) -> None:
        if self._told:
            self._told = False
            log.warning("The Core is back at %s: the run goes on.", found.endpoint.url)

    @property
    def _closing(self) -> bool:
        return self._until is not None

    def _ends(self) -> bool:
        return self._closing or self._given_up

    def _goes_on_alone(self) -> bool:
        return self._on_disconnect == "continue" and self.resumes and self._broken is None


def _running() -> list[RuntimeFile]:
    with suppress(OSError):
        return list(running_servers())
    return []
