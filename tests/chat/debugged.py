"""Sessions whose turns halt in a debugger, and a person who steps through them."""

from __future__ import annotations

from typing import Any

from tests.chat.house import NOWHERE, Actor, house
from tests.coding.debugged import View

#: What was shown, with no edit.
SAME = ...


def debugged(*agents: Actor, **options: Any) -> Any:
    """An interpreter whose turns are halted one by one."""
    return house(NOWHERE, *agents, keep=False, **{"debugger": True, "step": True, **options})


async def through(view: View, *edits: Any) -> None:
    """Step through a turn: its beginning and its end, with edits."""
    for edit in edits:
        await view.at()
        await view.steps(edit)


def shown(content: str, role: str = "assistant", **fields: Any) -> dict[str, Any]:
    """A message as the debugger shows it."""
    return {"role": role, "type": "MESSAGE", "content": content, **fields}
