"""Stops that are set, or are going to be."""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from ..protocol import stops as protocol
from ..protocol.agent import DebuggerRules, GetDebuggerRules
from . import breakpoint_syntax
from .core_request import send_request
from .text_tables import format_html_table, format_text_table

_HEAD = ("", "", "stop", "agents")


class Stop:
    """A rule for where runs halt while they continue.

    Making one sets nothing: `try_stop` tells where it would have hit, `add_stop` sets it.

    Args:
        text: In words: `before tool write_file where "src/" in args.path once`. The page on stops in
            the guide has all of them.
        program: The agents that it is for, by the name of their program, where the words name none;
            `*` stands for anything.

    Attributes:
        value: It as the protocol has it.

    Raises:
        ProtocolError: `invalid_stop`: the words aren't understood.
    """

    def __init__(self, text: str, program: str = "*") -> None:
        self.value = breakpoint_syntax.parse_breakpoint(text, secrets.token_hex(6), program)

    @classmethod
    def of(cls, value: protocol.BreakpointRule) -> Stop:
        """A stop as the protocol has it."""
        stop = cls.__new__(cls)
        stop.value = value
        return stop

    @property
    def enabled(self) -> bool:
        """Whether it is on."""
        return self.value.enabled

    def on(self) -> None:
        """Let it be in force; it begins to count anew. Errors as of `add_stop`."""
        self._set(True)

    def off(self) -> None:
        """Keep it, but not in force. Errors as of `add_stop`."""
        self._set(False)

    def delete(self) -> None:
        """Delete it.

        Raises:
            CommandError: `unknown_stop`: it isn't set; `watch_only`: the Core asks for its control
                token.
            ConnectionError: No Core can be reached.
        """
        send_request(protocol.DeleteStop(stop=self.value.id), DebuggerRules)

    def _set(self, enabled: bool) -> None:
        value = replace(self.value, enabled=enabled)
        send_request(protocol.SetStop(stop=value), DebuggerRules)
        self.value = value

    def __str__(self) -> str:
        return breakpoint_syntax.format_breakpoint(self.value)

    def __repr__(self) -> str:
        state = "" if self.enabled else " off"
        return f"<Stop{state}: {breakpoint_syntax.format_breakpoint(self.value, program=True)}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stop) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value.id)


class Stops(list[Stop]):
    """Stops, in the order in which they were made; shown as a table, numbered from 1."""

    def __repr__(self) -> str:
        return format_text_table(_HEAD, self._rows()) if self else "No stops are set."

    def _repr_html_(self) -> str:
        return format_html_table(_HEAD, self._rows()) if self else "<p>No stops are set.</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (str(number), "on" if stop.enabled else "off", str(stop), stop.value.program)
            for number, stop in enumerate(self, 1)
        ]


def stops() -> Stops:
    """All stops that are set, in the order in which they were made.

    Raises:
        ConnectionError: No Core can be reached.
    """
    return Stops(map(Stop.of, send_request(GetDebuggerRules(), DebuggerRules).stops))


def add_stop(stop: Stop | str) -> Stop:
    """Set a stop: agents that run have it at once, others from their start on.

    Args:
        stop: It, or the words for it.

    Raises:
        ProtocolError: `invalid_stop`: the words or the condition aren't understood.
        CommandError: It can't be kept now; `watch_only`: the Core asks for its control token.
        ConnectionError: No Core can be reached.
    """
    made = stop if isinstance(stop, Stop) else Stop(stop)
    send_request(protocol.SetStop(stop=made.value), DebuggerRules)
    return made
