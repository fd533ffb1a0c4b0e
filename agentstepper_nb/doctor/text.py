"""Findings as lines, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Final

from .findings import Finding, Sign, any_wrong

_SIGNS: Final = {Sign.WELL: "✓", Sign.NOTE: "!", Sign.WRONG: "✗"}


def as_text(findings: Sequence[Finding]) -> str:
    """One finding a line, and how it stands with all of them in the last."""
    return "\n".join([*map(_line, findings), _verdict(findings)])


def as_json(findings: Sequence[Finding]) -> str:
    """`{"well": bool, "findings": [{"sign", "about", "text", "advice"}]}`."""
    document = {"well": not any_wrong(findings), "findings": [asdict(each) for each in findings]}
    return json.dumps(document, ensure_ascii=False, indent=2)


def _line(finding: Finding) -> str:
    from ..protocol.visible import on_one_line

    words = " ".join(f"{finding.text} {finding.advice}".split())
    return on_one_line(f"{_SIGNS[finding.sign]} {words}")  # folders may be called anything


def _verdict(findings: Sequence[Finding]) -> str:
    wrong = sum(finding.sign is Sign.WRONG for finding in findings)
    if wrong:
        return f"{wrong} thing{' is' if wrong == 1 else 's are'} wrong."
    return "Nothing is wrong."
