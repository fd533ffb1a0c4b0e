"""`%agentstepper chat`: talk with an agent in the notebook."""

from __future__ import annotations

from typing import Any

from IPython.core.error import UsageError
from IPython.display import display

from ..chat.chat import Chat
from ..chat.connector import InterpreterABC
from ..chat.connectors.registry import list_connectors
from ..errors import AgentStepperError


def show_chat(names: dict[str, Any], words: list[str]) -> None:
    """Show the chat that a line names.

    Args:
        names: The notebook's variables.
        words: What stands behind `chat`: a variable with a Chat, a function or a connector, or the name
            of an installed connector.

    Raises:
        UsageError: It names none, or none that can be talked with.
    """
    if len(words) != 1:
        raise UsageError(
            f"The name of the chat is missing: %agentstepper chat NAME. {_known(names)}"
        )
    from ..widgets.chat_widget import ChatWidget

    try:
        _display(ChatWidget(_chat(names, words[0])))
    except (AgentStepperError, TypeError, ValueError) as error:
        raise UsageError(f"{words[0]}: {error}") from None


def list_chat_names(names: dict[str, Any]) -> list[str]:
    """What may stand behind `chat`.

    Args:
        names: The notebook's variables.
    """
    own = [
        name
        for name, value in names.items()
        if isinstance(value, Chat | InterpreterABC) and not name.startswith("_")
    ]
    return [*own, *sorted(list_connectors())]


def _chat(names: dict[str, Any], name: str) -> Chat:
    value = names.get(name, name)
    if isinstance(value, Chat):
        return value
    if value is name and name not in list_connectors():
        raise UsageError(f"There is no chat or agent {name!r}. {_known(names)}")
    return Chat(value)


def _known(names: dict[str, Any]) -> str:
    return f"There are: {', '.join(list_chat_names(names))}."


# IPython's has no types.
_display: Any = display
