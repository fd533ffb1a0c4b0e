"""The settings of a coding session: one description, for HTTP, the command line, chats, background
agents, the server's configuration and Python.

Each setting is a field of `CodingSettings`: its type has the bounds, its description is the help of the
command line. None is "left out": the server's default holds then, else the agent's own, of `DEFAULTS`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, TypedDict

import msgspec
from msgspec import Meta, Struct

from .. import typed_json

Name = Annotated[str, Meta(min_length=1, max_length=1000)]
#: A folder or a file.
Folders = Annotated[
    tuple[Annotated[str, Meta(min_length=1, max_length=4096)], ...], Meta(max_length=100)
]
#: Modes: what commands and tools may do without an approval, the strictest mode first.
SANDBOX_MODES: Final = ("read-only", "workspace-write", "danger-full-access")
FULL_ACCESS: Final = "danger-full-access"
NO_SANDBOX: Final = "none"
_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_GIB: Final = 1024 * _MIB
_DAY_S: Final = 86_400.0


class CodingSettings(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings of a coding session, each of which may be left out."""

    auto_approve: Annotated[
        bool | None,
        Meta(description="approve every call that would ask a person; denied calls stay denied"),
    ] = None
    max_iterations: Annotated[
        Annotated[int, Meta(ge=1, le=10_000)] | None,
        Meta(description="most requests to the model for one prompt"),
    ] = None
    command_timeout: Annotated[
        Annotated[float, Meta(gt=0, le=_DAY_S)] | None,
        Meta(description="seconds that a command may take"),
    ] = None
    tool_timeout: Annotated[
        Annotated[float, Meta(gt=0, le=_DAY_S)] | None,
        Meta(description="seconds that a tool call may take, including a command"),
    ] = None
    model_timeout: Annotated[
        Annotated[float, Meta(gt=0, le=_DAY_S)] | None,
        Meta(description="seconds that the model may send nothing within an answer"),
    ] = None
    approval_timeout: Annotated[
        Annotated[float, Meta(gt=0, le=7 * _DAY_S)] | None,
        Meta(description="seconds that a person has to answer; then the call is denied"),
    ] = None
    output_limit: Annotated[
        Annotated[int, Meta(ge=_KIB, le=16 * _MIB)] | None,
        Meta(description="most bytes of a result that are sent to the model"),
    ] = None
    shell: Annotated[
        bool | None,
        Meta(description="whether commands may run in a shell"),
    ] = None
    policy: Annotated[
        Name | None,
        Meta(description="an installed policy, in place of the default one"),
    ] = None
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None,
        Meta(description="the model's sampling temperature; not every model supports it"),
    ] = None
    tool_choice: Annotated[
        Name | None,
        Meta(description="auto, none, required, or the one tool that the model is to call"),
    ] = None
    sandbox_mode: Annotated[
        Literal["read-only", "workspace-write", "danger-full-access"] | None,
        Meta(description="what commands and tools may do without approval"),
    ] = None
    sandbox: Annotated[
        Literal["auto", "bubblewrap", "landlock", "seatbelt", "none"] | None,
        Meta(description="what confines commands; auto selects the best that works here"),
    ] = None
    network: Annotated[
        bool | None, Meta(description="allow commands to use the network without approval")
    ] = None
    readable: Annotated[
        Folders | None,
        Meta(description="a folder or file outside of the workspace that commands may read"),
    ] = None
    writable: Annotated[
        Folders | None,
        Meta(description="a folder outside of the workspace that commands may change"),
    ] = None
    memory_bytes: Annotated[
        Annotated[int, Meta(ge=64 * _MIB, le=1024 * _GIB)] | None,
        Meta(description="memory that a command and its child processes may use"),
    ] = None
    processes: Annotated[
        Annotated[int, Meta(ge=1, le=1_000_000)] | None,
        Meta(description="processes that a command may have at a time"),
    ] = None


class SettingsDict(TypedDict, total=False):
    """`CodingSettings` as keyword arguments, for Python; a test keeps the two the same."""

    auto_approve: bool | None
    max_iterations: int | None
    command_timeout: float | None
    tool_timeout: float | None
    model_timeout: float | None
    approval_timeout: float | None
    output_limit: int | None
    shell: bool | None
    temperature: float | None
    tool_choice: str | None
    sandbox_mode: str | None
    sandbox: Literal["auto", "bubblewrap", "landlock", "seatbelt", "none"] | None
    network: bool | None
    readable: Sequence[Any] | None  # texts or paths
    writable: Sequence[Any] | None
    memory_bytes: int | None
    processes: int | None


#: The default settings. None: no limit, or the model's own value.
DEFAULTS: Final = CodingSettings(
    auto_approve=False,
    max_iterations=25,
    command_timeout=120.0,
    tool_timeout=900.0,
    model_timeout=300.0,
    output_limit=64 * _KIB,
    sandbox_mode="workspace-write",
    sandbox="auto",
    network=False,
    memory_bytes=4 * _GIB,
    processes=512,
)

#: The settings by their names.
FIELDS: Final = {each.name: each for each in msgspec.structs.fields(CodingSettings)}

if TYPE_CHECKING:
    CamelSettings = CodingSettings
else:  # msgspec renames a class's own fields alone, so that they are all its own
    CamelSettings = msgspec.defstruct(
        "CamelSettings",
        [(each.name, each.type, each.default) for each in FIELDS.values()],
        bases=(CodingSettings,),
        frozen=True,
        kw_only=True,
        rename="camel",
    )

#: The name of each setting over HTTP.
WIRE_NAMES: Final = dict(
    zip(CamelSettings.__struct_fields__, CamelSettings.__struct_encode_fields__, strict=True)
)


def select_given_settings(settings: CodingSettings) -> dict[str, Any]:
    """The settings that are not left out, by name."""
    found = ((name, getattr(settings, name)) for name in FIELDS)
    return {name: value for name, value in found if value is not None}


def read_settings(config: Mapping[str, Any]) -> CodingSettings:
    """The settings among the fields of a config, checked.

    Args:
        config: Any fields, in snake case; those that are no settings are not looked at.

    Raises:
        msgspec.ValidationError: A setting is not of its type, or out of its bounds.
    """
    return typed_json.convert(
        {name: value for name, value in config.items() if name in FIELDS}, CodingSettings
    )
