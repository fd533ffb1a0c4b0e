"""Installed connectors by name alone: what they need else, the environment may say."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...errors import CommandError
from ...models.base import MODEL_VARIABLE
from ..connector import InterpreterABC
from .registry import connector, connectors

#: What the environment may say to connectors that take it.
VARIABLES: Final = {"provider": "AGENTSTEPPER_PROVIDER", "model": MODEL_VARIABLE}
#: What is meant where neither anybody nor the environment says.
_USUAL: Final = {"provider": "openai"}


def installed(name: str) -> InterpreterABC:
    """An installed connector, made by what the environment says.

    Args:
        name: Its name.

    Raises:
        CommandError: `invalid_message`: there is none, or it needs what nobody has said.
    """
    factory = connectors().get(name)
    if factory is None:
        return connector(name)  # it says what there is
    options = usual(factory)
    for lacks in lacking(factory, options):
        how = f'connector("{name}", {lacks}=…)'
        if lacks in VARIABLES:
            how += f", or set {VARIABLES[lacks]}"
        raise CommandError("invalid_message", f"The connector {name} needs {lacks!r}: say {how}.")
    return connector(name, **options)


def usual(factory: Callable[..., object]) -> dict[str, Any]:
    """What a connector is made by where nobody says anything else.

    Args:
        factory: Makes it.
    """
    said = {name: os.environ.get(variable) for name, variable in VARIABLES.items()}
    known = inspect.signature(factory).parameters
    found = {name: value for name, value in said.items() if value and name in known}
    return {name: _USUAL[name] for name in lacking(factory, found) if name in _USUAL} | found


def lacking(factory: Callable[..., object], options: Mapping[str, Any]) -> list[str]:
    """What a connector needs beside options.

    Args:
        factory: Makes it.
        options: The options.
    """
    return [
        name
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and name not in options
    ]
