"""The codes of errors about background agents, their sessions, actions and conversations."""

from __future__ import annotations

from typing import Final

RUNTIME_CODES: Final[dict[str, tuple[str, str]]] = {
    "stale_epoch": (
        ("Another worker has taken over the session, so this worker's changes were refused."),
        "Nothing: the session continues on the other worker.",
    ),
    "stale_claim": (
        "Another dispatcher claimed the action after the lease of this one had expired.",
        "Nothing: the other dispatcher executes the action.",
    ),
    "duplicate_step": (
        "The session has another step at this iteration and number.",
        "Continue from the stored snapshot.",
    ),
    "unknown_action": (
        "No action has this id.",
        "List them: GET actions.",
    ),
    "unknown_agent": (
        "There is no session with this id, or of this agent.",
        "Create a session, or check the spelling.",
    ),
    "unknown_conversation": (
        "No conversation has this id.",
        "List them: GET conversations.",
    ),
    "unknown_participant": (
        "No participant of this conversation has this id.",
        "List them: GET conversations/ID/participants.",
    ),
    "unknown_message_id": (
        "No message of this conversation has this id.",
        "Read from its beginning: leave `after` out.",
    ),
    "unknown_topic": (
        "No topic has this name.",
        "Watch session:ID, conversation:ID, sessions or conversations.",
    ),
    "session_over": (
        "The session has ended: it takes no more actions.",
        "Create another session.",
    ),
    "session_exists": (
        "Another agent has a session of this id.",
        "Create the agent with another session id, or without one.",
    ),
    "action_not_failed": (
        "The action has not failed: there is nothing to retry or to discard.",
        "List the dead letters: GET actions?status=failed.",
    ),
    "conversation_closed": (
        "The conversation is closed.",
        "Open the conversation again, or begin another.",
    ),
    "may_not_post": (
        "An observer may not post to the conversation.",
        "Join as a member.",
    ),
}
