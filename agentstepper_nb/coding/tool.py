"""The interface of the coding agent's tools, and base classes for them."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, Generic, Protocol, TypeVar

import msgspec
from msgspec import Meta, Struct

from .. import typed_json
from ..errors import UnsafePathError
from ..protocol.data_model import Risk as Risk
from .tool_results import ToolResult as ToolResult

if TYPE_CHECKING:
    from ..llm_wire.events import AgentEvent
    from .session_sandbox import SessionSandbox
    from .tool_results import OutputStore
    from .workspace import LocalWorkspace


class ToolPolicy(Struct, frozen=True, kw_only=True):
    """A tool's properties by which the policy decides about its calls."""

    read_only: bool = False
    requires_approval: bool = False
    risk: Risk = Risk.LOW


class ToolContext(Struct, kw_only=True):
    """The input of a tool besides its arguments."""

    workspace: LocalWorkspace
    cancellation: asyncio.Event  # set: end soon
    emit: Callable[[AgentEvent], None] = lambda event: None
    output_limit_bytes: int = 64 * 1024  # bytes of a result that the model is given
    command_timeout_s: float = 120.0  # seconds
    outputs: OutputStore | None = None  # keeps what is longer; None: it is dropped
    session_sandbox: SessionSandbox | None = None  # holds commands; None: none can be run


class Tool(Protocol):
    """The interface of a tool that the model may call."""

    @property
    def name(self) -> str:
        """The tool's name for the model: letters, digits and underscores."""

    @property
    def description(self) -> str:
        """What the tool does and when to use it, for the model."""

    @property
    def policy(self) -> ToolPolicy:
        """The properties by which the policy decides about calls."""

    @property
    def input_schema(self) -> dict[str, Any]:
        """The JSON Schema of the arguments: an object."""

    async def execute(self, args: Any, ctx: ToolContext) -> ToolResult:
        """Execute a call.

        Args:
            args: The model's arguments, parsed. They may not fit the schema.
            ctx: The workspace, the limits and so on.
        """


def has_shell(tool: Tool) -> bool:
    """Whether a shell reads the commands of a tool; assumed of a tool that doesn't say."""
    return bool(getattr(tool, "has_shell", True))


ArgsT = TypeVar("ArgsT", bound=Struct)


class StructTool(ABC, Generic[ArgsT]):
    """A base class of tools whose arguments are a Struct, which gives the schema and the checks.

    ::

        class Count(Struct):
            path: str

        class CountLines(StructTool[Count]):
            name = "count_lines"
            description = "Count the lines of a file."
            policy = ToolPolicy(read_only=True)
            arguments = Count

            async def run(self, args: Count, ctx: ToolContext) -> ToolResult:
                text = ctx.workspace.read_text(args.path)
                return ToolResult.success(len(text.splitlines()))
    """

    name: str
    description: str
    policy: ToolPolicy = ToolPolicy()
    arguments: type[ArgsT]

    @property
    def input_schema(self) -> dict[str, Any]:
        """The schema of `arguments`."""
        (schema,), components = msgspec.json.schema_components([self.arguments])
        name = schema["$ref"].rpartition("/")[2]
        own: dict[str, Any] = components.pop(name)
        return own | ({"$defs": components} if components else {})

    async def execute(self, args: Any, ctx: ToolContext) -> ToolResult:
        """Check the arguments and run the tool, as `Tool.execute`; raises only on cancellation."""
        try:
            checked = typed_json.convert(args, self.arguments)
        except msgspec.ValidationError as error:
            return ToolResult.failure(f"Wrong arguments for {self.name}: {error}.")
        try:
            return await self.run(checked, ctx)
        except UnsafePathError as error:
            return ToolResult.failure(str(error))
        except OSError as error:
            return ToolResult.failure(_describe_os_error(error))
        except Exception as error:
            return ToolResult.failure(f"{self.name} failed: {error}", type=type(error).__qualname__)

    @abstractmethod
    async def run(self, args: ArgsT, ctx: ToolContext) -> ToolResult:
        """Run the tool with arguments that fit the schema."""


#: A path as arguments have it.
PathArgument = Annotated[str, Meta(description="Relative to the workspace, parted by `/`.")]


class FileTool(StructTool[ArgsT]):
    """A base class of tools that read and write files, on a thread that may block."""

    async def run(self, args: ArgsT, ctx: ToolContext) -> ToolResult:
        """Run the tool on a thread. After a cancellation it still runs to its end there.

        So no file is left half written.
        """
        return await asyncio.to_thread(self.run_blocking, args, ctx)

    @abstractmethod
    def run_blocking(self, args: ArgsT, ctx: ToolContext) -> ToolResult:
        """Run the tool with arguments that fit the schema."""


def escape_name(name: str) -> str:
    """A name as JSON can carry it: those of the disk may be no UTF-8."""
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def describe_omitted_files(files: int) -> dict[str, str]:
    """Make the result's note about files that a rule makes unreadable; empty if there are none."""
    if not files:
        return {}
    counted = "1 file" if files == 1 else f"{files:,} files"
    return {"left_out": f"{counted}: a rule denies reading."}


def _describe_os_error(error: OSError) -> str:
    """What the system said, without its number: the model knows the path as it wrote it."""
    if error.strerror is None:
        return str(error)
    named = f" {error.filename!r}" if isinstance(error.filename, str) else ""
    return f"{error.strerror}:{named}." if named else f"{error.strerror}."
