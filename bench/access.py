"""The tokens of the bench's Core, which its processes know beforehand."""

from __future__ import annotations

from typing import Final

from agentstepper_nb.discover import CoreTokens

TOKENS: Final = CoreTokens(agent="bench-agent", control="bench-control", worker="bench-worker")
#: What opens the agents' port and the UIs'.
CONTROL: Final = {"Authorization": f"Bearer {TOKENS.control}"}
