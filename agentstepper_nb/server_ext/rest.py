"""`/agentstepper/api/runs…`: the list of runs, and what one can do with a whole run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar
from urllib.parse import quote

import msgspec
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler
from tornado.web import authenticated

from ..errors import CommandError, ProtocolError
from ..hub import Hub
from ..hub.uis_v2 import rows, without_contents
from ..protocol.ui import RunOpened
from ..protocol.values import Run
from .answers import RESOURCE, AnswersInJson, controls, from_hub, refusal

Body = TypeVar("Body", bound=msgspec.Struct)

#: What every system and every HTTP client takes in a file's name.
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_. ")
_LONGEST_NAME = 100


class RunList(msgspec.Struct, frozen=True, kw_only=True):
    """Answers `GET runs`."""

    runs: tuple[Run, ...]  # oldest first


class NewName(msgspec.Struct, frozen=True, kw_only=True):
    """The body of `PATCH runs/ID`."""

    name: str


class RunFile(msgspec.Struct, frozen=True, kw_only=True):
    """The body of `POST runs/import` as JSON; the file itself will do as well."""

    data: str  # base64(zlib(JSON))


class RunsHandler(AnswersInJson, APIHandler):
    """What the handlers of runs share.

    Who may execute may control: one right for the sockets and for here.
    """

    auth_resource = RESOURCE

    def initialize(self, hub: Hub, max_message: int) -> None:
        """Take what the extension made; tornado calls this for each request.

        Args:
            hub: The Core's Hub.
            max_message: The largest body taken, in bytes.
        """
        self.hub = hub
        self._limit = max_message

    def read_body(self) -> bytes:
        """The request's body, within the limit."""
        body: bytes = self.request.body
        if len(body) > self._limit:
            raise refusal(
                413, "too_large", f"The body has {len(body)} bytes; the limit is {self._limit}."
            )
        return body

    def decode_body(self, form: type[Body]) -> Body:
        """The request's body as JSON of one form."""
        try:
            return msgspec.json.decode(self.read_body(), type=form)
        except msgspec.ValidationError as error:
            raise refusal(400, "invalid_message", f"{error}.") from None
        except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
            raise refusal(400, "malformed", f"The body isn't JSON: {error}.") from None

    def answer(self, value: msgspec.Struct, status: int = 200) -> None:
        """Answer with a value as JSON."""
        self.set_status(status)
        self.finish(msgspec.json.encode(value))


class AllRuns(RunsHandler):
    """`runs`."""

    @authenticated
    @authorized
    def get(self) -> None:
        """List the headers of all runs."""
        self.answer(RunList(runs=tuple(self.hub.runs())))


class OneRun(RunsHandler):
    """`runs/ID`."""

    @authenticated
    @authorized
    async def get(self, run: str) -> None:
        """Give the run's header, its timeline and its commits, without contents."""
        with errors_of_hub():
            history = await self.hub.history(run)
        commits = tuple(without_contents(commit) for commit in history.commits)
        told = rows(history, self.hub.extensions.vocabulary)
        self.answer(RunOpened(run=history.run, rows=told, commits=commits))

    @authenticated
    @controls
    def patch(self, run: str) -> None:
        """Give the run another name."""
        name = self.decode_body(NewName).name
        with errors_of_hub():
            self.hub.rename(run, name)
        self.answer(self.hub.run(run))

    @authenticated
    @controls
    def delete(self, run: str) -> None:
        """Delete the run, which has to have ended."""
        with errors_of_hub():
            self.hub.delete(run)
        self.set_status(204)
        self.finish()


class Export(RunsHandler):
    """`runs/ID/export`."""

    @authenticated
    @authorized
    async def get(self, run: str) -> None:
        """Give the run as a `.run` file to keep."""
        with errors_of_hub():
            name, data = await self.hub.export(run)
        self.set_header("Content-Disposition", disposition(name))
        self.finish(data, set_content_type="application/octet-stream")


class Import(RunsHandler):
    """`runs/import`."""

    @authenticated
    @controls
    async def post(self) -> None:
        """Take a `.run` file in, as the body or as JSON."""
        data = self._read_file()
        with errors_of_hub():
            run = await self.hub.import_run(data)
        self.answer(run, status=201)

    def _read_file(self) -> bytes:
        if self.request.headers.get("Content-Type", "").startswith("application/json"):
            return self.decode_body(RunFile).data.encode()
        return self.read_body()


@contextmanager
def errors_of_hub() -> Iterator[None]:
    """Turn what the Hub raises into HTTP's form."""
    try:
        yield
    except (CommandError, ProtocolError) as error:
        raise from_hub(error) from None


def disposition(name: str) -> str:
    """The header that saves an export under the run's name, whatever that holds."""
    stem = name.removesuffix(".run").strip(" .") or "run"
    plain = "".join(letter if letter in _PLAIN else "_" for letter in stem)[:_LONGEST_NAME]
    whole = quote(stem[:_LONGEST_NAME].encode("utf-8", "replace"), safe="")
    return f"attachment; filename=\"{plain}.run\"; filename*=UTF-8''{whole}.run"
