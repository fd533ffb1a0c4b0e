"""`agentstepper proxy`: halts the LLM queries of a program of any language."""

from __future__ import annotations

import asyncio
import os
import sys
from argparse import Namespace
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from .. import instrument
from ..errors import AgentStopped
from ..instrument.proxy import HeartbeatTimes, ModelProxy
from ..sdk import AgentStepper
from . import EXIT_FAILURE, EXIT_INTERRUPTED, EXIT_OK
from .run import EXIT_CANNOT_EXECUTE, EXIT_COMMAND_NOT_FOUND, EXIT_NOT_STARTED

#: Each service with the variable that sets its address in SDKs, and its default address.
SERVICES: Final = {
    "openai": ("OPENAI_BASE_URL", "https://api.openai.com/v1"),
    "anthropic": ("ANTHROPIC_BASE_URL", "https://api.anthropic.com"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "https://generativelanguage.googleapis.com"),
}


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line; `program` is the command line after `--`, None without one.

    Returns:
        The program's exit code; 125 if there is no debugger, 126 if the program can't be
        executed, 127 if there is no such program.
    """
    program: Sequence[str] | None = namespace.program
    name = namespace.name or (Path(program[0]).name if program else "proxy")
    instrument.enable()
    try:
        with AgentStepper(
            name, url=namespace.url, token=namespace.token, stop_on_entry=False
        ) as run:
            heartbeat = HeartbeatTimes(namespace.beat_after, namespace.beat_every)
            proxy = ModelProxy(run, _find_services(os.environ), heartbeat)
            return asyncio.run(_serve(proxy, program))
    except ConnectionError as error:
        print(f"agentstepper proxy: {error}", file=sys.stderr)
        return EXIT_NOT_STARTED
    except AgentStopped:
        return EXIT_FAILURE
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED


def _find_services(environment: Mapping[str, str]) -> dict[str, str]:
    """Find the services' addresses: from the environment, or else their defaults."""
    return {
        name: environment.get(variable) or address for name, (variable, address) in SERVICES.items()
    }


async def _serve(proxy: ModelProxy, program: Sequence[str] | None) -> int:
    async with proxy.serve():
        variables = {variable: proxy.make_url(name) for name, (variable, _) in SERVICES.items()}
        if not program:
            for variable, url in variables.items():
                print(f"export {variable}={url}", flush=True)
            print("Set these for the program. Ctrl-C ends the proxy.", file=sys.stderr)
            await asyncio.Event().wait()
            return EXIT_OK
        return await _run_program(program, {**os.environ, **variables})


async def _run_program(program: Sequence[str], environment: Mapping[str, str]) -> int:
    """Run the program beside the proxy; it has this terminal."""
    try:
        process = await asyncio.create_subprocess_exec(*program, env=dict(environment))
    except OSError as error:
        print(f"agentstepper proxy: {program[0]} can't be run: {error.strerror}.", file=sys.stderr)
        is_missing = isinstance(error, FileNotFoundError)
        return EXIT_COMMAND_NOT_FOUND if is_missing else EXIT_CANNOT_EXECUTE
    try:
        code = await process.wait()
    except BaseException:
        with suppress(ProcessLookupError):
            process.terminate()
        raise
    return code if code >= 0 else 128 - code
