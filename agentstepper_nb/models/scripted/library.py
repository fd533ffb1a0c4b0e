"""Find a script by name: one that ships with the package, or a Python file of one's own."""

from __future__ import annotations

import os
import pkgutil
import runpy
from importlib import import_module
from pathlib import Path
from typing import Final

from . import scripts
from .script import Script

#: A folder of scripts that messages may name, each by its file's name without `.py`.
SCRIPTS_VARIABLE: Final = "AGENTSTEPPER_SCRIPTS"


def named_scripts() -> tuple[str, ...]:
    """The scripts that may be named without a path: the built-in ones, and those of the environment."""
    return (*builtin_scripts(), *_own_scripts())


def builtin_scripts() -> tuple[str, ...]:
    """The names of the scripts that ship with the package."""
    return tuple(module.name for module in pkgutil.iter_modules(scripts.__path__))


def load(name: str) -> Script:
    """Load a script.

    Args:
        name: That of a script of `named_scripts`, or the path of a Python file; each file is run, and
            names its script `script`.

    Raises:
        ValueError: There is no such script, or the file has no `script`; says which there are.
    """
    if name in builtin_scripts():
        script = import_module(f"{scripts.__name__}.{name}").script
    elif (own := _own_scripts().get(name)) is not None:
        script = runpy.run_path(str(own)).get("script")
    elif Path(name).is_file():
        script = runpy.run_path(name).get("script")
    else:
        built_in = ", ".join(builtin_scripts())
        raise ValueError(f"no script or file {name!r}; built-in scripts: {built_in}")
    if not isinstance(script, Script):
        raise ValueError(f"{name} has no `script = Script(…)`")
    return script


def _own_scripts() -> dict[str, Path]:
    """The files of the folder that the environment names."""
    folder = os.environ.get(SCRIPTS_VARIABLE)
    return {each.stem: each for each in sorted(Path(folder).glob("*.py"))} if folder else {}
