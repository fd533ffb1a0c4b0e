"""The process that serves a model's file: `python -m agentstepper_nb.models.local.model_server`.

It reads one line from its standard input, which says what to serve, writes one, which says where, and
ends when its standard input does: also when whoever started it was killed.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

import msgspec


class ModelServerOptions(msgspec.Struct, frozen=True):
    """What to serve."""

    file: str
    api_key: str
    """What a request has to show. Not an argument of the command: those are for all to read."""
    context_tokens: int
    """Tokens that fit into a conversation."""


class ModelServerAddress(msgspec.Struct, frozen=True):
    """Where it is served."""

    url: str


def main() -> None:
    """Serve until nobody is there any more."""
    # Ctrl+C is for who started it, who may want another answer from the same model.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    options = msgspec.json.decode(sys.stdin.buffer.readline(), type=ModelServerOptions)
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
