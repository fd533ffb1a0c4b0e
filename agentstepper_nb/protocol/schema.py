"""What is made from the protocol: the JSON Schema of version 2, of the runtime and of the chat, and from
these the views' types; the page of errors.

Run as a module: without arguments it writes the files, with `--check` it tells whether they are true.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
from msgspec import Struct

from . import agent, chat, codes, runtime, runtime_asks, runtime_wire, ui
from .frame import Table

_TEMPLATE = "#/$defs/{name}"

#: What a view asks the runtime for, by method, and what it is told.
_ask_runtime = Table(
    act=runtime_wire.NewAction,
    create_conversation=runtime_wire.NewConversation,
    join=runtime_wire.NewParticipant,
    leave=runtime_wire.LeaveConversation,
    say=runtime_wire.NewMessage,
    actions=runtime_asks.ActionQuery,
    states=runtime_asks.StateQuery,
    steps=runtime_asks.StepQuery,
    conversations=runtime_asks.ConversationQuery,
    participants=runtime_asks.ParticipantQuery,
    messages=runtime_asks.MessageQuery,
    watch=runtime_wire.WatchTopic,
)
_runtime_tells = Table(
    act=runtime_wire.Acted,
    create_conversation=runtime.Conversation,
    join=runtime.Participant,
    leave=runtime.Participant,
    say=runtime.ConversationMessage,
    actions=runtime_asks.Actions,
    states=runtime_asks.States,
    steps=runtime_asks.Steps,
    conversations=runtime_asks.Conversations,
    participants=runtime_asks.Participants,
    messages=runtime_asks.Messages,
    watch=runtime_wire.Notice,
)

#: What a view asks a chat for, and what it is told. `watch_sessions` is asked for with nothing, and
#: `stop` and `remove` are answered by nothing.
_ask_chat = Table(
    watch=chat.InSession,
    send=chat.Send,
    stop=chat.InSession,
    choose=chat.Choose,
    set=chat.SetSession,
    create=chat.Create,
    open=chat.InSession,
    remove=chat.InSession,
    earlier=chat.Earlier,
    picture=chat.OneMessage,
    source=chat.OneMessage,
)
_chat_tells = Table(
    watch=chat.Told,
    watch_sessions=chat.SessionList,
    send=chat.Message,
    choose=chat.Message,
    set=chat.SessionInfo,
    create=chat.SessionInfo,
    open=chat.SessionInfo,
    earlier=chat.Messages,
    picture=chat.Picture,
    source=chat.Source,
)


def schema(title: str, whole: tuple[str, ...] = (), **tables: Table) -> dict[str, Any]:
    """The JSON Schema of some tables: an object a table, a property a message.

    Args:
        title: The schema's title.
        whole: The tables whose writer sends every field, so that to its reader none is optional.
        tables: Each table by the name its object gets.
    """
    written = _reachable(*(kind for name in whole for kind in tables[name].types.values()))
    kinds = [kind for table in tables.values() for kind in table.types.values()]
    _, definitions = msgspec.json.schema_components(kinds, ref_template=_TEMPLATE)
    for name, definition in definitions.items():
        if "properties" in definition:
            definition["additionalProperties"] = False
            if name in written:
                definition["required"] = list(definition["properties"])
                for field in definition["properties"].values():
                    field.pop("default", None)
    for name, table in tables.items():
        definitions[name] = {
            "title": name,
            "type": "object",
            "properties": {
                word: {"$ref": _TEMPLATE.format(name=kind.__name__)}
                for word, kind in table.types.items()
            },
            "required": list(table.types),
            "additionalProperties": False,
        }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": {name: {"$ref": _TEMPLATE.format(name=name)} for name in tables},
        "required": list(tables),
        "additionalProperties": False,
        "$defs": dict(sorted(definitions.items())),
    }


def _reachable(*kinds: type[Struct]) -> set[str]:
    """The names of these classes and of all that they hold."""
    return set(msgspec.json.schema_components(kinds)[1])


def documents() -> dict[str, str]:
    """The files to keep, by their path from the project's root."""
    made = {
        "js/schema/protocol.json": schema("Protocol", ("ToUi",), FromUi=ui.from_ui, ToUi=ui.to_ui),
        "js/schema/runtime.json": schema(
            "RuntimeProtocol",
            ("RuntimeTells",),
            AskRuntime=_ask_runtime,
            RuntimeTells=_runtime_tells,
        ),
        "js/schema/chat.json": schema(
            "ChatProtocol", ("ChatTells",), AskChat=_ask_chat, ChatTells=_chat_tells
        ),
        "docs/schema/agent.json": schema(
            "AgentProtocol", FromAgent=agent.from_agent, ToAgent=agent.to_agent
        ),
    }
    files = {path: json.dumps(value, indent=2) + "\n" for path, value in made.items()}
    return files | {"docs/errors.md": codes.page()}


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def main(arguments: list[str]) -> int:
    """Write the files below the current folder, or with `--check` compare them."""
    stale = [path for path, text in documents().items() if _read(path) != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path} is stale: run python -m agentstepper_nb.protocol.schema")
        return 1 if stale else 0
    for path in stale:
        with open(path, "w", encoding="utf-8") as file:
            file.write(documents()[path])
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
