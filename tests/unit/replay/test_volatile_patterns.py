"""Which patterns are offered where two requests differ."""

from __future__ import annotations

import json
import re

import pytest

from agentstepper_nb.replay.content_hashes import ContentHasher
from agentstepper_nb.replay.volatile_patterns import PATTERNS, format_patterns, suggest_patterns

UUIDS = (
    "4f1c2a70-6a43-4c5d-9d8e-0b1c2d3e4f50",
    "00000000-aaaa-4bbb-8ccc-dddddddddddd",
)


def ask(content: str) -> str:
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": content}]})


@pytest.mark.parametrize(
    ("recorded", "now"),
    [
        ("It is 2026-11-27T18:24:52.123+01:00.", "It is 2026-11-28 09:00."),
        (f"Session {UUIDS[0]}", f"Session {UUIDS[1]}"),
        ("In /tmp/tmpab12_x/out.txt", "In /tmp/tmpq9-z/out.txt"),
        ("Today is 2026-11-27.", "Today is 2027-01-02."),
        ("Today is Friday, November 27, 2026.", "Today is Sat, 28 Nov 2026."),
        ("It is 9:05 now", "It is 18:25:01 now"),
        ("At 1795803892.25", "At 1795803893"),
        ("<Tool at 0x7f12ab34cd>", "<Tool at 0x7f99ab34cd>"),
    ],
)
def test_one_pattern_is_offered_for_each_kind_of_value(recorded: str, now: str) -> None:
    (pattern,) = suggest_patterns(ask(recorded), ask(now))
    hasher = ContentHasher(None, (pattern,))
    assert hasher.hash(ask(recorded)) == hasher.hash(ask(now))


def test_as_many_are_offered_as_are_needed() -> None:
    recorded = f"On 2026-11-27 in /tmp/tmpa for {UUIDS[0]}"
    now = f"On 2026-11-28 in /tmp/tmpb for {UUIDS[1]}"
    assert len(suggest_patterns(ask(recorded), ask(now))) == 3


def test_none_is_offered_where_something_else_differs() -> None:
    assert suggest_patterns(ask("On 2026-11-27: hello"), ask("On 2026-11-28: goodbye")) == ()


def test_what_is_offered_may_be_pasted() -> None:
    assert tuple(eval(format_patterns(PATTERNS))) == PATTERNS
    assert all(re.compile(pattern) for pattern in PATTERNS)
