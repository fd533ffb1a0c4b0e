"""The debugger's view under a cell: a shell of a few KB around the Jupyter server's app."""

from __future__ import annotations

from json import dumps
from typing import Any, Final

import anywidget
import traitlets

from ..static_files import NOT_BUILT_MESSAGE, STATIC_FOLDER

_LOADER = STATIC_FOLDER / "loader.js"

#: The JavaScript module that is shown if the view isn't built.
NOT_BUILT_MODULE = (
    f"export default {{ render: ({{ el }}) => {{ el.textContent = {dumps(NOT_BUILT_MESSAGE)} }} }}"
)

_FALLBACK = (
    "AgentStepper: {view}. The view needs a front end that shows widgets, as JupyterLab does. "
    "Without one, run `agentstepper step` in a terminal."
)


#: Of a view, in pixels.
HEIGHT_PX: Final = 520


class DebuggerWidget(anywidget.AnyWidget):
    """Shows the debugger's view of one run under a notebook cell.

    The view talks to the Core directly, so that it answers while the kernel is busy. Only the
    view's first data passes through the kernel.

    Args:
        run: The run's id; "": the newest run.
        follow: Whether the view goes on to the next run that begins once this one has ended.
        base_url: The Jupyter server's base URL; "": the page's own.
        height: The view's height in pixels.
    """

    _esm = _LOADER if _LOADER.is_file() else NOT_BUILT_MODULE

    run = traitlets.Unicode("").tag(sync=True)
    follow = traitlets.Bool(False).tag(sync=True)
    base_url = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(HEIGHT_PX, min=240, max=1200).tag(sync=True)

    @property
    def view_description(self) -> str:
        """Describe the shown runs, for a person."""
        return f"the view of run {self.run}" if self.run else "the view of your agents' runs"

    def __repr__(self) -> str:
        """The text that is shown where no front end shows the view."""
        return _FALLBACK.format(view=self.view_description)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/plain"] = repr(self)  # anywidget cuts it to 110 letters
        return bundle
