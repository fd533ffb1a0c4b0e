"""`python -m agentstepper_nb.models.scripted SCRIPT`: serve a scripted model until Ctrl+C."""

from __future__ import annotations

import argparse
import logging
import signal
import sys
from collections.abc import Sequence
from threading import Event

from . import ScriptedServer, list_builtin_scripts, load_script


def main(arguments: Sequence[str] | None = None) -> int:
    """Serve a script. Prints the variables to export, and logs one line per request on standard error.

    Args:
        arguments: The command's arguments; None: those of this process.

    Returns:
        The exit code.
    """
    parser = argparse.ArgumentParser(
        prog="python -m agentstepper_nb.models.scripted",
        description="A server on 127.0.0.1 that answers from a script, in the format of OpenAI or "
        "Anthropic.",
    )
    parser.add_argument(
        "script",
        help="a Python file with a `script`, or a built-in one: "
        + ", ".join(list_builtin_scripts()),
    )
    parser.add_argument(
        "--port", type=int, default=0, help="the port; 0, the default, chooses a free one"
    )
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    try:
        server = ScriptedServer(load_script(options.script), port=options.port).start()
    except (ValueError, OSError, OverflowError) as error:
        parser.error(str(error))
    with server:
        stop = Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, lambda *_: stop.set())
        openai = f"OPENAI_BASE_URL={server.base_url} OPENAI_API_KEY=scripted"
        anthropic = f"ANTHROPIC_BASE_URL={server.root_url} ANTHROPIC_API_KEY=scripted"
        print(f"export {openai} {anthropic}", flush=True)
        stop.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
