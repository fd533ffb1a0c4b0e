"""`agentstepper doctor`: shows connections, how the runs are stored, and problems."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ..doctor import examine_machine, examine_store, repair_store
from ..doctor.findings import Finding, encode_findings, format_findings, has_problems
from ..errors import StoreError
from . import EXIT_FAILURE, EXIT_OK


def run(namespace: Namespace) -> int:
    """Run the command.

    Args:
        namespace: The parsed command line.

    Returns:
        1 if there is any problem, also after a repair, else 0.
    """
    try:
        findings = _findings(namespace)
    except StoreError as error:
        print(f"agentstepper: {error}", file=sys.stderr)
        return EXIT_FAILURE
    print(encode_findings(findings) if namespace.json else format_findings(findings))
    return EXIT_FAILURE if has_problems(findings) else EXIT_OK


def _findings(namespace: Namespace) -> list[Finding]:
    if namespace.data is None and not namespace.repair:
        return examine_machine()
    from .. import discover

    folder = discover.data_dir() if namespace.data is None else Path(namespace.data)
    done = repair_store(folder) if namespace.repair else []
    return [*done, *examine_store(folder)]
