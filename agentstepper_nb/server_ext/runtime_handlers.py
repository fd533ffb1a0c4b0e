"""`/agentstepper/api/…`: background agents; here it is only translated."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from msgspec import Struct
from tornado.web import authenticated

from ..errors import StoreError
from ..hub import Hub
from ..hub.runtime import Runtime
from ..protocol import runtime_requests as wire
from ..protocol import runtime_store_messages as queries
from ..protocol.runtime import ConversationCursor
from .json_errors import AUTH_RESOURCE, JsonErrorHandler, make_error, require_control
from .request_fields import NoParameters, decode_body, decode_query, make_field_error
from .run_handlers import RestHandler, convert_hub_errors

if TYPE_CHECKING:
    from ..hub.metrics import RuntimeMetrics

StructT = TypeVar("StructT", bound=Struct)


class RuntimeHandler(RestHandler):
    """The base class of the handlers of agents, actions and conversations."""

    def initialize(  # type: ignore[override]
        self, hub: Hub, max_message_bytes: int, runtime: Runtime
    ) -> None:
        """Store the extension's settings; tornado calls this for each request.

        Args:
            hub: The Core's Hub.
            max_message_bytes: The largest accepted body, in bytes.
            runtime: The Core's runtime of background agents.
        """
        super().initialize(hub, max_message_bytes)
        self.runtime = runtime

    def read_query(self, struct_type: type[StructT], **path_fields: str) -> StructT:
        """Convert the request's query, and the fields in the path, to a struct."""
        names = self.request.query_arguments
        query = {name: self.get_query_arguments(name, strip=False) for name in names}
        return decode_query(query, struct_type, path_fields)

    def read_json_body(self, struct_type: type[StructT], **path_fields: str) -> StructT:
        """Convert the request's body, and the fields in the path, to a struct."""
        return decode_body(self.read_body(), struct_type, path_fields)


class AgentStepsHandler(RuntimeHandler):
    """`agent-steps`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List steps, by iteration."""
        query = self.read_query(queries.StepQuery)
        with convert_runtime_errors():
            steps = await self.runtime.steps(query)
        self.send_json(steps)


class AgentSearchHandler(RuntimeHandler):
    """`agent-search`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Find steps and messages by their texts, the best first."""
        query = self.read_query(wire.AgentSearch)
        with convert_runtime_errors():
            found = await self.runtime.search(query)
        self.send_json(found)


class AgentSessionsHandler(RuntimeHandler):
    """`agents/ID/sessions`."""

    @authenticated
    @authorized
    async def get(self, agent: str) -> None:
        """List an agent's sessions, the newest first."""
        query = self.read_query(queries.AgentSessionQuery, agent_id=agent)
        with convert_runtime_errors():
            sessions = await self.runtime.sessions(query)
        self.send_json(sessions)


class AgentStatusHandler(RuntimeHandler):
    """`agent-status`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Report the number of workers, the open work, and the sessions that no worker fits."""
        self.read_query(NoParameters)
        with convert_runtime_errors():
            status = await self.runtime.status()
        self.send_json(status)


class AgentStatesHandler(RuntimeHandler):
    """`agent-state`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List snapshots of sessions, the newest first."""
        query = self.read_query(queries.StateQuery)
        with convert_runtime_errors():
            states = await self.runtime.states(query)
        self.send_json(states)


class ActionsHandler(RuntimeHandler):
    """`actions`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List actions, the oldest first."""
        query = self.read_query(queries.ActionQuery)
        with convert_runtime_errors():
            actions = await self.runtime.actions(query)
        self.send_json(actions)

    @authenticated
    @require_control
    async def post(self) -> None:
        """Enqueue an action; a known action is returned unchanged, with status 200."""
        action = self.read_json_body(wire.NewAction)
        with convert_runtime_errors():
            acted = await self.runtime.act(action)
        self.send_json(acted, status=201 if acted.is_new else 200)


class ActionHandler(RuntimeHandler):
    """`actions/ID`."""

    @authenticated
    @authorized
    async def get(self, action: str) -> None:
        """Return an action and its status."""
        self.read_query(NoParameters)
        with convert_runtime_errors():
            found = await self.runtime.actions(queries.ActionQuery(id=action))
        self.send_json(found.actions[0])


class RetryActionHandler(RuntimeHandler):
    """`actions/ID/retry`."""

    @authenticated
    @require_control
    async def post(self, action: str) -> None:
        """Enqueue a failed action's payload again; the new action is first in the answer."""
        with convert_runtime_errors():
            retried = await self.runtime.retry_action(wire.RetryFailedAction(id=action))
        self.send_json(retried, status=201)


class DiscardActionHandler(RuntimeHandler):
    """`actions/ID/discard`."""

    @authenticated
    @require_control
    async def post(self, action: str) -> None:
        """Discard a failed action from the dead letters."""
        with convert_runtime_errors():
            discarded = await self.runtime.discard_action(queries.DiscardAction(id=action))
        self.send_json(discarded)


class RetrySessionHandler(RuntimeHandler):
    """`agent-state/ID/retry`."""

    @authenticated
    @require_control
    async def post(self, session: str) -> None:
        """Resume a session that ended with an error, at the step that failed."""
        with convert_runtime_errors():
            state = await self.runtime.retry(wire.RetryAgentSession(session_id=session))
        self.send_json(state)


class ConversationsHandler(RuntimeHandler):
    """`conversations`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List conversations, the newest first."""
        query = self.read_query(queries.ConversationQuery)
        with convert_runtime_errors():
            conversations = await self.runtime.conversations(query)
        self.send_json(conversations)

    @authenticated
    @require_control
    async def post(self) -> None:
        """Create a conversation; a conversation with a known id is returned unchanged."""
        new = self.read_json_body(wire.NewConversation)
        with convert_runtime_errors():
            conversation = await self.runtime.create_conversation(new)
        self.send_json(conversation, status=201)


class ConversationHandler(RuntimeHandler):
    """`conversations/ID`."""

    @authenticated
    @authorized
    async def get(self, conversation: str) -> None:
        """Return a conversation, without its messages."""
        self.read_query(NoParameters)
        query = queries.ConversationQuery(conversation_id=conversation)
        with convert_runtime_errors():
            found = await self.runtime.conversations(query)
        self.send_json(found.conversations[0])

    @authenticated
    @require_control
    async def patch(self, conversation: str) -> None:
        """Close or reopen a conversation, or change its title or tags."""
        changes = self.read_json_body(wire.SetConversation, conversation_id=conversation)
        if changes == wire.SetConversation(conversation_id=conversation):
            raise make_field_error(
                "The body changes nothing. Send a `status`, a `title` or `tags`."
            )
        with convert_runtime_errors():
            changed = await self.runtime.set_conversation(changes)
        self.send_json(changed)


class ParticipantsHandler(RuntimeHandler):
    """`conversations/ID/participants`."""

    @authenticated
    @authorized
    async def get(self, conversation: str) -> None:
        """List present and former participants, in the order in which they joined."""
        query = self.read_query(queries.ParticipantQuery, conversation_id=conversation)
        with convert_runtime_errors():
            participants = await self.runtime.participants(query)
        self.send_json(participants)

    @authenticated
    @require_control
    async def post(self, conversation: str) -> None:
        """Add a user or a session; an existing participant is returned unchanged."""
        new = self.read_json_body(wire.NewParticipant, conversation_id=conversation)
        with convert_runtime_errors():
            participant = await self.runtime.join(new)
        self.send_json(participant, status=201)


class ParticipantHandler(RuntimeHandler):
    """`conversations/ID/participants/ID`."""

    @authenticated
    @require_control
    async def delete(self, conversation: str, participant: str) -> None:
        """Remove a participant; one that has left is returned with the time of leaving."""
        with convert_runtime_errors():
            left = await self.runtime.leave(
                wire.LeaveConversation(conversation_id=conversation, participant_id=participant)
            )
        self.send_json(left)


class MessagesHandler(RuntimeHandler):
    """`conversations/ID/messages`."""

    @authenticated
    @authorized
    async def get(self, conversation: str) -> None:
        """List the messages, the oldest first."""
        query = self.read_query(queries.MessageQuery, conversation_id=conversation)
        with convert_runtime_errors():
            messages = await self.runtime.messages(query)
        self.send_json(messages)

    @authenticated
    @require_control
    async def post(self, conversation: str) -> None:
        """Post a user's message, which is sent to the participating sessions."""
        new = self.read_json_body(wire.NewMessage, conversation_id=conversation)
        with convert_runtime_errors():
            message = await self.runtime.say(new)
        self.send_json(message, status=201)


class CursorHandler(RuntimeHandler):
    """`conversations/ID/cursor`: how far a session that pulls has read."""

    @authenticated
    @authorized
    async def get(self, conversation: str) -> None:
        """Return a session's read cursor; null if it has read nothing."""
        query = self.read_query(queries.CursorQuery, conversation_id=conversation)
        with convert_runtime_errors():
            cursor = await self.runtime.cursor(query)
        self.send_json(cursor)

    @authenticated
    @require_control
    async def put(self, conversation: str) -> None:
        """Note how far a session has read; never back."""
        cursor = self.read_json_body(ConversationCursor, conversation_id=conversation)
        with convert_runtime_errors():
            advanced = await self.runtime.advance(cursor)
        self.send_json(advanced)


class MetricsHandler(JsonErrorHandler, APIHandler):
    """`/agentstepper/metrics`."""

    auth_resource = AUTH_RESOURCE

    def initialize(self, metrics: RuntimeMetrics) -> None:
        """Store the extension's settings.

        Args:
            metrics: The Core's metrics.
        """
        self.metrics = metrics

    @authenticated
    @authorized
    async def get(self) -> None:
        """Return the metrics in Prometheus's format."""
        figures = await self.metrics.render()
        self.finish(figures, set_content_type=self.metrics.content_type)


def make_runtime_routes(
    settings: dict[str, Any], api: str = r"/agentstepper/api"
) -> list[tuple[str, type[RuntimeHandler], dict[str, Any]]]:
    """Make the list of handlers by their paths.

    Args:
        settings: The settings of each handler.
        api: The base path.
    """
    one = api + r"/conversations/([^/]+)"
    return [
        (api + "/agent-steps", AgentStepsHandler, settings),
        (api + "/agent-status", AgentStatusHandler, settings),
        (api + "/agent-search", AgentSearchHandler, settings),
        (api + "/agent-state", AgentStatesHandler, settings),
        (api + r"/agents/([^/]+)/sessions", AgentSessionsHandler, settings),
        (api + "/actions", ActionsHandler, settings),
        (api + r"/actions/([^/]+)", ActionHandler, settings),
        (api + r"/actions/([^/]+)/retry", RetryActionHandler, settings),
        (api + r"/actions/([^/]+)/discard", DiscardActionHandler, settings),
        (api + r"/agent-state/([^/]+)/retry", RetrySessionHandler, settings),
        (api + "/conversations", ConversationsHandler, settings),
        (one, ConversationHandler, settings),
        (one + "/participants", ParticipantsHandler, settings),
        (one + r"/participants/([^/]+)", ParticipantHandler, settings),
        (one + "/messages", MessagesHandler, settings),
        (one + "/cursor", CursorHandler, settings),
    ]


@contextmanager
def convert_runtime_errors() -> Iterator[None]:
    """Convert the runtime's errors to HTTP errors."""
    try:
        with convert_hub_errors():
            yield
    except StoreError as error:
        raise make_error(503, "store_failed", str(error)) from None
