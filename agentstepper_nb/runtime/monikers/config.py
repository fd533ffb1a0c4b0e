"""What monikers are created with, as checked values."""

from __future__ import annotations

from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, Struct

from ...errors import ModelError
from ...models import registry
from ...models.base import ModelProvider

Config = TypeVar("Config", bound=Struct)

#: A text that says something.
Said = Annotated[str, Meta(min_length=1, max_length=100_000)]
#: A wait between two steps, in seconds.
Interval = Annotated[float, Meta(ge=0, le=366 * 86_400)]


def config_of(config: Any, kind: type[Config]) -> Config:
    """A config, checked.

    Args:
        config: As a session is created with it; None is one that says nothing.
        kind: What it has to be.

    Raises:
        ValueError: What is wrong with it, for a person.
    """
    return msgspec.convert({} if config is None else config, kind)


def check_provider(name: str, model: str) -> None:
    """Refuse a provider that can't be named, or a model that a config may not name.

    Raises:
        ValueError: There is none of that name, and says which there are; or see
            `registry.check_message`.
    """
    if name not in registry.names():
        text = f"There is no provider {name!r}; there are {', '.join(registry.names())}."
        raise ValueError(text)
    try:
        registry.check_message(name, model)
    except ModelError as error:
        raise ValueError(str(error)) from None


def open_provider(name: str, model: str) -> ModelProvider:
    """A provider, for the first question.

    Raises:
        ModelError: It lacks what it needs: a key, a package; or see `registry.check_message`.
    """
    registry.check_message(name, model)
    try:
        return registry.create(name, model)
    except ModelError:
        raise
    except Exception as error:  # whatever a client does without its key
        raise ModelError("invalid", f"The provider {name!r} can't be used: {error}") from error
