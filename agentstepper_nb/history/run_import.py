"""Imports a run from a file; if a Core uses the folder, that Core imports it."""

from __future__ import annotations

import asyncio
import base64
from os import PathLike
from pathlib import Path
from typing import Final

import uuid_utils

from ..discover import CoreEndpoint, discover_control_endpoint, find_folder_endpoint
from ..errors import CommandError, ConnectionLostError, ProtocolError, StoreError
from ..protocol.agent import AgentError, from_agent, to_agent
from ..protocol.data_model import Run
from ..protocol.envelope import MAX_MESSAGE_BYTES
from ..protocol.program_requests import RunUploaded, UploadRun
from ..protocol.records import ImportedRunSaved, Record
from ..protocol.store_info import StoreInfo
from ..sdk.handshake import explain_not_opened, open_socket
from ..store import open_store
from ..store.archive import MAGIC, load_run_file, read_run_file
from ..store.base import Store
from ..store.folder_lock import find_lock_holder
from .runs_folder import Folder, resolve_folder
from .stored_run import StoredRun
from .thread_call import run_on_thread

#: Seconds that a Core may take to import a run.
_IMPORT_TIMEOUT_S: Final = 120.0
#: Bytes of a message besides its content.
_ENVELOPE_BYTES: Final = 1000


def import_run(path: str | PathLike[str], folder: Folder = None) -> StoredRun:
    """Import a run from a file, as a new run.

    Args:
        path: A `.run` file, or an archive.
        folder: The folder that stores the runs; None: `agentstepper/` in Jupyter's data folder. If
            a Core uses the folder, the Core imports the run and shows it at once.

    Raises:
        ProtocolError: The file is damaged (`corrupt_import`), of a newer version (`newer_import`),
            or too large (`too_large`).
        ConnectionError: The Core that uses the folder can't be reached, or doesn't answer.
        CommandError: `watch_only`: the Core asks for its control token, and none was found.
        StoreError: The folder can't be used, or the run can't be written there.
        OSError: The file can't be read.
    """
    data = read_run_file(Path(path).expanduser())
    target = resolve_folder(folder)
    owner = find_lock_holder(target)
    imported = (
        run_on_thread(_import_into_folder(target, data))
        if owner is None
        else _upload_to_core(find_folder_endpoint(target) or discover_control_endpoint(), data)
    )
    return StoredRun(imported.id, target)


async def _import_into_folder(folder: Path, data: bytes) -> Run:
    history = load_run_file(data, str(uuid_utils.uuid7()))
    store = open_store(folder, program="agentstepper_nb.history")
    try:
        await _save(store, ImportedRunSaved(history=history))
    finally:
        store.close()
    return history.run


async def _save(store: Store, record: Record) -> None:
    """Store a record durably.

    Raises:
        StoreError: The store can't write the record, or can't write now.
    """
    saved: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def finish(trouble: str | None = None) -> None:
        if saved.done():
            return
        if trouble is None:
            saved.set_result(None)
        else:
            saved.set_exception(StoreError(trouble))

    def on_write_trouble(info: StoreInfo) -> None:
        if info.trouble is not None:
            finish(info.trouble)

    store.on_write_trouble = on_write_trouble
    store.append([record], on_synced=finish)
    await saved


def _upload_to_core(
    endpoint: CoreEndpoint, data: bytes, max_message_bytes: int = MAX_MESSAGE_BYTES
) -> Run:
    text = (base64.b64encode(data) if data.startswith(MAGIC) else data).decode(errors="replace")
    if len(text) + _ENVELOPE_BYTES > max_message_bytes:
        raise ProtocolError(
            "too_large",
            f"A running Core imports files of up to {max_message_bytes // 1024**2} MiB. "
            "Stop the Core to import this one.",
        )
    try:
        with open_socket(endpoint) as connection:
            connection.send(from_agent.encode(UploadRun(data=text), 1, "import"))
            _, answer = to_agent.decode(connection.recv(timeout=_IMPORT_TIMEOUT_S))
    except Exception as error:
        raise explain_not_opened(endpoint, error) from None
    match answer:
        case RunUploaded(run=run):
            return run
        case AgentError(code=code, message=message):
            if code in ("store_failed", "internal", "watch_only"):
                raise CommandError(code, message)
            raise ProtocolError(code, message)
    raise ConnectionLostError(
        f"The Core at {endpoint.url} sent an unexpected answer. Check that the Core isn't "
        "older than this package."
    )
