"""AutoChat: whether a session goes on by itself, and with what."""

from __future__ import annotations

from ...errors import CommandError
from ..connector import InterpreterABC
from ..session import Session


def next_agent(session: Session) -> InterpreterABC:
    """Who is told to go on: whoever the last turn's message was for, if it is still there.

    Where a SUPERVISOR handed on, that is the SUPERVISOR: it sees what came of it, and decides.

    Raises:
        CommandError: `unknown_agent`: there is none.
    """
    turn = session.had_turn
    if turn is not None and turn.agent in session.agents:
        return turn.agent
    return session.agents.named(None)


def refusal(session: Session) -> str | None:
    """Why a session may not go on by itself now; None where it may."""
    machine, turn = session.machine, session.had_turn
    why = session.auto.may_continue(
        machine.state, machine.ending, turn is not None and turn.had_confirmation
    )
    if why is not None:
        return why
    try:
        agent = next_agent(session)
    except CommandError as error:
        return error.message
    prompt: object = agent.continuation_prompt
    if not isinstance(prompt, str) or not prompt.strip():
        return f"{agent.name} has nothing to continue: say something yourself"
    return None
