"""A script: rules that say what the model answers to which request, when, and what goes wrong.

A tool call with malformed arguments is no fault of the way: write `ScriptedCall("tool", '{"half": ')`.
"""

from __future__ import annotations

import json
import os
import pkgutil
import re
import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from threading import Event
from typing import Any, Final

from agentstepper_nb.llm_wire.chat_completions import ChatCompletionRequest

from . import scripts


@dataclass(frozen=True)
class ErrorFault:
    """Answer the first attempts at a request with an error, then the reply.

    Attempts are counted for each distinct request, so that two conversations each get theirs.
    """

    status: int = 503
    times: int | None = 1
    """How many attempts are refused; None refuses every one."""
    retry_after: float = 0.001
    """Seconds that the client is asked to wait before it tries again."""


@dataclass(frozen=True)
class DisconnectFault:
    """Break off in the middle of the answer."""

    pieces_sent: int = 1
    """Pieces that are still sent: a stream has one for each chunk, a whole answer two halves."""
    ends_cleanly: bool = False
    """End as if all had been said: a stream that only lacks its end. Else the connection breaks."""


@dataclass(frozen=True)
class PauseFault:
    """Pause in the middle of the answer until `server.gate(name).open()`."""

    name: str
    pieces_sent: int = 0
    """Pieces that are sent before the pause, as for `DisconnectFault`."""


Fault = ErrorFault | DisconnectFault | PauseFault


class PauseGate:
    """Where answers with a `PauseFault` of one name wait, for code that runs beside the server."""

    def __init__(self) -> None:
        self._reached = Event()
        self._opened = Event()

    def wait_reached(self, timeout: float | None = None) -> bool:
        """Wait until an answer stands at the gate; False where none did in `timeout` seconds."""
        return self._reached.wait(timeout)

    def open(self) -> None:
        """Let the answers that wait, and all that come later, go on."""
        self._opened.set()

    def reach_and_wait(self) -> None:
        """Stand at the gate until it is open."""
        self._reached.set()
        self._opened.wait()


class DisconnectFaultError(ConnectionError):
    """A `DisconnectFault` breaks the connection here."""


def apply_fault(
    pieces: Iterable[bytes], fault: Fault | None, gates: Mapping[str, PauseGate]
) -> Iterator[bytes]:
    """The pieces of an answer, as far and as fast as the fault lets them.

    Raises:
        BrokenOffError: The connection is to be broken.
    """
    for index, piece in enumerate(pieces):
        match fault:
            case DisconnectFault(pieces_sent, ends_cleanly) if index == pieces_sent:
                if ends_cleanly:
                    return
                raise DisconnectFaultError
            case PauseFault(name, pieces_sent) if index == pieces_sent:
                gates[name].reach_and_wait()
        yield piece


@dataclass(frozen=True)
class RequestCondition:
    """A question about a request, and how it reads in a script."""

    text: str
    test: Callable[[ChatCompletionRequest], bool]

    def __call__(self, request: ChatCompletionRequest) -> bool:
        """Whether it holds for this request."""
        return self.test(request)

    def __str__(self) -> str:
        return self.text

    def __and__(self, other: RequestCondition) -> RequestCondition:
        return RequestCondition(
            f"{self} & {other}", lambda request: self(request) and other(request)
        )

    def __or__(self, other: RequestCondition) -> RequestCondition:
        return RequestCondition(
            f"({self} | {other})", lambda request: self(request) or other(request)
        )

    def __invert__(self) -> RequestCondition:
        return RequestCondition(f"~({self})", lambda request: not self(request))


def find_turn(request: ChatCompletionRequest) -> int:
    """The turn that a request asks for: how many of its messages are the assistant's."""
    return sum(message.role == "assistant" for message in request.messages)


def find_last_tool_result(request: ChatCompletionRequest, tool_name: str) -> str | None:
    """What the newest call of a tool gave, as the agent told it; None where there was none."""
    calls = {call.id: call.function.name for message in request.messages for call in message.calls}
    for message in reversed(request.messages):
        if message.role == "tool" and calls.get(message.tool_call_id or "") == tool_name:
            return message.text
    return None


def turn(number: int) -> RequestCondition:
    """It is this turn, counted from 0."""
    return RequestCondition(f"turn({number})", lambda request: find_turn(request) == number)


def says(role: str, pattern: str) -> RequestCondition:
    """The newest message of a role contains a match of a regular expression.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search

    def test(request: ChatCompletionRequest) -> bool:
        spoken = [message.text for message in request.messages if message.role == role]
        return bool(spoken) and search(spoken[-1]) is not None

    return RequestCondition(f"says({role!r}, {pattern!r})", test)


def last_says(pattern: str) -> RequestCondition:
    """The newest message, whoever speaks, contains a match of a regular expression.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search
    return RequestCondition(
        f"last_says({pattern!r})",
        lambda request: bool(request.messages and search(request.messages[-1].text)),
    )


def tool_says(tool: str, pattern: str) -> RequestCondition:
    """The newest result of a tool contains a match of a regular expression.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search

    def test(request: ChatCompletionRequest) -> bool:
        result = find_last_tool_result(request, tool)
        return result is not None and search(result) is not None

    return RequestCondition(f"tool_says({tool!r}, {pattern!r})", test)


def where(text: str, test: Callable[[ChatCompletionRequest], bool]) -> RequestCondition:
    """A condition of your own; `text` stands for it where rules are listed."""
    return RequestCondition(f"where({text!r})", test)


#: Holds for every request; for the last rule of a script.
always = RequestCondition("always", lambda _: True)


#: Characters of the newest message that an error shows.
MAX_SHOWN_MESSAGE_CHARS = 200


@dataclass(frozen=True)
class ScriptedCall:
    """The model calls a tool."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """A string is sent as it is, malformed JSON included."""

    @property
    def arguments_json(self) -> str:
        """The arguments as the model writes them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class ScriptedReply:
    """What the model answers: a text, tool calls, or both."""

    text: str | None = None
    calls: tuple[ScriptedCall, ...] = ()


def say(text: str | None, *calls: ScriptedCall) -> ScriptedReply:
    """A reply, as it reads in a rule: `say("Let me look.", Call("list_files"))`."""
    return ScriptedReply(text, calls)


@dataclass(frozen=True)
class ScriptRule:
    """Where `when` holds, the model answers `reply`."""

    when: RequestCondition
    reply: (
        ScriptedReply
        | ScriptedCall
        | Callable[[ChatCompletionRequest], ScriptedReply | ScriptedCall]
    )
    """A function is called with the request, and must be as pure as the rest."""
    fault: Fault | None = None

    def reply_to(self, request: ChatCompletionRequest) -> ScriptedReply:
        """The reply to a request for which the rule holds."""
        reply = self.reply(request) if callable(self.reply) else self.reply
        return ScriptedReply(calls=(reply,)) if isinstance(reply, ScriptedCall) else reply


class NoRuleMatchesError(LookupError):
    """The script says nothing about a request: names the turn, what was seen, and the rules."""


@dataclass(frozen=True)
class Script:
    """What a model says: the first rule that holds answers."""

    name: str
    rules: Sequence[ScriptRule]
    description: str = ""
    """A line for people: what conversation this is for."""

    def rule_for(self, request: ChatCompletionRequest) -> ScriptRule:
        """The first rule that holds.

        Raises:
            NoRuleMatchesError: None does.
        """
        for rule in self.rules:
            if rule.when(request):
                return rule
        raise NoRuleMatchesError(self._nothing_to_say(request))

    def _nothing_to_say(self, request: ChatCompletionRequest) -> str:
        if request.messages:
            last = request.messages[-1]
            text = (
                last.text
                if len(last.text) <= MAX_SHOWN_MESSAGE_CHARS
                else f"{last.text[:MAX_SHOWN_MESSAGE_CHARS]}…"
            )
            seen = f"{len(request.messages)} messages, the newest from {last.role}: {text!r}"
        else:
            seen = "no messages"
        rules = "; ".join(f"{number}. {rule.when}" for number, rule in enumerate(self.rules, 1))
        return (
            f"No rule of the script {self.name!r} matches turn {find_turn(request)}. "
            f"Seen: {seen}. Its rules: {rules or 'none'}."
        )


#: A folder of scripts that messages may name, each by its file's name without `.py`.
SCRIPTS_VARIABLE: Final = "AGENTSTEPPER_SCRIPTS"


def list_named_scripts() -> tuple[str, ...]:
    """The scripts that may be named without a path: the built-in ones, and those of the environment."""
    return (*list_builtin_scripts(), *_own_scripts())


def list_builtin_scripts() -> tuple[str, ...]:
    """The names of the scripts that ship with the package."""
    return tuple(module.name for module in pkgutil.iter_modules(scripts.__path__))


def load_script(name: str) -> Script:
    """Load a script.

    Args:
        name: A name of `list_named_scripts`, or the path of a Python file; each file is run,
            and names its script `script`.

    Raises:
        ValueError: There is no such script, or the file has no `script`; says which there are.
    """
    if name in list_builtin_scripts():
        script = import_module(f"{scripts.__name__}.{name}").script
    elif (own := _own_scripts().get(name)) is not None:
        script = runpy.run_path(str(own)).get("script")
    elif Path(name).is_file():
        script = runpy.run_path(name).get("script")
    else:
        built_in = ", ".join(list_builtin_scripts())
        raise ValueError(f"no script or file {name!r}; built-in scripts: {built_in}")
    if not isinstance(script, Script):
        raise ValueError(f"{name} has no `script = Script(…)`")
    return script


def _own_scripts() -> dict[str, Path]:
    """The files of the folder that the environment names."""
    folder = os.environ.get(SCRIPTS_VARIABLE)
    return {each.stem: each for each in sorted(Path(folder).glob("*.py"))} if folder else {}
