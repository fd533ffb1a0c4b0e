"""One line on a halt point, made by rule: what is asked, which tool is called, how it ended.

Contents may hold anything: whatever stands in them, the line is short, plain text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from ..protocol.data_model import AnswerKind, EventKind, EventOutcome, EventSide, Failure, HaltPoint
from ..protocol.line_count import count_lines
from ..protocol.opaque_values import REPR_KEY, is_opaque_value
from ..protocol.text_escaping import escape_invisible

#: Gives one line on a halt point, or None to leave it to the next. It is called often: each time that a
#: row is told.
Summarizer = Callable[[HaltPoint], str | None]

#: Characters of a summary.
MAX_SUMMARY_CHARS: Final = 160
#: Characters of a line that are looked at, white space among them.
_MAX_LINE_CHARS: Final = 10 * MAX_SUMMARY_CHARS
#: Characters of a line that are looked at first: they mostly fill a summary.
_FIRST_CHARS: Final = 2 * MAX_SUMMARY_CHARS
#: Contents above this size, in characters, are not read for a summary.
MAX_READ_CHARS: Final = 1 << 20

#: What the last message says of a run that did not finish: its own summary is the same for all, as
#: version 1 has it.
_UNFINISHED: Final = {
    EventOutcome.STOPPED: "Agent execution was stopped",
    EventOutcome.ERROR: "The agent broke off",
}
#: Exceptions that only say that an event was ended from outside.
_END_REQUESTS: Final = frozenset({"CancelledError", "KeyboardInterrupt", "GeneratorExit"})


def summarize(halt_point: HaltPoint, summarizer: Summarizer | None = None) -> str:
    """One line on a halt point: how it failed, else the agent's own summary, else a model's sentence,
    else an extension's, else one by rule. Of a call that was denied it says why; of one that asks for an
    approval that it does.

    Args:
        halt_point: The halt point; its edit, where it has one, is what counts.
        summarizer: Extensions' word on it, or None.
    """
    if halt_point.answer is AnswerKind.DENY and halt_point.side is EventSide.BEGIN:
        return extract_first_line(f"Denied: {halt_point.reason or _line(halt_point, summarizer)}")
    line = _line(halt_point, summarizer)
    asks_approval = halt_point.approval is not None and halt_point.answer is None
    return extract_first_line(f"Asks: {line}") if asks_approval else line


def describe_call(halt_point: HaltPoint) -> str:
    """A call that is pending, on one line, as messages about it name it."""
    return _line(halt_point, None)


def _line(halt_point: HaltPoint, summarizer: Summarizer | None) -> str:
    summary = summarize_without_contents(halt_point)
    if not summary and summarizer and not halt_point.model_summary:
        summary = extract_first_line(summarizer(halt_point) or "")
    if summary:
        return summary
    try:
        return _by_rule(halt_point)
    except RecursionError:  # nested so deeply that it could just be read
        return _describe_size(halt_point.current)


def summarize_without_contents(halt_point: HaltPoint) -> str:
    """The line on a halt point that doesn't come from its contents; "" where only they can tell."""
    if halt_point.failure is not None and not halt_point.is_replaced:
        return _failed(halt_point.failure, halt_point.outcome)
    if halt_point.kind is EventKind.PROGRAM_FINISHED and halt_point.outcome in _UNFINISHED:
        return _UNFINISHED[halt_point.outcome]
    own = extract_first_line((halt_point.summary or "").removesuffix("."))
    if own:
        return own
    if halt_point.outcome is EventOutcome.STOPPED:
        return "Stopped"
    return extract_first_line(halt_point.model_summary or "")


def _failed(failure: Failure, outcome: EventOutcome | None) -> str:
    if outcome is not EventOutcome.STOPPED:
        return extract_first_line(f"Failed: {failure.type}: {failure.message}")
    if failure.type.rpartition(".")[2] in _END_REQUESTS:
        return "Stopped"
    return extract_first_line(f"Stopped: {failure.type}: {failure.message}")


def _by_rule(halt_point: HaltPoint) -> str:
    if len(halt_point.current) > MAX_READ_CHARS:
        return _describe_size(halt_point.current)
    value = _read(halt_point.current)
    if halt_point.kind is EventKind.LLM_QUERY:
        return _prompt(value) if halt_point.side is EventSide.BEGIN else _answer(value)
    if halt_point.kind is EventKind.TOOL_INVOCATION:
        return _call(value) if halt_point.side is EventSide.BEGIN else _result(value)
    if halt_point.kind is EventKind.CUSTOM:
        begins = halt_point.side is EventSide.BEGIN
        return (
            extract_first_line(_format_call(halt_point.name, value)) if begins else _result(value)
        )
    return extract_first_line(_text(value))


def _describe_size(text: str) -> str:
    return f"{format_size(len(text))} of JSON"


def _read(text: str) -> Any:
    """A JSON text's value; the text itself where a strict parser doesn't take it."""
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return text


def flatten_json(data: str) -> str:
    """A JSON text's string on one line, or the JSON itself where it is no string."""
    if len(data) > MAX_READ_CHARS:
        return extract_first_line(data[:MAX_READ_CHARS].removeprefix('"'))
    try:
        return extract_first_line(_text(_read(data)))
    except RecursionError:
        return _describe_size(data)


def extract_first_line(text: str) -> str:
    """A text's first line that says something, cut to `MAX_SUMMARY_CHARS` characters, without control
    codes.
    """
    if not text:
        return ""
    line = next(iter(text.lstrip()[:_MAX_LINE_CHARS].splitlines()), "")
    cleaned = _clean_line(line[:_FIRST_CHARS])
    if (
        len(cleaned) <= MAX_SUMMARY_CHARS and len(line) > _FIRST_CHARS
    ):  # else its beginning fills the line
        cleaned = _clean_line(line)
    is_whole = len(cleaned) <= MAX_SUMMARY_CHARS and len(line) < _MAX_LINE_CHARS
    return cleaned if is_whole else cleaned[: MAX_SUMMARY_CHARS - 1] + "…"


def _clean_line(line: str) -> str:
    """What a line says: its words, without characters that nobody sees."""
    cleaned = escape_invisible(" ".join(line.split()), lambda _: "")
    return cleaned if cleaned.isprintable() else "".join(filter(_is_visible, cleaned))


def _is_visible(character: str) -> bool:
    """Whether a character may stand in a line; the two joiners hold emoji and scripts together."""
    return character.isprintable() or character in "\u200c\u200d"


def format_size(size: int) -> str:
    """A size in bytes, for people."""
    if size < 1000:
        return f"{size} B"
    return f"{size / 1000:.0f} KB" if size < 1_000_000 else f"{size / 1_000_000:.1f} MB"


def _prompt(value: Any) -> str:
    prompt = value
    if isinstance(value, Mapping):
        prompt = next((value[key] for key in PROMPT_KEYS if key in value), value)
    if isinstance(prompt, list) and prompt:
        return _last_message(prompt[-1])
    return extract_first_line(_text(prompt)) or "Asks with an empty prompt"


#: Where the LLM APIs' requests have what is asked.
PROMPT_KEYS: Final = ("messages", "input", "contents", "prompt")


def _last_message(message: Any) -> str:
    if not isinstance(message, Mapping):
        return extract_first_line(_text(message))
    result = _find_tool_result(message)
    if result is not None:
        # As the row of that result says it.
        return extract_first_line(
            f"Returns a tool's result: {extract_first_line(summarize_result(_text(result)))}"
        )
    content = message.get("content", message.get("parts"))  # Gemini calls it parts
    return extract_first_line(_text(content)) or "Asks to go on"


def _find_tool_result(message: Mapping[str, Any]) -> Any:
    """A tool's result, as the LLM APIs' requests have it; None where a message is something else."""
    if message.get("role") == "tool":
        return message.get("content") or ""
    if message.get("type") == "function_call_output":
        return message.get("output") or ""
    last = next(reversed(_list(message.get("content"))), None)
    if isinstance(last, Mapping) and last.get("type") == "tool_result":
        return last.get("content") or ""
    last = next(reversed(_list(message.get("parts"))), None)
    if isinstance(last, Mapping) and isinstance(last.get("functionResponse"), Mapping):
        return last["functionResponse"].get("response") or ""
    return None


def _answer(value: Any) -> str:
    message = _find_message(value)
    calls = list(_list_calls(message))
    if calls:
        return extract_first_line("Calls " + ", ".join(calls))
    content = message.get("content", message) if isinstance(message, Mapping) else message
    return extract_first_line("" if content == [] else _text(content)) or "Answers with nothing"


def _find_message(value: Any) -> Any:
    """The message of an answer as the LLM APIs have them, or the value itself."""
    if not isinstance(value, Mapping):
        return value
    for first in _list(value.get("choices"))[:1]:
        return first.get("message", first) if isinstance(first, Mapping) else first
    for first in _list(value.get("candidates"))[:1]:  # Gemini's
        content = first.get("content") if isinstance(first, Mapping) else None
        return {"content": content.get("parts")} if isinstance(content, Mapping) else first
    if isinstance(value.get("output"), list) and value.get("object") == "response":
        return {"content": _flatten_output(value["output"])}
    return value


def _flatten_output(items: list[Any]) -> list[Any]:
    """The output of a Responses API's answer, with the parts of its messages in their places."""
    parts: list[Any] = []
    for item in items:
        is_message = isinstance(item, Mapping) and item.get("type") == "message"
        parts += _list(item.get("content")) if is_message else [item]
    return parts


def _list_calls(message: Any) -> Iterable[str]:
    """The calls of an answer: those of a chat completion, or those among its content's parts."""
    if not isinstance(message, Mapping):
        return
    for call in _list(message.get("tool_calls")):
        function = call.get("function") if isinstance(call, Mapping) else None
        if isinstance(function, Mapping):
            arguments = function.get("arguments")
            if isinstance(arguments, str):
                arguments = _read(arguments)
            yield _format_call(function.get("name"), arguments)
    yield from filter(None, map(_format_called_part, _list(message.get("content"))))


def _format_called_part(part: Any) -> str | None:
    """A part of an answer's content that is a call; None where it is anything else."""
    match part:
        case {"type": "tool_use" | "custom_tool_call"}:
            return _format_call(part.get("name"), part.get("input"))
        case {"type": "function_call", "arguments": str() as arguments}:
            return _format_call(part.get("name"), _read(arguments))
        case {"functionCall": {"name": name, **call}}:
            return _format_call(name, call.get("args"))
    return None


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _call(value: Any) -> str:
    if not isinstance(value, Mapping) or "Tool" not in value:
        return extract_first_line(_text(value))
    return extract_first_line(_format_call(value.get("Tool"), value.get("Argument")))


def _format_call(name: Any, arguments: Any) -> str:
    return f"{name if isinstance(name, str) else 'a tool'}({_arguments(arguments)})"


def _arguments(arguments: Any) -> str:
    if not isinstance(arguments, Mapping):
        return "" if arguments is None else _short(arguments)
    if len(arguments) == 1:
        return _short(next(iter(arguments.values())))
    return ", ".join(f"{name}={_short(value)}" for name, value in arguments.items())


def _short(value: Any) -> str:
    if isinstance(value, str):
        if (lines := count_lines(value)) > 1:
            return f"{lines} lines"
        text = value.rstrip("\n")
    else:
        text = _json(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _result(value: Any) -> str:
    if value is None:
        return "Returned nothing"
    return extract_first_line(summarize_result(_text(value))) or "Returned an empty text"


def _text(value: Any) -> str:
    """A value as text: strings as they are, content blocks joined, the rest as JSON."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, list) and value and all(isinstance(part, Mapping) for part in value):
        texts = [part["text"] for part in value if isinstance(part.get("text"), str)]
        if texts:
            return "\n".join(texts)
    return _json(value)


def _json(value: Any) -> str:
    """A value as JSON, with what is shown by its repr as that."""
    text = msgspec.json.encode(value).decode()
    if f'"{REPR_KEY}"' not in text:
        return text
    plain = _by_repr(value)
    return plain if isinstance(plain, str) else msgspec.json.encode(plain).decode()


def _by_repr(value: Any) -> Any:
    if is_opaque_value(value):
        return value[REPR_KEY]
    if isinstance(value, dict):
        return {key: _by_repr(item) for key, item in value.items()}
    return [_by_repr(item) for item in value] if isinstance(value, list) else value


#: Characters of a result's end that are looked at: there it says how it went.
_TAIL_CHARS: Final = 128 * 1024
#: A test that failed, as test programs list them: the first is shown. Not how many of them failed.
_FAILED_TEST: Final = re.compile(
    r"^[^\S\n]*(?:(?:FAILED|FAIL:?|ERROR:?|not ok|--- FAIL:)[ \t]+(?!\()|✗|✕|×).*", re.MULTILINE
)
#: What a compiler or a program complains of: the first is shown.
_COMPLAINT: Final = re.compile(
    r"^.{0,200}?\b(?:error|fatal|panic|abort|Error)(?:\[\w+\])?: .*", re.MULTILINE
)
#: What pytest says of a test that failed, where it lists none: the first is shown.
_PYTEST: Final = re.compile(r"^E {2,}(\S.*)", re.MULTILINE)
#: How Python writes an exception: the last is shown, which ended it.
_EXCEPTION: Final = re.compile(
    r"^(?:\w{1,80}\.){0,10}[A-Z]\w{0,80}(?:Error|Exception|Interrupt|Exit|Warning)(?::.*)?$",
    re.MULTILINE,
)


def summarize_result(text: str) -> str:
    """A result's text on one line: itself, or how many lines it has and the one that says most.

    Args:
        text: The result.
    """
    if "\n" not in text.strip():
        return text
    return f"{count_lines(text)} lines: {find_key_line(text)}"


def find_key_line(text: str) -> str:
    """The line that says what failed, or else the last one that says anything."""
    end = text[-_TAIL_CHARS:]
    if found := _FAILED_TEST.search(end):
        return found[0].strip()
    if found := _PYTEST.search(end):
        return found[1].rstrip()
    exceptions = _EXCEPTION.findall(end)
    if exceptions:
        return str(exceptions[-1])
    if found := _COMPLAINT.search(end):
        return found[0].strip()
    return end.rstrip().rpartition("\n")[2]
