"""Taking a run in from a file, with the help of the Core that has the folder, where one runs."""

from __future__ import annotations

import asyncio
import base64
from os import PathLike
from pathlib import Path
from typing import Final

import uuid_utils

from ..discover import Endpoint, discover_control, folder_endpoint
from ..errors import CommandError, ConnectionLostError, ProtocolError
from ..protocol.agent import AgentError, RunTaken, TakeRun, from_agent, to_agent
from ..protocol.frame import MAX_MESSAGE
from ..protocol.records import RunImported
from ..protocol.values import Run
from ..sdk.dialing import dial, why_not_opened
from ..store import open_store
from ..store.archive import MAGIC, load_any, read
from ..store.lock import holder
from .apart import apart
from .folders import Folder, folder_of
from .stored import StoredRun

#: Seconds that a Core has to take a run in.
_PATIENCE: Final = 120.0
#: Bytes of a message around what it carries.
_AROUND: Final = 1000


def import_run(path: str | PathLike[str], folder: Folder = None) -> StoredRun:
    """Take a run in from a file, as a run of its own.

    Args:
        path: A `.run` file, or an archive.
        folder: Where runs are kept; `agentstepper/` in Jupyter's data folder where none is given.
            Where a Core has it, that Core takes the run in, and shows it at once.

    Raises:
        ProtocolError: The file is damaged (`corrupt_import`), of a newer version (`newer_import`),
            or too large (`too_large`).
        ConnectionError: The Core that has the folder can't be reached, or doesn't answer.
        CommandError: `watch_only`: that Core asks for its control token, which isn't known here.
        StoreError: The folder can't be used.
        OSError: The file can't be read.
    """
    data = read(Path(path).expanduser())
    target = folder_of(folder)
    owner = holder(target)
    taken = (
        apart(_take(target, data))
        if owner is None
        else _send(folder_endpoint(target) or discover_control(), data)
    )
    return StoredRun(taken.id, target)


async def _take(folder: Path, data: bytes) -> Run:
    history = load_any(data, str(uuid_utils.uuid7()))
    store = open_store(folder, what="agentstepper_nb.history")
    try:
        kept = asyncio.Event()
        store.append([RunImported(history=history)], synced=kept.set)
        await kept.wait()
    finally:
        store.close()
    return history.run


def _send(endpoint: Endpoint, data: bytes) -> Run:
    text = (base64.b64encode(data) if data.startswith(MAGIC) else data).decode(errors="replace")
    if len(text) + _AROUND > MAX_MESSAGE:
        raise ProtocolError(
            "too_large",
            f"A running Core takes files up to {MAX_MESSAGE // 1024**2} MiB: import this one while it "
            "is stopped.",
        )
    try:
        with dial(endpoint) as connection:
            connection.send(from_agent.encode(TakeRun(data=text), 1, "import"))
            _, answer = to_agent.decode(connection.recv(timeout=_PATIENCE))
    except Exception as error:
        raise why_not_opened(endpoint, error) from None
    match answer:
        case RunTaken(run=run):
            return run
        case AgentError(code=code, message=message):
            if code in ("store_failed", "internal", "watch_only"):
                raise CommandError(code, message)
            raise ProtocolError(code, message)
    raise ConnectionLostError(f"The Core at {endpoint.url} answered something else: is it older?")
