"""What the doctor says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum


class Sign(StrEnum):
    """How it stands with something."""

    WELL = "well"
    NOTE = "note"  # it works, and a person may want to know
    WRONG = "wrong"


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Args:
        sign: How it stands.
        about: What it is about, for programs: a word of `judge`.
        text: A sentence.
        advice: What to do; empty where nothing is.
    """

    sign: Sign
    about: str
    text: str
    advice: str = ""


def well(about: str, text: str) -> Finding:
    """Something is as it should be."""
    return Finding(Sign.WELL, about, text)


def note(about: str, text: str, advice: str = "") -> Finding:
    """Something works, and a person may want to know of it."""
    return Finding(Sign.NOTE, about, text, advice)


def wrong(about: str, text: str, advice: str) -> Finding:
    """Something is wrong."""
    return Finding(Sign.WRONG, about, text, advice)


def any_wrong(findings: Iterable[Finding]) -> bool:
    """Whether anything is wrong."""
    return any(finding.sign is Sign.WRONG for finding in findings)
