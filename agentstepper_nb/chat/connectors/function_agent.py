"""`FunctionAgent`: a function as an agent, sync or async, plain or a generator."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, ClassVar, Final, get_args, get_type_hints

from ...protocol.chat import AgentName, AgentType, Message
from ..answer_adapter import iterate_answer, start_function, unwrap_callable
from ..connector import AnswerItems, InterpreterABC, Turn

#: A function that makes an argument.
_Give = Callable[[Message, Turn], Any]

_BY_PLACE: Final = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.VAR_POSITIONAL)
_REST: Final = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_UNKNOWN: Final = (
    "{name} can't answer messages: nothing is known to give its parameter {parameter}. It may take the "
    "message, the turn and the history; give others a default."
)


class FunctionAgent(InterpreterABC):
    """An agent whose answers a Python function returns.

    ::

        def parrot(message):
            return f"You said: {message}"

        async def counting(message, turn):
            for number in range(3):
                yield f"{number} "

        def careful(message: Message, history):
            if (yield confirmation("Shall I?")) == "Yes":
                yield f"There were {len(history)} messages before “{message.content}”."

    The first argument is the message's content, or the whole `Message` if the parameter is
    annotated so. The `Turn` is the second argument, or the one that is named `turn` or annotated
    so. The earlier messages are the argument `history`. The function returns or yields one item or
    several. In a generator, the `yield` of a confirmation returns the person's choice.

    A sync function runs on a thread of its own, where an `AgentStepper` that is made without an
    address is the session's run. Stopping the turn ends such a thread only while it waits at a halt
    point. Otherwise a plain function runs to its end, and a generator is closed at its next
    `yield`; the output until then is dropped. An async function is cancelled at its next await.

    Args:
        function: The function.
        name: The agent's name in its sessions; None: the function's name.
        role: One of the roles of `chat.roles`.
        agent_type: How the agent calls tools, if it does.
        description: One line for people; None: the first line of the function's docstring.
        continuation_prompt: The message that AutoChat sends to the agent; None: AutoChat does not
            continue this agent.

    Raises:
        ValueError: The function has a parameter for which there is no argument.
    """

    summary: ClassVar[str] = "a function of your own"

    def __init__(
        self,
        function: Callable[..., Any],
        *,
        name: str | None = None,
        role: str = AgentName.AGENT_EXECUTOR.value,
        agent_type: AgentType = AgentType.TOOL_CALLING,
        description: str = "",
        continuation_prompt: str | None = "Continue.",
    ) -> None:
        self.name = name or find_function_name(function)
        self.role = role
        self.agent_type = AgentType(agent_type)
        self.description = description or (inspect.getdoc(function) or "").partition("\n")[0][:200]
        self.continuation_prompt = continuation_prompt
        self._function = function
        self._parameters = _Parameters(function, self.name)

    def chat(self, message: Message, turn: Turn) -> AnswerItems:
        """See `InterpreterABC.chat`."""
        return iterate_answer(
            lambda: start_function(self._function, partial(self._call, message, turn))
        )

    def _call(self, message: Message, turn: Turn) -> Any:
        args, named = self._parameters.given(message, turn)
        return self._function(*args, **named)


class _Parameters:
    """What a function is given, by its signature.

    Args:
        function: The function.
        name: What it is called in errors.
    """

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self._positional: list[_Give] = []
        self._named: dict[str, _Give] = {}
        try:
            parameters = inspect.signature(function).parameters.values()
        except ValueError:  # of C: there is nothing to look at
            self._positional.append(_content)
            return
        hints = find_type_hints(function)
        for place, parameter in enumerate(parameters):
            give = _find_argument(parameter, hints.get(parameter.name, parameter.annotation), place)
            if give is None:
                if parameter.default is parameter.empty and parameter.kind not in _REST:
                    raise ValueError(_UNKNOWN.format(name=name, parameter=parameter.name))
            elif parameter.kind in _BY_PLACE:
                self._positional.append(give)
            else:
                self._named[parameter.name] = give

    def given(self, message: Message, turn: Turn) -> tuple[list[Any], dict[str, Any]]:
        """The arguments of a call."""
        named = {name: give(message, turn) for name, give in self._named.items()}
        return [give(message, turn) for give in self._positional], named


def _find_argument(parameter: inspect.Parameter, hint: object, place: int) -> _Give | None:
    """What a parameter is for; None: the function has its own value for it."""
    if parameter.kind is parameter.VAR_KEYWORD:
        return None
    if parameter.kind is parameter.VAR_POSITIONAL:
        return None if place else _content
    return _find_argument_by_name_or_type(parameter.name, hint) or _find_positional_argument(
        parameter, place
    )


def _find_argument_by_name_or_type(name: str, hint: object) -> _Give | None:
    types = (hint, *get_args(hint))
    if name == "history":
        return _history
    if name == "turn" or _is_one_of(types, Turn):
        return _turn
    if _is_one_of(types, Message):
        return _message
    return _content if name == "message" else None


def _find_positional_argument(parameter: inspect.Parameter, place: int) -> _Give | None:
    """The message's content is the first one, the turn the second one that has to be given."""
    if parameter.kind is parameter.KEYWORD_ONLY or place > 1:
        return None
    if place == 0:
        return _content
    return _turn if parameter.default is parameter.empty else None


def _is_one_of(types: Iterable[object], wanted: type) -> bool:
    """Whether a type is one of these, or named by one: annotations may be text."""
    return any(each is wanted or each == wanted.__name__ for each in types)


def _content(message: Message, turn: Turn) -> Any:
    return message.content


def _message(message: Message, turn: Turn) -> Any:
    return message


def _turn(message: Message, turn: Turn) -> Any:
    return turn


def _history(message: Message, turn: Turn) -> Any:
    return turn.window


def find_type_hints(function: Callable[..., Any]) -> dict[str, Any]:
    """The types of its parameters, as far as they can be known: names may be missing where it runs."""
    try:
        return get_type_hints(unwrap_callable(function), include_extras=True)
    except Exception:
        return {}


def find_function_name(function: Callable[..., Any]) -> str:
    """Return a function's name; “function” if the function has no name."""
    name = getattr(unwrap_callable(function), "__name__", "")
    if name in ("", "__call__"):
        name = type(function).__name__
    return "function" if name == "<lambda>" else str(name)[:100]
