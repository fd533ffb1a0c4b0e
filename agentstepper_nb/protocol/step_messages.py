"""The message that a session's step posts in the session's conversation."""

from __future__ import annotations

from .runtime import AgentStep, ConversationMessage, SenderType


def make_step_message(
    step: AgentStep, conversation_id: str, message_id: str
) -> ConversationMessage:
    """The message of a step.

    Args:
        step: The step.
        conversation_id: The conversation.
        message_id: The message's id.
    """
    return ConversationMessage(
        message_id=message_id,
        conversation_id=conversation_id,
        created_at=step.created_at,
        sender_type=SenderType.AGENT,
        agent_id=step.agent_id,
        session_id=step.session_id,
        text=step.text or step.error or "",
        data=step.data,
        status=step.status,
        event_type="step",
        iteration=step.iteration,
        step_token=step.step_token,
        next_step_token=step.next_step_token,
        notes=step.notes,
    )
