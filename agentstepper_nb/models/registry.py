"""The registry of model providers: built-in providers, and those that other packages register.

Another package registers a provider as an entry point. The entry point's name is the provider's name
for `--provider`; its value is a function that takes the model's name and returns the provider::

    [project.entry-points."agentstepper_nb.providers"]
    echo = "my_package:EchoProvider"
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from ..entry_point_loader import EntryPointLoader
from ..errors import CommandError, ModelError
from .provider import ModelProvider

ENTRY_POINT_GROUP: Final = "agentstepper_nb.providers"

Factory = Callable[[str], ModelProvider]


def _openai(model: str) -> ModelProvider:
    from .openai import OpenAIProvider

    return OpenAIProvider("chat")


def _openai_responses(model: str) -> ModelProvider:
    from .openai import OpenAIProvider

    return OpenAIProvider("responses")


def _anthropic(model: str) -> ModelProvider:
    try:
        from .anthropic import AnthropicProvider
    except ModuleNotFoundError as error:
        if error.name != "anthropic":
            raise
        text = "Anthropic's client isn't installed. Run pip install 'agentstepper_nb[anthropic]'."
        raise ModelError("invalid", text) from None
    return AnthropicProvider()


def _scripted(model: str) -> ModelProvider:
    from .scripted.provider import ScriptedProvider

    return ScriptedProvider(model)


def _local(model: str) -> ModelProvider:
    from .local import LocalProvider

    return LocalProvider(model or None)


#: The built-in providers. Each factory imports its client on first use.
_BUILT_IN: Final[dict[str, Factory]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "scripted": _scripted,
    "local": _local,
}

_INSTALLED: Final = EntryPointLoader[Factory](ENTRY_POINT_GROUP, "provider")


def list_provider_names() -> list[str]:
    """List the names of all providers, the built-in ones first."""
    return [*_BUILT_IN, *(name for name in _INSTALLED.names() if name not in _BUILT_IN)]


def refuse_script_path(name: str, model: str) -> None:
    """Refuse a model name in a message that is the path of a Python file, which would be run.

    This process's own code and its command line may name a path.

    Args:
        name: The provider's name.
        model: The model's name.

    Raises:
        ModelError: The model is a script that is named by its path.
    """
    if name != "scripted":
        return
    from .scripted.script import SCRIPTS_VARIABLE, list_named_scripts

    if model not in list_named_scripts():
        raise ModelError(
            "invalid",
            f"A message may not name the script {model!r}, since a script is Python code. "
            "Name an installed script, or put the file into a folder of "
            f"{SCRIPTS_VARIABLE} where the worker starts; the scripts are "
            f"{', '.join(list_named_scripts())}.",
        )


def create_provider(name: str, model: str) -> ModelProvider:
    """Create a model provider by its name.

    Args:
        name: The provider's name. Another package can't replace a built-in provider.
        model: The name of the model that the provider will be queried for.

    Raises:
        ModelError: No provider has this name, or the provider lacks a key or a package.
    """
    if name in _BUILT_IN:
        return _BUILT_IN[name](model)
    try:
        factory = _INSTALLED.find(name, known=_BUILT_IN)
    except CommandError as error:
        raise ModelError("invalid", str(error)) from error.__cause__
    try:
        return factory(model)
    except ModelError:
        raise
    except Exception as error:  # whatever their code does
        raise ModelError("invalid", f"The provider {name!r} can't be used: {error!r}") from error
