"""What `agentstepper serve` is told: by its arguments, else the environment, else a file."""

from __future__ import annotations

import os
import tomllib
from argparse import Namespace
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta, Struct
from msgspec.structs import replace

from ..discover import (
    CONTROL_VARIABLE,
    TOKEN_VARIABLE,
    URL_VARIABLE,
    WORKER_TOKEN_VARIABLE,
    host_url,
    is_same,
)
from ..hub.runtime_host import STORE_VARIABLE
from ..models.base import MODEL_VARIABLE

Port = Annotated[int, Meta(ge=0, le=65535)]
Keep = Annotated[float, Meta(gt=0)]


#: What the environment may say of them.
_VARIABLES: Final = {
    "token": TOKEN_VARIABLE,
    "control_token": CONTROL_VARIABLE,
    "model": MODEL_VARIABLE,
    "worker_token": WORKER_TOKEN_VARIABLE,
    "runtime_store": STORE_VARIABLE,
}


class OptionError(Exception):
    """An option that can't be, in words for a person."""


class Options(Struct, frozen=True, kw_only=True, rename="kebab", forbid_unknown_fields=True):
    """The options, under the names that the command line and the file have."""

    host: str = "localhost"
    client_port: Port = 8765
    ui_port: Port = 4567
    data: str | None = None  # None: agentstepper/ in Jupyter's data folder
    ui_origin: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    token: str | None = None  # the agent token; None: the data folder's, as of the other two
    control_token: str | None = None
    durability: Literal["relaxed", "durable", "sync"] = "durable"
    keep_days: Keep | None = None  # None: for ever
    keep_gib: Keep | None = None
    model: str | None = None
    worker: bool = True  # whether one is started where agents need it
    worker_token: str | None = None
    runtime_store: str = "sqlite"
    until_eof: bool = False  # whether the end of standard input ends it
    log_level: Literal["debug", "info", "warning", "error"] = "info"


def gather(given: Namespace) -> Options:
    """Put the options together.

    Args:
        given: What the command line set, and nothing else.

    Raises:
        OptionError: The file can't be read or sets something that can't be.
    """
    said: dict[str, Any] = {**vars(given)}
    said.pop("command", None)
    config = said.pop("config", None)
    options = read(Path(config)) if config else Options()
    for name in ("ui_origin", "runs"):
        if name in said:
            said[name] = tuple(said[name])
    options = replace(options, **said)
    found = {name: os.environ.get(variable) for name, variable in _VARIABLES.items()}
    if _names_another_core(options):
        found |= {"token": None, "control_token": None}
    environment = {name: value for name, value in found.items() if value and name not in said}
    return replace(options, **environment)


def _names_another_core(options: Options) -> bool:
    """Whether AGENTSTEPPER_URL, whose tokens the environment has then, is another Core's: in a kernel
    and in what it starts it is the Jupyter server's.
    """
    url = os.environ.get(URL_VARIABLE)
    return bool(url) and not is_same(url or "", host_url(options.host, options.client_port))


def read(path: Path) -> Options:
    """Read options from a TOML file; its relative paths start at its folder.

    Args:
        path: The file.

    Raises:
        OptionError: It can't be read or sets something that can't be.
    """
    try:
        options = msgspec.convert(tomllib.loads(path.read_text(encoding="utf-8")), Options)
    except OSError as error:
        raise OptionError(f"{path} can't be read: {error.strerror}.") from None
    except (tomllib.TOMLDecodeError, UnicodeError) as error:
        raise OptionError(f"{path} isn't TOML: {error}.") from None
    except msgspec.ValidationError as error:
        raise OptionError(f"{path}: {error}.") from None
    return replace(
        options,
        data=options.data and str(path.parent / options.data),
        runs=tuple(str(path.parent / run) for run in options.runs),
    )
