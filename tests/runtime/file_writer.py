"""A worker whose handlers make files: a dispatcher in a process of its own.

    python -m tests.runtime.file_writer FOLDER --url URL --token TOKEN --lease S --poll S

Each action makes one file, named by its session and its number, and leaves lines in the process's
journal. Creations wait for the line `go` on standard input. While there is a file `hold.PID`, an action
that has made its file says `held`, and waits for the line `on` before it keeps that it is done.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import Final

from msgspec.structs import replace

from agentstepper_nb.discover import find_worker_endpoint
from agentstepper_nb.errors import CommandError
from agentstepper_nb.protocol.runtime import (
    Action,
    ActionKind,
    ActionStatus,
    AgentState,
    SessionStatus,
)
from agentstepper_nb.protocol.runtime_store_messages import ActionCompletion, SessionWrite
from agentstepper_nb.rpc.persistent_connection import ReconnectingCaller
from agentstepper_nb.runtime.dispatcher import Dispatcher
from agentstepper_nb.runtime.remote_queue import RemoteQueue
from agentstepper_nb.runtime.service import make_worker_name
from agentstepper_nb.worker.serve_loop import WorkerEnd, run_worker
from tests.runtime.queues import LOG

#: Sessions that one of two takes: it has to leave the others to the other one.
MOST: Final = 5


class FileWritingWorker:
    """Does actions by making files.

    Args:
        folder: Where.
        queue: Where it is kept that they are done.
        owner: Who claims.
    """

    def __init__(self, folder: Path, queue: RemoteQueue, owner: str) -> None:
        self._folder = folder
        self._queue = queue
        self._owner = owner
        self._hold = folder / f"hold.{os.getpid()}"
        flags = os.O_CREAT | os.O_APPEND | os.O_WRONLY
        self._journal = os.open(folder / f"{os.getpid()}.journal", flags)
        self._received = {"go": asyncio.Event(), "on": asyncio.Event()}
        hearing = (asyncio.get_running_loop(),)
        threading.Thread(target=self._read_commands, args=hearing, daemon=True).start()

    async def __call__(self, action: Action, state: AgentState | None) -> None:
        assert state is not None
        number: int = action.metadata["number"]
        self._append_line("began", action, number)
        if action.kind is ActionKind.CREATE:
            await self._received["go"].wait()
        self._make(action, number)
        if self._hold.exists():
            print("held", flush=True)
            await self._received["on"].wait()
        try:
            await self._queue.write(self._done(action, state, number))
        except CommandError as error:
            self._append_line(error.code, action, number)
            print(error.code, flush=True)
            raise
        self._append_line("done", action, number)

    def _make(self, action: Action, number: int) -> None:
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        try:
            os.close(os.open(self._folder / f"{action.session_id}.{number}.made", flags))
        except FileExistsError:
            self._append_line(
                "again", action, number
            )  # who had begun it was killed before it said so
        else:
            self._append_line("made", action, number)

    def _done(self, action: Action, state: AgentState, number: int) -> SessionWrite:
        after = replace(
            state,
            status=SessionStatus.RUNNING,
            iteration=number + 1,
            owner=None,
            lease_until=None,
        )
        finish = ActionCompletion(
            id=action.id, owner=self._owner, status=ActionStatus.DONE, processed_at=time.time()
        )
        return SessionWrite(
            session_id=action.session_id,
            epoch=state.epoch,
            owner=self._owner,
            state=after,
            finished=(finish,),
        )

    def _append_line(self, word: str, action: Action, number: int) -> None:
        """Leave a line that outlives a kill."""
        line = f"{time.monotonic_ns()} {word} {action.session_id} {number}\n"
        os.write(self._journal, line.encode())

    def _read_commands(self, loop: asyncio.AbstractEventLoop) -> None:
        for line in sys.stdin:
            loop.call_soon_threadsafe(self._received[line.strip()].set)


async def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path)
    for name in ("url", "token"):
        parser.add_argument(f"--{name}")
    for name in ("lease", "poll"):
        parser.add_argument(f"--{name}", type=float)
    given = parser.parse_args()
    caller, owner = ReconnectingCaller(), make_worker_name()
    queue = RemoteQueue(caller)
    clerk = FileWritingWorker(given.folder, queue, owner)
    dispatcher = Dispatcher(
        queue,
        dict.fromkeys(ActionKind, clerk),
        owner=owner,
        clock=time.time,
        log=LOG,
        lease_s=given.lease,
        poll_s=given.poll,
        max_actions=MOST,
    )
    dispatcher.start()
    endpoint = find_worker_endpoint(given.url, given.token)
    await run_worker(lambda: endpoint, {}, caller, LOG, WorkerEnd())


if __name__ == "__main__":
    asyncio.run(main())
