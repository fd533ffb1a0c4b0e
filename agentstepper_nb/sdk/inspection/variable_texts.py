"""A variable in short: its name, type and repr, masked, and bounded in time and size."""

from __future__ import annotations

import reprlib
import time
from itertools import islice
from typing import Any, Final

from ...protocol.inspection import Variable
from ..payload import PayloadEncoder, RedactKind, SecretMask, escape_surrogates
from .bounded_calls import CallFailedError, CallTimedOutError, call_bounded
from .secret_names import is_secret, make_mask, mask_assignments
from .value_children import Child, count_children

#: Seconds that the repr of one value may take, and all of a page together.
REPR_TIMEOUT_S: Final = 0.5
PAGE_TIMEOUT_S: Final = 4.0
_MAX_VALUE_CHARS: Final = 500
_MAX_NAME_CHARS: Final = 200
#: The most characters of a text that are searched for secrets; shown texts are shorter.
_MAX_MASKED_CHARS: Final = 8 * 1024

_PLAIN: Final = (str, int, float, bool, type(None))


class _MaskedRepr(reprlib.Repr):
    """Python's bounded repr, in which secrets are masked before a text is cut."""

    def __init__(self) -> None:
        super().__init__()
        self.mask = SecretMask()
        self.fillvalue = "…"
        self.maxlevel = 4
        self.maxdict = self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = 10
        self.maxdeque = self.maxarray = 10
        self.maxstring = self.maxother = self.maxlong = _MAX_VALUE_CHARS

    def repr_str(self, x: str, level: int) -> str:
        text = mask_assignments(self.mask.text(str.__str__(x)[:_MAX_MASKED_CHARS]))
        shown = repr(text[:_MAX_VALUE_CHARS])
        return shown if len(text) <= _MAX_VALUE_CHARS else shown[:-1] + "…" + shown[-1]

    def repr_bytes(self, x: bytes, level: int) -> str:
        return self._show_bytes(x, _MAX_VALUE_CHARS)

    def repr_bytearray(self, x: bytearray, level: int) -> str:
        return f"bytearray({self._show_bytes(x, _MAX_VALUE_CHARS - len('bytearray()'))})"

    def _show_bytes(self, x: bytes | bytearray, max_chars: int) -> str:
        """Bytes whose text is longer than `max_chars` are cut, and their number said."""
        text = mask_assignments(self.mask.text(repr(bytes(x[:_MAX_VALUE_CHARS]))))
        if len(x) <= _MAX_VALUE_CHARS and len(text) <= max_chars:
            return text
        size = f"… ({len(x):,} bytes)"
        return text[: max_chars - len(size)] + size

    def repr_dict(self, x: Any, level: int) -> str:
        size = dict.__len__(x)
        if not size:
            return "{}"
        if level <= 0:
            return "{…}"
        parts = []
        for key, value in islice(dict.items(x), self.maxdict):
            name = key if isinstance(key, str) else ""
            shown = make_mask(name) if is_secret(name, value) else self.repr1(value, level - 1)
            parts.append(f"{self.repr1(key, level - 1)}: {shown}")
        if size > self.maxdict:
            parts.append("…")
        return "{" + ", ".join(parts) + "}"

    def repr_instance(self, x: Any, level: int) -> str:
        return mask_assignments(self.mask.text(repr(x)[:_MAX_MASKED_CHARS]))


class VariableDescriber:
    """Describes variables of one answer.

    Args:
        encoder: Has the agent's `redact=`.
    """

    def __init__(self, encoder: PayloadEncoder) -> None:
        self._encoder = encoder
        self._deadline = time.monotonic() + PAGE_TIMEOUT_S

    def describe(self, child: Child, hides: str = "") -> Variable:
        """Describe a variable in short.

        Args:
            child: The variable's name and value.
            hides: The secret name of the variable's container; "": none.
        """
        name = self._describe_key(child.key) if child.is_key else str(child.key)
        value = child.value
        plain_name = child.key if isinstance(child.key, str) else name
        if hides or is_secret(plain_name, value):
            mask = make_mask(hides or plain_name)
            return Variable(
                name=_cut(name, _MAX_NAME_CHARS),
                value=_cut(mask, _MAX_VALUE_CHARS),
                type=describe_type(value),
                masked=True,
            )
        text = self._describe_value(value)
        texts = self._redact(plain_name, text)
        return Variable(
            name=_cut(name, _MAX_NAME_CHARS),
            value=_cut(texts, _MAX_VALUE_CHARS),
            type=describe_type(value),
            children=count_children(value),
            masked="[masked" in texts,
        )

    def _describe_key(self, key: Any) -> str:
        return self._describe_value(key)

    def _describe_value(self, value: Any) -> str:
        if type(value) in _PLAIN:
            return _make_repr(value)
        left = self._deadline - time.monotonic()
        if left <= 0:
            return f"<{describe_type(value)}, not read: the values before it took too long>"
        try:
            return call_bounded(lambda: _make_repr(value), min(REPR_TIMEOUT_S, left)).value
        except CallTimedOutError:
            return f"<{describe_type(value)} whose repr takes longer than {REPR_TIMEOUT_S:g} s>"
        except CallFailedError as failed:
            return f"<{describe_type(value)} whose repr raises {type(failed.error).__name__}>"

    def _redact(self, name: str, text: str) -> str:
        """A variable's text after the agent's `redact=`."""
        try:
            texts = self._encoder.texts(
                RedactKind.VARIABLE, {"name": name, "value": text}, _MAX_MASKED_CHARS
            )
            return texts["value"]
        except Exception as error:
            return f"<not shown: redact= raised {type(error).__name__}>"


def describe_type(value: Any) -> str:
    """The name of a value's type."""
    kind = type(value)
    module = type.__getattribute__(kind, "__module__")
    name = _cut(
        escape_surrogates(str(type.__getattribute__(kind, "__qualname__"))), _MAX_NAME_CHARS
    )
    return name if module in ("builtins", "__main__") else f"{_cut(str(module), 200)}.{name}"


def _make_repr(value: Any) -> str:
    return escape_surrogates(str(_MaskedRepr().repr(value)))


def _cut(text: str, max_chars: int) -> str:
    text = escape_surrogates(text)
    return text if len(text) <= max_chars else text[: max_chars - 1] + "…"
