"""`agentstepper doctor`: what is connected to what here, how the runs are kept, and what is wrong."""

from __future__ import annotations

import sys
from argparse import Namespace
from pathlib import Path

from ..doctor import examine_machine, examine_store, repair_store
from ..doctor.findings import Finding, encode_findings, format_findings, has_wrong
from ..errors import StoreError
from . import FAILED, OK


def run(given: Namespace) -> int:
    """Run the command.

    Args:
        given: What the command line says.

    Returns:
        1 where anything is wrong, also after a repair, else 0.
    """
    try:
        findings = _findings(given)
    except StoreError as error:
        print(f"agentstepper: {error}", file=sys.stderr)
        return FAILED
    print(encode_findings(findings) if given.json else format_findings(findings))
    return FAILED if has_wrong(findings) else OK


def _findings(given: Namespace) -> list[Finding]:
    if given.data is None and not given.repair:
        return examine_machine()
    from .. import discover

    folder = discover.data_dir() if given.data is None else Path(given.data)
    done = repair_store(folder) if given.repair else []
    return [*done, *examine_store(folder)]
