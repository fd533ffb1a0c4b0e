"""Values encoded for sending: redacted, as JSON text, masked, and limited in size.

Encoding masks the values of environment variables named `*KEY`, `*TOKEN` or `*SECRET`, and of
Authorization and API-key headers. Each mask stands for its original, so that an edit of the text
around it doesn't destroy the secret: the agent gets the original back.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from hashlib import blake2b
from os import fsdecode
from typing import Any, Final, NamedTuple

from msgspec import UNSET, Raw, UnsetType

from ..errors import ProtocolError
from ..protocol.envelope import MAX_MESSAGE_BYTES
from ..protocol.opaque_values import REPR_KEY
from .json_text import JsonDumper, dump_json, dump_plain_json, map_strings
from .value_encoder import EncodedValue, encode_redacted, encode_value, name_class
from .value_hooks import NO_HOOKS, ValueHooks

#: Called with what a value is (`RedactKind`) and the value, before it leaves the process.
Redact = Callable[[str, Any], Any]

#: Room for the frame around a message's contents.
FRAME_BYTES: Final = 16 * 1024
#: Parts of a message's limit that a value may weigh, in letters, tried in turn: escapes may make six
#: of one letter.
_SIZE_FACTORS: Final = (1, 1 / 8, 0)
#: Stands in the text of a value that has marks, or what looks like one.
_HINT_AT_MARK: Final = f'"{REPR_KEY}"'

#: The placeholder of a hash that can't be made.
NOT_HASHED: Final = ""

#: Suffixes of environment variables whose values are secrets.
_SUFFIXES: Final = ("KEY", "TOKEN", "SECRET")
_MIN_SECRET_CHARS: Final = 8

_API_KEY = re.compile(r"api[-_]?key")
_HEADER_NAME = re.compile(r"(proxy-)?authorization|([a-z]+[-_])*api[-_]?key", re.IGNORECASE)
_HEADER_TEXT = re.compile(
    r"""(?P<name>
            (?:proxy-)?authorization["']?\s*[:=]\s*["']?(?:bearer|basic|token)\s+
          | (?:[a-z]+-)*api-key["']?\s*:\s*["']?
        )
        (?P<secret>[\w.~+/=-]{8,})""",
    re.IGNORECASE | re.VERBOSE,
)

_SURROGATE = re.compile("[\ud800-\udfff]")


class RedactKind:
    """The kinds of values that `redact` is called with."""

    PROGRAM = "program"
    PROMPT = "prompt"
    RESPONSE = "response"
    TOOL_CALL = "tool_call"
    TOOL_RESULT = "tool_result"
    EVENT = "event"  # the data that a custom event begins with
    EVENT_RESULT = "event_result"
    DEBUG_MESSAGE = "debug_message"
    APPROVAL = "approval"  # what a person is asked before a call, and why they denied it
    ERROR = "error"
    TRACEBACK = "traceback"  # the frames that an exception passed
    COMMIT = "commit"
    VARIABLE = "variable"  # a local that a person looks at: its name, and its repr


class Payload(NamedTuple):
    """Contents encoded for sending."""

    raw: Raw
    originals: dict[str, str]  # the original of each mask in the text
    encoded: EncodedValue  # the value, with its JSON form
    is_plain: bool = False  # shown as it is, since it is of JSON's own types throughout

    def restore_secrets(self, raw: Raw) -> Any:
        """The value of JSON text, with the secrets that were masked in this for the person."""
        value = json.loads(bytes(raw))
        return map_strings(value, make_restorer(self.originals)) if self.originals else value


class PayloadEncoder:
    """Encodes values for sending.

    Args:
        redact: The agent's own hook.
        hooks: The agent's own hooks for values that JSON doesn't have.

    Attributes:
        max_message_bytes: Bytes of the largest message that the Core accepts.
    """

    def __init__(self, redact: Redact | None = None, hooks: ValueHooks = NO_HOOKS) -> None:
        self.max_message_bytes = MAX_MESSAGE_BYTES
        self.redact = redact
        self.hooks = hooks
        self._dumper = JsonDumper(hooks.encode if hooks.can_encode else None)
        self._reported_failures: set[tuple[type, type]] = set()

    def encode(self, kind: str, value: Any) -> Payload:
        """Pack a value that must be JSON.

        Raises:
            NotJSONError: JSON can't carry the value.
            ProtocolError: `too_large`.
        """
        redacted = value if self.redact is None else self.redact(kind, value)
        packed = _packed(self._dumper.dump(redacted), EncodedValue(value))
        if (size := memoryview(packed.raw).nbytes) > self.max_message_bytes - FRAME_BYTES:
            raise ProtocolError("too_large", _too_large(kind, size, self.max_message_bytes))
        return packed

    def encode_for_display(self, kind: str, value: Any) -> Payload:
        """Pack any value, as a person may see and edit it: by its form, or as a mark.

        Raises:
            ProtocolError: `too_large`: what `redact=` gave.
        """
        text = dump_plain_json(value) if self.redact is None else None
        # `$` is looked for first: to find one character is fast.
        if text is None or ("$" in text and _HINT_AT_MARK in text):
            return self._encode_by_form(kind, value, _SIZE_FACTORS)
        try:
            packed = _packed(text, EncodedValue(value, value), is_plain=True)
        except RecursionError:  # to mask a value goes as deep as the value, unlike its encoding
            return self._encode_by_form(kind, value, _SIZE_FACTORS)
        if memoryview(packed.raw).nbytes <= self.max_message_bytes - FRAME_BYTES:
            return packed
        return self._encode_by_form(kind, value, _SIZE_FACTORS[1:])

    def _encode_by_form(self, kind: str, value: Any, size_factors: tuple[float, ...]) -> Payload:
        """Pack a value by the forms of its parts, and by what `redact=` gives for these."""
        size = 0
        for part in size_factors:
            max_chars = int(self.max_message_bytes * part)
            shown = encode_value(value, self.hooks, max_chars, self.max_message_bytes)
            data = shown.json
            if self.redact is not None:
                data = encode_redacted(shown, self.redact(kind, data), self.hooks)
            packed = _packed(dump_json(data), shown)
            size = memoryview(packed.raw).nbytes
            if size <= self.max_message_bytes - FRAME_BYTES:
                return packed
        raise ProtocolError("too_large", _too_large(kind, size, self.max_message_bytes))

    def hash(
        self, kind: str, original: Any, packed: Payload, find_key: Callable[[], bytes | None]
    ) -> str | None:
        """The hash of the value that the agent has, before edits, masks and `redact=`.

        Args:
            kind: The kind of the value.
            original: The value.
            packed: The value as `encode_for_display` encoded it for sending.
            find_key: Returns the key of the run's hashes; None where the key isn't known yet.

        Returns:
            None where the original is sent as it is: then the sender's thread makes the hash. Else the
            hash in hex, or `NOT_HASHED` where there is no key.
        """
        is_edited = original is not packed.encoded.value
        if not (packed.originals or is_edited or self.redact is not None):
            return None
        key = find_key()
        if key is None:
            return NOT_HASHED
        if is_edited:
            packed = self.encode_for_display(kind, original)
        return hash_content(dump_json(packed.encoded.json).encode("utf-8", "surrogatepass"), key)

    def pop_new_hook_failures(self, payload: Payload) -> list[str]:
        """The new errors of `to_json=` for a payload, once for each type of value and exception."""
        failures = payload.encoded.hook_failures
        new = [key for key in failures if key not in self._reported_failures]
        self._reported_failures.update(new)
        return [failures[key] for key in new]

    def texts(self, kind: str, texts: dict[str, str], max_chars: int) -> dict[str, str]:
        """Pack a few texts that stand together, each cut to so many characters."""
        if self.redact is not None:
            texts = self.redact(kind, texts)
        mask = SecretMask()
        return {
            name: cut_text(escape_surrogates(mask.text(str(text))), max_chars)
            for name, text in texts.items()
        }


def hash_content(data: bytes | Raw, key: bytes) -> str:
    """The hash by which a replay recognizes a run's value, in hex: docs/design/0023-scopes.md.

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
    """The class of a value that JSON can't represent, so that its JSON decodes to another value.

    Returns:
        UNSET where JSON can represent the value.
    """
    if packed.is_plain or packed.encoded.is_json():
        return UNSET
    return escape_surrogates(name_class(type(packed.encoded.value)))


def cut_text(text: str, max_chars: int) -> str:
    """A text of at most so many characters, the last an ellipsis where more stood there."""
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"


# ---- secrets ------------------------------------------------------------------------------------------


class SecretMask:
    """Masks one message's texts, and remembers what each mask stands for."""

    def __init__(self) -> None:
        self.originals: dict[str, str] = {}
        self._secrets = _find_environment_secrets()
        self._json = ""  # the whole text: a mask that stands in it already stands for itself

    def text(self, text: str) -> str:
        """Mask a text."""
        for name, secret, _ in self._secrets:
            if secret in text:
                text = text.replace(secret, self._hide(name, secret))
        if _hints_at_header(text):
            text = _HEADER_TEXT.sub(self._hide_match, text)
        return text

    def json(self, text: str) -> str:
        """Mask the strings in JSON text. A number is never touched, so that it stays JSON."""
        if not _hints_at_header(text) and not any(each.escaped in text for each in self._secrets):
            return text
        self._json = text
        return dump_json(self._value(json.loads(text)))

    def _value(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.text(key): self._item(key, item) for key, item in value.items()}
        if isinstance(value, list):
            match value:
                case [str() as name, str() as secret] if _HEADER_NAME.fullmatch(name):
                    return [name, self._hide(name, secret)]
            return [self._value(item) for item in value]
        return self.text(value) if isinstance(value, str) else value

    def _item(self, key: str, item: Any) -> Any:
        if isinstance(item, str) and item and _HEADER_NAME.fullmatch(key):
            return self._hide(key, item)
        return self._value(item)

    def _hide_match(self, match: re.Match[str]) -> str:
        name = re.split(r"[\"'\s:=]", match["name"], maxsplit=1)[0]
        return match["name"] + self._hide(name, match["secret"])

    def _hide(self, name: str, secret: str) -> str:
        number = 1
        while True:
            mask = f"[masked {name}]" if number == 1 else f"[masked {name} {number}]"
            if mask not in self.originals:
                self.originals[mask] = mask if mask in self._json else secret
            if self.originals[mask] == secret:
                return mask
            number += 1


def make_restorer(originals: dict[str, str]) -> Callable[[str], str]:
    """Give the function that puts originals back where their masks stand in a text."""
    if not originals:
        return lambda text: text
    pattern = re.compile("|".join(map(re.escape, originals)))
    return lambda text: pattern.sub(lambda match: originals[match[0]], text)


class _Secret(NamedTuple):
    name: str
    value: str
    escaped: str  # as it stands inside JSON text


class _CheckedEnvironment(NamedTuple):
    """The environment at its last check for secrets."""

    variables: dict[Any, Any]
    secrets: tuple[_Secret, ...]


_last_environment = _CheckedEnvironment({}, ())


def _find_environment_secrets() -> tuple[_Secret, ...]:
    """The secrets of the environment as it is now."""
    global _last_environment
    # To compare it costs a fiftieth of looking it through, but only as the system has it: encoded.
    now = getattr(os.environ, "_data", None)
    if now is None:
        return _secrets(os.environ.copy())
    seen = _last_environment
    if seen.variables != now:
        now = dict(now)  # which nobody changes meanwhile
        seen = _last_environment = _CheckedEnvironment(
            now, _secrets({fsdecode(name): fsdecode(now[name]) for name in now})
        )
    return seen.secrets


def _secrets(variables: dict[str, str]) -> tuple[_Secret, ...]:
    """The secrets among variables, longest first: one may contain another."""
    found = [
        (name, value)
        for name, value in variables.items()
        if name.endswith(_SUFFIXES) and len(value) >= _MIN_SECRET_CHARS
    ]
    found.sort(key=lambda pair: -len(pair[1]))
    return tuple(_Secret(name, value, dump_json(value)[1:-1]) for name, value in found)


def _hints_at_header(text: str) -> bool:
    lower = text.lower()
    return "authorization" in lower or _API_KEY.search(lower) is not None


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
    """The model that a prompt in the form of an LLM API names."""
    match prompt:
        case {"model": str() as model}:
            return model
    return None
