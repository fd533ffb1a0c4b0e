"""Pages that look as notebooks outside Jupyter do, and show the view that comes through a kernel.

Neither VS Code nor Colab can be started here: of them there is what the view meets, the marks, styles
and variables of their pages, and anywidget's way of showing a widget. The Core is a kernel's.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from playwright.sync_api import Page
from websockets.sync.server import ServerConnection, serve

from agentstepper_nb.static_files import STATIC_FOLDER
from agentstepper_nb.widgets.comm_links import CommLinks
from agentstepper_nb.widgets.kernel_core import KernelCore

from .lab import DebuggerView

WHY = "This kernel's Jupyter server has no AgentStepper Core, so one runs in the kernel."


@contextmanager
def kernel() -> Iterator[tuple[KernelCore, str]]:
    """A kernel's Core, and the address at which a page speaks with it as with a widget's comm."""
    core = KernelCore(WHY)

    def converse(socket: ServerConnection) -> None:
        links = CommLinks(core, lambda content: socket.send(json.dumps(content)))
        for text in socket:
            links.receive(json.loads(text))
        links.close()

    with serve(converse, "127.0.0.1", 0, max_size=None) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield core, f"ws://127.0.0.1:{server.socket.getsockname()[1]}"
        finally:
            server.shutdown()
            thread.join()
            core.stop()


@dataclass(frozen=True)
class Host:
    """A front end's page.

    Args:
        page: Its HTML; the output goes where `id="output"` is.
        dark: Whether it is dark.
    """

    page: str
    dark: bool


# What VS Code gives to every webview.
_WEBVIEW = """
body { background-color: transparent; color: var(--vscode-editor-foreground); margin: 0; padding: 0 20px;
    font-family: var(--vscode-font-family); font-size: 13px; }
a, a code { color: var(--vscode-textLink-foreground); }
code { font-family: monospace; color: var(--vscode-textPreformat-foreground);
    background-color: var(--vscode-textPreformat-background); padding: 1px 3px; border-radius: 4px; }
kbd { background-color: rgba(128, 128, 128, 0.17); border: 1px solid rgba(51, 51, 51, 0.6); }
:root { --jp-layout-color1: white; --jp-ui-font-color1: rgba(0, 0, 0, 0.87); } /* ipywidgets' */
"""


def _vscode(kind: str, **colors: str) -> Host:
    """A notebook's output in VS Code, in the colours of one of its themes."""
    fonts = {"font-family": "system-ui, sans-serif", "editor-font-family": "monospace"}
    variables = {name.replace("_", "-"): value for name, value in colors.items()} | fonts
    style = "; ".join(f"--vscode-{name}: {value}" for name, value in variables.items())
    background = colors["editor_background"]
    return Host(
        f"""<!doctype html><html style="{style}; background: {background}"><style>{_WEBVIEW}</style>
        <body class="{kind}" data-vscode-theme-kind="{kind}"><div id="output"></div></body></html>""",
        dark=kind in ("vscode-dark", "vscode-high-contrast"),
    )


def _colab(theme: str, background: str) -> Host:
    """The frame of a cell's output in Colab."""
    return Host(
        f"""<!doctype html><html theme="{theme}"><body style="margin: 0; background: {background};
        font: 14px Roboto, sans-serif"><div id="output"></div></body></html>""",
        dark=theme == "dark",
    )


HOSTS = {
    "vscode-dark": _vscode(
        "vscode-dark",
        editor_background="#1f1f1f",
        editor_foreground="#cccccc",
        foreground="#cccccc",
        descriptionForeground="#9d9d9d",
        textLink_foreground="#4daafc",
        textPreformat_foreground="#d0d0d0",
        textPreformat_background="#3c3c3c",
        focusBorder="#0078d4",
        input_background="#313131",
        input_border="#3c3c3c",
    ),
    "vscode-light": _vscode(
        "vscode-light",
        editor_background="#ffffff",
        editor_foreground="#3b3b3b",
        foreground="#3b3b3b",
        descriptionForeground="#3b3b3b",
        textLink_foreground="#005fb8",
        textPreformat_foreground="#3b3b3b",
        textPreformat_background="#0000001f",
        focusBorder="#005fb8",
        input_background="#ffffff",
        input_border="#cecece",
    ),
    "vscode-high-contrast": _vscode(
        "vscode-high-contrast",
        editor_background="#000000",
        editor_foreground="#ffffff",
        foreground="#ffffff",
        descriptionForeground="rgba(255, 255, 255, 0.7)",
        textLink_foreground="#21a6ff",
        contrastBorder="#6fc3df",
        focusBorder="#f38518",
        input_background="#000000",
    ),
    "colab-light": _colab("light", "#ffffff"),
    "colab-dark": _colab("dark", "#383838"),
    "elsewhere-dark": Host(
        """<!doctype html><body style="margin: 0; background: #10141a"><div id="output"></div></body>""",
        dark=True,
    ),
}

# As anywidget does: the module from a blob, one instance a widget, a model whose listeners are bound to
# the element that they were added for, and an element that comes into the page once it was drawn in.
_ANYWIDGET = """
async ({ script, address, traits }) => {
    const blob = new Blob([script], { type: "text/javascript" });
    const module = await import(URL.createObjectURL(blob));
    if ("render" in module) throw new Error("anywidget would take this for its own");
    const { initialize, render } = await module.default();
    const socket = new WebSocket(address);
    await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
    const listeners = new Set();
    socket.onmessage = ({ data }) => {
        for (const each of [...listeners]) {
            if (each.event === "msg:custom") each.callback(JSON.parse(data), []);
        }
    };
    const model = context => ({
        get: name => traits[name],
        send: content => socket.send(JSON.stringify(content)),
        on: (event, callback) => listeners.add({ event, callback, context }),
        off: (event, callback) => {
            for (const each of listeners) {
                if (each.event === event && each.callback === callback) listeners.delete(each);
            }
        },
    });
    initialize({ model: model("widget") });
    const output = document.getElementById("output");
    /** Draw the output, in place of what stands there. */
    window.draw = async () => {
        output.textContent = "Loading widget...";
        await new Promise(requestAnimationFrame);
        const el = document.createElement("div");
        const cleanup = await render({ model: model(el), el });
        output.replaceChildren(el);
        window.forget?.();
        window.forget = () => {
            for (const each of listeners) if (each.context === el) listeners.delete(each);
            cleanup();
        };
    };
    await window.draw();
}
"""


def show(page: Page, host: Host, address: str, **traits: Any) -> DebuggerView:
    """Show the view in a front end's page, as a cell's output.

    Args:
        page: A tab.
        host: The front end.
        address: The kernel's.
        traits: The widget's, where they aren't the usual ones.
    """
    usual = {
        "run": "",
        "follow": False,
        "height": 520,
        "via": {"name": "through the kernel", "why": WHY},
    }
    page.set_content(host.page)
    script = (STATIC_FOLDER / "kernel.js").read_text()
    page.evaluate(_ANYWIDGET, {"script": script, "address": address, "traits": usual | traits})
    return DebuggerView(page.locator(".as-Root"))
