"""`/agentstepper/api/runs…`: the list of runs, and operations on a whole run."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

from .. import typed_json
from ..errors import CommandError, ProtocolError, StoreError
from ..hub import Hub, pagination
from ..hub.view_commands import read_whole_run
from ..protocol.data_model import Run
from ..protocol.field_types import Count
from ..protocol.run_changes import Format, Tags
from ..protocol.run_queries import Limit, Query
from ..protocol.ui import GetRows, ReadRun
from ..store import archive
from .json_errors import (
    AUTH_RESOURCE,
    JsonErrorHandler,
    convert_hub_error,
    make_error,
    require_control,
)

Body = TypeVar("Body", bound=msgspec.Struct)

#: The characters that every system and every HTTP client accepts in a file's name.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_. ")
_MAX_NAME_CHARS = 100
#: Hits of a search by default.
_DEFAULT_MAX_HITS = 100
#: Runs in a list at most, and by default: more than a person is likely to have.
_MAX_RUNS = 10_000
RunCount = Annotated[int, msgspec.Meta(ge=1, le=_MAX_RUNS)]


class RunPatch(msgspec.Struct, frozen=True, kw_only=True):
    """The body of `PATCH runs/ID`: omitted fields don't change."""

    name: str | msgspec.UnsetType = msgspec.UNSET
    tags: Tags | msgspec.UnsetType = msgspec.UNSET


class RunFileBody(msgspec.Struct, frozen=True, kw_only=True):
    """The body of `POST runs/import` as JSON; the file itself will do as well."""

    data: str  # a `.run` file as it is, or an archive in base64


class RestHandler(JsonErrorHandler, APIHandler):
    """The base class of the run handlers.

    Users with the right "execute" may control: the same right as for the sockets.
    """

    auth_resource = AUTH_RESOURCE

    def initialize(self, hub: Hub, max_message_bytes: int) -> None:
        """Store the extension's settings; tornado calls this for each request.

        Args:
            hub: The Core's Hub.
            max_message_bytes: The largest accepted body, in bytes.
        """
        self.hub = hub
        self._max_message_bytes = max_message_bytes

    def read_body(self) -> bytes:
        """The request's body, within the limit."""
        body: bytes = self.request.body
        if len(body) > self._max_message_bytes:
            raise make_error(
                413,
                "too_large",
                f"The body has {len(body)} bytes, and the limit is {self._max_message_bytes}.",
            )
        return body

    def decode_body(self, struct_type: type[Body]) -> Body:
        """The request's body as JSON of one form."""
        try:
            return typed_json.decode(self.read_body(), struct_type)
        except msgspec.ValidationError as error:
            raise make_error(400, "invalid_message", f"{error}.") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise make_error(400, "malformed", f"The body isn't JSON: {error}.") from None

    def read_parameter(self, name: str, parameter_type: Any, default: Any) -> Any:
        """A parameter of the query, of one form."""
        text = self.get_query_argument(name, None)
        if text is None:
            return default
        try:
            return typed_json.convert(text, parameter_type, strict=False)
        except msgspec.ValidationError as error:
            raise make_error(400, "invalid_message", f"{name}: {error}.") from None

    def send_json(self, value: msgspec.Struct, status: int = 200) -> None:
        """Answer with a value as JSON."""
        self.set_status(status)
        self.finish(msgspec.json.encode(value))


class RunsHandler(RestHandler):
    """`runs`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """List the headers of the last `limit` runs, or of those before the run `before`."""
        limit = self.read_parameter("limit", RunCount, _MAX_RUNS)
        before = self.get_query_argument("before", None)
        with convert_hub_errors():
            listed = pagination.list_runs_before(await self.hub.wait_listed(), before, limit)
        self.send_json(listed)


class RunHandler(RestHandler):
    """`runs/ID`."""

    @authenticated
    @authorized
    async def get(self, run: str) -> None:
        """Return the run's header, its timeline and its commits, without contents."""
        with convert_hub_errors():
            whole = await read_whole_run(self.hub, ReadRun(run=run))
        self.send_json(whole)

    @authenticated
    @require_control
    async def patch(self, run: str) -> None:
        """Change the run's name or tags."""
        changes = self.decode_body(RunPatch)
        if changes == RunPatch():
            raise make_error(
                400,
                "invalid_message",
                "The body changes nothing. Send a `name`, or `tags`, or both.",
            )
        with convert_hub_errors():
            if changes.name is not msgspec.UNSET:
                self.hub.perform(self.hub.commands.rename(run, changes.name))
            if changes.tags is not msgspec.UNSET:
                self.hub.perform(self.hub.commands.tag(run, changes.tags))
            header = self.hub.run(run)
        await self.hub.wait_recorded()
        self.send_json(header)

    @authenticated
    @require_control
    async def delete(self, run: str) -> None:
        """Delete the run, which has to have ended."""
        with convert_hub_errors():
            self.hub.delete(run)
        await self.hub.wait_recorded()
        self.set_status(204)
        self.finish()


class RunRowsHandler(RestHandler):
    """`runs/ID/rows`."""

    @authenticated
    @authorized
    async def get(self, run: str) -> None:
        """Return the rows `first` to `last` without contents, or as many around the row with id
        `around`.
        """
        first = self.read_parameter("first", Count, 1)
        last = self.read_parameter("last", Count, first + pagination.PAGE_ROWS - 1)
        around = self.get_query_argument("around", None)
        with convert_hub_errors():
            page = await pagination.read_page(
                self.hub, GetRows(run=run, first=first, last=last, around=around)
            )
        self.send_json(page)


class RunExportHandler(RestHandler):
    """`runs/ID/export`."""

    @authenticated
    @authorized
    async def get(self, run: str) -> None:
        """Return the run as a file: `.run`, or the complete run with `?format=archive`."""
        format = self.read_parameter("format", Format, "run")
        with convert_hub_errors():
            name, data = await self.hub.export(run, format)
        suffix = archive.SUFFIX if format == "archive" else ".run"
        self.set_header("Content-Disposition", make_disposition(name, suffix))
        self.finish(data, set_content_type="application/octet-stream")


class RunImportHandler(RestHandler):
    """`runs/import`."""

    _import: asyncio.Future[Run] | None = None

    @authenticated
    @require_control
    async def post(self) -> None:
        """Import a run's file of either format, sent as the body or within JSON."""
        data = self._read_file()
        self._import = asyncio.ensure_future(self.hub.import_run(data))
        try:
            with convert_hub_errors():
                run = await self._import
        except asyncio.CancelledError:
            return  # the connection is closed: there is nobody to answer
        self.send_json(run, status=201)

    def on_connection_close(self) -> None:
        """Cancel the import: the client has disconnected."""
        if self._import is not None:
            self._import.cancel()
        super().on_connection_close()

    def _read_file(self) -> bytes:
        if self.request.headers.get("Content-Type", "").startswith("application/json"):
            return self.decode_body(RunFileBody).data.encode()
        return self.read_body()


class SearchHandler(RestHandler):
    """`search`."""

    @authenticated
    @authorized
    async def get(self) -> None:
        """Look for the words `q` in all runs, or in the one that `run` names."""
        query = self.read_parameter("q", Query, "")
        limit = self.read_parameter("limit", Limit, _DEFAULT_MAX_HITS)
        run = self.get_query_argument("run", None)
        with convert_hub_errors():
            found = await self.hub.search(query, run, limit)
        self.send_json(found)


@contextmanager
def convert_hub_errors() -> Iterator[None]:
    """Convert the Hub's errors to HTTP errors."""
    try:
        yield
    except (CommandError, ProtocolError, StoreError) as error:
        raise convert_hub_error(error) from None


def make_disposition(name: str, suffix: str = ".run") -> str:
    """The header that saves an export under the run's name, whatever that holds."""
    stem = name.removesuffix(suffix).strip(" .") or "run"
    plain = "".join(letter if letter in _PLAIN else "_" for letter in stem)[:_MAX_NAME_CHARS]
    whole = quote(stem[:_MAX_NAME_CHARS].encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}{suffix}\"; filename*=UTF-8''{whole}{suffix}"
