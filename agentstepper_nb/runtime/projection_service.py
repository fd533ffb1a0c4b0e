"""The service `projection` of a worker: writes what changes in the Core's store to LanceDB, and searches
there.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Final

import msgspec
from msgspec import Raw, Struct

from .. import typed_json
from ..errors import CommandError, StoreError
from ..protocol.field_errors import make_field_error
from ..protocol.runtime_requests import AgentSearch
from ..protocol.runtime_store_messages import ChangeQuery
from ..store.lance.projection import Projection
from .remote_queue import RemoteQueue

#: Rows that one batch has at most; fewer where they don't fit into a message.
_BATCH: Final = 500


class ProjectionService:
    """Follows the Core's store until it is closed. It begins at once, on the loop that runs.

    Args:
        core: The worker's way to the Core.
        open: Opens the projection of the store at a place.
        log: Gets a line where it begins.
        poll_s: Seconds between two looks for changes, where there were none.
        once: Whether to end where nothing is left to write.

    Attributes:
        following: Done where nothing more is written: its error says why.
    """

    def __init__(
        self,
        core: RemoteQueue,
        open: Callable[[str], Awaitable[Projection]],
        log: logging.Logger,
        poll_s: float,
        *,
        once: bool,
    ) -> None:
        self._core = core
        self._open = open
        self._log = log
        self._poll_s = poll_s
        self._once = once
        self._projection: Projection | None = None
        self.following = asyncio.get_running_loop().create_task(self._follow())

    async def call(self, method: str, params: Raw) -> Struct:
        """Answer `search`; see `RpcService.call`."""
        if method != "search":
            raise CommandError(
                "unknown_service", f"The projection has no method {method[:80]!r}, only search."
            )
        try:
            request = typed_json.decode(params, AgentSearch)
        except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
            raise make_field_error(error) from None
        if self._projection is None:
            raise CommandError(
                "unknown_service", "The projection isn't open yet: search again in some seconds."
            )
        try:
            return await self._projection.search(request)
        except StoreError as error:
            raise CommandError("store_failed", str(error)) from error

    def stream(self, method: str, params: Raw) -> AsyncIterator[Struct]:
        """Raise an error: this service has no streams. See `RpcService.stream`."""
        raise CommandError("unknown_service", f"The projection has no stream {method[:80]!r}.")

    async def close(self) -> None:
        """Write no more; a batch that is broken off is written again. See `RpcService.close`."""
        self.following.cancel()
        await asyncio.wait((self.following,))
        if self._projection is not None:
            self._projection.close()

    async def _follow(self) -> None:
        place = await self._core.find_store_place()
        projection = self._projection = await self._open(place)
        self._log.info("projecting %s from change %d on", place, projection.last)
        limit = _BATCH
        while True:
            request = ChangeQuery(after=projection.last, limit=limit)
            try:
                changed = await self._core.changes(request)
            except CommandError as error:
                if error.code != "too_large" or limit == 1:
                    raise
                limit //= 2
                continue
            if changed.last < projection.last:
                raise StoreError(
                    f"The store {place} is older than the projection: it was restored or made anew. "
                    "Build the projection again with --rebuild."
                )
            if changed.last > projection.last:
                await projection.write(changed)
                limit = min(2 * limit, _BATCH)
            elif self._once:
                await projection.compact()
                return
            else:
                await asyncio.sleep(self._poll_s)
