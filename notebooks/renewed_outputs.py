"""Outputs that a cell renews, as a notebook keeps them: nbval knows nothing of them."""

from __future__ import annotations

from typing import Any

from nbformat import NotebookNode, from_dict
from nbval.kernel import RunningKernel


def teach_nbval() -> None:
    """Let `update_display_data` renew what was displayed under its id, wherever nbval keeps it."""
    get_message = RunningKernel.get_message
    shown: dict[str, NotebookNode] = {}

    def get_renewing(self: RunningKernel, stream: str, timeout: float | None = None) -> Any:
        message = get_message(self, stream, timeout)
        content = message["content"]
        id = content.get("transient", {}).get("display_id") if stream == "iopub" else None
        if id is not None and message["msg_type"] == "display_data":
            # A node is kept as it is, not copied: what is changed in it later is seen.
            shown[id] = content["data"] = from_dict(content["data"])
        elif id in shown:
            shown[id].update(content["data"])
        return message

    RunningKernel.get_message = get_renewing
