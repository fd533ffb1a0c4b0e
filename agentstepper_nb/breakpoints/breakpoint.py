"""`Breakpoint`, which is set from Python, and the list of the breakpoints that are set."""

from __future__ import annotations

import secrets

from msgspec.structs import replace

from ..protocol import breakpoint_rules as protocol
from ..protocol.program_requests import DebuggerConfig, GetDebuggerConfig
from . import breakpoint_syntax
from .core_request import send_request
from .text_tables import format_html_table, format_text_table

_HEAD = ("", "", "breakpoint", "agents")


class Breakpoint:
    """A rule that halts runs which are set to continue, wherever the rule matches.

    Creating a Breakpoint does not set it. `dry_run` shows where it would have hit; `add_breakpoint`
    sets it.

    Args:
        text: The rule: `before tool write_file where "src/" in args.path once`. The guide's page on
            breakpoints lists all the words.
        program: The program name of the agents that the breakpoint is for, if the text names none;
            `*` matches any characters.

    Attributes:
        value: The breakpoint as the protocol defines it.

    Raises:
        ProtocolError: `invalid_stop`: the text is no breakpoint.
    """

    def __init__(self, text: str, program: str = "*") -> None:
        self.value = breakpoint_syntax.parse_breakpoint(text, secrets.token_hex(6), program)

    @classmethod
    def from_rule(cls, value: protocol.BreakpointRule) -> Breakpoint:
        """Wrap a breakpoint that the protocol delivered."""
        breakpoint = cls.__new__(cls)
        breakpoint.value = value
        return breakpoint

    @property
    def enabled(self) -> bool:
        """Whether the breakpoint is in effect."""
        return self.value.enabled

    def enable(self) -> None:
        """Enable the breakpoint and reset its hit count. Errors as of `add_breakpoint`."""
        self._set(True)

    def disable(self) -> None:
        """Disable the breakpoint, but keep it in the list. Errors as of `add_breakpoint`."""
        self._set(False)

    def delete(self) -> None:
        """Delete the breakpoint.

        Raises:
            CommandError: `unknown_stop`: the breakpoint isn't set; `watch_only`: the Core asks for
                its control token.
            ConnectionError: No Core can be reached.
        """
        send_request(protocol.DeleteBreakpoint(breakpoint=self.value.id), DebuggerConfig)

    def _set(self, enabled: bool) -> None:
        value = replace(self.value, enabled=enabled)
        send_request(protocol.SetBreakpoint(breakpoint=value), DebuggerConfig)
        self.value = value

    def __str__(self) -> str:
        return breakpoint_syntax.format_breakpoint(self.value)

    def __repr__(self) -> str:
        state = "" if self.enabled else " disabled"
        return (
            f"<Breakpoint{state}: {breakpoint_syntax.format_breakpoint(self.value, program=True)}>"
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Breakpoint) and other.value == self.value

    def __hash__(self) -> int:
        return hash(self.value.id)


class Breakpoints(list[Breakpoint]):
    """A list of breakpoints, oldest first; shown as a table that numbers them from 1."""

    def __repr__(self) -> str:
        return format_text_table(_HEAD, self._rows()) if self else "No breakpoints are set."

    def _repr_html_(self) -> str:
        return format_html_table(_HEAD, self._rows()) if self else "<p>No breakpoints are set.</p>"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                str(number),
                "enabled" if breakpoint.enabled else "disabled",
                str(breakpoint),
                breakpoint.value.program,
            )
            for number, breakpoint in enumerate(self, 1)
        ]


def list_breakpoints() -> Breakpoints:
    """Return all breakpoints that are set, oldest first.

    Raises:
        ConnectionError: No Core can be reached.
    """
    return Breakpoints(
        map(Breakpoint.from_rule, send_request(GetDebuggerConfig(), DebuggerConfig).breakpoints)
    )


def add_breakpoint(breakpoint: Breakpoint | str) -> Breakpoint:
    """Set a breakpoint for the running agents, and for others from their start on.

    Args:
        breakpoint: The breakpoint, or its text.

    Raises:
        ProtocolError: `invalid_stop`: the text is no breakpoint, or its condition is invalid.
        CommandError: The breakpoint can't be stored now; `watch_only`: the Core asks for its
            control token.
        ConnectionError: No Core can be reached.
    """
    made = breakpoint if isinstance(breakpoint, Breakpoint) else Breakpoint(breakpoint)
    send_request(protocol.SetBreakpoint(breakpoint=made.value), DebuggerConfig)
    return made
