"""A view that is displayed under a cell, and the output for readers without a view."""

from __future__ import annotations

from html import escape
from typing import Any, Final

from IPython.core.getipython import get_ipython
from IPython.core.interactiveshell import InteractiveShell
from IPython.display import DisplayHandle, display

from .debugger_widget import HEIGHT_PX

#: The MIME type that the JupyterLab extension renders: `{"run", "follow", "height"}`, and `"kept": true`
#: once the output's HTML is the run's timeline, which is shown if the Core has lost the run.
VIEW_MIME: Final = "application/vnd.agentstepper.view+json"

_WHERE: Final = (
    "JupyterLab 4 and Notebook 7 show it here and in the side panel. Elsewhere open the page "
    "agentstepper/app of the Jupyter server, run `%agentstepper --kernel`, or `agentstepper step` in a "
    "terminal."
)
_LATER: Final = "Once the run has ended, this output shows its timeline."


class DisplayedView:
    """A view that is displayed under a cell; its output for readers without a view can be replaced.

    Args:
        run: The id of the run that the view shows first; "": the newest run.
        data: The output, by MIME type.
    """

    def __init__(self, run: str, data: dict[str, Any]) -> None:
        self.run = run
        self._data = data
        self._handle: DisplayHandle | None = None
        if InteractiveShell.initialized():
            self._handle = _display(data, raw=True, display_id=True)
        else:
            print(data["text/plain"])

    def set_fallback(self, html: str) -> None:
        """Replace the page that is shown where the view can't be: saved notebooks, exports, GitHub.

        The view itself stays as it is. Terminals aren't updated: a terminal would print the page
        again.

        Args:
            html: The new page. It must be harmless by itself: a trusted notebook shows it as it is.
        """
        self._data = self._data | {"text/html": html}
        if VIEW_MIME in self._data:
            self._data[VIEW_MIME] = self._data[VIEW_MIME] | {"kept": True}
        if self._handle is not None and hasattr(get_ipython(), "kernel"):
            _update(self._handle, self._data, raw=True)


def display_view(run: str | None = None, *, follow: bool = False) -> DisplayedView:
    """Display the debugger's view now, before the cell's other output.

    Args:
        run: The run's id; None: the newest run.
        follow: Whether the view goes on to the next run that begins once this one has ended.
    """
    from . import kernel_core

    run = run or ""
    data = (
        _direct(run, follow) if kernel_core.get_kernel_core() is None else _by_kernel(run, follow)
    )
    return DisplayedView(run, data)


def _direct(run: str, follow: bool) -> dict[str, Any]:
    """Make the output for the JupyterLab extension, which is installed with the server's Core.

    No widget is added: programs that execute notebooks save a widget's state by default.
    """
    view = {"run": run, "follow": follow, "height": HEIGHT_PX}
    words = f"{_subject(run)}. {_WHERE} {_LATER}"
    return {VIEW_MIME: view, "text/html": f"<p>{escape(words)}</p>", "text/plain": words}


def _by_kernel(run: str, follow: bool) -> dict[str, Any]:
    """Make the output for front ends with widgets, when the Core is in this kernel."""
    from .kernel_widget import KernelDebuggerWidget

    widget = KernelDebuggerWidget(run=run, follow=follow)
    data, _ = widget._repr_mimebundle_() or ({"text/plain": repr(widget)}, {})
    return data | {"text/html": f"<p>{escape(f'{_subject(run)}. {_LATER}')}</p>"}


def _subject(run: str) -> str:
    return f"AgentStepper: the view of run {run}" if run else "AgentStepper: your agents’ runs"


# IPython's have no types.
_display: Any = display
_update: Any = DisplayHandle.update
