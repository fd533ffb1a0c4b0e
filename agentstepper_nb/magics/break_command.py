"""The lines `%agentstepper break …`, `breakpoints`, `price …` and `prices`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from IPython.core.error import UsageError

from .. import breakpoints
from ..breakpoints.breakpoint_syntax import USAGE
from ..core.breakpoints.conditions import parse_condition
from ..core.breakpoints.evaluation import ConditionError
from ..errors import AgentStepperError, ProtocolError
from ..protocol.text_escaping import escape_to_one_line
from ..sdk import find_newest_program
from .cell_mode import CellMode, find_core
from .line_splitting import split_line

#: The subcommands for breakpoints that are set.
SUBCOMMANDS: Final = ("enable", "disable", "delete", "dry-run")

_BREAK_USAGE: Final = (
    f"usage: %agentstepper break {USAGE}, or %agentstepper break enable|disable|delete NUMBER…|all, or "
    "%agentstepper break dry-run NUMBER or words. "
    "%agentstepper breakpoints lists them with their numbers."
)
_PRICE_USAGE: Final = (
    "usage: %agentstepper price MODEL INPUT OUTPUT, in US dollars for a million tokens, or "
    "%agentstepper price delete MODEL. %agentstepper prices lists them."
)


def run_break_command(line: str) -> Any:
    """Execute a line that begins with `break`, `breakpoints`, `price` or `prices`.

    Args:
        line: The text after `%agentstepper`.

    Returns:
        The value that the cell shows; None if the command has printed its result.

    Raises:
        UsageError: The line is invalid, or the Core refuses the command.
    """
    word, rest = _split(line)
    find_core(CellMode())  # in a kernel without a server's Core, one is started for what comes
    try:
        return _COMMANDS[word](rest)
    except (AgentStepperError, ConnectionError) as error:
        raise UsageError(str(error)) from None


def _split(text: str) -> tuple[str, str]:
    """Split a text into its first word and the rest."""
    word, *rest = text.strip().split(maxsplit=1) or [""]
    return word, "".join(rest)


# ---- breakpoints -------------------------------------------------------------------------------------


def _break(text: str) -> Any:
    act, rest = _split(text)
    if act == "dry-run":
        breakpoint = _chosen(rest)[0] if rest.isdecimal() else _parse_breakpoint(rest)
        with _pointing_into(breakpoint):
            return breakpoints.dry_run(breakpoint)
    if act in SUBCOMMANDS:
        for breakpoint in _chosen(rest):
            _DO[act](breakpoint)
        return breakpoints.list_breakpoints()
    breakpoint = _parse_breakpoint(text)
    with _pointing_into(breakpoint):
        breakpoints.add_breakpoint(breakpoint)
    number = len(breakpoints.list_breakpoints())
    print(
        escape_to_one_line(
            f"Breakpoint {number} is set for {_agents(breakpoint)}: {breakpoint}. "
            f"%agentstepper break dry-run {number} shows where it would have hit."
        )
    )
    return None


@contextmanager
def _pointing_into(breakpoint: breakpoints.Breakpoint) -> Iterator[None]:
    """Show where a condition can't be read, where the Core refuses it for that."""
    try:
        yield
    except ProtocolError as refused:
        raise UsageError(f"{refused}{_pointer(breakpoint.value.condition)}") from None


def _pointer(condition: str | None) -> str:
    """Make two lines: the condition, and a caret below its error; empty if it has no syntax error."""
    if condition is None or not condition.isprintable():
        return ""
    try:
        parse_condition(condition)
    except ConditionError as failed:
        if failed.column is not None:
            return f"\n    {condition}\n    {' ' * failed.column}^"
    return ""


_DO: Final[dict[str, Callable[[breakpoints.Breakpoint], None]]] = {
    "enable": breakpoints.Breakpoint.enable,
    "disable": breakpoints.Breakpoint.disable,
    "delete": breakpoints.Breakpoint.delete,
}


def _parse_breakpoint(text: str) -> breakpoints.Breakpoint:
    """Parse a breakpoint; if it names no program, it is for the program that this kernel ran last."""
    if not text:
        raise UsageError(_BREAK_USAGE)
    return breakpoints.Breakpoint(text, find_newest_program() or "*")


def _agents(breakpoint: breakpoints.Breakpoint) -> str:
    program = breakpoint.value.program
    return "all agents" if program == "*" else f"agents called “{program}”"


def _chosen(text: str) -> list[breakpoints.Breakpoint]:
    """Find breakpoints by their numbers, each once."""
    existing = breakpoints.list_breakpoints()
    if text == "all":
        return list(existing)
    numbers = text.split()
    if not numbers or not all(number.isdecimal() for number in numbers):
        raise UsageError(_BREAK_USAGE)
    chosen = dict.fromkeys(map(int, numbers))
    found = [existing[number - 1] for number in chosen if 0 < number <= len(existing)]
    if len(found) < len(chosen):
        raise UsageError(
            f"There is no breakpoint of that number: {len(existing)} are set. See the "
            "numbers by %agentstepper breakpoints."
        )
    return found


# ---- prices -----------------------------------------------------------------------------------------


def _price(text: str) -> Any:
    match split_line(text):
        case ["delete", model]:
            return breakpoints.delete_price(model)
        case [model, asked, said]:
            return breakpoints.set_price(model, _dollars(asked), _dollars(said))
    raise UsageError(_PRICE_USAGE)


def _dollars(text: str) -> float:
    try:
        return float(text.removeprefix("$"))
    except ValueError:
        raise UsageError(_PRICE_USAGE) from None


def _listed(show: Callable[[], Any], usage: str) -> Callable[[str], Any]:
    """A word that nothing follows."""

    def execute(rest: str) -> Any:
        if rest:
            raise UsageError(usage)
        return show()

    return execute


_COMMANDS: Final[dict[str, Callable[[str], Any]]] = {
    "break": _break,
    "breakpoints": _listed(breakpoints.list_breakpoints, _BREAK_USAGE),
    "price": _price,
    "prices": _listed(breakpoints.list_prices, _PRICE_USAGE),
}
