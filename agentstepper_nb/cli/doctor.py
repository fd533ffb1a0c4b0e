"""`agentstepper doctor`: what is connected to what here, and what is wrong."""

from __future__ import annotations

from argparse import Namespace

from ..doctor import examine
from ..doctor.findings import any_wrong
from ..doctor.text import as_json, as_text
from . import FAILED, OK


def run(given: Namespace) -> int:
    """Run the command.

    Args:
        given: What the command line says.

    Returns:
        1 where anything is wrong, else 0.
    """
    findings = examine()
    print(as_json(findings) if given.json else as_text(findings))
    return FAILED if any_wrong(findings) else OK
