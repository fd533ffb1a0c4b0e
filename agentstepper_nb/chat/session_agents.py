"""The agents of a session: routing of messages, handoffs, failures, and release."""

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
    """The agents of one session, in the order of their addition.

    Args:
        session_id: The session's id.
        agents: The first agents.
        default: The agent that gets messages which name no agent; None, or an unknown name: the first.
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
        """The name of the agent that gets messages which name no agent."""
        return self._default

    @default.setter
    def default(self, name: str | None) -> None:
        self._default = self.find_agent(name).name

    def __contains__(self, agent: object) -> bool:
        return agent in self._agents.values()

    def __iter__(self) -> Iterator[InterpreterABC]:
        return iter(tuple(self._agents.values()))

    def add(self, agent: InterpreterABC) -> ChatAgentInfo:
        """Add an agent.

        Raises:
            ProtocolError: `invalid_message`: the agent has no name, a name in use, or an unknown role.
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
        """Remove an agent.

        Returns:
            The agent's info, in its ended phase.

        Raises:
            CommandError: `unknown_agent`: the session has no such agent.
        """
        self.find_agent(name)
        ended = self.phase(name, ChatAgentPhase.ENDED)
        del self._agents[name], self._infos[name]
        if self._default == name:
            self._default = next(iter(self._agents), None)
        return ended

    def find_agent(self, name: str | None) -> InterpreterABC:
        """Return the agent that a message is for.

        Args:
            name: The agent's name in the message; None: the default agent.

        Raises:
            CommandError: `unknown_agent`: there is no such agent. The message lists the agents.
        """
        found = self._agents.get(name or self._default or "")
        if found is None:
            raise CommandError("unknown_agent", self._describe_unknown_agent(name))
        return found

    def phase(self, name: str, phase: ChatAgentPhase) -> ChatAgentInfo:
        """Set an agent's phase in its session."""
        self._infos[name] = replace(self._infos[name], phase=phase)
        return self.info(name)

    def info(self, name: str) -> ChatAgentInfo:
        """Return the public state of an agent."""
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
    """The handoffs of one turn.

    Args:
        agents: The agents of the session.
        first: The agent that began the turn.
    """

    def __init__(self, agents: SessionAgents, first: InterpreterABC) -> None:
        self._agents = agents
        self._known_names = {first.name}
        self._left = MAX_HANDOFFS

    def follow(self, from_agent: InterpreterABC, handoff: Handoff) -> InterpreterABC:
        """Return the next agent of the turn.

        A turn returns to an agent that already answered only if that agent is a SUPERVISOR, so that two
        other agents can't hand off to each other forever.

        Args:
            from_agent: The agent that hands off.
            handoff: The handoff.

        Raises:
            CommandError: `may_not_hand_on`: the role of `from_agent` forbids handoffs, there is no such
                agent, the agent already answered, or there were too many handoffs.
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
    """Validate an agent.

    Raises:
        ProtocolError: `invalid_message`: the agent has no name, or an unknown role or type.
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
    """Release a connector. One that doesn't end in time is abandoned. Errors are logged.

    Args:
        release: The connector's own release function.
        log_text: The log's text of a failure.
        log: The interpreter's log.
        limits: The time-outs.
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
