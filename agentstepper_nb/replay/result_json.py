"""What an agent returned, as JSON for the command that checks it."""

from __future__ import annotations

import json
from typing import Any


def encode_result(result: Any, *, ensure_ascii: bool = True) -> str:
    """Encode what an agent returned. What isn't JSON, a part or the whole, is the text of its `repr`.

    Args:
        result: What the agent returned.
        ensure_ascii: Whether other characters are escaped.
    """
    try:
        return json.dumps(result, ensure_ascii=ensure_ascii, default=repr)
    except (TypeError, ValueError):  # keys that JSON doesn't have, or a value that contains itself
        return json.dumps(repr(result), ensure_ascii=ensure_ascii)
