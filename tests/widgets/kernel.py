"""A kernel in a process of its own, and what its cells put out."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.manager import KernelManager

#: Seconds to wait for a message before the test fails.
TIMEOUT_S = 60


@dataclass
class CellResult:
    """What a cell came to.

    Args:
        status: Of the reply: ok, error or aborted.
        error: Its exception's name.
        outputs: The contents of its messages, in their order, each with its kind.
    """

    status: str = ""
    error: str | None = None
    outputs: list[tuple[str, dict[str, Any]]] = field(default_factory=list)

    @property
    def text(self) -> str:
        """What it printed."""
        return "".join(c["text"] for kind, c in self.outputs if kind == "stream")

    @property
    def value(self) -> str | None:
        """The text of its value."""
        values = [c["data"]["text/plain"] for kind, c in self.outputs if kind == "execute_result"]
        return values[-1] if values else None

    def displayed(self, mime: str) -> bool:
        """Whether it displayed something of this MIME type."""
        return any(mime in c["data"] for kind, c in self.outputs if kind == "display_data")

    @property
    def traceback(self) -> str:
        """Its traceback, as it is shown."""
        return "\n".join("\n".join(c["traceback"]) for kind, c in self.outputs if kind == "error")


class Kernel:
    """A real ipykernel.

    Args:
        env: Its environment.
        cwd: Its folder.
        manager: What starts it; the environment's own kernel where none is given.

    Attributes:
        heavy_modules: Those that take long to import and had been when the magics were loaded.
    """

    heavy_modules: str | None = None

    def __init__(self, env: dict[str, str], cwd: str, manager: KernelManager | None = None) -> None:
        self.manager = manager or KernelManager(kernel_name="python3")
        self.manager.start_kernel(env=env, cwd=cwd)
        self.client: BlockingKernelClient = self.manager.client()
        self.client.start_channels()
        try:
            self.client.wait_for_ready(timeout=TIMEOUT_S)
        except BaseException:
            self.close()
            raise

    def run(
        self, code: str, *during: Callable[[], object], on: str = "READY", until: str = ""
    ) -> CellResult:
        """Run a cell to its end.

        Args:
            code: Its text.
            during: What to do meanwhile: each when the cell has printed the word once more.
            on: The word.
            until: What else the cell prints. A thread of ipykernel reads what processes print, and
                may publish it after the cell's end.
        """
        todo = list(during)
        id = self.client.execute(code, stop_on_error=False)
        ran = CellResult()
        is_idle = False
        while not is_idle or until not in ran.text:
            message = self.client.get_iopub_msg(timeout=TIMEOUT_S)
            if message["parent_header"].get("msg_id") != id:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                is_idle = True
                continue
            ran.outputs.append((kind, content))
            for _ in range(content.get("text", "").count(on) if todo else 0):
                todo.pop(0)()
        assert not todo, f"the cell did not print {on}: {ran}"
        reply = self._reply(id)
        ran.status, ran.error = reply["status"], reply.get("ename")
        return ran

    def _reply(self, id: str) -> dict[str, Any]:
        while True:
            message: dict[str, Any] = self.client.get_shell_msg(timeout=TIMEOUT_S)
            if message["parent_header"].get("msg_id") == id:
                content: dict[str, Any] = message["content"]
                return content

    def interrupt(self) -> None:
        """As the notebook's button does."""
        self.manager.interrupt_kernel()

    def close(self) -> None:
        """End the kernel, whatever it does."""
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        self.manager.cleanup_resources()
        self.client.context.destroy()
