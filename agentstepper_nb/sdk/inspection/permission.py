"""Whether an agent lets people who control its run look at its stack."""

from __future__ import annotations

import os
from typing import Final
from urllib.parse import urlsplit

from ...discover import CoreEndpoint

#: "1" permits inspection, "0" forbids it; if unset, inspection needs a Core on this machine.
INSPECT_VARIABLE: Final = "AGENTSTEPPER_INSPECT"
_WORDS: Final = {"1": True, "true": True, "on": True, "0": False, "false": False, "off": False}
_LOOPBACK_HOSTS: Final = frozenset(("localhost", "127.0.0.1", "::1"))


def is_inspection_allowed(setting: bool | None, endpoint: CoreEndpoint) -> bool:
    """Whether people who control the run may inspect the agent's stack.

    Args:
        setting: The choice of the agent's author; None: the environment decides.
        endpoint: The Core's endpoint.

    Raises:
        ValueError: The environment variable has an unknown value.
    """
    if setting is not None:
        return setting
    word = os.environ.get(INSPECT_VARIABLE, "").strip().lower()
    if word:
        if word not in _WORDS:
            raise ValueError(f"{INSPECT_VARIABLE}={word!r} isn't allowed. Use 1 or 0.")
        return _WORDS[word]
    return (urlsplit(endpoint.url).hostname or "") in _LOOPBACK_HOSTS
