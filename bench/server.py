"""`python -m bench.server floor|core`: one server in a process of its own.

Prints its ports as one line of JSON and ends when its input ends.
"""

from __future__ import annotations

import json
import logging
import sys

from agentstepper_nb.hub import AgentStepperCore

from .floor import Floor


def main(kind: str) -> None:
    logging.getLogger("websockets").setLevel(logging.WARNING)
    server = Floor() if kind == "floor" else AgentStepperCore("127.0.0.1", 0, 0)
    server.start()
    print(json.dumps([server.client_port, server.ui_port]), flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main(sys.argv[1])
