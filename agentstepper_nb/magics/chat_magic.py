"""`%agentstepper chat`: talk with an agent in the notebook."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from ..chat.chat import Chat
from ..chat.connector import InterpreterABC
from ..chat.connectors.registry import list_connectors
from ..errors import AgentStepperError


def show_chat(variables: dict[str, Any], arguments: list[str]) -> None:
    """Show the chat that a line names.

    Args:
        variables: The notebook's variables.
        arguments: The words after `chat`: a variable with a Chat, a function or a connector, or the
            name of an installed connector.

    Raises:
        UsageError: The line names no chat, or an object that can't chat.
    """
    if len(arguments) != 1:
        raise UsageError(
            f"The name of the chat is missing: %agentstepper chat NAME. {_known(variables)}"
        )
    from ..widgets.chat_widget import ChatWidget

    try:
        _display(ChatWidget(_chat(variables, arguments[0])))
    except (AgentStepperError, TypeError, ValueError) as error:
        raise UsageError(f"{arguments[0]}: {error}") from None


def list_chat_names(variables: dict[str, Any]) -> list[str]:
    """List the valid names after `chat`.

    Args:
        variables: The notebook's variables.
    """
    own = [
        name
        for name, value in variables.items()
        if isinstance(value, Chat | InterpreterABC) and not name.startswith("_")
    ]
    return [*own, *sorted(list_connectors())]


def _chat(variables: dict[str, Any], name: str) -> Chat:
    value = variables.get(name, name)
    if isinstance(value, Chat):
        return value
    if value is name and name not in list_connectors():
        raise UsageError(f"There is no chat or agent {name!r}. {_known(variables)}")
    return Chat(value)


def _known(variables: dict[str, Any]) -> str:
    return f"There are: {', '.join(list_chat_names(variables))}."


# IPython's has no types.
_display: Any = display
