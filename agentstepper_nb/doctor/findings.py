"""What the doctor says, as lines and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class FindingStatus(StrEnum):
    """How it stands with something."""

    OK = "well"
    NOTE = "note"  # it works, and a person may want to know
    PROBLEM = "wrong"


_SIGNS: Final = {FindingStatus.OK: "✓", FindingStatus.NOTE: "!", FindingStatus.PROBLEM: "✗"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Args:
        status: How it stands.
        subject: What it is about, for programs: a word of `machine_findings`.
        text: A sentence.
        advice: What to do; empty where nothing is.
    """

    status: FindingStatus
    subject: str
    text: str
    advice: str = ""


def make_ok_finding(subject: str, text: str) -> Finding:
    """Something is as it should be."""
    return Finding(FindingStatus.OK, subject, text)


def make_note_finding(subject: str, text: str, advice: str = "") -> Finding:
    """Something works, and a person may want to know of it."""
    return Finding(FindingStatus.NOTE, subject, text, advice)


def make_problem_finding(subject: str, text: str, advice: str) -> Finding:
    """Something is wrong."""
    return Finding(FindingStatus.PROBLEM, subject, text, advice)


def has_problems(findings: Iterable[Finding]) -> bool:
    """Whether anything is wrong."""
    return any(finding.status is FindingStatus.PROBLEM for finding in findings)


# ---- texts ------------------------------------------------------------------------------------------


def format_findings(findings: Sequence[Finding]) -> str:
    """One finding a line, and how it stands with all of them in the last."""
    return "\n".join([*map(_line, findings), _format_summary(findings)])


def encode_findings(findings: Sequence[Finding]) -> str:
    """`{"well": bool, "findings": [{"sign", "about", "text", "advice"}]}`."""
    rows = [
        {"sign": each.status, "about": each.subject, "text": each.text, "advice": each.advice}
        for each in findings
    ]
    document = {"well": not has_problems(findings), "findings": rows}
    return json.dumps(document, ensure_ascii=False, indent=2)


def _line(finding: Finding) -> str:
    from ..protocol.text_escaping import escape_to_one_line

    words = " ".join(f"{finding.text} {finding.advice}".split())
    return escape_to_one_line(f"{_SIGNS[finding.status]} {words}")  # folders may be called anything


def _format_summary(findings: Sequence[Finding]) -> str:
    wrong = sum(finding.status is FindingStatus.PROBLEM for finding in findings)
    if wrong:
        return f"{wrong} thing{' is' if wrong == 1 else 's are'} wrong."
    return "Nothing is wrong."
