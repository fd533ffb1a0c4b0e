"""The view under a cell: a shell of a few KB around the app that the Jupyter server serves."""

from __future__ import annotations

from json import dumps
from typing import Any

import anywidget
import traitlets
from IPython.display import display

from ..static_files import NOT_BUILT, STATIC

_LOADER = STATIC / "loader.js"

#: What an unbuilt checkout shows in place of the view.
_EXCUSE = f"export default {{ render: ({{ el }}) => {{ el.textContent = {dumps(NOT_BUILT)} }} }}"

_FALLBACK = (
    "AgentStepper: {what}. The view needs a front end that shows widgets, as JupyterLab does. "
    "Without one, run `agentstepper step` in a terminal."
)


class DebuggerWidget(anywidget.AnyWidget):
    """The debugger's view of one run.

    The view talks to the Core by itself, so that it answers while the kernel is busy. Only what it
    needs to begin travels through the kernel.

    Args:
        run: The run's id; empty shows the newest one.
        follow: Whether to go on to a run that begins once this one has ended.
        base_url: The Jupyter server's base URL; empty takes the page's own.
        height: Of the view, in pixels.
    """

    _esm = _LOADER if _LOADER.is_file() else _EXCUSE

    run = traitlets.Unicode("").tag(sync=True)
    follow = traitlets.Bool(False).tag(sync=True)
    base_url = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(520, min=240, max=1200).tag(sync=True)

    def __repr__(self) -> str:
        """What stands where no front end shows the view."""
        what = f"the view of run {self.run}" if self.run else "the view of your agents' runs"
        return _FALLBACK.format(what=what)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/plain"] = repr(self)  # anywidget cuts it to 110 letters
        return bundle


def show(run: str | None = None, *, follow: bool = False) -> None:
    """Display the view now, whatever the cell does next.

    Args:
        run: The run's id; None shows the newest one.
        follow: Whether to go on to a run that begins once this one has ended.
    """
    widget = DebuggerWidget(run=run or "", follow=follow)
    display(widget)  # type: ignore[no-untyped-call]
