"""Generated files: the JSON Schema of version 2, of the runtime and of the chat, from which the views'
types are made, and the page of errors.

Run as a module: without arguments it writes the files, with `--check` it reports outdated files.
"""

from __future__ import annotations

import json
import sys
from typing import Any

import msgspec
from msgspec import Struct

from . import agent, chat, error_codes, fleet, runtime, runtime_requests, runtime_store_messages, ui
from .envelope import MessageTable

_TEMPLATE = "#/$defs/{name}"

#: A view's requests to the runtime by method, and below their results.
_runtime_requests = MessageTable(
    act=runtime_requests.NewAction,
    create_conversation=runtime_requests.NewConversation,
    join=runtime_requests.NewParticipant,
    leave=runtime_requests.LeaveConversation,
    say=runtime_requests.NewMessage,
    retry=runtime_requests.RetryAgentSession,
    retry_action=runtime_requests.RetryFailedAction,
    discard_action=runtime_store_messages.DiscardAction,
    fleet=fleet.FleetQuery,
    halt_runs=fleet.HaltRuns,
    continue_runs=fleet.ContinueRuns,
    actions=runtime_store_messages.ActionQuery,
    states=runtime_store_messages.StateQuery,
    steps=runtime_store_messages.StepQuery,
    conversations=runtime_store_messages.ConversationQuery,
    participants=runtime_store_messages.ParticipantQuery,
    messages=runtime_store_messages.MessageQuery,
    watch=runtime_requests.WatchTopic,
)
_runtime_results = MessageTable(
    act=runtime_requests.ActionEnqueued,
    create_conversation=runtime.Conversation,
    join=runtime.Participant,
    leave=runtime.Participant,
    say=runtime.ConversationMessage,
    retry=runtime.AgentState,
    retry_action=runtime_store_messages.ActionList,
    discard_action=runtime_store_messages.ActionList,
    fleet=fleet.FleetSummary,
    halt_runs=fleet.RunsChanged,
    continue_runs=fleet.RunsChanged,
    actions=runtime_store_messages.ActionList,
    states=runtime_store_messages.AgentStateList,
    steps=runtime_store_messages.AgentStepList,
    conversations=runtime_store_messages.ConversationList,
    participants=runtime_store_messages.ParticipantList,
    messages=runtime_store_messages.ConversationMessageList,
    watch=runtime_requests.TopicEvent,
)

#: A view's requests to a chat by method, and below their results. `watch_sessions` has no parameters,
#: and `stop` and `remove` have no result.
_chat_requests = MessageTable(
    watch=chat.ChatSessionRequest,
    send=chat.SendChatMessage,
    stop=chat.ChatSessionRequest,
    choose=chat.ChooseOption,
    set=chat.UpdateChatSession,
    create=chat.CreateChatSession,
    open=chat.ChatSessionRequest,
    remove=chat.ChatSessionRequest,
    earlier=chat.GetEarlierMessages,
    picture=chat.ChatMessageRequest,
    source=chat.ChatMessageRequest,
)
_chat_results = MessageTable(
    watch=chat.NumberedChatEvent,
    watch_sessions=chat.ChatSessionList,
    send=chat.Message,
    choose=chat.Message,
    set=chat.ChatSessionInfo,
    create=chat.ChatSessionInfo,
    open=chat.ChatSessionInfo,
    earlier=chat.ChatMessagePage,
    picture=chat.ChatImage,
    source=chat.ChatSourceText,
)


def build_schema(
    title: str, complete_tables: tuple[str, ...] = (), **tables: MessageTable
) -> dict[str, Any]:
    """The JSON Schema of some tables: an object a table, a property a message.

    Args:
        title: The schema's title.
        complete_tables: The tables whose writer sends every field, so that to its reader none is
            optional.
        tables: Each table by the name its object gets.
    """
    written = _reachable(
        *(kind for name in complete_tables for kind in tables[name].types.values())
    )
    kinds = [kind for table in tables.values() for kind in table.types.values()]
    _, definitions = msgspec.json.schema_components(kinds, ref_template=_TEMPLATE)
    for name, definition in definitions.items():
        if "properties" in definition:
            definition["additionalProperties"] = False
            if name in written:
                definition["required"] = _list_written_fields(definition)
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


def _list_written_fields(definition: dict[str, Any]) -> list[str]:
    """The fields that a writer of every field sends: those whose default is to be absent may be."""
    required = definition.get("required", ())
    return [
        name
        for name, field in definition["properties"].items()
        if name in required or "default" in field
    ]


def _reachable(*kinds: type[Struct]) -> set[str]:
    """The names of these classes and of all that they hold."""
    return set(msgspec.json.schema_components(kinds)[1])


def build_documents() -> dict[str, str]:
    """The files to keep, by their path from the project's root."""
    made = {
        "js/schema/protocol.json": build_schema(
            "Protocol", ("ToUi",), FromUi=ui.from_ui, ToUi=ui.to_ui
        ),
        "js/schema/runtime.json": build_schema(
            "RuntimeProtocol",
            ("RuntimeResultTypes",),
            RuntimeRequestTypes=_runtime_requests,
            RuntimeResultTypes=_runtime_results,
        ),
        "js/schema/chat.json": build_schema(
            "ChatProtocol",
            ("ChatResultTypes",),
            ChatRequestTypes=_chat_requests,
            ChatResultTypes=_chat_results,
        ),
        "docs/schema/agent.json": build_schema(
            "AgentProtocol", FromAgent=agent.from_agent, ToAgent=agent.to_agent
        ),
    }
    files = {path: json.dumps(value, indent=2) + "\n" for path, value in made.items()}
    return files | {"docs/errors.md": error_codes.render_error_page()}


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return None


def main(arguments: list[str]) -> int:
    """Write the files below the current folder, or with `--check` compare them."""
    stale = [path for path, text in build_documents().items() if _read(path) != text]
    if "--check" in arguments:
        for path in stale:
            print(f"{path} is stale: run python -m agentstepper_nb.protocol.schema")
        return 1 if stale else 0
    for path in stale:
        with open(path, "w", encoding="utf-8") as file:
            file.write(build_documents()[path])
        print(f"wrote {path}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
