"""The agent's own hooks: its types as JSON, and edited JSON as its types again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

#: Turns a value that JSON doesn't have into one that it has, or raises TypeError.
ToJson = Callable[[Any], Any]
#: Called as `from_json(edited, original)`: makes a value of the original's type from what `to_json` gave
#: for it, edited.
FromJson = Callable[[Any, Any], Any]

#: The most characters of a hook's error.
_MAX_ERROR_CHARS: Final = 500


class HookError(ValueError):
    """A hook of the agent's raised; the text names the hook and the exception."""


class ValueHooks:
    """Calls the agent's hooks.

    Args:
        to_json: Turns values into JSON.
        from_json: Makes values from edited JSON.

    Attributes:
        can_encode: Whether a hook turns values into JSON.
        can_decode: Whether a hook makes values from edited JSON.

    Raises:
        TypeError: A hook can't be called.
        ValueError: `from_json` was passed without `to_json`.
    """

    def __init__(self, to_json: ToJson | None = None, from_json: FromJson | None = None) -> None:
        for name, hook in (("to_json", to_json), ("from_json", from_json)):
            if hook is not None and not callable(hook):
                raise TypeError(f"{name} must be a function, not {type(hook).__name__}.")
        if from_json is not None and to_json is None:
            raise ValueError(
                "from_json= was passed without to_json=. Pass to_json= as well: from_json= only reads "
                "edits of values that to_json= showed."
            )
        self._to_json = to_json
        self._from_json = from_json
        self.can_encode = to_json is not None
        self.can_decode = from_json is not None

    def encode(self, value: Any) -> Any:
        """Turn a value into one that JSON has.

        Raises:
            TypeError: The hook has no JSON for this value.
            HookError: The hook failed.
        """
        assert self._to_json is not None
        try:
            return self._to_json(value)
        except TypeError:
            raise
        except Exception as error:
            raise HookError(_describe("to_json", self._to_json, error)) from error

    def decode(self, edited: Any, original: Any) -> Any:
        """Make a value from an edit of what `encode` gave for the original.

        Raises:
            HookError: The hook failed.
        """
        assert self._from_json is not None
        try:
            return self._from_json(edited, original)
        except Exception as error:
            raise HookError(_describe("from_json", self._from_json, error)) from error


NO_HOOKS: Final = ValueHooks()


def _describe(parameter: str, hook: Callable[..., Any], error: Exception) -> str:
    name = getattr(hook, "__name__", type(hook).__name__)
    return f"{parameter}={name} raised {format_error(error)[:_MAX_ERROR_CHARS]}"


def format_error(error: BaseException) -> str:
    """An error's message, in a line; for pydantic's errors, the message of each field."""
    try:
        told = error.errors()  # type: ignore[attr-defined]
        return "; ".join(
            ": ".join(filter(None, (".".join(map(str, each["loc"])), each["msg"]))) for each in told
        )
    except Exception:
        pass
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
