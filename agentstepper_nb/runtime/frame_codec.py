"""Frames as JSON: what a step gave is checked, and what a person made of it."""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec
from msgspec import Struct

from .. import typed_json
from ..errors import NotJSONError, StepFrameError
from ..sdk.json_text import JsonDumper
from .frame import FrameIn, FrameOut

#: Bytes of JSON that a step may give: a row of it travels in one message.
MAX_FRAME_BYTES: Final = 8_000_000
#: The most characters of `text`, as of a conversation's message.
MAX_TEXT_CHARS: Final = 1_000_000


class _EditedIn(FrameIn, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A frame of a person's: a name that is no field is a mistake."""


class _StrictOut(FrameOut, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Likewise, and of a model's."""


def _schema() -> dict[str, Any]:
    (schema,), components = msgspec.json.schema_components([_StrictOut])
    own: dict[str, Any] = components.pop(schema["$ref"].rpartition("/")[2])
    return {name: part for name, part in own.items() if name not in ("title", "description")}


#: The JSON Schema of a step's output.
SCHEMA: Final = _schema()


def encode_frame(frame: Struct) -> dict[str, Any]:
    """A frame as a person sees it."""
    shown: dict[str, Any] = msgspec.to_builtins(frame)
    return shown


def check_output(output: Any, frame: FrameIn) -> FrameOut:
    """Validate a step's output, and copy it to plain JSON, since the step may still change its objects.

    Args:
        output: A `FrameOut`, or a dict of its fields.
        frame: The step's input frame.

    Raises:
        StepFrameError: The output isn't a valid frame, names another step than the input, or is too
            large.
    """
    try:
        text = JsonDumper().dump(
            msgspec.structs.asdict(output) if isinstance(output, FrameOut) else output
        )
        out = typed_json.convert(json.loads(text), FrameOut)
    except NotJSONError as error:
        where = f"{error.path} is {error.reason}"
        raise StepFrameError(f"The step returned what JSON can't carry: {where}.") from None
    except msgspec.ValidationError as error:
        raise StepFrameError(f"The step returned no StepFrame: {error}.") from None
    _check(out, frame)
    return out


def decode_edited_input(value: Any) -> FrameIn:
    """The frame that a person made of what a step is given.

    Raises:
        StepFrameError: It is none.
    """
    try:
        edited = typed_json.convert(value, _EditedIn)
    except msgspec.ValidationError as error:
        raise StepFrameError(f"The edited frame can't be used: {error}.", edited=True) from None
    return FrameIn(step=edited.step, state=edited.state, guidance=edited.guidance)


def decode_edited_output(value: Any, frame: FrameIn) -> FrameOut:
    """The result that a person gave, or made of a step's.

    Args:
        value: What they gave.
        frame: What the step was given.

    Raises:
        StepFrameError: It is none.
    """
    try:
        out = _strict(value, frame)
    except (msgspec.ValidationError, StepFrameError) as error:
        text = str(error).removesuffix(".")
        raise StepFrameError(f"The edited result can't be used: {text}.", edited=True) from None
    return out


def parse_output(text: str, frame: FrameIn) -> FrameOut:
    """The frame that a model wrote.

    Args:
        text: What it wrote.
        frame: What the step was given.

    Raises:
        StepFrameError: It is none; says why in words for the model.
    """
    try:
        return _strict(msgspec.json.decode(text), frame)
    except (msgspec.DecodeError, RecursionError) as error:
        raise StepFrameError(f"it is no frame: {error}.") from None


def _strict(value: Any, frame: FrameIn) -> FrameOut:
    out = FrameOut(**msgspec.structs.asdict(typed_json.convert(value, _StrictOut)))
    _check(out, frame)
    return out


def _check(out: FrameOut, frame: FrameIn) -> None:
    if out.step != frame.step:
        raise StepFrameError(f"The step {frame.step!r} returned a frame of step {out.step!r}.")
    if out.text is not None and len(out.text) > MAX_TEXT_CHARS:
        raise StepFrameError(
            f"`text` is longer than {MAX_TEXT_CHARS:,} characters; put it into `data`."
        )
    try:
        size = len(msgspec.json.encode(out))
    except (UnicodeEncodeError, OverflowError) as error:
        raise StepFrameError(f"The step returned what JSON can't carry: {error}.") from None
    if size > MAX_FRAME_BYTES:
        raise StepFrameError(
            f"The step returned {size:,} bytes of JSON; the limit is {MAX_FRAME_BYTES:,}."
        )
