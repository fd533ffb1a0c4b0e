"""The way into a chat from outside: its process dials the Core, and clients come to the Core's port.

Each request brings its token, which is checked here.
"""

from __future__ import annotations

import asyncio
import logging
import os
import secrets
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Final

from msgspec import Raw, Struct

from ... import discover
from ...errors import AgentStepperError, CommandError, ProtocolError
from ...protocol.chat import (
    AgentTurnEnded,
    AgentTurnRequest,
    ClientAdmission,
    ForwardedRequest,
    OptionChosen,
    SendAgentOutput,
    ServeChatAgent,
    format_remote_service,
)
from ...rpc.connection import open_connection
from ...rpc.persistent_connection import PersistentConnection
from .. import message_types, roles
from ..service import ChatRight, ChatService, MessageDeduplicator, decode_params
from .agent_connector import RemoteAgent, wait_or_raise
from .tokens import SCOPE_ANSWER, SCOPE_TALK, SCOPE_WATCH, ChatTokens, TokenGrant

if TYPE_CHECKING:
    from ..interpreter import Interpreter

#: The random bytes in the service's address, so that the address can't be guessed.
_ID_BYTES: Final = 16
#: Tokens for workers that were found in the environment: they are taken out of there, once.
_inherited: Final[dict[str, str]] = {}

#: A logger with a null handler, so that records go only to configured handlers, never below a cell.
_log: Final = logging.getLogger("agentstepper_nb.chat.remote.service")
_log.addHandler(logging.NullHandler())
#: The roles of an agent's messages: the agent itself, and its actions on a computer.
_SPEAKERS = ("assistant", "computer")


class RemoteChatService:
    """Serves clients by their tokens, on the interpreter's loop; see `rpc.session.RpcService`.

    A token of scope `watch` or `talk` may what `ChatService` lets it in its session; one of scope
    `answer` may `attend` as its agent, `submit` pieces of answers, and say that one is `done`.

    Args:
        interpreter: The interpreter.
        tokens: Checks the tokens.
        clock: The system's, by which tokens end.
    """

    def __init__(
        self,
        interpreter: Interpreter,
        tokens: ChatTokens,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._interpreter = interpreter
        self._tokens = tokens
        self._clock = clock
        self._deduplicator = MessageDeduplicator()
        self._attending: dict[tuple[str, str], RemoteAgent] = {}

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once; see `RpcService.call`.

        Raises:
            CommandError: `invalid_token`; `out_of_scope`; what was asked can't be done now.
            ProtocolError: What was asked hasn't the form it should have.
        """
        asked = decode_params(params, ForwardedRequest)
        grant = self._tokens.check(asked.token)
        match method:
            case "admit":
                return ClientAdmission(
                    session=grant.session_id,
                    scope=tuple(sorted(grant.scope)),
                    expires_at=grant.expires_at,
                    agent_name=grant.agent_name,
                )
            case "give":
                return await self._submit(grant, decode_params(asked.params, SendAgentOutput))
            case "done":
                await self._done(grant, decode_params(asked.params, AgentTurnEnded))
                return None
        return await self._chat(grant).call(method, asked.params)

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """Answer with items while the token counts; see `RpcService.stream`. Errors as `call`."""
        asked = decode_params(params, ForwardedRequest)
        grant = self._tokens.check(asked.token)
        items: AsyncGenerator[Struct, None]
        if method == "attend":
            items = self._serve_agent(grant, decode_params(asked.params, ServeChatAgent))
        else:
            items = self._chat(grant).stream(method, asked.params)
        async with aclosing(self._stream_while_valid(asked.token, items)) as good:
            async for item in good:
                yield item

    async def close(self) -> None:
        """The interpreter ends, and its agents with it."""

    def _chat(self, grant: TokenGrant) -> ChatService:
        if SCOPE_TALK in grant.scope:
            return ChatService(
                self._interpreter, ChatRight.TALK, grant.session_id, self._deduplicator
            )
        if SCOPE_WATCH in grant.scope:
            return ChatService(self._interpreter, ChatRight.WATCH, grant.session_id)
        raise _out_of_scope(SCOPE_WATCH)

    # ---- agents -------------------------------------------------------------------------------------

    async def _serve_agent(
        self, grant: TokenGrant, attend: ServeChatAgent
    ) -> AsyncGenerator[AgentTurnRequest, None]:
        name, session = _agent_of(grant), grant.session_id
        if attend.session != session:
            raise CommandError("out_of_scope", "This chat token belongs to another session.")
        roles.find_role(attend.role)
        agent = RemoteAgent(name, attend)
        self._withdraw(session, name, _taken_over(name))
        self._interpreter.add_agent(session, agent)
        self._attending[session, name] = agent
        try:
            async with aclosing(agent.read_turn_requests()) as asked:
                async for each in asked:
                    yield each
        finally:
            if self._attending.get((session, name)) is agent:
                self._withdraw(session, name, _gone(name))

    def _withdraw(self, session: str, name: str, why: AgentStepperError) -> None:
        """An agent that attended doesn't any more; nothing where none does."""
        agent = self._attending.pop((session, name), None)
        if agent is not None:
            agent.detach(why)
            with suppress(CommandError):  # its session may be gone
                self._interpreter.remove_agent(session, name)

    async def _submit(self, grant: TokenGrant, submit: SendAgentOutput) -> OptionChosen | None:
        piece = submit.piece
        if piece.role not in _SPEAKERS:
            text = (
                f"An agent can't speak as {piece.role}: its role must be {' or '.join(_SPEAKERS)}."
            )
            raise ProtocolError("invalid_message", text, "piece.role")
        if piece.path is not None:
            text = "A remote agent can't name files here: send the content in place of the path."
            raise ProtocolError("invalid_message", text, "piece.path")
        message_types.find_message_type(piece.type)
        choice = await self._agent(grant).submit(submit.turn, piece)
        return None if choice is None else OptionChosen(choice=choice)

    async def _done(self, grant: TokenGrant, done: AgentTurnEnded) -> None:
        if done.handoff_agent is not None and SCOPE_TALK not in grant.scope:
            raise _out_of_scope(SCOPE_TALK)  # what it hands on is said to another agent
        await self._agent(grant).end(done)

    def _agent(self, grant: TokenGrant) -> RemoteAgent:
        agent = self._attending.get((grant.session_id, _agent_of(grant)))
        if agent is None:
            raise CommandError("unknown_turn", "No agent attends under this name: attend first.")
        return agent

    # ---- tokens -------------------------------------------------------------------------------------

    async def _stream_while_valid(
        self, token: str, items: AsyncGenerator[Struct, None]
    ) -> AsyncGenerator[Struct, None]:
        """A stream, until its token counts no more: by its time, or because it was revoked."""
        loop = asyncio.get_running_loop()
        bad: asyncio.Future[AgentStepperError] = loop.create_future()
        end = loop.call_soon(lambda: None)
        over = False

        def check() -> None:
            nonlocal end
            end.cancel()
            if over:  # it was asked for before the stream ended
                return
            try:
                left = self._tokens.check(token).expires_at - self._clock()
            except AgentStepperError as error:
                if not bad.done():
                    bad.set_result(error)
            else:
                end = loop.call_later(max(left, 0.01), check)

        def changed() -> None:
            with suppress(RuntimeError):  # the loop is over, and all its streams
                loop.call_soon_threadsafe(check)

        check()
        stop = self._tokens.listen(changed)
        try:
            async with aclosing(items):
                while (item := await wait_or_raise(anext(items, None), bad)) is not None:
                    self._tokens.check(token)  # another process may have revoked it
                    yield item
        finally:
            over = True
            stop()
            end.cancel()


def _agent_of(grant: TokenGrant) -> str:
    if SCOPE_ANSWER not in grant.scope or grant.agent_name is None:
        raise _out_of_scope(SCOPE_ANSWER)
    return grant.agent_name


def _out_of_scope(word: str) -> CommandError:
    return CommandError(
        "out_of_scope",
        f"This chat token lacks the scope {word}: create a token with that scope where the "
        "chat runs, by chat.issue_token(scope=…).",
    )


def _taken_over(name: str) -> CommandError:
    return CommandError("stream_taken", f"Another client attends as {name} now, with its token.")


def _gone(name: str) -> AgentStepperError:
    return CommandError("unknown_agent", f"The remote agent {name} has left the chat.")


class RemoteChatAccess:
    """Lets clients into an interpreter's sessions by tokens, once it is opened. Used on its event loop.

    No port is opened. The Core is dialled as workers do, and again where the connection breaks; it hands
    on what clients ask, and every request's token is checked here.

    Args:
        interpreter: The interpreter.
        tokens: Issues and checks the tokens.
        log: Gets a line for each connection.

    Attributes:
        tokens: Issues and checks the tokens.
    """

    def __init__(
        self, interpreter: Interpreter, tokens: ChatTokens, log: logging.Logger = _log
    ) -> None:
        self.tokens = tokens
        self._log = log
        self._id = secrets.token_urlsafe(_ID_BYTES)
        self._services = {format_remote_service(self._id): RemoteChatService(interpreter, tokens)}
        self._address: str | None = None
        self._connection: PersistentConnection | None = None
        self._opening = asyncio.Lock()

    @property
    def address(self) -> str | None:
        """The address for clients; None: remote access isn't open."""
        return self._address

    async def open(self) -> str:
        """Be reachable from now on. Nothing where it is already, or comes back by itself.

        Returns:
            Where clients come to.

        Raises:
            DiscoveryError: There is no Core, or there are several.
            ConnectionLostError: It can't be reached now, or doesn't take this connection.
        """
        async with self._opening:
            if self._connection is None or self._connection.task.done():
                await self._dial()
            assert self._address is not None
            return self._address

    async def close(self) -> None:
        """Refuse new clients, and end the calls of connected clients. Idempotent."""
        async with self._opening:
            connection, self._connection = self._connection, None
            self._address = None
            if connection is not None:
                await connection.close()

    async def _dial(self) -> None:
        first = _endpoint(discover.find_worker_endpoint())
        opened = await open_connection(first, self._services, self._log)

        def find() -> discover.CoreEndpoint:
            """Where it is, by the token of today: it may have been started again."""
            return _endpoint(discover.find_worker_endpoint(first.url))

        self._connection = PersistentConnection(opened, find, self._services, self._log)
        self._connection.task.add_done_callback(self._ended)
        self._address = discover.make_chat_url(first.url, self._id)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._log.warning("remote clients can no longer join this chat: %s", error)


def _endpoint(found: discover.CoreEndpoint) -> discover.CoreEndpoint:
    """The same, with the token that the environment had for it before."""
    if found.token is None:
        return discover.CoreEndpoint(found.url, _inherited.get(found.url))
    if os.environ.get(discover.WORKER_URL_VARIABLE):
        _inherited[found.url] = found.token
    return found
