"""Connectors by name, and what can be made one: those that come with the package, and others' own.

Another package brings one as an entry point: a name, and a subclass of `InterpreterABC`, or a function
that is given the options and makes one::

    [project.entry-points."agentstepper_nb.connectors"]
    desk = "my_package:DeskAgent"
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from typing import Any, Final

from ...entry_point_loader import EntryPointLoader
from ...errors import AgentStepperError, CommandError
from ...models.provider import MODEL_VARIABLE
from ..connector import ENTRY_POINT_GROUP, InterpreterABC
from ..session_agents import check_agent
from .function_agent import FunctionAgent

#: Makes an agent, given the options.
Factory = Callable[..., InterpreterABC]

_NO_AGENT: Final = (
    "{what} is not an agent: subclass agentstepper_nb.chat.InterpreterABC, or give a function, or "
    "a connector's name."
)


def list_connectors() -> dict[str, Factory]:
    """Return every usable connector by its name; connectors that fail to load are left out."""
    return _INSTALLED.load_all()


def make_connector(
    agent: InterpreterABC | Callable[..., Any] | str, **options: Any
) -> InterpreterABC:
    """Make an agent for a chat.

    ::

        make_connector("coding", workspace=".", provider="openai", model="gpt-5-mini")
        make_connector(my_function, name="helper", role="THOUGHT")

    Args:
        agent: An agent; or a subclass of `InterpreterABC`, a function that answers messages, or the
            name of an installed connector. The last three are made into an agent with the options.
        options: The options of the connector, or of `FunctionAgent`.

    Raises:
        CommandError: `invalid_message`: the connector doesn't exist or refuses the options, or the
            argument or the result is no `InterpreterABC`.
        ProtocolError: `invalid_message`: the agent's name is invalid, or its role unknown.
    """
    if isinstance(agent, str):
        return check_agent(_make_agent(_INSTALLED.find(agent), f"The connector {agent!r}", options))
    if isinstance(agent, InterpreterABC):
        if options:
            text = (
                f"{agent.name} is an agent object, which takes no options: leave out "
                f"{', '.join(options)}."
            )
            raise CommandError("invalid_message", text)
        return check_agent(agent)
    if isinstance(agent, type) and issubclass(agent, InterpreterABC):
        return check_agent(_make_agent(agent, agent.__name__, options))
    if isinstance(agent, type) or not callable(agent):
        raise CommandError("invalid_message", _NO_AGENT.format(what=_short(agent)))
    return check_agent(_make_agent(FunctionAgent, _short(agent), options, agent))


def _check(made: object) -> None:
    if not callable(made) or (isinstance(made, type) and not issubclass(made, InterpreterABC)):
        raise TypeError(
            "it is neither a subclass of agentstepper_nb.chat.InterpreterABC nor a "
            "function that makes one."
        )


_INSTALLED: Final = EntryPointLoader[Factory](ENTRY_POINT_GROUP, "connector", _check)


def _make_agent(factory: Factory, what: str, options: dict[str, Any], *args: Any) -> InterpreterABC:
    try:
        made: object = factory(*args, **options)
    except AgentStepperError:
        raise
    except Exception as error:  # options that it doesn't take, or what its own code does
        text = f"{what} can't be made an agent: {error}"
        raise CommandError("invalid_message", text) from error
    if not isinstance(made, InterpreterABC):
        raise CommandError("invalid_message", _NO_AGENT.format(what=_short(made)))
    return made


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 100 else f"{text[:99]}…"


#: What the environment may say to connectors that take it.
OPTION_VARIABLES: Final = {"provider": "AGENTSTEPPER_PROVIDER", "model": MODEL_VARIABLE}
#: What is meant where neither anybody nor the environment says.
_DEFAULT_OPTIONS: Final = {"provider": "openai"}


def make_installed_connector(name: str) -> InterpreterABC:
    """Make an installed connector with the options that the environment names.

    Args:
        name: The connector's name.

    Raises:
        CommandError: `invalid_message`: the connector doesn't exist, or needs an option that isn't
            set.
    """
    factory = list_connectors().get(name)
    if factory is None:
        return make_connector(name)  # it says what there is
    options = find_default_options(factory)
    for lacks in find_missing_options(factory, options):
        how = f'with connector("{name}", {lacks}=…)'
        if lacks in OPTION_VARIABLES:
            how += f", or set {OPTION_VARIABLES[lacks]}"
        raise CommandError(
            "invalid_message", f"The connector {name} needs the option {lacks!r}: give it {how}."
        )
    return make_connector(name, **options)


def make_chat_agent(agent: InterpreterABC | Callable[..., Any] | str) -> InterpreterABC:
    """Make an agent for a `Chat`; an installed connector gets its options from the environment.

    Args:
        agent: As for `make_connector`, with the same errors.
    """
    return make_installed_connector(agent) if isinstance(agent, str) else make_connector(agent)


def find_default_options(factory: Callable[..., object]) -> dict[str, Any]:
    """Find the options that a connector gets by default.

    Args:
        factory: Makes the connector.
    """
    said = {name: os.environ.get(variable) for name, variable in OPTION_VARIABLES.items()}
    known = inspect.signature(factory).parameters
    found = {name: value for name, value in said.items() if value and name in known}
    return {
        name: _DEFAULT_OPTIONS[name]
        for name in find_missing_options(factory, found)
        if name in _DEFAULT_OPTIONS
    } | found


def find_missing_options(factory: Callable[..., object], options: Mapping[str, Any]) -> list[str]:
    """List the options that a connector needs and that are not set.

    Args:
        factory: Makes the connector.
        options: The options that are set.
    """
    return [
        name
        for name, parameter in inspect.signature(factory).parameters.items()
        if parameter.default is parameter.empty
        and parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)
        and name not in options
    ]
