"""`python -m bench.server memory|relaxed|durable|""`: one server in a process of its own.

It keeps runs in memory, or in a folder that goes with it; "" is the floor. It prints its ports as one
line of JSON and ends when its input ends.
"""

from __future__ import annotations

import json
import logging
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from agentstepper_nb.hub import AgentStepperCore

from .access import TOKENS
from .floor import EchoServer


def main(store: str) -> None:
    logging.getLogger("websockets").setLevel(logging.WARNING)
    on_disk = store not in ("", "memory")
    with tempfile.TemporaryDirectory() if on_disk else nullcontext("") as folder:
        server = _server(store, Path(folder))
        server.start()
        print(json.dumps([server.client_port, server.ui_port]), flush=True)
        sys.stdin.read()
        server.stop()


def _server(store: str, folder: Path) -> EchoServer | AgentStepperCore:
    if not store:
        return EchoServer()
    store_options: dict[str, Any] = (
        {} if store == "memory" else {"data": folder, "durability": store}
    )
    return AgentStepperCore(
        "127.0.0.1",
        0,
        0,
        token=TOKENS.agent,
        control_token=TOKENS.control,
        worker_token=TOKENS.worker,
        **store_options,
    )


if __name__ == "__main__":
    main(sys.argv[1])
