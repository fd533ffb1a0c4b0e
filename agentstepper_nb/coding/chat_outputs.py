"""Converts the events of a coding session to the pieces of an answer in a chat."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Protocol

import msgspec

from ..llm_wire.events import (
    AgentEvent,
    ResponseCompleted,
    TextDelta,
    ToolCallReady,
    ToolResultEvent,
    TraceEvent,
)
from ..protocol.chat import AgentOutput, MessageType
from ..protocol.image_types import MEDIA_TYPES
from .session_log import EDITED_KIND
from .tool_results import ToolResult, encode_result, normalize_result, parse_arguments
from .tools.read_file import ShowImage
from .tools.run_command import RunCommand

#: Characters of a call's arguments or result that are shown, as JSON; the session's log has the whole.
MAX_VALUE_CHARS: Final = 200_000
#: Levels of lists and objects in each other that are shown as such.
_MAX_DEPTH: Final = 50
#: Characters of what a model names.
_MAX_NAME_CHARS: Final = 200
_MAX_PATH_CHARS: Final = 4000
_NO_OUTPUT: Final = "It ended with exit code 0, and said nothing."


class OutputReceiver(Protocol):
    """The receiver of an answer. Its methods don't block."""

    def send(self, output: AgentOutput) -> None:
        """There is more of it."""

    def replace_text(self, text: str) -> None:
        """The text that was said last is this one, in truth."""


class _Call(NamedTuple):
    """A call that has no result yet, as it is in force."""

    name: str
    args: Any


class ChatOutputWriter:
    """Listens to a session, and says what a person in a chat is to read of it.

    A command is code and then its output; a picture that is shown is one; any other call is a call. A
    call is said when it is carried out, as it is then; one that a person denied, or gave the result of,
    when that is known.

    Args:
        receiver: Is told.
        root: What comes before a path of the workspace in the chat: `""`, or the folder with a slash.
    """

    def __init__(self, receiver: OutputReceiver, root: str = "") -> None:
        self._receiver = receiver
        self._root = root
        self._calls: dict[str, _Call] = {}  # in the order in which they are carried out
        self._running_call: str | None = None  # the call that is carried out
        self._text: list[str] = []  # of the newest answer
        self._is_answered = False  # that one is complete

    def on_event(self, event: AgentEvent) -> None:
        """Convert an event. This is the session's listener."""
        match event:
            case TextDelta(text=text):
                self._append_text(text)
            case ResponseCompleted():
                self._is_answered = True
            case ToolCallReady(call_id=id, name=name, args_json=args):
                self._calls.setdefault(id, _Call(name, parse_arguments(args)))
            case ToolResultEvent(call_id=id, result=result):
                self._result(id, normalize_result(result))
            case TraceEvent(kind=kind, data=data) if kind == EDITED_KIND:
                self._edited(data)
            case (
                TraceEvent(kind="warning", data={"message": str(text)})
                | TraceEvent(kind="sandbox", data={"warning": str(text)})
                # Of all other errors the result tells.
                | TraceEvent(kind="error", data={"kind": "log", "message": str(text)})
            ) if text:
                self._note(text)

    def on_tool_start(self, name: str, args: Any) -> None:
        """A tool begins to carry out the first call that has no result."""
        id = next(iter(self._calls), None)
        if id is None or name == ShowImage.name:  # of which only the picture is worth showing
            return
        self._running_call = id
        self._calls[id] = call = _Call(name, args)
        command = _command(call)
        if command is None:
            self._receiver.send(_called(id, call))
        else:
            self._receiver.send(
                AgentOutput(
                    type=MessageType.CODE.value, content=command, language="bash", format="source"
                )
            )

    # ---- text ---------------------------------------------------------------------------------------

    def _append_text(self, text: str) -> None:
        if self._is_answered:
            self._is_answered, self._text = False, []
        self._text.append(text)
        self._receiver.send(AgentOutput(content=text))

    def _note(self, text: str) -> None:
        self._receiver.send(AgentOutput(role="system", content=text))

    def _edited(self, data: Any) -> None:
        """A person edited something: what is in force is said."""
        match data:
            case {"what": "call", "call_id": str(id), "name": str(name), "args": args}:
                self._calls[id] = _Call(name, args)
            case {"what": "answer", "message": Mapping() as message}:
                self._edited_answer(message)

    def _edited_answer(self, message: Mapping[str, Any]) -> None:
        self._calls = {
            call["id"]: _Call(
                call["function"]["name"], parse_arguments(call["function"]["arguments"])
            )
            for call in message.get("tool_calls") or ()
        }
        text = message.get("content") or ""
        # None where the model wasn't asked.
        output_text = "".join(self._text) if self._is_answered else ""
        self._text, self._is_answered = [text], True
        if text and not output_text:
            self._receiver.send(AgentOutput(content=text))
        elif output_text != text:
            self._receiver.replace_text(text)

    # ---- results ------------------------------------------------------------------------------------

    def _result(self, id: str, result: ToolResult) -> None:
        call, was_running = self._calls.pop(id, None), self._running_call == id
        if was_running:
            self._running_call = None
        if call is None:
            return
        picture = _picture(call, result, self._root)
        if picture is not None:
            self._receiver.send(picture)
        elif was_running and _command(call) is not None:
            self._receiver.send(
                AgentOutput(
                    type=MessageType.CONSOLE.value, role="computer", content=_output(result)
                )
            )
        else:
            if not was_running:
                self._receiver.send(_called(id, call))
            self._receiver.send(_returned(id, result))


def _command(call: _Call) -> str | None:
    """The command that a call runs, with the folder; None where it runs none."""
    if call.name != RunCommand.name or not isinstance(call.args, Mapping):
        return None
    command, folder = call.args.get("command"), call.args.get("folder", ".")
    if not isinstance(command, str) or not command:
        return None
    return command if folder in (".", "", None) else f"# in {folder}\n{command}"


def _output(result: ToolResult) -> str:
    """What a command said, and how it ended where that is worth a word."""
    match result.data:
        case {"output": str(output_text)} | str(output_text):
            pass
        case None:
            output_text = ""
        case other:
            output_text = _json(other)
    lines = [text for text in (output_text.rstrip("\n"), result.error) if text]
    return "\n".join(lines) or _NO_OUTPUT


def _picture(call: _Call, result: ToolResult, root: str) -> AgentOutput | None:
    """The picture that a call shows."""
    match result.data:
        case {"path": str(path)} if call.name == ShowImage.name and result.ok:
            kind = result.data.get("media_type")
        case _:
            return None
    if not 0 < len(root + path) <= _MAX_PATH_CHARS:
        return None
    return AgentOutput(
        type=MessageType.IMAGE.value,
        path=root + path,
        media_type=kind if kind in MEDIA_TYPES else None,
        content=path,
    )


def _called(id: str, call: _Call) -> AgentOutput:
    return AgentOutput(
        type=MessageType.FUNCTION.value,
        name=call.name.strip()[:_MAX_NAME_CHARS] or "?",
        arguments={} if call.args is None else limit_value(call.args),
        call_id=id[:_MAX_NAME_CHARS],
    )


def _returned(id: str, result: ToolResult) -> AgentOutput:
    return AgentOutput(
        type=MessageType.FUNCTION.value,
        role="computer",
        call_id=id[:_MAX_NAME_CHARS],
        result=limit_value(_select_shown(result)),
        ok=result.ok,
    )


def _select_shown(result: ToolResult) -> Any:
    """What of a result is worth reading: of a change its diff, of a file its text, of a failure why."""
    if not result.ok:
        alone = result.data is None and not result.diagnostics
        return result.error if alone else encode_result(result)
    match result.data:
        case {"diff": str(text)} | {"path": _, "text": str(text), "lines": _} if text:
            return text
    return result.data


def limit_value(value: Any) -> Any:
    """A value as a chat carries it: the beginning of its JSON where it is too large or too deep."""
    text = _json(value)
    if len(text) <= MAX_VALUE_CHARS and not _deeper(value, _MAX_DEPTH):
        return value
    return f"{text[:MAX_VALUE_CHARS]}\n[… {len(text):,} characters in all]"


def _deeper(value: Any, levels: int) -> bool:
    if not isinstance(value, Mapping | list):
        return False
    inner = value.values() if isinstance(value, Mapping) else value
    return levels == 0 or any(_deeper(each, levels - 1) for each in inner)


def _json(value: Any) -> str:
    try:
        return msgspec.json.encode(value).decode()
    except (TypeError, ValueError, RecursionError):  # as a person edited it
        return repr(value)[:MAX_VALUE_CHARS]
