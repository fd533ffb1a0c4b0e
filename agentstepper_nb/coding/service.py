"""The service `coding` of a worker: all its sessions, and what HTTP asks of them."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import aclosing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from msgspec import Raw, Struct

from .. import typed_json
from ..errors import AgentStepperError, CodingSessionError, CommandError, ProtocolError
from ..models import registry
from ..protocol import coding_api as wire
from ..rpc.session import RpcService
from ..worker.services import ServiceContext
from .hosted_session import HostedCodingSession, SessionOpener, SessionOpening
from .session_list import (
    CodingDataPaths,
    check_stored_session,
    is_session_id,
    list_stored_sessions,
    make_stored_info,
    select_shown_messages,
)
from .transcript import load_messages

if TYPE_CHECKING:
    from .session import CodingSession

#: Sessions that are open at a time.
MAX_SESSIONS: Final = 100
#: Seconds that a call waits for an approval before that is a denial.
APPROVAL_TIMEOUT_S: Final = 300.0

Params = TypeVar("Params")

#: Answers a method once.
_Answer = Callable[[Any], Awaitable[Struct | None]]


def create(context: ServiceContext) -> RpcService:
    """Make the service; what the entry point names."""

    async def open_session(opening: SessionOpening, stored: str | None) -> CodingSession:
        # Models, tools and the debugger are imported where somebody needs them.
        from ..sdk.run_events import make_id
        from .options import CodingOptions, make_options
        from .session import CodingSession

        how = opening.request
        options: CodingOptions = {
            "approval_timeout": APPROVAL_TIMEOUT_S,
            **make_options(how),
            "approver": opening.approver,
            "listener": opening.listener,
        }
        if stored is not None and not CodingDataPaths(context.data_dir).log(stored).exists():
            raise _no_session(stored)
        return await CodingSession.open(
            stored or make_id(),
            workspace=Path(how.workspace_path),
            provider=how.provider,
            model=how.model,
            data_dir=context.data_dir,
            mode="server",
            **options,
        )

    return CodingService(open_session, context)


class CodingService:
    """Many sessions at once, on one event loop.

    Args:
        opener: Opens a session.
        context: The worker's.
        max_sessions: Sessions that may be open.
    """

    def __init__(
        self, opener: SessionOpener, context: ServiceContext, max_sessions: int = MAX_SESSIONS
    ) -> None:
        self._opener = opener
        self._log = context.log
        self._data_dir = context.data_dir
        self._max_sessions = max_sessions
        self._open: dict[str, HostedCodingSession] = {}
        self._opening: set[str] = set()  # sessions that are being resumed
        self._opening_tasks: set[asyncio.Task[str]] = set()  # of all that are, those among them
        self._is_closed = False
        self._methods: dict[str, tuple[type[Struct], _Answer]] = {
            "create": (wire.CreateCodingSession, self._create),
            "resume": (wire.ResumeCodingSession, self._resume),
            "list": (wire.ListCodingSessions, self._list),
            "show": (wire.GetCodingSession, self._show),
            "chat": (wire.SendCodingMessage, self._chat),
            "approve": (wire.AnswerCodingApproval, self._approve),
            "cancel": (wire.CodingSessionRequest, self._cancel),
            "close": (wire.CodingSessionRequest, self._close),
        }

    @property
    def is_busy(self) -> bool:
        """Whether a session is open, or about to be."""
        return bool(self._open or self._opening_tasks)

    # ---- a worker's service -------------------------------------------------------------------------

    async def call(self, method: str, params: Raw) -> Struct | None:
        """Answer once; see `RpcService.call`."""
        known = self._methods.get(method)
        if known is None:
            raise _unknown(method)
        kind, answer = known
        return await answer(_read(params, kind))

    async def stream(self, method: str, params: Raw) -> AsyncGenerator[Struct, None]:
        """Give a session's events; see `RpcService.stream`."""
        if method != "events":
            raise _unknown(method)
        watch = _read(params, wire.WatchCodingSession)
        async with aclosing(self._session(watch.session).feed.read(watch.last)) as events:
            async for event in events:
                yield event

    async def close(self) -> None:
        """Close every session, also one that is being opened; see `RpcService.close`."""
        self._is_closed = True
        opening_tasks = tuple(self._opening_tasks)
        for task in opening_tasks:
            task.cancel()
        sessions, self._open = list(self._open.values()), {}
        closings = (each.close() for each in sessions)
        ended = await asyncio.gather(*closings, *opening_tasks, return_exceptions=True)
        for failed in ended[: len(sessions)]:  # who asked for the others is told
            if isinstance(failed, BaseException):
                self._log.error("a session could not be closed cleanly", exc_info=failed)

    # ---- what is asked ------------------------------------------------------------------------------

    async def _create(self, how: wire.CreateCodingSession) -> wire.CodingSessionCreated:
        return await self._host(how, None)

    async def _resume(self, params: wire.ResumeCodingSession) -> wire.CodingSessionCreated:
        id = params.session
        if not is_session_id(id):
            raise _no_session(id)
        if id in self._open or id in self._opening:
            raise CommandError(
                "session_open", "This session is already open: use it, or DELETE it first."
            )
        self._opening.add(id)
        try:
            return await self._host(params.settings, id)
        finally:
            self._opening.discard(id)

    async def _list(self, params: wire.ListCodingSessions) -> wire.CodingSessionList:
        live = tuple(each.info() for each in self._open.values())
        if params.state == "open":
            return wire.CodingSessionList(sessions=live)
        stored = await asyncio.to_thread(self._list_stored, params.limit)
        return wire.CodingSessionList(sessions=stored if params.state == "kept" else live + stored)

    def _list_stored(self, limit: int) -> tuple[wire.CodingSessionInfo, ...]:
        """The kept sessions that aren't open here; reads their logs."""
        stored = list_stored_sessions(CodingDataPaths(self._data_dir), limit + len(self._open))
        return tuple(
            make_stored_info(each) for each in stored if each.summary.id not in self._open
        )[:limit]

    async def _show(self, params: wire.GetCodingSession) -> wire.CodingSessionDetail:
        hosted = self._open.get(params.session)
        if hosted is None:
            return await asyncio.to_thread(self._show_stored, params)
        messages, earlier = select_shown_messages(hosted.conversation.messages, params.messages)
        return wire.CodingSessionDetail(session=hosted.info(), messages=messages, earlier=earlier)

    def _show_stored(self, params: wire.GetCodingSession) -> wire.CodingSessionDetail:
        folders = CodingDataPaths(self._data_dir)
        try:
            stored = check_stored_session(folders, folders.summary(params.session))
            conversation = load_messages(folders.log(params.session))
        except (CodingSessionError, OSError):
            raise _no_session(params.session) from None
        messages, earlier = select_shown_messages(conversation, params.messages)
        return wire.CodingSessionDetail(
            session=make_stored_info(stored), messages=messages, earlier=earlier
        )

    async def _chat(self, params: wire.SendCodingMessage) -> None:
        self._session(params.session).chat(params.message)

    async def _approve(self, params: wire.AnswerCodingApproval) -> None:
        session = self._session(params.session)
        session.approver.answer(params.session, params.call, params.answer)

    async def _cancel(self, params: wire.CodingSessionRequest) -> None:
        await self._session(params.session).cancel()

    async def _close(self, params: wire.CodingSessionRequest) -> None:
        session = self._session(params.session)
        del self._open[params.session]
        await session.close()

    # ---- sessions -----------------------------------------------------------------------------------

    def _session(self, id: str) -> HostedCodingSession:
        session = self._open.get(id)
        if session is None:
            raise _no_session(id)
        return session

    def _check_room(self) -> None:
        """Raise CommandError if no session may be opened now."""
        if self._is_closed:
            raise _ending()
        if len(self._open) + len(self._opening_tasks) >= self._max_sessions:
            raise CommandError(
                "too_many",
                f"{self._max_sessions} sessions are open, the limit: DELETE those that are done.",
            )

    async def _host(
        self, how: wire.CreateCodingSession, stored: str | None
    ) -> wire.CodingSessionCreated:
        self._check_room()
        session = HostedCodingSession(how, self._log)
        opening_task = asyncio.create_task(self._open_hosted(session, how, stored))
        self._opening_tasks.add(opening_task)
        try:
            id = await opening_task
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if not self._is_closed or (task is not None and task.cancelling()):
                raise
            raise _ending() from None
        except (AgentStepperError, ValueError, LookupError, OSError) as error:
            if isinstance(error, CommandError | ProtocolError):
                raise
            self._log.warning("a session can't be opened", exc_info=error)
            raise CommandError("session_failed", f"The session can't be opened: {error}") from None
        finally:
            self._opening_tasks.discard(opening_task)
        return wire.CodingSessionCreated(id=id, sandbox=session.conversation.sandbox)

    async def _open_hosted(
        self, session: HostedCodingSession, how: wire.CreateCodingSession, stored: str | None
    ) -> str:
        registry.refuse_script_path(how.provider, how.model)
        id = await session.open(self._opener, stored)
        if self._is_closed:  # the cancellation came too late
            await session.close()
            raise _ending()
        self._open[id] = session
        return id


def _read(params: Raw, kind: type[Params]) -> Params:
    try:
        return typed_json.decode(params, kind)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        raise ProtocolError("invalid_message", f"{error}.") from None


def _unknown(method: str) -> CommandError:
    return CommandError("unknown_service", f"The coding service has no method {method[:80]!r}.")


def _ending() -> CommandError:
    return CommandError(
        "session_failed", "The session can't be opened: its worker is ending. Try again."
    )


def _no_session(id: str) -> CommandError:
    return CommandError(
        "unknown_session", f"The session {id[:80]!r} isn't open. If it is stored, resume it."
    )
