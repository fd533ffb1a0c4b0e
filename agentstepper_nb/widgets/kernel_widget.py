"""The debugger's view where the Core runs in the kernel: all messages pass through a comm."""

from __future__ import annotations

import contextvars
from typing import Any, Final

import traitlets

from ..static_files import STATIC_FOLDER
from . import kernel_core
from .comm_links import CommLinks
from .debugger_widget import NOT_BUILT_MODULE, DebuggerWidget
from .kernel_capabilities import KernelCapabilities, find_capabilities, handle_on_subshell_thread

_BUNDLE = STATIC_FOLDER / "kernel.js"

_FALLBACK: Final = (
    "AgentStepper: {view}. The view needs a front end that shows widgets, as JupyterLab does. "
    "Without one, `%agentstepper --input` steps right here."
)


class KernelDebuggerWidget(DebuggerWidget):
    """Shows the debugger's view of one run whose Core runs in this kernel.

    The Core is started if the kernel has none. The widget's script is the whole view; it talks to
    the Core through the kernel, by the messages of `comm_links`. The arguments are those of
    `DebuggerWidget`.

    Attributes:
        via: How the view reaches the Core, and why so, for a person: `{"name", "why"}`.
    """

    _esm = _BUNDLE if _BUNDLE.is_file() else NOT_BUILT_MODULE

    via = traitlets.Dict().tag(sync=True)

    _links: CommLinks | None = None  # until it is made: ipywidgets closes also what couldn't be

    def __init__(self, **traits: Any) -> None:
        core = kernel_core.start_kernel_core()
        self._links = CommLinks(core, self._send_content)
        # By its context ipykernel knows which cell a message comes from: on the Core's thread as well.
        self._context = contextvars.copy_context()
        super().__init__(via=_via(core.reason, find_capabilities()), **traits)
        self.on_msg(self._received)

    def open(self) -> None:
        """Open the comm, and receive its messages even while the main thread is blocked."""
        super().open()
        handle_on_subshell_thread(self.comm)
        self.comm.on_close(lambda _: self._detach())

    def close(self) -> None:
        """Remove the view. The agent goes on."""
        self._detach()
        super().close()

    def __repr__(self) -> str:
        """The text that is shown where no front end shows the view."""
        return _FALLBACK.format(view=self.view_description)

    def _detach(self) -> None:
        if self._links is not None:
            self._links.close()

    def _received(self, _: object, content: object, buffers: object) -> None:
        if self._links is not None:
            self._links.receive(content)

    def _send_content(self, content: dict[str, Any]) -> None:
        self._context.run(self.send, content)


def _via(why: str, can: KernelCapabilities | None) -> dict[str, str]:
    """Describe how the view reaches the Core."""
    sentences = [why]
    if can is not None and can.subshells:
        sentences.append(
            f"Its messages go through the kernel ({can.name}), which receives them while "
            "a cell runs if the front end uses subshells."
        )
    elif can is not None:
        sentences.append(
            f"Its messages go through the kernel ({can.name}), which receives them only "
            "between cells: %%step continues in the background once it halts."
        )
    sentences.append("Runs are in the kernel's memory, and are lost when the kernel restarts.")
    return {"name": "through the kernel", "why": " ".join(sentences)}
