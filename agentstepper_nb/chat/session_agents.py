"""The agents of a session: who answers, who may hand on, how they fail and are let go."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Iterator
from typing import Final, TypeVar

from msgspec.structs import replace

from ..errors import AgentStepperError, AgentStopped, CommandError, ProtocolError
from ..llm_wire.answer_builder import replace_surrogates
from ..protocol.chat import AgentName, AgentType, ChatAgentInfo, ChatAgentPhase
from .connector import Handoff, InterpreterABC
from .item_sources import wrap_exit_error
from .limits import ChatLimits
from .roles import find_role

T = TypeVar("T")

#: Hand-ons within a turn.
MAX_HANDOFFS: Final = 8
_MAX_NAME_CHARS: Final = 100
_MAX_LINE_CHARS: Final = 1000

log = logging.getLogger("agentstepper_nb.chat")


class SessionAgents:
    """The agents of one session, in the order they came.

    Args:
        session_id: The session.
        agents: Those it begins with.
        default: Whom a message is for that names nobody; None, or somebody unknown: the first.
    """

    def __init__(
        self, session_id: str, agents: Iterable[InterpreterABC], default: str | None = None
    ) -> None:
        self._session_id = session_id
        self._agents: dict[str, InterpreterABC] = {}
        self._infos: dict[str, ChatAgentInfo] = {}  # what they said of themselves as they came
        self._default: str | None = None
        for agent in agents:
            self.add(agent)
        if default in self._agents:
            self._default = default

    @property
    def default(self) -> str | None:
        """Whom a message is for that names nobody."""
        return self._default

    @default.setter
    def default(self, name: str | None) -> None:
        self._default = self.find_agent(name).name

    def __contains__(self, agent: object) -> bool:
        return agent in self._agents.values()

    def __iter__(self) -> Iterator[InterpreterABC]:
        return iter(tuple(self._agents.values()))

    def add(self, agent: InterpreterABC) -> ChatAgentInfo:
        """One more.

        Raises:
            ProtocolError: `invalid_message`: it has no name, a name that is taken, or an unknown role.
        """
        check_agent(agent)
        if agent.name in self._agents:
            raise ProtocolError(
                "invalid_message",
                f"This chat already has an agent called {agent.name!r}: choose another name.",
                field="name",
            )
        info = ChatAgentInfo(
            name=agent.name,
            role=agent.role,
            type=agent.agent_type,
            description=replace_surrogates(str(agent.description))[:_MAX_LINE_CHARS],
        )
        self._agents[agent.name], self._infos[agent.name] = agent, info
        self._default = self._default or agent.name
        return self.info(agent.name)

    def remove(self, name: str) -> ChatAgentInfo:
        """One less.

        Returns:
            It, as ended.

        Raises:
            CommandError: `unknown_agent`.
        """
        self.find_agent(name)
        ended = self.phase(name, ChatAgentPhase.ENDED)
        del self._agents[name], self._infos[name]
        if self._default == name:
            self._default = next(iter(self._agents), None)
        return ended

    def find_agent(self, name: str | None) -> InterpreterABC:
        """The agent that a message is for.

        Args:
            name: As the message names it; None: the default.

        Raises:
            CommandError: `unknown_agent`: there is none, which says who there is.
        """
        found = self._agents.get(name or self._default or "")
        if found is None:
            raise CommandError("unknown_agent", self._describe_unknown_agent(name))
        return found

    def phase(self, name: str, phase: ChatAgentPhase) -> ChatAgentInfo:
        """It is elsewhere in its session now."""
        self._infos[name] = replace(self._infos[name], phase=phase)
        return self.info(name)

    def info(self, name: str) -> ChatAgentInfo:
        """An agent, as it is told of."""
        agent = self._agents[name]
        notice = replace_surrogates(str(self._call_agent(agent, agent.notice, "")))[
            :_MAX_LINE_CHARS
        ]
        return replace(
            self._infos[name], run_id=self._call_agent(agent, agent.run_id, None), notice=notice
        )

    def _call_agent(self, agent: InterpreterABC, call: Callable[[str], T], fallback: T) -> T:
        """What an agent says of itself in this session; whoever looks is told without what fails."""
        try:
            return call(self._session_id)
        except Exception:
            log.exception("Agent %s can't give its run or its notice.", agent.name)
            return fallback

    def infos(self) -> tuple[ChatAgentInfo, ...]:
        """All of them."""
        return tuple(self.info(name) for name in self._agents)

    def _describe_unknown_agent(self, name: str | None) -> str:
        if not self._agents:
            return "This chat has no agent: add one."
        there = ", ".join(self._agents)
        return f"This chat has no agent called {str(name)[:_MAX_NAME_CHARS]!r}: choose {there}."


class HandoffChain:
    """Those of one turn.

    Args:
        agents: The session's.
        first: Who began the turn.
    """

    def __init__(self, agents: SessionAgents, first: InterpreterABC) -> None:
        self._agents = agents
        self._known_names = {first.name}
        self._left = MAX_HANDOFFS

    def follow(self, from_agent: InterpreterABC, handoff: Handoff) -> InterpreterABC:
        """Who goes on.

        A turn comes back to an agent that had its part only where that one is a SUPERVISOR: so no two
        others pass it to and fro.

        Args:
            from_agent: Who hands on.
            handoff: To whom.

        Raises:
            CommandError: `may_not_hand_on`: the giver's role doesn't let it, there is no such agent, it
                had its part, or there were too many.
        """
        if not find_role(from_agent.role).can_hand_off:
            raise _refused(f"{from_agent.name} has the role {from_agent.role}, which can't hand on")
        try:
            taker = self._agents.find_agent(handoff.agent_name)
        except CommandError as error:
            raise _refused(
                f"{from_agent.name} named no agent of this chat. {error.message}"
            ) from None
        if taker is from_agent or (
            taker.name in self._known_names and taker.role != AgentName.SUPERVISOR
        ):
            raise _refused(
                f"{from_agent.name} handed on to {taker.name}, which has already answered in this turn"
            )
        if not self._left:
            raise _refused(f"the turn has already been handed on {MAX_HANDOFFS} times")
        self._left -= 1
        self._known_names.add(taker.name)
        return taker


def check_agent(agent: InterpreterABC) -> InterpreterABC:
    """Refuse what is no agent.

    Raises:
        ProtocolError: `invalid_message`: it has no name, or an unknown role or type.
    """
    name = getattr(agent, "name", None)
    if (
        not isinstance(name, str)
        or not 0 < len(name) <= _MAX_NAME_CHARS
        or replace_surrogates(name) != name
    ):
        raise ProtocolError(
            "invalid_message", "An agent needs a name of 1 to 100 characters.", field="name"
        )
    find_role(agent.role)
    if agent.agent_type not in tuple(AgentType):
        known = ", ".join(AgentType)
        raise ProtocolError(
            "invalid_message",
            f"An agent's type can't be {str(agent.agent_type)[:100]!r}: choose {known}.",
            field="type",
        )
    return agent


def check_agents(agents: Iterable[InterpreterABC], default: str | None) -> None:
    """Refuse agents that can't be in one session.

    Raises:
        ProtocolError: As of `SessionAgents.add`.
        CommandError: `unknown_agent`: the default is none of them.
    """
    together = SessionAgents("", agents)
    if default is not None:
        together.find_agent(default)


def _refused(why: str) -> CommandError:
    return CommandError("may_not_hand_on", f"The message can't be handed on: {why}.")


#: Characters of an error that are told.
_MAX_ERROR_CHARS: Final = 2000


def explain_error(error: BaseException) -> str:
    """An error in a conversation: an `AgentStepperError` as it is, others by type and text."""
    while isinstance(error, BaseExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if isinstance(error, asyncio.CancelledError):
        return "The agent's answer was cancelled by the agent's own code."
    if isinstance(error, SystemExit):
        return f"The agent's code tried to end the process: SystemExit({error.code!r})."
    name = type(error).__name__
    try:
        text = replace_surrogates(str(error))
    except Exception:  # an agent's own class may fail at that, too
        return f"{name}, whose text can't be read."
    if not isinstance(error, AgentStepperError):
        text = f"{name}: {text}" if text else f"{name}."
    return text if len(text) <= _MAX_ERROR_CHARS else f"{text[:_MAX_ERROR_CHARS]}…"


def is_agent_stopped(error: BaseException) -> bool:
    """Whether a person pressed Stop in the debugger."""
    if isinstance(error, BaseExceptionGroup):
        return error.subgroup(AgentStopped) is not None
    return isinstance(error, AgentStopped)


async def release_connector(
    release: Callable[[], Awaitable[None]],
    log_text: str,
    log: logging.Logger,
    limits: ChatLimits,
) -> None:
    """Let a connector go; one that doesn't end is left alone. What it does wrong is logged.

    Args:
        release: Its part of it.
        log_text: Said in the log: what it didn't do.
        log: The interpreter's.
        limits: How long it has to let go.
    """
    releasing = asyncio.create_task(_guarded(release))
    for timeout_s in (limits.release_timeout_s, limits.release_cancel_timeout_s):
        if (await asyncio.wait({releasing}, timeout=timeout_s))[0]:
            break
        releasing.cancel()
    else:
        log.error("%s The agent ignores its cancellation and is left running.", log_text)
        return
    if releasing.cancelled():
        log.error("%s The agent was cancelled.", log_text)
    elif (error := releasing.exception()) is not None:
        log.error("%s", log_text, exc_info=error)


async def _guarded(release: Callable[[], Awaitable[None]]) -> None:
    """Do it; what would end the loop is an error like others."""
    try:
        await release()
    except BaseException as error:
        raise wrap_exit_error(error) from None
