"""`agentstepper put-back`: a workspace as it was before a fork restored files in it."""

from __future__ import annotations

import sys
from argparse import Namespace

from . import EXIT_FAILURE, EXIT_OK
from .terminal_text import escape_controls


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        1 if there is nothing to put back, or the files can't be written; else 0.
    """
    from ..errors import AgentStepperError
    from ..history import load_run
    from ..replay.restore import is_folder, put_back

    try:
        target = namespace.target
        report = put_back(target if is_folder(target) else load_run(target, namespace.data))
    except AgentStepperError as error:
        print(f"agentstepper put-back: {escape_controls(str(error))}", file=sys.stderr)
        return EXIT_FAILURE
    print(escape_controls(str(report)))
    return EXIT_OK
