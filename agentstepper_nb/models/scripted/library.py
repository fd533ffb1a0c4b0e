"""Find a script by name: one that ships with the package, or a Python file of one's own."""

from __future__ import annotations

import pkgutil
import runpy
from importlib import import_module
from pathlib import Path

from . import scripts
from .script import Script


def builtin_scripts() -> tuple[str, ...]:
    """The names of the scripts that ship with the package."""
    return tuple(module.name for module in pkgutil.iter_modules(scripts.__path__))


def load(name: str) -> Script:
    """Load a script.

    Args:
        name: That of a built-in script, or the path of a Python file, which is run; either names
            its script `script`.

    Raises:
        ValueError: There is no such script, or the file has no `script`; says which there are.
    """
    if name in builtin_scripts():
        script = import_module(f"{scripts.__name__}.{name}").script
    elif Path(name).is_file():
        script = runpy.run_path(name).get("script")
    else:
        built_in = ", ".join(builtin_scripts())
        raise ValueError(f"no script or file {name!r}; built-in scripts: {built_in}")
    if not isinstance(script, Script):
        raise ValueError(f"{name} has no `script = Script(…)`")
    return script
