"""`/agentstepper/api/coding/…`: coding sessions, which are in a worker; here it is only translated."""

from __future__ import annotations

import asyncio
from hmac import compare_digest
from pathlib import Path
from typing import Any, Final, TypeVar

from jupyter_server.auth.decorator import authorized
from msgspec import Struct
from msgspec.structs import replace
from tornado.web import authenticated

from ..hub import Hub
from ..hub.coding_request_policy import CodingRequestPolicy, CodingRoots
from ..hub.workers import Workers
from ..protocol import coding_api as wire
from .event_stream import EventStreamHandler
from .json_errors import make_error, require_control
from .run_handlers import RestHandler, convert_hub_errors

Value = TypeVar("Value")

#: The header that must accompany Jupyter's login to request a session without a sandbox.
CONTROL_HEADER: Final = "X-AgentStepper-Control-Token"


class CodingHandler(RestHandler):
    """The base class of the coding session handlers."""

    def initialize(  # type: ignore[override]
        self,
        hub: Hub,
        max_message_bytes: int,
        workers: Workers,
        roots: CodingRoots,
        policy: CodingRequestPolicy,
        control_token: str,
        data_dir: Path,
    ) -> None:
        """Store the extension's settings; tornado calls this for each request.

        Args:
            hub: The Core's Hub.
            max_message_bytes: The largest accepted body, in bytes.
            workers: The Core's workers.
            roots: The folders that workspaces may lie in.
            policy: The limits of requests' settings.
            control_token: The control token.
            data_dir: The folder that stores the sessions.
        """
        super().initialize(hub, max_message_bytes)
        self.workers = workers
        self._roots = roots
        self._policy = policy
        self._control_token = control_token
        self._data_dir = data_dir

    async def call_service(self, method: str, params: Struct | None, kind: type[Value]) -> Value:
        """Call the coding service."""
        with convert_hub_errors():
            return await self.workers.call(wire.SERVICE, method, params, kind)

    async def call_and_finish(self, method: str, params: Struct, status: int) -> None:
        """Have the coding service do something, and answer that it is done."""
        await self.call_service(method, params, type(None))
        self.set_status(status)
        self.finish()

    async def read_session_request(self) -> wire.CreateCodingSession:
        """The body that opens a session, its settings allowed, its workspace too and with all links
        resolved.
        """
        how = self.decode_body(wire.CreateCodingSession)
        with convert_hub_errors():
            settings = await asyncio.to_thread(
                self._policy.allow, how, has_control=self._has_control()
            )
            workspace = await asyncio.to_thread(self._roots.allow, how.workspace_path)
        return replace(how, workspace_path=str(workspace), **settings)

    def is_allowed(self, session: wire.CodingSessionInfo) -> bool:
        """Whether a session may be seen: it is open, or its workspace lies in an allowed folder."""
        return session.state == "open" or self._roots.has(session.workspace_path)

    def _has_control(self) -> bool:
        """Whether the request brings the control token.

        Raises:
            JsonHTTPError: 401: it brings another one.
        """
        given = self.request.headers.get(CONTROL_HEADER)
        if given is None:
            return False
        if compare_digest(given.encode(), self._control_token.encode()):
            return True
        raise make_error(
            401, "unauthorized", f"The token in {CONTROL_HEADER} isn't this server's control token."
        )


class CodingSessionsHandler(CodingHandler):
    """`sessions`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List the open sessions, and the stored sessions of allowed folders."""
        params = wire.ListCodingSessions(
            state=self.read_parameter("state", wire.CodingSessionFilter, "all"),
            limit=self.read_parameter("limit", wire.Limit, 100),
        )
        if not self.workers.is_serving(wire.SERVICE) and not self._may_have_stored(params):
            self.send_json(wire.CodingSessionList(sessions=()))  # for nothing no worker is started
            return
        listed = await self.call_service("list", params, wire.CodingSessionList)
        allowed = await asyncio.to_thread(self._select_allowed, listed.sessions)
        self.send_json(wire.CodingSessionList(sessions=allowed))

    def _may_have_stored(self, params: wire.ListCodingSessions) -> bool:
        logs = self._data_dir / "coding" / "sessions"
        return params.state != "open" and next(logs.glob("*.jsonl"), None) is not None

    def _select_allowed(
        self, sessions: tuple[wire.CodingSessionInfo, ...]
    ) -> tuple[wire.CodingSessionInfo, ...]:
        return tuple(each for each in sessions if self.is_allowed(each))

    @authenticated
    @require_control
    async def post(self) -> None:
        """Open a new session."""
        how = await self.read_session_request()
        self.send_json(
            await self.call_service("create", how, wire.CodingSessionCreated), status=201
        )


class CodingSessionHandler(CodingHandler):
    """`sessions/ID`."""

    @authenticated
    @authorized
    async def get(self, session: str) -> None:
        """Show a session, open or stored, and its newest messages."""
        messages = self.read_parameter("messages", wire.Limit, 100)
        params = wire.GetCodingSession(session=session, messages=messages)
        shown = await self.call_service("show", params, wire.CodingSessionDetail)
        if not await asyncio.to_thread(self.is_allowed, shown.session):
            text = (
                f"The session {session[:80]!r} works in a folder that this server doesn't "
                "allow. Add the folder to c.AgentStepperExtension.coding_roots."
            )
            raise make_error(403, "outside_roots", text)
        self.send_json(shown)

    @authenticated
    @require_control
    async def delete(self, session: str) -> None:
        """Close the session; its log stays, and it can be resumed."""
        await self.call_and_finish("close", wire.CodingSessionRequest(session=session), 204)


class CodingResumeHandler(CodingHandler):
    """`sessions/ID/resume`."""

    @authenticated
    @require_control
    async def post(self, session: str) -> None:
        """Open a session again from its log."""
        params = wire.ResumeCodingSession(
            session=session, settings=await self.read_session_request()
        )
        self.send_json(
            await self.call_service("resume", params, wire.CodingSessionCreated), status=201
        )


class CodingChatHandler(CodingHandler):
    """`sessions/ID/chat`."""

    @authenticated
    @require_control
    async def post(self, session: str) -> None:
        """Begin to answer a message."""
        message = self.decode_body(wire.CodingChatBody).message
        await self.call_and_finish(
            "chat", wire.SendCodingMessage(session=session, message=message), 202
        )


class CodingApprovalHandler(CodingHandler):
    """`sessions/ID/approvals/CALL`."""

    @authenticated
    @require_control
    async def post(self, session: str, call: str) -> None:
        """Answer a call that waits for an approval."""
        answer = self.decode_body(wire.CodingApprovalBody)
        params = wire.AnswerCodingApproval(session=session, call=call, answer=answer)
        await self.call_and_finish("approve", params, 204)


class CodingCancelHandler(CodingHandler):
    """`sessions/ID/cancel`."""

    @authenticated
    @require_control
    async def post(self, session: str) -> None:
        """Cancel the answer in progress at its present point."""
        await self.call_and_finish("cancel", wire.CodingSessionRequest(session=session), 204)


class CodingStreamHandler(EventStreamHandler, CodingHandler):
    """`sessions/ID/stream`."""

    @authenticated
    @authorized
    async def get(self, session: str) -> None:
        """Send the session's events as they happen, from the one after Last-Event-ID on."""
        watch = wire.WatchCodingSession(
            session=session, last=self.request.headers.get("Last-Event-ID")
        )
        with convert_hub_errors():
            await self.send_events(
                self.workers.stream(wire.SERVICE, "events", watch, wire.NumberedCodingEvent)
            )


def make_coding_routes(
    sessions: dict[str, Any], api: str = r"/agentstepper/api/coding/sessions"
) -> list[tuple[str, type[CodingHandler], dict[str, Any]]]:
    """Make the list of handlers by their paths.

    Args:
        sessions: The settings of each handler.
        api: The base path.
    """
    one = api + r"/([^/]+)"
    return [
        (api, CodingSessionsHandler, sessions),
        (one, CodingSessionHandler, sessions),
        (one + "/resume", CodingResumeHandler, sessions),
        (one + "/stream", CodingStreamHandler, sessions),
        (one + "/chat", CodingChatHandler, sessions),
        (one + r"/approvals/([^/]+)", CodingApprovalHandler, sessions),
        (one + "/cancel", CodingCancelHandler, sessions),
    ]
