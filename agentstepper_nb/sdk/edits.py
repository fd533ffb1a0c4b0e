"""Reads a person's edit at a halt point back into the agent's own values.

An edited JSON value is compared with the shown value: unedited parts stay the same objects, and
edited parts are made by the type of the original object, or by the agent's `from_json=`, never by a
name in the JSON.
"""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from msgspec import Raw

from ..errors import ProtocolError
from ..protocol.opaque_values import REPR_KEY, find_edited_opaque_value, is_opaque_value
from .json_text import dump_json, is_same_json
from .payload import Payload, PayloadEncoder, RedactKind
from .value_codecs import (
    JSON_SCALAR_TYPES,
    FieldsCodec,
    ItemsCodec,
    MembersCodec,
    ScalarCodec,
    find_value_codec,
)
from .value_encoder import encode_value
from .value_hooks import NO_HOOKS, HookError, format_error

log = logging.getLogger("agentstepper_nb.sdk")

#: Makes of an edited value what a call takes; raises where it doesn't take that.
EditConverter = Callable[[Any], Any]

_MARK_NAME: Final = REPR_KEY.encode()
_REDACT_FAILED: Final = (
    "The agent's type refuses this edit, and redact= failed on the reason. See the agent's log."
)
#: Letters of why an edit is refused, and of a value in that.
_MAX_REASON_CHARS: Final = 2000
_MAX_VALUE_CHARS: Final = 200

T = TypeVar("T")


class EditReader:
    """Reads the edits of one halt point. Results are stored, so that validators run once per edit.

    Args:
        encoder: The encoder of the value.
        payload: The payload that the person edits.
        convert_edit: Converts an edited value to the caller's type.

    Attributes:
        may_refuse: Whether the agent may refuse edits that the Core accepts.
    """

    def __init__(
        self, encoder: PayloadEncoder, payload: Payload, convert_edit: EditConverter | None = None
    ) -> None:
        self._encoder = encoder
        self._payload = payload
        self._convert_edit = convert_edit
        self.may_refuse = convert_edit is not None or not payload.is_plain
        self._shown = payload.encoded
        self._hooks = encoder.hooks
        #: The results of `to_json=` whose edits `from_json=` reads, by the original value's id.
        self._hook_results = self._shown.hook_results if self._hooks.can_decode else {}
        self._last: tuple[bytes, Any] | None = None

    def for_payload(self, payload: Payload) -> EditReader:
        """A reader for an edit of another payload; this reader where the payload is the same."""
        same = payload is self._payload
        return self if same else EditReader(self._encoder, payload, self._convert_edit)

    def read(self, raw: Raw) -> Any:
        """Return the value that an edit stands for.

        Raises:
            ProtocolError: `invalid_edit`: a mark was edited, or a type refuses its edited contents.
            Exception: The caller refuses the value.
        """
        text, last = bytes(raw), self._last
        if last is not None and last[0] == text:
            return last[1]
        packed = self._payload
        edit, sent = packed.restore_secrets(raw), packed.restore_secrets(packed.raw)
        # Marks are looked for only where there may be some: escapes may stand in the name of one.
        if self._shown.objects_by_mark or _MARK_NAME in text or b"\\u" in text:
            problem = find_edited_opaque_value(sent, edit)
            if problem is not None:
                raise ProtocolError("invalid_edit", problem)
        value = self._decode(edit, sent, self._shown.value, "")
        value = value if self._convert_edit is None else self._convert_edit(value)
        self._last = text, value
        return value

    def find_problem(self, raw: Raw) -> str | None:
        """The reason why the agent can't apply an edit, fit for sending; None: the edit is valid."""
        try:
            self.read(raw)
        except Exception as error:
            return self.describe_error(error)
        return None

    def describe_error(self, error: Exception) -> str:
        """An error's message, without secrets."""
        text = error.message if isinstance(error, ProtocolError) else format_error(error)
        try:
            told = self._encoder.texts(
                RedactKind.ERROR, {"type": "", "message": text}, _MAX_REASON_CHARS
            )
            return told["message"]
        except Exception:  # the agent's own hook; without it nothing of the error may leave
            log.warning("redact= failed on the reason why an edit is refused.", exc_info=True)
            return _REDACT_FAILED

    # ---- values -------------------------------------------------------------------------------------

    def _decode(self, edit: Any, sent: Any, original: Any, path: str) -> Any:
        if is_same_json(edit, sent):
            return original
        has_marks = bool(self._shown.objects_by_mark)
        if edit is None or (has_marks and (is_opaque_value(edit) or is_opaque_value(sent))):
            return self._decode_plain(edit)
        if id(original) in self._hook_results:
            _, given = self._hook_results[id(original)]
            part = self._decode(edit, sent, given, path)
            return _make_or_refuse(path, lambda: self._hooks.decode(part, original))
        codec = None if type(original) in JSON_SCALAR_TYPES else find_value_codec(type(original))
        if isinstance(codec, FieldsCodec) and isinstance(sent, dict):
            return self._decode_fields(codec, edit, sent, original, path)
        if isinstance(codec, MembersCodec) and isinstance(sent, dict) and isinstance(edit, dict):
            return self._decode_members(codec, edit, sent, original, path)
        if isinstance(codec, ItemsCodec) and isinstance(sent, list):
            return self._decode_items(codec, edit, sent, original, path)
        if isinstance(codec, ScalarCodec) and _is_shown_by(codec, original, sent):
            return _make_or_refuse(path, lambda: codec.make(original, edit))
        return self._decode_plain(edit)

    # ---- fields -------------------------------------------------------------------------------------

    def _decode_fields(
        self, codec: FieldsCodec, edit: Any, sent: dict[str, Any], original: Any, path: str
    ) -> Any:
        name = type(original).__qualname__
        if not isinstance(edit, dict):
            _refuse(path, f"the value must stay an object with the fields of {name}")
        parts = _make_or_refuse(path, lambda: codec.read(original))
        if gone := [key for key in sent if key not in edit]:
            _refuse(_join(path, gone[0]), f"{name} requires this field")
        new = [key for key in edit if key not in sent]
        if (new and not codec.is_open(original)) or any(key in parts for key in new):
            _refuse(_join(path, new[0]), f"{name} has no such field to edit")
        changes = {
            key: self._decode_field(item, key, sent, parts, _join(path, key))
            for key, item in edit.items()
            if key not in sent or not is_same_json(item, sent[key])
        }
        if not changes:
            return original
        made = _make_or_refuse(path, lambda: codec.replace(original, changes))
        self._check(codec, made, {key: edit[key] for key in changes}, changes, path)
        return made

    def _decode_field(
        self, edit: Any, key: str, sent: Any, parts: dict[str, Any], path: str
    ) -> Any:
        if key in sent and key not in parts:
            _refuse(
                path, "the agent's to_json= adds this field, and the value itself has no such field"
            )
        return (
            self._decode(edit, sent[key], parts[key], path)
            if key in sent
            else self._decode_plain(edit)
        )

    def _check(
        self,
        codec: FieldsCodec,
        made: Any,
        edit: dict[str, Any],
        changes: dict[str, Any],
        path: str,
    ) -> None:
        """Check that the new value has the person's contents, and that its type changed none of them."""
        parts = _make_or_refuse(path, lambda: codec.read(made))
        for key, wanted in edit.items():
            if key not in parts or parts[key] is changes[key]:
                continue
            got = encode_value(parts[key]).json
            if not (_covers(got, wanted) or is_same_json(got, encode_value(changes[key]).json)):
                text = dump_json(got)
                text = text if len(text) <= _MAX_VALUE_CHARS else text[:_MAX_VALUE_CHARS] + "…"
                _refuse(_join(path, key), f"{type(made).__qualname__} changes the value to {text}")

    # ---- containers ---------------------------------------------------------------------------------

    def _decode_members(
        self,
        codec: MembersCodec,
        edit: dict[str, Any],
        sent: dict[str, Any],
        original: Any,
        path: str,
    ) -> Any:
        like = self._find_sample(list(original.values()))
        keys = {key: key for key in original}  # a key may be of a type of its own
        members: dict[Any, Any] = {}
        for key, item in edit.items():
            place = _join(path, key)
            if key in sent and key in original:
                members[keys[key]] = self._decode(item, sent[key], original[key], place)
            else:
                members[key] = self._decode_new_item(item, like, place)
        hidden = {key: original[key] for key in original if key not in sent and key not in edit}
        return _make_or_refuse(path, lambda: codec.make(original, members | hidden))

    def _decode_items(
        self, codec: ItemsCodec, edit: Any, sent: list[Any], original: Any, path: str
    ) -> Any:
        if not isinstance(edit, list):
            if type(original) in (list, tuple):
                return self._decode_plain(edit)
            _refuse(
                path,
                f"the value must stay a list, from which a {type(original).__qualname__} is made",
            )
        objects = (
            self._shown.set_members.get(id(original), None) if codec.is_set else list(original)
        )
        if objects is None or len(objects) != len(sent):
            return self._decode_plain(edit)  # `redact=` shows another list
        guides = _match_items(edit, sent, objects, path)
        like = self._find_sample(objects)
        items = [
            self._decode_new_item(item, like, f"{path}[{index}]")
            if guide is None
            else self._decode(item, sent[guide], objects[guide], f"{path}[{index}]")
            for index, (item, guide) in enumerate(zip(edit, guides, strict=True))
        ]
        return _make_or_refuse(path, lambda: codec.make(original, items))

    def _decode_new_item(self, edit: Any, like: Any, path: str) -> Any:
        """A new item, made as the others of its list or dict are."""
        if like is None or edit is None or is_opaque_value(edit):
            return self._decode_plain(edit)
        hooks = self._hooks if id(like) in self._hook_results else NO_HOOKS
        made = self._decode(edit, encode_value(like, hooks).json, like, path)
        return _make_or_refuse(path, lambda: copy.deepcopy(like)) if made is like else made

    def _find_sample(self, values: list[Any]) -> Any:
        """One of the values, if all have one type that JSON lacks and an edit can make; else None."""
        kinds = {type(value) for value in values}
        if len(kinds) != 1 or _is_plain(values[0]):
            return None
        is_made = id(values[0]) in self._hook_results or find_value_codec(kinds.pop()) is not None
        return values[0] if is_made else None

    def _decode_plain(self, edit: Any) -> Any:
        """JSON as it is, with the objects where their marks stand."""
        if not self._shown.objects_by_mark:
            return edit
        if is_opaque_value(edit):
            return self._shown.objects_by_mark[dump_json(edit)]
        if isinstance(edit, dict):
            return {key: self._decode_plain(item) for key, item in edit.items()}
        if isinstance(edit, list):
            return [self._decode_plain(item) for item in edit]
        return edit


def _match_items(
    edit: list[Any], sent: list[Any], original: list[Any], path: str
) -> list[int | None]:
    """Match each item of an edited list to the index of a sent item; None: the item is new.

    Equal items match, first at the same index, then at any other index.
    """
    guides: list[int | None] = [None] * len(edit)
    left = dict(enumerate(map(dump_json, sent)))
    open = dict(enumerate(map(dump_json, edit)))
    for index in [index for index in open if left.get(index) == open[index]]:
        guides[index] = index
        del left[index], open[index]
    places: dict[str, list[int]] = {}
    for index, text in left.items():
        places.setdefault(text, []).append(index)
    for index in [index for index, text in open.items() if places.get(text)]:
        guide = places[open[index]].pop(0)
        guides[index] = guide
        del left[guide], open[index]
    if len(edit) == len(sent):
        for index in [index for index in open if index in left]:
            guides[index] = index
            del left[index], open[index]
    if open and left:
        _pair_items(list(open), list(left), guides, original, path)
    return guides


def _pair_items(
    open: list[int], left: list[int], guides: list[int | None], original: list[Any], path: str
) -> None:
    """Pair edited items with those that were sent, in order, where it can't matter which is which."""
    if len({type(original[index]) for index in left}) > 1 and any(
        not _is_plain(original[index]) for index in left
    ):
        _refuse(
            path,
            "the edited items can't be matched with the original ones: first remove or add "
            "items, then edit",
        )
    for index, guide in zip(open, left, strict=False):
        guides[index] = guide


def _is_plain(value: Any) -> bool:
    return value is None or type(value) in (str, int, float, bool, dict, list)


def _is_shown_by(codec: ScalarCodec, original: Any, sent: Any) -> bool:
    """Whether a value was shown by its form, and not by the agent's own hook."""
    return _make_or_refuse("", lambda: is_same_json(codec.show(original), sent))


def _covers(got: Any, wanted: Any) -> bool:
    """Whether a JSON value has all that another has; a field that isn't named has its default."""
    if isinstance(got, dict) and isinstance(wanted, dict):
        return all(key in got and _covers(got[key], item) for key, item in wanted.items())
    if isinstance(got, list) and isinstance(wanted, list):
        return len(got) == len(wanted) and all(map(_covers, got, wanted))
    if type(got) in (int, float) and type(wanted) in (int, float):
        return bool(got == wanted)
    return is_same_json(got, wanted)


# ---- errors -----------------------------------------------------------------------------------------


def _join(path: str, key: str) -> str:
    return f"{path}.{key}" if path else key


def _refuse(path: str, why: str) -> NoReturn:
    raise ProtocolError("invalid_edit", f"{path or 'The value'}: {why}.")


def _make_or_refuse(path: str, make: Callable[[], T]) -> T:
    """Call the constructor or hook of an agent's type; an error of it refuses the edit."""
    try:
        return make()
    except ProtocolError:
        raise
    except HookError as failed:
        _refuse(path, str(failed).rstrip("."))
    except Exception as error:
        _refuse(path, format_error(error).rstrip("."))
