"""One line on a halt point, made by rule: the question, the called tool, the outcome.

Contents may hold anything: the line is short, plain text in any case.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET

from ..protocol.data_model import AnswerKind, EventKind, EventOutcome, EventSide, Failure, HaltPoint
from ..protocol.line_count import count_lines
from ..protocol.opaque_values import REPR_KEY, is_opaque_value
from ..protocol.text_escaping import escape_invisible
from ..protocol.tool_end_summaries import add_tool_name
from .key_line import summarize_result
from .message_parts import (
    LlmMessage,
    Part,
    PartKind,
    count_messages,
    find_messages,
    read_answer,
    read_framework_message,
    read_message,
)

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

#: The last message of a run that did not finish: its own summary is the same for all such runs, as in
#: version 1.
_UNFINISHED: Final = {
    EventOutcome.STOPPED: "Agent execution was stopped",
    EventOutcome.ERROR: "The agent broke off",
}
#: Exceptions that only say that an event was ended from outside.
_END_REQUESTS: Final = frozenset({"CancelledError", "KeyboardInterrupt", "GeneratorExit"})


def summarize(halt_point: HaltPoint, summarizer: Summarizer | None = None) -> str:
    """One line on a halt point: its failure, else the agent's own summary, else a model's sentence, else
    an extension's, else a line by rule. The line also says that a call was denied, and why; that it
    was skipped; that it asks for an approval; or which exception a person raised.

    Args:
        halt_point: The halt point; its edit counts, where it has one.
        summarizer: Makes extensions' summaries, or None.
    """
    if halt_point.answer is AnswerKind.DENY and halt_point.side is EventSide.BEGIN:
        return extract_first_line(f"Denied: {halt_point.reason or _line(halt_point, summarizer)}")
    if halt_point.raised is not UNSET:
        raised = halt_point.raised
        return extract_first_line(f"Raised by a person: {raised.type}: {raised.message}")
    line = _line(halt_point, summarizer)
    if halt_point.supplied is not UNSET:
        return extract_first_line(f"Skipped: {line}")
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
    """A text's first line that isn't empty, without control codes, cut to `MAX_SUMMARY_CHARS`."""
    if not text:
        return ""
    line = next(iter(text.lstrip()[:_MAX_LINE_CHARS].splitlines()), "")
    cleaned = _clean_line(line[:_FIRST_CHARS])
    # Else its beginning fills the line.
    if len(cleaned) <= MAX_SUMMARY_CHARS and len(line) > _FIRST_CHARS:
        cleaned = _clean_line(line)
    is_whole = len(cleaned) <= MAX_SUMMARY_CHARS and len(line) < _MAX_LINE_CHARS
    return cleaned if is_whole else cleaned[: MAX_SUMMARY_CHARS - 1] + "…"


def _clean_line(line: str) -> str:
    """The words of a line, without invisible characters."""
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
    prompt = find_messages(value)
    is_conversation = isinstance(prompt, list) and prompt
    line = _last_messages(prompt) if is_conversation else _join_labels(_text(prompt))
    return extract_first_line(line) or "Asks with an empty prompt"


def _last_messages(items: list[Any]) -> str:
    """The new part of a prompt: the user's text, or tool results, since the model's last message."""
    if read_message(items[-1]) is None:
        return _text(items[-1])
    new, answer = _split_last(items)
    if not new:
        said = _join_parts(answer)
        return f"Asks to go on after: {said}" if said else "Asks to go on"
    spoken = [message for message in new if message.role != "system"] or new
    results = _last_results(spoken)
    return _say_results(results, answer) if results else _join_parts(spoken[-1].parts)


def _split_last(items: list[Any]) -> tuple[list[LlmMessage], list[Part]]:
    """The messages since the model's last message, and the parts of that message's items."""
    news: list[LlmMessage] = []
    said: list[LlmMessage] = []
    for item in reversed(items):
        message = read_message(item)
        if message is None or (said and message.role != "assistant"):
            break
        (said if message.role == "assistant" else news).append(message)
    return news[::-1], [part for message in reversed(said) for part in message.parts]


def _last_results(messages: list[LlmMessage]) -> list[Part]:
    """The results that the messages end with."""
    parts = [part for message in messages for part in message.parts]
    is_result = [part.kind in (PartKind.RESULT, PartKind.MEDIA) for part in parts]
    first = next((at + 1 for at in reversed(range(len(parts))) if not is_result[at]), 0)
    return [part for part in parts[first:] if part.kind is PartKind.RESULT]


def _say_results(results: list[Part], answer: list[Part]) -> str:
    """Summarize tool results, with tool names where the results or the calls of an answer have them."""
    lines = [_summarize_content(part.value) for part in results[:_MAX_RESULTS]]
    if len(results) == 1:
        return f"Returns a tool's result: {lines[0]}"  # as the row of that result says it
    called = {part.call: part.name for part in answer}
    names = [part.name or called.get(part.call) for part in results]
    named = [add_tool_name(name, line) for name, line in zip(names, lines, strict=False)]
    return f"Returns {len(results)} tools' results: {', '.join(named)}"


#: The most tool results that a prompt's summary describes.
_MAX_RESULTS: Final = 10


def _summarize_content(value: Any) -> str:
    return extract_first_line(summarize_result(_text(value)))


def summarize_answer(data: str) -> str:
    """One line on the content of an LLM answer, by rule.

    Args:
        data: The answer's JSON text.

    Raises:
        RecursionError: The answer is nested too deeply.
    """
    return _answer(_read(data))


def _answer(value: Any) -> str:
    parts = read_answer(value)
    said = _text(value) if parts is None else _join_parts(parts)
    return extract_first_line(said) or "Answers with nothing"


def extract_beside_calls(halt_point: HaltPoint) -> str:
    """The model's text beside its tool calls, in one line; "": there is no text, or no call."""
    is_answer = halt_point.kind is EventKind.LLM_QUERY and halt_point.side is EventSide.END
    text = halt_point.current
    # To look for the word costs far less than to read the answer once more.
    if not is_answer or len(text) > MAX_READ_CHARS or not _CALL_WORD.search(text):
        return ""
    try:
        parts: list[Part] = [*(read_answer(_read(text)) or ())]
    except RecursionError:  # nested so deeply that it could just be read
        return ""
    if not any(part.kind is PartKind.CALL for part in parts):
        return ""
    said = (part.value for part in parts if part.kind is PartKind.TEXT and part.value)
    return extract_first_line(_join_labels("\n".join(said)))


_CALL_WORD: Final = re.compile(r"tool|call", re.IGNORECASE)


def _join_parts(parts: Sequence[Part]) -> str:
    """Summarize a message: its calls, else its texts, else its images and files."""
    calls = [part for part in parts if part.kind is PartKind.CALL]
    if calls:
        return "Calls " + ", ".join(
            _format_call(part.name, _read_text(part.value)) for part in calls
        )
    texts = [part.value for part in parts if part.kind is PartKind.TEXT and part.value]
    if texts:
        return _join_labels("\n".join(texts))
    media = [part.name or "file" for part in parts if part.kind is PartKind.MEDIA]
    if media:
        return f"Sends {'an' if media[0][0] in 'aeiou' else 'a'} {' and '.join(media)}"
    others = [part.value for part in parts if part.kind in (PartKind.OTHER, PartKind.RESULT)]
    return _text(others[-1]) if others else ""


#: A line that only announces the next one: “New task:”.
_LABEL: Final = re.compile(r"([^\n]{1,40}:)[ \t]*\n\s*(?=\S)")


def _join_labels(text: str) -> str:
    """A text whose first lines are labels, each joined with the line below it."""
    labels, text = "", text.lstrip()
    for _ in range(_MAX_LABELS):
        found = _LABEL.match(text)
        if found is None:
            break
        labels, text = f"{labels}{found[1]} ", text[found.end() :]
    return labels + text


#: Labels that may stand one under the other.
_MAX_LABELS: Final = 3


def _read_text(value: Any) -> Any:
    """A call's arguments, which may be the text of their JSON."""
    return _read(value) if isinstance(value, str) else value


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
    elif messages := count_messages(value):
        return f"{messages} message{'s' if messages > 1 else ''}"
    else:
        text = _json(value)
    return text if len(text) <= 60 else text[:59] + "…"


def _result(value: Any) -> str:
    if value is None:
        return "Returned nothing"
    message = read_framework_message(value)
    if message is not None and not any(part.kind is PartKind.RESULT for part in message.parts):
        return extract_first_line(_join_parts(message.parts)) or "Returned an empty text"
    content = value if message is None else message.parts[-1].value
    return _summarize_content(content) or "Returned an empty text"


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
    """A value as JSON, in which a value that was shown by its repr stays that repr."""
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
