"""What leaves the process: redacted, as JSON text, masked, and not too large."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ..errors import ProtocolError
from ..protocol.data_model import Commit, Failure, FileBody, FileChange, Usage
from ..protocol.envelope import MAX_MESSAGE_BYTES
from ..protocol.header_limits import MAX_TRACEBACK_CHARS
from ..protocol.opaque_values import REPR_KEY
from .json_text import JsonDumper, dump_json, dump_plain_json, map_strings
from .secret_masks import SecretMask, make_restorer
from .source_locations import format_agent_frames
from .value_encoder import EncodedValue, encode_redacted, encode_value
from .value_hooks import NO_HOOKS, ValueHooks

#: Called with what a value is (`RedactKind`) and the value, before it leaves the process.
Redact = Callable[[str, Any], Any]

#: Room for the frame around a message's contents.
_FRAME_BYTES: Final = 16 * 1024
#: Parts of a message's limit that a value may weigh, in letters, tried in turn: escapes may make six
#: of one letter.
_SIZE_FACTORS: Final = (1, 1 / 8, 0)
#: Stands in the text of a value that has marks, or what looks like one.
_HINT_AT_MARK: Final = f'"{REPR_KEY}"'
_MAX_ERROR_CHARS: Final = 10_000

#: What no query costs; infinity and what isn't a number is as little a cost.
_MAX_COST_DOLLARS: Final = 1e12

#: In the place of a hash that can't be made.
NOT_HASHED: Final = ""

_SURROGATE = re.compile("[\ud800-\udfff]")


class RedactKind:
    """What `redact` is told a value is."""

    PROGRAM = "program"
    PROMPT = "prompt"
    RESPONSE = "response"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    EVENT = "event"  # what a custom event begins with
    EVENT_RESULT = "event_result"
    DEBUG_MESSAGE = "debug_message"
    APPROVAL = "approval"  # what a person is asked before a call, and why they denied it
    ERROR = "error"
    TRACEBACK = "traceback"  # the frames that an exception passed
    COMMIT = "commit"
    VARIABLE = "variable"  # a local that a person looks at: its name, and its repr


class Payload(NamedTuple):
    """Contents ready to travel."""

    raw: Raw
    originals: dict[str, str]  # what each mask in it stands for
    encoded: EncodedValue  # the value, and how it was shown
    is_plain: bool = False  # shown as it is, since it is of JSON's own types throughout

    def restore_secrets(self, raw: Raw) -> Any:
        """The value of JSON text, with the secrets that were masked in this for the person."""
        value = json.loads(bytes(raw))
        return map_strings(value, make_restorer(self.originals)) if self.originals else value


class PayloadEncoder:
    """Makes values ready to travel.

    Args:
        redact: The agent's own hook.
        hooks: The agent's own hooks for values that JSON doesn't have.

    Attributes:
        limit: Bytes of the largest message that the Core takes.
    """

    def __init__(self, redact: Redact | None = None, hooks: ValueHooks = NO_HOOKS) -> None:
        self.max_message_bytes = MAX_MESSAGE_BYTES
        self._redact = redact
        self.hooks = hooks
        self._dumper = JsonDumper(hooks.encode if hooks.can_encode else None)
        self._reported_failures: set[tuple[type, type]] = set()

    def encode(self, kind: str, value: Any) -> Payload:
        """Pack a value that must be JSON.

        Raises:
            NotJSONError: JSON can't carry the value.
            ProtocolError: `too_large`.
        """
        redacted = value if self._redact is None else self._redact(kind, value)
        packed = _packed(self._dumper.dump(redacted), EncodedValue(value))
        if (size := memoryview(packed.raw).nbytes) > self.max_message_bytes - _FRAME_BYTES:
            raise ProtocolError("too_large", _too_large(kind, size, self.max_message_bytes))
        return packed

    def encode_for_display(self, kind: str, value: Any) -> Payload:
        """Pack any value, as a person may see and edit it: by its form, or as a mark.

        Raises:
            ProtocolError: `too_large`: what `redact=` gave.
        """
        text = dump_plain_json(value) if self._redact is None else None
        # `$` is looked for first: to find one character is fast.
        if text is None or ("$" in text and _HINT_AT_MARK in text):
            return self._encode_by_form(kind, value, _SIZE_FACTORS)
        packed = _packed(text, EncodedValue(value, value), is_plain=True)
        if memoryview(packed.raw).nbytes <= self.max_message_bytes - _FRAME_BYTES:
            return packed
        return self._encode_by_form(kind, value, _SIZE_FACTORS[1:])

    def _encode_by_form(self, kind: str, value: Any, size_factors: tuple[float, ...]) -> Payload:
        """Pack a value by the forms of its parts, and by what `redact=` gives for these."""
        size = 0
        for part in size_factors:
            max_chars = int(self.max_message_bytes * part)
            shown = encode_value(value, self.hooks, max_chars, self.max_message_bytes)
            data = shown.json
            if self._redact is not None:
                data = encode_redacted(shown, self._redact(kind, data), self.hooks)
            packed = _packed(dump_json(data), shown)
            size = memoryview(packed.raw).nbytes
            if size <= self.max_message_bytes - _FRAME_BYTES:
                return packed
        raise ProtocolError("too_large", _too_large(kind, size, self.max_message_bytes))

    def hash(
        self, kind: str, original: Any, packed: Payload, find_key: Callable[[], bytes | None]
    ) -> str | None:
        """The hash of the value that the agent has, before edits, masks and `redact=`.

        Args:
            kind: What the value is.
            original: The value.
            packed: What is sent for it, as `encode_for_display` packed it.
            find_key: Gives the key of the run's hashes; None where there is none yet.

        Returns:
            None where the original is sent as it is: then the sender's thread makes the hash. Else the
            hash in hex, or `NOT_HASHED` where there is no key.
        """
        is_edited = original is not packed.encoded.value
        if not (packed.originals or is_edited or self._redact is not None):
            return None
        key = find_key()
        if key is None:
            return NOT_HASHED
        if is_edited:
            packed = self.encode_for_display(kind, original)
        return hash_content(dump_json(packed.encoded.json).encode("utf-8", "surrogatepass"), key)

    def pop_new_hook_failures(self, payload: Payload) -> list[str]:
        """What `to_json=` raised for a payload, once for each type of value and exception."""
        failures = payload.encoded.hook_failures
        new = [key for key in failures if key not in self._reported_failures]
        self._reported_failures.update(new)
        return [failures[key] for key in new]

    def texts(self, kind: str, texts: dict[str, str], max_chars: int) -> dict[str, str]:
        """Pack a few texts that stand together, each cut to so many characters."""
        if self._redact is not None:
            texts = self._redact(kind, texts)
        mask = SecretMask()
        return {
            name: _cut(escape_surrogates(mask.text(str(text))), max_chars)
            for name, text in texts.items()
        }

    def failure(self, error: BaseException) -> Failure:
        """Pack an exception."""
        value = {"type": _type_name(error), "message": _message(error)}
        if self._redact is not None:
            value = self._redact(RedactKind.ERROR, value)
        mask = SecretMask()
        return Failure(
            type=escape_surrogates(mask.text(str(value["type"]))),
            message=escape_surrogates(mask.text(str(value["message"]))),
        )

    def traceback(self, error: BaseException) -> str:
        """Pack the frames of the agent's own code that an exception passed."""
        text = format_agent_frames(error)
        if self._redact is not None:
            text = str(self._redact(RedactKind.TRACEBACK, text))
        return _cut(escape_surrogates(SecretMask().text(text)), MAX_TRACEBACK_CHARS)

    def commit(self, commit: Commit) -> Commit:
        """Pack a commit. The contents of its largest files are left out where it is too large."""
        if self._redact is not None:
            redacted = self._redact(RedactKind.COMMIT, msgspec.to_builtins(commit))
            commit = msgspec.convert(redacted, Commit)
        mask = SecretMask()
        return replace(
            commit,
            title=escape_surrogates(mask.text(commit.title)),
            description=escape_surrogates(mask.text(commit.description)),
            changes=_within_limit(
                tuple(_masked(change, mask) for change in commit.changes),
                self.max_message_bytes - _FRAME_BYTES,
            ),
        )


def hash_content(data: bytes | Raw, key: bytes) -> str:
    """By what a run's value is known when the run is replayed, in hex: docs/design/0023-scopes.md.

    Args:
        data: The value's JSON text.
        key: The key of the run's hashes.
    """
    return blake2b(data, digest_size=16, key=key).hexdigest()


def _packed(text: str, shown: EncodedValue, is_plain: bool = False) -> Payload:
    """JSON text, masked."""
    mask = SecretMask()
    text = mask.json(text)
    try:
        data = text.encode()
    except UnicodeEncodeError:
        data = dump_json(map_strings(json.loads(text), _escaper(mask.originals))).encode()
    return Payload(Raw(data), mask.originals, shown, is_plain)


def _masked(change: FileChange, mask: SecretMask) -> FileChange:
    body = change.body and FileBody(
        diff=escape_surrogates(mask.text(change.body.diff)),
        content=escape_surrogates(mask.text(change.body.content)),
        previous_content=escape_surrogates(mask.text(change.body.previous_content)),
    )
    before = change.previous_path
    return replace(
        change,
        path=escape_surrogates(mask.text(change.path)),
        previous_path=before and escape_surrogates(mask.text(before)),
        body=body,
    )


def escape_surrogates(text: str) -> str:
    """A text that UTF-8 can carry: lone surrogates become escapes that a person can read."""
    return _SURROGATE.sub(_escape, text)


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match[0]):04x}"


def _escaper(originals: dict[str, str]) -> Callable[[str], str]:
    def escape(match: re.Match[str]) -> str:
        escaped = _escape(match)
        originals[escaped] = match[0]
        return escaped

    return lambda text: _SURROGATE.sub(escape, text)


def _too_large(kind: str, size: int, limit_bytes: int) -> str:
    megabytes = size / 1024 / 1024
    return (
        f"This {kind.replace('_', ' ')} has {megabytes:.1f} MiB, and the limit of a "
        f"message is {limit_bytes // 1024 // 1024} MiB. Pass redact= to AgentStepper to "
        "shorten it."
    )


def find_foreign_type(packed: Payload) -> str | UnsetType:
    """The class of a value that JSON hasn't, so that whoever gets its JSON gets another value.

    Returns:
        UNSET where JSON has it.
    """
    value = packed.encoded.value
    if packed.is_plain or _is_json(value, packed.encoded.json):
        return UNSET
    return escape_surrogates(_class_name(type(value)))


def _is_json(value: Any, shown: Any) -> bool:
    """Whether a value is of JSON's own types throughout; none of its own code is called."""
    kind = type(value)
    if kind is dict:
        alike = type(shown) is dict and len(shown) == len(value)
        return alike and all(
            type(key) is str and key in shown and _is_json(item, shown[key])
            for key, item in value.items()
        )
    if kind is list or kind is tuple:
        alike = type(shown) is list and len(shown) == len(value)
        return alike and all(map(_is_json, value, shown))
    return kind in (str, int, float, bool, type(None)) and kind is type(shown)


def _type_name(error: BaseException) -> str:
    return _class_name(type(error))


def _class_name(kind: type) -> str:
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def _message(error: BaseException) -> str:
    try:
        text = str(error)
    except Exception:
        text = "(its text can't be made)"
    return text if len(text) <= _MAX_ERROR_CHARS else text[:_MAX_ERROR_CHARS] + "…"


def _cut(text: str, max_chars: int) -> str:
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


def _within_limit(changes: tuple[FileChange, ...], limit_bytes: int) -> tuple[FileChange, ...]:
    sizes = [len(msgspec.json.encode(change)) for change in changes]
    shortened = list(changes)
    for index in sorted(range(len(shortened)), key=sizes.__getitem__, reverse=True):
        if sum(sizes) <= limit_bytes:
            break
        change = shortened[index]
        size = len(change.body.content.encode()) if change.body else change.size
        shortened[index] = replace(change, body=None, size=size)
        sizes[index] = len(msgspec.json.encode(shortened[index]))
    return tuple(shortened)


# ---- payloads of well-known shapes ------------------------------------------------------------------


def read_tool_call(edit: Any) -> tuple[str, Any]:
    """Read a tool call.

    Raises:
        ProtocolError: `invalid_edit`. The Core refuses such an edit; this is for the ones that don't.
    """
    match edit:
        case {"Tool": str() as tool, "Argument": args, **rest} if not rest:
            return tool, args
    raise ProtocolError(
        "invalid_edit", 'The edit of this tool call isn\'t {"Tool": text, "Argument": any}.'
    )


def find_model(prompt: Any) -> str | None:
    """The model that a prompt in the form of an LLM API asks."""
    match prompt:
        case {"model": str() as model}:
            return model
    return None


def find_usage(response: Any) -> Usage | None:
    """What a response in the form of an LLM API says that it cost."""
    match response:
        case {"usage": {"prompt_tokens": int() as asked, "completion_tokens": int() as said}}:
            pass
        case {"usage": {"input_tokens": int() as asked, "output_tokens": int() as said}}:
            pass
        case {"usage": {"inputTokens": int() as asked, "outputTokens": int() as said}}:  # Bedrock's
            pass
        case {"usageMetadata": {"promptTokenCount": int() as asked, **counts}}:  # Gemini's
            answered = counts.get("candidatesTokenCount")
            return Usage(
                input_tokens=asked, output_tokens=answered if isinstance(answered, int) else None
            )
        case _:
            return None
    return Usage(input_tokens=asked, output_tokens=said, cost=_find_cost(response["usage"]))


def _find_cost(usage: dict[str, Any]) -> float | None:
    """The cost as OpenRouter and those like it tell it, beside the tokens."""
    cost: Any = usage.get("cost")
    if type(cost) not in (int, float) or not 0 <= cost < _MAX_COST_DOLLARS:
        return None
    return float(cost)
