"""The process that serves a model's file: `python -m agentstepper_nb.models.local.model_server`.

The process reads one line of `ModelServerOptions` from standard input and writes one line of
`ModelServerAddress` to standard output. The process ends when its standard input is closed, and so also
when its parent is killed.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import msgspec

from ... import typed_json


class ModelServerOptions(msgspec.Struct, frozen=True):
    """The model to serve."""

    file: str
    """The path of the GGUF file."""
    api_key: str
    """The API key that requests must send. Not a command-line argument: other users can read those."""
    context_tokens: int
    """The size of the model's context, in tokens."""


class ModelServerAddress(msgspec.Struct, frozen=True):
    """The address of the server."""

    url: str
    """The base URL, with `/v1`."""


def main() -> None:
    """Serve until standard input is closed."""
    # Ctrl+C is for the parent process, which may go on to query the model.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = typed_json.decode(sys.stdin.buffer.readline(), ModelServerOptions)
    told = os.dup(1)
    os.dup2(2, 1)  # the library may print
    try:
        server = _serve(options)
    except Exception as error:  # the library's own, and what a traceback adds is of no use
        sys.exit(str(error))
    with os.fdopen(told, "wb") as out:
        out.write(msgspec.json.encode(ModelServerAddress(f"{server.listening_address}/v1")) + b"\n")
    sys.stdin.buffer.read()
    os._exit(0)  # without waiting for an answer that nobody reads


def _serve(options: ModelServerOptions) -> Any:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = options.file
    params.model_alias = {"local"}  # else its path is what /v1/models says
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [options.api_key]
    params.cors_origins = "http://127.0.0.1"  # by default any page may ask
    params.ui = False
    params.endpoint_slots = False
    params.n_ctx = options.context_tokens
    params.n_gpu_layers = 0  # the same answers on every machine
    # More gain little where nothing else runs, and lose much where something does: they spin.
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_threads_http = 4
    params.verbosity = 1  # errors
    return xllamacpp.Server(params)


if __name__ == "__main__":
    main()
