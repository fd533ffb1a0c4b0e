"""The base class of views of a Core's background agents under a notebook cell."""

from __future__ import annotations

import contextvars
from typing import Any, Final

import anywidget
import traitlets

from ..errors import AgentStepperError
from ..runtime.client import Agents
from .comm_links import CommLinks
from .core_relay import CoreRelay, FindCore
from .core_urls import find_page_url, is_own_core
from .debugger_widget import HEIGHT_PX
from .kernel_capabilities import handle_on_subshell_thread

#: Seconds that the text in the place of a view waits for the Core.
_TEXT_TIMEOUT_S: Final = 3.0
_NO_VIEW: Final = "The view needs a front end that shows widgets, as JupyterLab does."


class RelayedWidget(anywidget.AnyWidget):
    """A view of a Core's background agents, which talks to the Core directly or through the kernel.

    If this kernel's Jupyter server has the Core, the browser talks to the Core directly; otherwise
    the kernel relays. The Core's messages are no part of the widget's state, which front ends save.

    Args:
        find: Finds the Core.
        height: The view's height in pixels.
        traits: Further traits that the view begins with.
    """

    height = traitlets.Int(HEIGHT_PX, min=240, max=1200).tag(sync=True)
    #: Whether the page's own server has the Core.
    direct = traitlets.Bool(False).tag(sync=True)
    #: The base URL of the server that shows the Core's runs; empty where none does.
    page = traitlets.Unicode("").tag(sync=True)

    #: The first line of the text in the view's place.
    title: str

    def __init__(self, find: FindCore, height: int = HEIGHT_PX, **traits: Any) -> None:
        self._find = find
        self._relay = CoreRelay(find)
        self._links = CommLinks(self._relay, self._send_content)
        # By its context ipykernel knows which cell a message comes from: on the relay's thread as well.
        self._context = contextvars.copy_context()
        url = self._url()
        super().__init__(height=height, direct=is_own_core(url), page=find_page_url(url), **traits)
        self.on_msg(self._received)

    def list_lines(self, agents: Agents) -> list[str]:
        """List the lines of the text that is shown in place of the view.

        Args:
            agents: A connection to the Core.
        """
        raise NotImplementedError

    def open(self) -> None:
        """Open the comm, and receive its messages even while the main thread is blocked."""
        super().open()
        handle_on_subshell_thread(self.comm)
        self.comm.on_close(lambda _: self._relay.close())

    def close(self) -> None:
        """Remove the view. The agents go on."""
        self._relay.close()
        super().close()

    def __repr__(self) -> str:
        """The text that is shown where no front end shows the view."""
        try:
            found = self._find()
            with Agents.connect(found.url, found.token, timeout_s=_TEXT_TIMEOUT_S) as agents:
                lines = self.list_lines(agents)
        except AgentStepperError as error:
            lines = [str(error)]
        return "\n".join([self.title, *lines, _NO_VIEW])

    def _repr_mimebundle_(self, **kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]] | None:
        bundle: tuple[dict[str, Any], dict[str, Any]] | None = super()._repr_mimebundle_(**kwargs)
        if bundle is not None:
            bundle[0]["text/plain"] = repr(self)  # anywidget cuts it to 110 letters
        return bundle

    def _url(self) -> str:
        try:
            return self._find().url
        except AgentStepperError:  # it is looked for again, and the view says what is wrong then
            return ""

    def _received(self, _: object, content: object, buffers: object) -> None:
        self._links.receive(content)

    def _send_content(self, content: dict[str, Any]) -> None:
        self._context.run(self.send, content)
