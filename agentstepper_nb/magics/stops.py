"""`%agentstepper stop …`, `stops`, `price …` and `prices`: what `rules` does, from a line."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from IPython.core.error import UsageError

from .. import rules
from ..core.stops.conditions import parse_condition
from ..core.stops.evaluation import ConditionError
from ..errors import AgentStepperError, ProtocolError
from ..protocol.visible_text import escape_to_one_line
from ..rules.breakpoint_syntax import USAGE
from ..sdk import find_newest_program
from .cell_mode import CellMode, find_core
from .line_words import split_words

#: What may be done with stops that are set.
ACTS: Final = ("on", "off", "delete", "try")

_STOP_USAGE: Final = (
    f"usage: %agentstepper stop {USAGE}, or %agentstepper stop on|off|delete NUMBER…|all, or "
    "%agentstepper stop try NUMBER or words. %agentstepper stops lists them with their numbers."
)
_PRICE_USAGE: Final = (
    "usage: %agentstepper price MODEL INPUT OUTPUT, in US dollars for a million tokens, or "
    "%agentstepper price delete MODEL. %agentstepper prices lists them."
)


def command(line: str) -> Any:
    """Carry out a line that begins with `stop`, `stops`, `price` or `prices`.

    Args:
        line: What stands behind `%agentstepper`.

    Returns:
        What the cell shows as its value; None where something was printed.

    Raises:
        UsageError: The line isn't understood, or the Core refuses it.
    """
    word, rest = _split(line)
    find_core(CellMode())  # in a kernel without a server's Core, one is started for what comes
    try:
        return _COMMANDS[word](rest)
    except (AgentStepperError, ConnectionError) as error:
        raise UsageError(str(error)) from None


def _split(text: str) -> tuple[str, str]:
    """The first word, and what follows it."""
    word, _, rest = text.strip().partition(" ")
    return word, rest.strip()


# ---- stops ------------------------------------------------------------------------------------------


def _stop(text: str) -> Any:
    act, rest = _split(text)
    if act == "try":
        stop = _chosen(rest)[0] if rest.isdecimal() else _stop_of(rest)
        with _pointing_into(stop):
            return rules.try_stop(stop)
    if act in ACTS:
        for stop in _chosen(rest):
            _DO[act](stop)
        return rules.stops()
    stop = _stop_of(text)
    with _pointing_into(stop):
        rules.add_stop(stop)
    number = len(rules.stops())
    print(
        escape_to_one_line(
            f"Stop {number} is set for {_agents(stop)}: {stop}. "
            f"%agentstepper stop try {number} tells where it would have hit."
        )
    )
    return None


@contextmanager
def _pointing_into(stop: rules.Stop) -> Iterator[None]:
    """Show where a condition can't be read, where the Core refuses it for that."""
    try:
        yield
    except ProtocolError as refused:
        raise UsageError(f"{refused}{_pointer(stop.value.condition)}") from None


def _pointer(condition: str | None) -> str:
    """Two lines: the condition, and a caret below what is wrong; empty where it can be read."""
    if condition is None or not condition.isprintable():
        return ""
    try:
        parse_condition(condition)
    except ConditionError as failed:
        if failed.column is not None:
            return f"\n    {condition}\n    {' ' * failed.column}^"
    return ""


_DO: Final[dict[str, Callable[[rules.Stop], None]]] = {
    "on": rules.Stop.on,
    "off": rules.Stop.off,
    "delete": rules.Stop.delete,
}


def _stop_of(text: str) -> rules.Stop:
    """The stop that is written; for the program that this kernel ran last, where no other is named."""
    if not text:
        raise UsageError(_STOP_USAGE)
    return rules.Stop(text, find_newest_program() or "*")


def _agents(stop: rules.Stop) -> str:
    program = stop.value.program
    return "all agents" if program == "*" else f"agents called “{program}”"


def _chosen(text: str) -> list[rules.Stop]:
    """The stops that are meant by their numbers."""
    stops = rules.stops()
    if text == "all":
        return list(stops)
    numbers = text.split()
    if not numbers or not all(number.isdecimal() for number in numbers):
        raise UsageError(_STOP_USAGE)
    found = [stops[int(n) - 1] for n in numbers if 0 < int(n) <= len(stops)]
    if len(found) < len(numbers):
        raise UsageError(
            f"There is no stop of that number: {len(stops)} are set. %agentstepper stops lists them."
        )
    return found


# ---- prices -----------------------------------------------------------------------------------------


def _price(text: str) -> Any:
    match split_words(text):
        case ["delete", model]:
            return rules.delete_price(model)
        case [model, asked, said]:
            return rules.set_price(model, _dollars(asked), _dollars(said))
    raise UsageError(_PRICE_USAGE)


def _dollars(text: str) -> float:
    try:
        return float(text.removeprefix("$"))
    except ValueError:
        raise UsageError(_PRICE_USAGE) from None


def _listed(show: Callable[[], Any], usage: str) -> Callable[[str], Any]:
    """A word that nothing follows."""

    def carry_out(rest: str) -> Any:
        if rest:
            raise UsageError(usage)
        return show()

    return carry_out


_COMMANDS: Final[dict[str, Callable[[str], Any]]] = {
    "stop": _stop,
    "stops": _listed(rules.stops, _STOP_USAGE),
    "price": _price,
    "prices": _listed(rules.list_prices, _PRICE_USAGE),
}
