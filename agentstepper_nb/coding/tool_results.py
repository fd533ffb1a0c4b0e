"""The results of tool calls, and the storage of outputs that are too long for the model."""

from __future__ import annotations

import contextlib
import os
import re
import threading
from pathlib import Path
from typing import Any, BinaryIO, Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from .. import typed_json
from ..llm_wire.conversation import ToolResultMessage


class ToolResult(Struct, frozen=True, kw_only=True):
    """The result of a tool call. Tools return failures; they never raise."""

    ok: bool
    data: Any = None
    error: str | None = None
    diagnostics: dict[str, Any] | None = None

    @classmethod
    def success(cls, data: Any = None) -> ToolResult:
        """The call did what was asked."""
        return cls(ok=True, data=data)

    @classmethod
    def failure(cls, error: str, **diagnostics: Any) -> ToolResult:
        """The call didn't; `error` tells the model what to do about it."""
        return cls(ok=False, error=error, diagnostics=diagnostics or None)


def make_result_message(call_id: str, result: ToolResult) -> ToolResultMessage:
    """The message that tells the model of a result; the same result gives the same message."""
    return ToolResultMessage(call_id=call_id, content=format_content(result), ok=result.ok)


def format_content(result: ToolResult) -> str:
    """A result as the model reads it: its data where there is nothing else to say, text as it is."""
    if result.ok and not result.diagnostics:
        return result.data if isinstance(result.data, str) else _json(result.data)
    return _json(encode_result(result))


def normalize_result(result: ToolResult) -> ToolResult:
    """A result as it is after a way through JSON; a failure where JSON can't carry it."""
    try:
        return typed_json.decode(msgspec.json.encode(result), ToolResult)
    except (TypeError, ValueError, OverflowError, RecursionError, msgspec.MsgspecError) as error:
        return ToolResult.failure(f"The result can't be put into JSON: {error}.")


def encode_result(result: ToolResult) -> dict[str, Any]:
    """A result as a person sees it in the debugger: what says nothing is left out."""
    fields: dict[str, Any] = msgspec.to_builtins(result)
    return {name: value for name, value in fields.items() if value is not None}


def decode_result(value: Any) -> ToolResult:
    """The result that a person gave or edited: any other shape is the data of a success."""
    try:
        return typed_json.convert(value, ToolResult)
    except msgspec.ValidationError:
        return ToolResult.success(value)


def add_note(result: ToolResult, **notes: Any) -> ToolResult:
    """A result with more to say about it to the model."""
    return replace(result, diagnostics={**(result.diagnostics or {}), **notes})


def truncate_with_note(text: str, limit: int) -> str:
    """The beginning of a text, with a note on its length where something is missing."""
    return text if len(text) <= limit else f"{text[:limit]}\n[… {len(text):,} characters in all]"


def parse_arguments(args_json: str) -> Any:
    """A call's arguments; as the model wrote them where that is no JSON."""
    try:
        return msgspec.json.decode(args_json or "{}")  # for none many write nothing
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return args_json


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


#: The prefix of a stored output's name for `read_file`; the output's number follows.
OUTPUT_PREFIX: Final = "output:"
#: Outputs that a session keeps, the oldest go; and bytes of one.
MAX_OUTPUTS: Final = 100
MAX_OUTPUT_BYTES: Final = 16 * 1024 * 1024

# Bytes that a text is cut to at least: a note on what is missing takes about half.
_MIN_SHARE_BYTES: Final = 256

_FILE = re.compile(r"(\d{1,9})\.txt")
_NAME = re.compile(rf"{OUTPUT_PREFIX}(\d{{1,9}})")


class OutputStore:
    """Stores the long outputs of one session in a folder outside of the workspace. Thread-safe.

    Args:
        folder: The folder, made on first use. Outputs that are already there are kept.
        max_outputs: The most stored outputs.
        max_bytes: The most bytes of one output. The end of a longer output is dropped.
    """

    def __init__(
        self, folder: Path, max_outputs: int = MAX_OUTPUTS, max_bytes: int = MAX_OUTPUT_BYTES
    ) -> None:
        self._folder = folder
        self._max_outputs = max_outputs
        self._max_bytes = max_bytes
        self._lock = threading.Lock()

    def save(self, text: str) -> str:
        """Store a text.

        Returns:
            The output's name, such as `output:3`.

        Raises:
            OSError: The output can't be written.
        """
        data = text.encode("utf-8", "replace")[: self._max_bytes]
        with self._lock:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            numbers = self._numbers()
            number = max(numbers, default=0) + 1
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with os.fdopen(os.open(self._path(number), flags, 0o600), "wb") as file:
                file.write(data)
            for old in sorted([*numbers, number])[: -self._max_outputs]:
                self._path(old).unlink(missing_ok=True)
        return f"{OUTPUT_PREFIX}{number}"

    def open(self, name: str) -> BinaryIO:
        """Open a kept text for reading.

        Args:
            name: As `save` gave it.

        Raises:
            FileNotFoundError: There is none of this name, or it had to go.
        """
        found = _NAME.fullmatch(name)
        if not found:
            raise FileNotFoundError(f"There is no output {name!r}.")
        try:
            return self._path(int(found[1])).open("rb")
        except FileNotFoundError:
            raise FileNotFoundError(
                f"{name} is kept no longer, or never was: run what gave it again."
            ) from None

    def _numbers(self) -> list[int]:
        names = (_FILE.fullmatch(path.name) for path in self._folder.iterdir())
        return [int(found[1]) for found in names if found]

    def _path(self, number: int) -> Path:
        return self._folder / f"{number}.txt"


def shorten_result(result: ToolResult, limit: int, outputs: OutputStore | None) -> ToolResult:
    """A result as the model gets it: at most so many bytes of JSON.

    What is cut has a note in its middle that says how to read the rest. Asking twice changes nothing.

    Args:
        result: What a tool gave.
        limit: Bytes of JSON; at least 1024 hold.
        outputs: Keeps the whole; None: it is dropped.
    """
    limit = max(limit, 1024)
    result = _encodable(result)
    if measure_json_bytes(result) <= limit:
        return result
    cutter = _Cutter(outputs)
    error, diagnostics = result.error, result.diagnostics
    if diagnostics is not None and measure_json_bytes(diagnostics) > limit // 4:
        diagnostics = {"cut": cutter.text(_text(diagnostics), limit // 4)}
    if error is not None:
        error = cutter.text(error, limit // 4)
    result = replace(result, error=error, diagnostics=diagnostics)
    rest = limit - measure_json_bytes(replace(result, data=None))
    return replace(result, data=cutter.value(result.data, rest))


def measure_json_bytes(value: Any) -> int:
    """Bytes of a value as JSON."""
    return len(msgspec.json.encode(value))


def _encodable(result: ToolResult) -> ToolResult:
    """A result that is JSON, whatever a tool gave."""
    try:
        msgspec.json.encode(result)
    except (TypeError, ValueError, RecursionError, OverflowError) as error:
        return ToolResult.failure(f"The tool gave what is no JSON: {error}")
    return result


class _Cutter:
    """Cuts values, and keeps what was cut."""

    def __init__(self, store: OutputStore | None) -> None:
        self._store = store

    def value(self, value: Any, budget: int) -> Any:
        """Cut a value: a dict's longest texts, else its text."""
        if measure_json_bytes(value) <= budget:
            return value
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            cut = self._items(value, budget)
            if measure_json_bytes(cut) <= budget:
                return cut
        return self.text(value if isinstance(value, str) else _text(value), budget)

    def _items(self, value: dict[str, Any], budget: int) -> dict[str, Any]:
        """Cut what is longer than its share; what is shorter leaves the others more."""
        sizes = {key: measure_json_bytes(item) for key, item in value.items()}
        left = budget - 2 - sum(measure_json_bytes(key) + 2 for key in value)
        cut = {}
        for done, key in enumerate(sorted(sizes, key=sizes.__getitem__)):
            share = left // (len(sizes) - done)
            if sizes[key] > share < _MIN_SHARE_BYTES:
                return value  # too many of them: notes alone would be too long
            cut[key] = self.value(value[key], share) if sizes[key] > share else value[key]
            left -= measure_json_bytes(cut[key])
        return {key: cut[key] for key in value}

    def text(self, text: str, budget: int) -> str:
        """Cut a text to head and tail."""
        if measure_json_bytes(text) <= budget:
            return text
        note = f"\n[… {len(text):,} characters in all, {self._where(text)} …]\n"
        half = max(budget - measure_json_bytes(note), 0) // 2
        return _head(text, half) + note + _head(text[::-1], half)[::-1]

    def _where(self, text: str) -> str:
        if self._store is not None:
            with contextlib.suppress(OSError):  # a full disk; the model gets on without
                return (
                    f'the middle is left out; read_file with path "{self._store.save(text)}" has it'
                )
        return "the middle is left out; ask for less at a time"


def _head(text: str, budget: int) -> str:
    """As many characters as fit into so many bytes of JSON."""
    head = text[:budget]
    while head and (excess_bytes := measure_json_bytes(head) - 2 - budget) > 0:
        # A character takes at most 6 bytes (`\u001b`), so that this never drops too much.
        head = head[: -max(excess_bytes // 6, 1)]
    return head


def _text(value: Any) -> str:
    return msgspec.json.format(msgspec.json.encode(value), indent=1).decode()
