"""The view under a cell: a shell of a few KB around the app that the Jupyter server serves."""

from __future__ import annotations

from html import escape
from json import dumps
from typing import Any, ClassVar, Final

import anywidget
import traitlets
from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from ..static_files import NOT_BUILT, STATIC

#: What our JupyterLab extension draws, straight to the Core: `{"run", "follow", "height"}`.
VIEW_MIME: Final = "application/vnd.agentstepper.view+json"

_LOADER = STATIC / "loader.js"

#: What an unbuilt checkout shows in place of the view.
EXCUSE = f"export default {{ render: ({{ el }}) => {{ el.textContent = {dumps(NOT_BUILT)} }} }}"

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

    #: Whether the Jupyter server has the Core, so that a front end reaches it without the kernel.
    direct: ClassVar[bool] = True

    _esm = _LOADER if _LOADER.is_file() else EXCUSE

    run = traitlets.Unicode("").tag(sync=True)
    follow = traitlets.Bool(False).tag(sync=True)
    base_url = traitlets.Unicode("").tag(sync=True)
    height = traitlets.Int(520, min=240, max=1200).tag(sync=True)

    @property
    def what(self) -> str:
        """What it shows, for a person."""
        return f"the view of run {self.run}" if self.run else "the view of your agents' runs"

    def __repr__(self) -> str:
        """What stands where no front end shows the view."""
        return _FALLBACK.format(what=self.what)

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/plain"] = repr(self)  # anywidget cuts it to 110 letters
        return bundle


class Shown:
    """A view that stands under a cell; what stands there for readers without a view can be renewed.

    Args:
        widget: The view.

    Attributes:
        run: The id of the run that it shows first; empty where it takes the newest.
    """

    def __init__(self, widget: DebuggerWidget) -> None:
        self.run: str = widget.run
        self._data, self._metadata = _bundle(widget)
        self._handle: DisplayHandle | None = None
        if InteractiveShell.initialized():
            self._handle = _display(self._data, metadata=self._metadata, raw=True, display_id=True)
        else:
            print(self._data["text/plain"])

    def keep(self, html: str) -> None:
        """Put a static page where the view can't be shown: saved notebooks, exports, GitHub.

        The view itself stays as it is. A terminal, which would print it all again, is left alone.

        Args:
            html: Takes the place of what stood there. It has to be harmless by itself: a trusted
                notebook shows it as it is.
        """
        self._data = self._data | {"text/html": html}
        if self._handle is not None and hasattr(get_ipython(), "kernel"):
            _update(self._handle, self._data, metadata=self._metadata, raw=True)


def show(run: str | None = None, *, follow: bool = False) -> Shown:
    """Display the view now, whatever the cell does next.

    Args:
        run: The run's id; None shows the newest one.
        follow: Whether to go on to a run that begins once this one has ended.
    """
    return Shown(_make(run or "", follow))


def _make(run: str, follow: bool) -> DebuggerWidget:
    """The view that reaches the Core from here: by the kernel where that has the Core."""
    from . import kernel_core

    if kernel_core.running() is None:
        return DebuggerWidget(run=run, follow=follow)
    from .kernel_view import KernelDebuggerWidget

    return KernelDebuggerWidget(run=run, follow=follow)


def _bundle(widget: DebuggerWidget) -> tuple[dict[str, Any], dict[str, Any]]:
    """One output in every form: a front end takes the richest that it knows."""
    data, metadata = widget._repr_mimebundle_() or ({"text/plain": repr(widget)}, {})
    if widget.direct:
        place = {"run": widget.run, "follow": widget.follow, "height": widget.height}
        data = {VIEW_MIME: place} | data
    return data | {"text/html": f"<p>{escape(_later(widget.run))}</p>"}, metadata


def _later(run: str) -> str:
    """What is read where no view is, until the run has ended."""
    what = f"run {run}" if run else "your agents’ runs"
    return (
        f"AgentStepper: {what}. The live view is shown in a notebook that is open and whose kernel "
        "runs. Once the run has ended, its timeline is kept here."
    )


# IPython's have no types.
_display: Any = display
_update: Any = DisplayHandle.update
