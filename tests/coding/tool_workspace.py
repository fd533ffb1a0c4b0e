"""A workspace with something outside of it that nobody may read or change, and tools to call."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec

from agentstepper_nb.coding.sandbox.command_environment import PrivateHome
from agentstepper_nb.coding.sandbox.launch import Sandbox, Unconfined
from agentstepper_nb.coding.session_sandbox import SandboxSettings, SessionSandbox
from agentstepper_nb.coding.tool import Tool, ToolContext, ToolResult
from agentstepper_nb.coding.tool_results import OutputStore
from agentstepper_nb.coding.tools import make_default_tools
from agentstepper_nb.coding.workspace import LocalWorkspace
from tests.sdk.workspace.helpers import git

#: Stands in every file outside.
SECRET: Final = "canary-7c1f"
TEXT: Final = "one\ntwo\nthree\n"


def open_confined_workspace(
    workspace: Path, folder: Path, sandbox: Sandbox | None = None, **settings: Any
) -> SessionSandbox:
    """What holds commands in a workspace.

    Args:
        workspace: The workspace.
        folder: Where the private home is made.
        sandbox: The sandbox; None: none.
        settings: As `SandboxSettings`.
    """
    home = PrivateHome(folder / "homes", "desk")
    return SessionSandbox(sandbox or Unconfined(), workspace, home, SandboxSettings(**settings))


class ToolWorkspace:
    """A workspace `ws` in a folder with other things, and commands without a sandbox.

    Args:
        folder: An empty one.
    """

    def __init__(self, folder: Path, **options: Any) -> None:
        self.folder = folder
        self.root = folder / "ws"
        self.outside = folder / "outside"
        for each in (self.root / "src", self.outside / "deep", folder / "ws-evil"):
            each.mkdir(parents=True)
        for name in ("outside/a.txt", "outside/deep/b.txt", "ws-evil/a.txt", "a.txt", "top.txt"):
            (folder / name).write_text(f"{SECRET} {name}\n")
        (self.root / "a.txt").write_text(TEXT)
        (self.root / "src" / "b.py").write_text("def f():\n    return 1\n")
        self.link("out", self.outside)
        self.link("src/out.txt", self.outside / "a.txt")
        self.link("up", "..")
        self.link("loop", "loop")
        self.link("inside", "src")
        self.link("absolute", self.root / "src")
        self.link("gone", "nowhere")
        self.workspace = LocalWorkspace(self.root)
        self.ctx = ToolContext(
            workspace=self.workspace,
            cancellation=asyncio.Event(),
            outputs=OutputStore(folder / "outputs"),
            session_sandbox=open_confined_workspace(self.root, folder),
            **options,
        )
        self.tools = make_default_tools()
        self._before = dict(self._seen())

    def link(self, name: str, target: str | Path) -> None:
        (self.root / name).symlink_to(target)

    def git(self, *arguments: str) -> str:
        return git(self.root, *arguments)

    def tool(self, name: str) -> Tool:
        tool = self.tools.get(name)
        assert tool is not None
        return tool

    async def acall(self, tool: str | Tool, args: Any) -> ToolResult:
        called = self.tool(tool) if isinstance(tool, str) else tool
        result = await called.execute(args, self.ctx)
        assert isinstance(result, ToolResult)
        assert SECRET.encode() not in msgspec.json.encode(result)
        return result

    def call(self, tool: str | Tool, /, **args: Any) -> ToolResult:
        self.ctx.cancellation = asyncio.Event()  # which belongs to one loop
        return asyncio.run(self.acall(tool, args))

    def text(self, name: str = "a.txt") -> str:
        return (self.root / name).read_bytes().decode()

    def write(self, name: str, text: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode() if isinstance(text, str) else text)

    def assert_outside_is_unchanged(self) -> None:
        assert dict(self._seen()) == self._before

    def _seen(self) -> Iterator[tuple[str, Any]]:
        for folder, folders, files in os.walk(self.folder):
            if folder == str(self.folder):
                folders[:] = [name for name in folders if name not in ("ws", "outputs", "homes")]
            for name in (*folders, *files):
                path = Path(folder, name)
                status = path.lstat()
                held = path.read_bytes() if path.is_file() else b""
                yield str(path), (held, status.st_mode, status.st_ino)
