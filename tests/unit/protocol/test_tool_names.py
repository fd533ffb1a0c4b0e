"""What a tool's call says of itself."""

from __future__ import annotations

import pytest

from agentstepper_nb.protocol.tool_names import find_tool_name


@pytest.mark.parametrize(
    ("data", "tool"),
    [
        ('{"Tool": "ls", "Argument": {"path": "."}}', "ls"),
        ('{"Argument": 1, "Tool": "über", "more": NaN}', None),  # no strict JSON
        ('{"Argument": 1, "Tool": "über"}', "über"),
        ('{"Tool": ""}', None),
        ('{"Tool": 7}', None),
        ('{"Tool": "%s"}' % ("x" * 1001), None),
        ('{"tool": "ls"}', None),
        ('["Tool", "ls"]', None),
        ('"ls"', None),
        ("", None),
        ("[" * 2000, None),
        ('{"Tool": "\\ud800"}', None),
    ],
    ids=range(12),
)
def test_the_tool_of_a_call(data: str, tool: str | None) -> None:
    assert find_tool_name(data) == tool
