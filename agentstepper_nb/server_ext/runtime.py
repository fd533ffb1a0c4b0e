"""`/agentstepper/api/…`: agents that run on their own; here it is only translated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from jupyter_server.auth.decorator import authorized
from msgspec import Struct
from tornado.web import authenticated

from ..errors import StoreError
from ..hub import Hub
from ..hub.runtime import Runtime
from ..protocol import runtime_asks as asks
from ..protocol import runtime_wire as wire
from .answers import controls, refusal
from .fields import Nothing, from_body, from_query, invalid
from .rest import RunsHandler, errors_of_hub

Form = TypeVar("Form", bound=Struct)


class RuntimeHandler(RunsHandler):
    """What the handlers of agents, actions and conversations share."""

    def initialize(  # type: ignore[override]
        self, hub: Hub, max_message: int, runtime: Runtime
    ) -> None:
        """Take what the extension made; tornado calls this for each request.

        Args:
            hub: The Core's Hub.
            max_message: The largest body taken, in bytes.
            runtime: The Core's agents.
        """
        super().initialize(hub, max_message)
        self.runtime = runtime

    def read_query(self, form: type[Form], **path: str) -> Form:
        """The request's query as a struct, with what stands in the path."""
        names = self.request.query_arguments
        query = {name: self.get_query_arguments(name, strip=False) for name in names}
        return from_query(query, form, path)

    def read_form(self, form: type[Form], **path: str) -> Form:
        """The request's body as a struct, with what stands in the path."""
        return from_body(self.read_body(), form, path)


class AgentSteps(RuntimeHandler):
    """`agent-steps`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List steps, by iteration."""
        query = self.read_query(asks.StepQuery)
        with errors_of_runtime():
            steps = await self.runtime.steps(query)
        self.answer(steps)


class AgentSessions(RuntimeHandler):
    """`agents/ID/sessions`."""

    @authenticated
    @authorized
    async def get(self, agent: str) -> None:
        """List an agent's sessions, the newest first."""
        query = self.read_query(asks.SessionsOf, agent_id=agent)
        with errors_of_runtime():
            sessions = await self.runtime.sessions(query)
        self.answer(sessions)


class AgentStates(RuntimeHandler):
    """`agent-state`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List snapshots of sessions, the newest first."""
        query = self.read_query(asks.StateQuery)
        with errors_of_runtime():
            states = await self.runtime.states(query)
        self.answer(states)


class Actions(RuntimeHandler):
    """`actions`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List actions, the oldest first."""
        query = self.read_query(asks.ActionQuery)
        with errors_of_runtime():
            actions = await self.runtime.actions(query)
        self.answer(actions)

    @authenticated
    @controls
    async def post(self) -> None:
        """Enqueue an action; one that was known is answered as it stands, with 200."""
        action = self.read_form(wire.NewAction)
        with errors_of_runtime():
            acted = await self.runtime.act(action)
        self.answer(acted, status=201 if acted.fresh else 200)


class OneAction(RuntimeHandler):
    """`actions/ID`."""

    @authenticated
    @authorized
    async def get(self, action: str) -> None:
        """Give an action, and how far it is."""
        self.read_query(Nothing)
        with errors_of_runtime():
            found = await self.runtime.actions(asks.ActionQuery(id=action))
        self.answer(found.actions[0])


class Conversations(RuntimeHandler):
    """`conversations`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List conversations, the newest first."""
        query = self.read_query(asks.ConversationQuery)
        with errors_of_runtime():
            conversations = await self.runtime.conversations(query)
        self.answer(conversations)

    @authenticated
    @controls
    async def post(self) -> None:
        """Begin a conversation; one of an id that is known is answered as it stands."""
        new = self.read_form(wire.NewConversation)
        with errors_of_runtime():
            conversation = await self.runtime.create_conversation(new)
        self.answer(conversation, status=201)


class OneConversation(RuntimeHandler):
    """`conversations/ID`."""

    @authenticated
    @authorized
    async def get(self, conversation: str) -> None:
        """Give a conversation, without what was said in it."""
        self.read_query(Nothing)
        query = asks.ConversationQuery(conversation_id=conversation)
        with errors_of_runtime():
            found = await self.runtime.conversations(query)
        self.answer(found.conversations[0])

    @authenticated
    @controls
    async def patch(self, conversation: str) -> None:
        """Close a conversation, or open it again, or give it another title or other tags."""
        changes = self.read_form(wire.SetConversation, conversation_id=conversation)
        if changes == wire.SetConversation(conversation_id=conversation):
            raise invalid("Send a `status`, a `title` or `tags`.")
        with errors_of_runtime():
            changed = await self.runtime.set_conversation(changes)
        self.answer(changed)


class Participants(RuntimeHandler):
    """`conversations/ID/participants`."""

    @authenticated
    @authorized
    async def get(self, conversation: str) -> None:
        """List who takes part or did, in the order in which they joined."""
        query = self.read_query(asks.ParticipantQuery, conversation_id=conversation)
        with errors_of_runtime():
            participants = await self.runtime.participants(query)
        self.answer(participants)

    @authenticated
    @controls
    async def post(self, conversation: str) -> None:
        """Add a user or a session; who is there already is answered as it stands."""
        new = self.read_form(wire.NewParticipant, conversation_id=conversation)
        with errors_of_runtime():
            participant = await self.runtime.join(new)
        self.answer(participant, status=201)


class OneParticipant(RuntimeHandler):
    """`conversations/ID/participants/ID`."""

    @authenticated
    @controls
    async def delete(self, conversation: str, participant: str) -> None:
        """Leave; who has left is answered with the time when that was."""
        with errors_of_runtime():
            left = await self.runtime.leave(
                wire.LeaveConversation(conversation_id=conversation, participant_id=participant)
            )
        self.answer(left)


class Messages(RuntimeHandler):
    """`conversations/ID/messages`."""

    @authenticated
    @authorized
    async def get(self, conversation: str) -> None:
        """List what was said, the oldest first."""
        query = self.read_query(asks.MessageQuery, conversation_id=conversation)
        with errors_of_runtime():
            messages = await self.runtime.messages(query)
        self.answer(messages)

    @authenticated
    @controls
    async def post(self, conversation: str) -> None:
        """Post as a user: the sessions that take part are told."""
        new = self.read_form(wire.NewMessage, conversation_id=conversation)
        with errors_of_runtime():
            message = await self.runtime.say(new)
        self.answer(message, status=201)


def routes(
    settings: dict[str, Any], api: str = r"/agentstepper/api"
) -> list[tuple[str, type[RuntimeHandler], dict[str, Any]]]:
    """The handlers by their paths.

    Args:
        settings: What each is initialized with.
        api: Where they lie.
    """
    one = api + r"/conversations/([^/]+)"
    return [
        (api + "/agent-steps", AgentSteps, settings),
        (api + "/agent-state", AgentStates, settings),
        (api + r"/agents/([^/]+)/sessions", AgentSessions, settings),
        (api + "/actions", Actions, settings),
        (api + r"/actions/([^/]+)", OneAction, settings),
        (api + "/conversations", Conversations, settings),
        (one, OneConversation, settings),
        (one + "/participants", Participants, settings),
        (one + r"/participants/([^/]+)", OneParticipant, settings),
        (one + "/messages", Messages, settings),
    ]


@contextmanager
def errors_of_runtime() -> Iterator[None]:
    """Turn what the runtime raises into HTTP's form."""
    try:
        with errors_of_hub():
            yield
    except StoreError as error:
        raise refusal(503, "store_failed", str(error)) from None
