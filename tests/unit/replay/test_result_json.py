"""What an agent returned, as a check of it reads it."""

from __future__ import annotations

from typing import Any

import pytest

from agentstepper_nb.replay.result_json import encode_result

CIRCLE: list[Any] = ["ü"]
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("result", "text"),
    [
        ({"a": ["ü", 1, None]}, '{"a": ["ü", 1, null]}'),
        ([{"ü"}], """["{'ü'}"]"""),
        ({(1, "ü"): 2}, """"{(1, 'ü'): 2}\""""),
        (CIRCLE, """"['ü', [...]]\""""),
    ],
)
def test_what_json_has_not_is_its_repr(result: Any, text: str) -> None:
    assert encode_result(result, ensure_ascii=False) == text
    assert encode_result(result) == text.replace("ü", "\\u00fc")
