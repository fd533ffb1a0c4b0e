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
from ..hub.coding_bounds import CodingBounds, CodingRoots
from ..hub.workers import Workers
from ..protocol import coding as wire
from .answers import controls, refusal
from .rest import RunsHandler, errors_of_hub
from .sse import EventStream

Value = TypeVar("Value")

#: Beside Jupyter's login, where a session is asked for that no sandbox confines.
CONTROL_HEADER: Final = "X-AgentStepper-Control-Token"


class CodingHandler(RunsHandler):
    """What the handlers of coding sessions share."""

    def initialize(  # type: ignore[override]
        self,
        hub: Hub,
        max_message: int,
        workers: Workers,
        roots: CodingRoots,
        bounds: CodingBounds,
        control_token: str,
        data_dir: Path,
    ) -> None:
        """Take what the extension made; tornado calls this for each request.

        Args:
            hub: The Core's Hub.
            max_message: The largest body taken, in bytes.
            workers: The Core's workers.
            roots: The folders that workspaces may lie in.
            bounds: What a request may set.
            control_token: The control token.
            data_dir: The folder that keeps the sessions.
        """
        super().initialize(hub, max_message)
        self.workers = workers
        self._roots = roots
        self._bounds = bounds
        self._control_token = control_token
        self._data_dir = data_dir

    async def ask(self, method: str, params: Struct | None, kind: type[Value]) -> Value:
        """Ask the coding service."""
        with errors_of_hub():
            return await self.workers.call(wire.SERVICE, method, params, kind)

    async def tell(self, method: str, params: Struct, status: int) -> None:
        """Have the coding service do something, and answer that it is done."""
        await self.ask(method, params, type(None))
        self.set_status(status)
        self.finish()

    async def read_how(self) -> wire.CreateSession:
        """The body that opens a session, its settings allowed, its workspace too and with all links
        resolved.
        """
        how = self.decode_body(wire.CreateSession)
        with errors_of_hub():
            settings = await asyncio.to_thread(
                self._bounds.allow, how, has_control=self._has_control()
            )
            workspace = await asyncio.to_thread(self._roots.allow, how.workspace_path)
        return replace(how, workspace_path=str(workspace), **settings)

    def is_allowed(self, session: wire.SessionInfo) -> bool:
        """Whether a session that is kept may be seen: it works in a folder that is allowed."""
        return session.state == "open" or self._roots.has(session.workspace_path)

    def _has_control(self) -> bool:
        """Whether the request brings the control token.

        Raises:
            Refusal: 401: it brings another one.
        """
        given = self.request.headers.get(CONTROL_HEADER)
        if given is None:
            return False
        if compare_digest(given.encode(), self._control_token.encode()):
            return True
        raise refusal(401, "unauthorized", f"{CONTROL_HEADER} has another token than this server.")


class Sessions(CodingHandler):
    """`sessions`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List the sessions that are open, and those that are kept in folders that are allowed."""
        params = wire.ListSessions(
            state=self.parameter("state", wire.State, "all"),
            limit=self.parameter("limit", wire.Limit, 100),
        )
        if not self.workers.serves(wire.SERVICE) and not self._may_be_kept(params):
            self.answer(wire.Sessions(sessions=()))  # for nothing no worker is started
            return
        listed = await self.ask("list", params, wire.Sessions)
        allowed = await asyncio.to_thread(self._allowed, listed.sessions)
        self.answer(wire.Sessions(sessions=allowed))

    def _may_be_kept(self, params: wire.ListSessions) -> bool:
        logs = self._data_dir / "coding" / "sessions"
        return params.state != "open" and next(logs.glob("*.jsonl"), None) is not None

    def _allowed(self, sessions: tuple[wire.SessionInfo, ...]) -> tuple[wire.SessionInfo, ...]:
        return tuple(each for each in sessions if self.is_allowed(each))

    @authenticated
    @controls
    async def post(self) -> None:
        """Open a new session."""
        how = await self.read_how()
        self.answer(await self.ask("create", how, wire.SessionCreated), status=201)


class OneSession(CodingHandler):
    """`sessions/ID`."""

    @authenticated
    @authorized
    async def get(self, session: str) -> None:
        """Show a session and its newest messages, open or kept."""
        messages = self.parameter("messages", wire.Limit, 100)
        params = wire.ShowSession(session=session, messages=messages)
        shown = await self.ask("show", params, wire.SessionShown)
        if not await asyncio.to_thread(self.is_allowed, shown.session):
            text = (
                f"The session {session[:80]!r} works in a folder that this server lets nobody into."
            )
            raise refusal(403, "outside_roots", text)
        self.answer(shown)

    @authenticated
    @controls
    async def delete(self, session: str) -> None:
        """Close the session; its log stays, and it can be resumed."""
        await self.tell("close", wire.InSession(session=session), 204)


class Resume(CodingHandler):
    """`sessions/ID/resume`."""

    @authenticated
    @controls
    async def post(self, session: str) -> None:
        """Open a session again from its log."""
        params = wire.ResumeSession(session=session, how=await self.read_how())
        self.answer(await self.ask("resume", params, wire.SessionCreated), status=201)


class Chat(CodingHandler):
    """`sessions/ID/chat`."""

    @authenticated
    @controls
    async def post(self, session: str) -> None:
        """Begin to answer a message."""
        message = self.decode_body(wire.Chat).message
        await self.tell("chat", wire.SendChat(session=session, message=message), 202)


class Approvals(CodingHandler):
    """`sessions/ID/approvals/CALL`."""

    @authenticated
    @controls
    async def post(self, session: str, call: str) -> None:
        """Answer a call that waits for an approval."""
        answer = self.decode_body(wire.Approve)
        params = wire.AnswerCall(session=session, call=call, answer=answer)
        await self.tell("approve", params, 204)


class Cancel(CodingHandler):
    """`sessions/ID/cancel`."""

    @authenticated
    @controls
    async def post(self, session: str) -> None:
        """Break off what the session is answering, where it is."""
        await self.tell("cancel", wire.InSession(session=session), 204)


class Stream(EventStream, CodingHandler):
    """`sessions/ID/stream`."""

    @authenticated
    @authorized
    async def get(self, session: str) -> None:
        """Send the session's events as they happen, from the one after Last-Event-ID on."""
        watch = wire.Watch(session=session, last=self.request.headers.get("Last-Event-ID"))
        with errors_of_hub():
            await self.send_events(
                self.workers.stream(wire.SERVICE, "events", watch, wire.Numbered)
            )


def routes(
    sessions: dict[str, Any], api: str = r"/agentstepper/api/coding/sessions"
) -> list[tuple[str, type[CodingHandler], dict[str, Any]]]:
    """The handlers by their paths.

    Args:
        sessions: What each is initialized with.
        api: Where they lie.
    """
    one = api + r"/([^/]+)"
    return [
        (api, Sessions, sessions),
        (one, OneSession, sessions),
        (one + "/resume", Resume, sessions),
        (one + "/stream", Stream, sessions),
        (one + "/chat", Chat, sessions),
        (one + r"/approvals/([^/]+)", Approvals, sessions),
        (one + "/cancel", Cancel, sessions),
    ]
