"""`/agentstepper/api/coding/…`: coding sessions, which are in a worker; here it is only translated."""

from __future__ import annotations

import asyncio
from typing import Any, TypeVar

from jupyter_server.auth.decorator import authorized
from msgspec import Struct
from msgspec.structs import replace
from tornado.web import authenticated

from ..hub import Hub
from ..hub.coding_roots import CodingRoots
from ..hub.workers import Workers
from ..protocol import coding as wire
from .answers import controls
from .rest import RunsHandler, errors_of_hub
from .sse import EventStream

Value = TypeVar("Value")


class CodingHandler(RunsHandler):
    """What the handlers of coding sessions share."""

    def initialize(  # type: ignore[override]
        self, hub: Hub, max_message: int, workers: Workers, roots: CodingRoots
    ) -> None:
        """Take what the extension made; tornado calls this for each request.

        Args:
            hub: The Core's Hub.
            max_message: The largest body taken, in bytes.
            workers: The Core's workers.
            roots: The folders that workspaces may lie in.
        """
        super().initialize(hub, max_message)
        self.workers = workers
        self._roots = roots

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
        """The body that opens a session, its workspace allowed and with all links resolved."""
        how = self.decode_body(wire.CreateSession)
        with errors_of_hub():
            workspace = await asyncio.to_thread(self._roots.allow, how.workspace_path)
        return replace(how, workspace_path=str(workspace))


class Sessions(CodingHandler):
    """`sessions`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List the sessions that are open."""
        if self.workers.serves(wire.SERVICE):
            self.answer(await self.ask("list", None, wire.Sessions))
        else:  # nobody has opened one, and for that alone no worker is started
            self.answer(wire.Sessions(sessions=()))

    @authenticated
    @controls
    async def post(self) -> None:
        """Open a new session."""
        how = await self.read_how()
        self.answer(await self.ask("create", how, wire.SessionCreated), status=201)


class OneSession(CodingHandler):
    """`sessions/ID`."""

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
