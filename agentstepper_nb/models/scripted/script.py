"""A script: an ordered list of rules, each with a condition, a reply and, if wanted, a fault.

Faults are failures of the connection or the service. For a tool call with malformed arguments, write
`ScriptedCall("tool", '{"half": ')`.
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
    """Answer the first attempts at a request with an HTTP error, and later attempts with the reply.

    Attempts are counted per distinct request, so each conversation gets its own errors.
    """

    status: int = 503
    times: int | None = 1
    """The number of attempts that are refused; None: all of them."""
    retry_after: float = 0.001
    """Seconds until the client should retry, sent in the `retry-after` headers."""


@dataclass(frozen=True)
class DisconnectFault:
    """End the response in the middle of the answer."""

    pieces_sent: int = 1
    """Pieces sent before the end. A stream has one piece per chunk; a JSON answer has two halves."""
    ends_cleanly: bool = False
    """Whether the response ends properly, but without the answer's end. False: the connection breaks."""


@dataclass(frozen=True)
class PauseFault:
    """Pause in the middle of the answer until a test calls `server.gate(name).open()`."""

    name: str
    """The gate's name. Several rules may share a gate."""
    pieces_sent: int = 0
    """Pieces sent before the pause, counted as in `DisconnectFault.pieces_sent`."""


Fault = ErrorFault | DisconnectFault | PauseFault


class PauseGate:
    """Holds the answers that have a `PauseFault` of one name until a test opens the gate."""

    def __init__(self) -> None:
        self._reached = Event()
        self._opened = Event()

    def wait_reached(self, timeout: float | None = None) -> bool:
        """Wait until an answer has reached the gate.

        Args:
            timeout: Seconds to wait; None: no limit.

        Returns:
            Whether an answer reached the gate in time.
        """
        return self._reached.wait(timeout)

    def open(self) -> None:
        """Open the gate: waiting answers and all later answers continue."""
        self._opened.set()

    def reach_and_wait(self) -> None:
        """Report that an answer has reached the gate, and block until the gate is open."""
        self._reached.set()
        self._opened.wait()


class DisconnectFaultError(ConnectionError):
    """Raised between two pieces of an answer where a `DisconnectFault` breaks the connection."""


def apply_fault(
    pieces: Iterable[bytes], fault: Fault | None, gates: Mapping[str, PauseGate]
) -> Iterator[bytes]:
    """Yield the pieces of an answer, and apply a fault between two of them.

    Args:
        pieces: The complete answer.
        fault: The fault; None: the answer is unchanged.
        gates: The gates, by the name that a `PauseFault` has.

    Raises:
        DisconnectFaultError: The server must break the connection.
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
    """A predicate of requests. Conditions combine with `&`, `|` and `~`."""

    text: str
    """The condition as Python source, for error messages."""
    test: Callable[[ChatCompletionRequest], bool]
    """The predicate; a pure function."""

    def __call__(self, request: ChatCompletionRequest) -> bool:
        """Evaluate the condition on a request."""
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
    """Return a request's turn: the number of assistant messages in the request."""
    return sum(message.role == "assistant" for message in request.messages)


def find_last_tool_result(request: ChatCompletionRequest, tool_name: str) -> str | None:
    """Return the text of a tool's newest result in a request; None: the tool has no result."""
    calls = {call.id: call.function.name for message in request.messages for call in message.calls}
    for message in reversed(request.messages):
        if message.role == "tool" and calls.get(message.tool_call_id or "") == tool_name:
            return message.text
    return None


def turn(number: int) -> RequestCondition:
    """Match requests of one turn, counted from 0."""
    return RequestCondition(f"turn({number})", lambda request: find_turn(request) == number)


def says(role: str, pattern: str) -> RequestCondition:
    """Match requests in which the newest message of a role matches a regular expression.

    Args:
        role: The message's role: `user`, `assistant`, `system` or `tool`.
        pattern: The regular expression, searched for in the message's text.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search

    def test(request: ChatCompletionRequest) -> bool:
        spoken = [message.text for message in request.messages if message.role == role]
        return bool(spoken) and search(spoken[-1]) is not None

    return RequestCondition(f"says({role!r}, {pattern!r})", test)


def last_says(pattern: str) -> RequestCondition:
    """Match requests in which the newest message of any role matches a regular expression.

    Args:
        pattern: The regular expression, searched for in the message's text.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search
    return RequestCondition(
        f"last_says({pattern!r})",
        lambda request: bool(request.messages and search(request.messages[-1].text)),
    )


def tool_says(tool: str, pattern: str) -> RequestCondition:
    """Match requests in which a tool's newest result matches a regular expression.

    Args:
        tool: The tool's name.
        pattern: The regular expression, searched for in the result's text.

    Raises:
        re.error: The pattern is not a regular expression.
    """
    search = re.compile(pattern).search

    def test(request: ChatCompletionRequest) -> bool:
        result = find_last_tool_result(request, tool)
        return result is not None and search(result) is not None

    return RequestCondition(f"tool_says({tool!r}, {pattern!r})", test)


def where(text: str, test: Callable[[ChatCompletionRequest], bool]) -> RequestCondition:
    """Make a condition from a function.

    Args:
        text: The condition's description in error messages.
        test: The predicate; a pure function of the request.
    """
    return RequestCondition(f"where({text!r})", test)


#: The condition that matches every request; for the last rule of a script.
always = RequestCondition("always", lambda _: True)


#: The most characters of a request's newest message in a `NoRuleMatchesError`.
MAX_SHOWN_MESSAGE_CHARS = 200


@dataclass(frozen=True)
class ScriptedCall:
    """A tool call in a scripted reply."""

    tool: str
    """The tool's name."""
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """The arguments. A string is sent unchanged, even if the string is malformed JSON."""

    @property
    def arguments_json(self) -> str:
        """The arguments as JSON text."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class ScriptedReply:
    """The model's answer: a text, tool calls, or both."""

    text: str | None = None
    """The answer's text; None: the answer has only tool calls."""
    calls: tuple[ScriptedCall, ...] = ()
    """The tool calls, in order."""


def say(text: str | None, *calls: ScriptedCall) -> ScriptedReply:
    """Make a reply: `say("Let me look.", ScriptedCall("list_files"))`."""
    return ScriptedReply(text, calls)


@dataclass(frozen=True)
class ScriptRule:
    """A rule: the model answers a request that `when` matches with `reply`."""

    when: RequestCondition
    """The condition of the request."""
    reply: (
        ScriptedReply
        | ScriptedCall
        | Callable[[ChatCompletionRequest], ScriptedReply | ScriptedCall]
    )
    """The reply, or a pure function that makes the reply from the request."""
    fault: Fault | None = None
    """A failure that happens before or during the answer."""

    def reply_to(self, request: ChatCompletionRequest) -> ScriptedReply:
        """Make the reply to a request that the rule matches."""
        reply = self.reply(request) if callable(self.reply) else self.reply
        return ScriptedReply(calls=(reply,)) if isinstance(reply, ScriptedCall) else reply


class NoRuleMatchesError(LookupError):
    """No rule of a script matches a request. The error names the turn, the newest message, the rules."""


@dataclass(frozen=True)
class Script:
    """A scripted model: the first rule that matches a request makes the answer."""

    name: str
    """The script's name; also the name of the model in the list of models."""
    rules: Sequence[ScriptRule]
    """The rules, in order of precedence."""
    description: str = ""
    """One line for people about the conversation that the script is for."""

    def rule_for(self, request: ChatCompletionRequest) -> ScriptRule:
        """Return the first rule that matches a request.

        Raises:
            NoRuleMatchesError: No rule matches.
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


#: The environment variable with a folder of scripts. A script's name is its file's name without `.py`.
SCRIPTS_VARIABLE: Final = "AGENTSTEPPER_SCRIPTS"


def list_named_scripts() -> tuple[str, ...]:
    """List the names of scripts: built-in scripts, then those in the folder of `SCRIPTS_VARIABLE`."""
    return (*list_builtin_scripts(), *_own_scripts())


def list_builtin_scripts() -> tuple[str, ...]:
    """List the names of the scripts that ship with the package."""
    return tuple(module.name for module in pkgutil.iter_modules(scripts.__path__))


def load_script(name: str) -> Script:
    """Load a script.

    Args:
        name: A name of `list_named_scripts`, or the path of a Python file. The file is executed, and
            must define a variable `script`.

    Raises:
        ValueError: There is no such script or file, or the file defines no `script`.
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
    """Return the files in the folder of `SCRIPTS_VARIABLE`, by the script's name."""
    folder = os.environ.get(SCRIPTS_VARIABLE)
    return {each.stem: each for each in sorted(Path(folder).glob("*.py"))} if folder else {}
