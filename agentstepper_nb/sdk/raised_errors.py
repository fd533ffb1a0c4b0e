"""The exception that a person lets the agent's code see."""

from __future__ import annotations

import builtins
import logging
import sys
from typing import Any, Final

from msgspec import UNSET

from ..errors import AgentStepperError, InjectedError, RecordedError
from ..protocol.answers import RaiseAnswer
from ..protocol.data_model import Failure
from .json_text import dump_plain_json

log = logging.getLogger("agentstepper_nb.sdk")

#: Stands under the traceback of an exception that a person raised.
INJECTED_NOTE: Final = "A person raised this in AgentStepper."
#: Exceptions that mean something to Python itself, where they are raised.
_CONTROL_FLOW: Final = (StopIteration, StopAsyncIteration)


def make_error(answer: RaiseAnswer) -> Exception:
    """The exception that an answer orders to raise.

    Nothing is imported for it, and no attribute computed: its class is a builtin, or stands in a module
    that the agent has loaded. Where there is none, or none that can be made of a message alone, it is
    an InjectedError.

    Args:
        answer: The answer, with the exception's message and perhaps its class.
    """
    made = _make(answer)
    made.add_note(INJECTED_NOTE)
    return made


def make_recorded_error(failure: Failure) -> Exception:
    """The exception that ended a recorded event, of its own class if this process has loaded the class.

    The class's own `__init__` isn't called: it may want more than a message.

    Args:
        failure: The recorded exception.
    """
    found = find_error_class(failure.type)
    if found is None:
        return RecordedError(f"{failure.type}: {failure.message}")
    made = found.__new__(found, failure.message)
    made.args = (failure.message,)
    return made


def describe_signal(error: BaseException) -> dict[str, Any]:
    """A framework's exception as JSON: its class, and its state if JSON can represent that.

    Args:
        error: The exception.
    """
    kind = type(error)
    made: dict[str, Any] = {"type": f"{kind.__module__}.{kind.__qualname__}"}
    attributes = {name: value for name, value in vars(error).items() if name != "__notes__"}
    state = {"args": error.args, "state": attributes}
    return made if dump_plain_json(state) is None else {**made, **state}


def make_signal(signal: Any) -> Exception | None:
    """Make a framework's exception from its JSON, if this process has loaded the class.

    Args:
        signal: The result of `describe_signal`.

    Returns:
        None where the JSON lacks the exception's state, or no such class is loaded.
    """
    match signal:
        case {"type": str() as name, "args": list() as args, "state": dict() as state}:
            found = find_error_class(name)
            if found is None:
                return None
            made = found.__new__(found, *args)
            made.args = tuple(args)
            vars(made).update(state)
            return made
    return None


def is_injected(error: BaseException) -> bool:
    """Whether a person raised an exception."""
    return INJECTED_NOTE in getattr(error, "__notes__", ())


def describe_injected(error: BaseException) -> str:
    """Describe an exception that a person injected, for a model or a service's client."""
    is_ours = isinstance(error, AgentStepperError)
    return str(error) if is_ours else f"{type(error).__name__}: {error}"


def _make(answer: RaiseAnswer) -> Exception:
    if answer.type is UNSET:
        return InjectedError(answer.message)
    found = find_error_class(answer.type)
    if found is not None:
        try:
            made = found(answer.message)
        except Exception:  # its own code, which wants more than a message
            made = None
        if isinstance(made, found):
            return made
    log.warning(
        "A person raised %s, which can't be made of a message here: the agent's code sees "
        "InjectedError.",
        answer.type,
    )
    return InjectedError(answer.message)


def find_error_class(name: str) -> type[Exception] | None:
    """The class of an exception that exists in this process; None where there is none of this name.

    Args:
        name: A builtin's name, or `module.Class`.
    """
    found = vars(builtins).get(name)
    parts = name.split(".")
    for end in range(len(parts) - 1, 0, -1):
        module = sys.modules.get(".".join(parts[:end]))
        if module is not None:
            found = _look_up(module, parts[end:])
            break
    if not isinstance(found, type) or not issubclass(found, Exception):
        return None
    return None if issubclass(found, _CONTROL_FLOW) else found


def _look_up(value: Any, names: list[str]) -> Any:
    """Find the value at a path of names, each in its own dictionary; no code of the agent runs."""
    for name in names:
        try:
            members = object.__getattribute__(value, "__dict__")
        except AttributeError:
            return None
        value = members.get(name)
    return value
