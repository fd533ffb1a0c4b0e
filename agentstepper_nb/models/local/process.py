"""A model's file, served by a process that ends with this one."""

from __future__ import annotations

import asyncio
import secrets
import sys
import tempfile
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path
from typing import IO, Final

import msgspec

from ...errors import ModelError
from .serve import Order, Served
from .where import Endpoint

#: Seconds that loading may take: gigabytes from a slow disk.
LOADING: Final = 300.0
#: Tokens that fit into a conversation: memory is taken for all of them.
CONTEXT: Final = 8192
#: Characters of what the process printed last, that an error shows.
SHOWN: Final = 1000


class ModelProcess:
    """Serves one file on 127.0.0.1, with a key of its own.

    Args:
        file: The model's.
        context: Tokens that fit into a conversation.
    """

    def __init__(self, file: Path, *, context: int = CONTEXT) -> None:
        self._order = Order(str(file), secrets.token_urlsafe(24), context)
        self._process: Process | None = None
        self._printed: IO[bytes] | None = None

    @property
    def running(self) -> bool:
        """Whether it was started, and hasn't ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The process's id; None where it doesn't run."""
        return self._process.pid if self._process else None

    async def start(self, timeout: float = LOADING) -> Endpoint:
        """Start it, and wait until the model is loaded.

        Args:
            timeout: Seconds that this may take.

        Returns:
            Where it answers.

        Raises:
            ModelError: It can't be served; says why, as far as that is known.
        """
        self._printed = tempfile.TemporaryFile()  # noqa: SIM115 (until `close`)
        module = f"{__package__}.serve"
        try:
            self._process = await asyncio.create_subprocess_exec(
                # -P: an agent's workspace may be the current folder, and have modules of any name.
                *(sys.executable, "-P", "-m", module),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=self._printed,
            )
            line = await asyncio.wait_for(self._ask(self._process), timeout)
            return Endpoint(msgspec.json.decode(line, type=Served).url, self._order.key)
        except (TimeoutError, OSError, msgspec.DecodeError) as error:
            why = "it takes too long" if isinstance(error, TimeoutError) else self._last_words()
            await self.close()
            raise ModelError("invalid", f"{self._order.file} can't be served: {why}") from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """End it, and wait until it has ended."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):  # it ended by itself
                process.kill()  # it keeps nothing
            await process.wait()
        if self._printed is not None:
            self._printed.close()
            self._printed = None

    async def _ask(self, process: Process) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(self._order) + b"\n")
        await process.stdin.drain()
        return await process.stdout.readline()

    def _last_words(self) -> str:
        assert self._printed is not None
        self._printed.seek(0)
        words = self._printed.read().decode(errors="replace").strip()
        return words[-SHOWN:] or "its process ended without a word"
