"""The names of a frame, and what hangs on them, by the index at each level."""

from __future__ import annotations

import types
from collections.abc import Sequence
from types import FrameType
from typing import Any, Final

from ...protocol.inspection import VariablesPage
from ..payload import PayloadEncoder
from .secret_names import is_secret
from .value_children import Child, count_children, list_children
from .variable_texts import VariableDescriber

#: Names that IPython adds to a notebook's namespace.
_IPYTHON_NAMES: Final = frozenset(
    ("In", "Out", "exit", "quit", "get_ipython", "open", "_", "__", "___", "_oh", "_dh", "_sh")
)
_DEFINITIONS: Final = (types.ModuleType, types.FunctionType, types.BuiltinFunctionType, type)


class UnknownVariableError(Exception):
    """There is no variable at a path."""


def list_names(frame: FrameType) -> list[Child]:
    """The local names of a frame; a module's and a cell's are its global ones.

    Modules, functions and classes stand behind all others.
    """
    names = dict(frame.f_locals)
    if frame.f_code.co_name == "<module>":
        is_notebook = "get_ipython" in names and "In" in names
        names = {
            name: value
            for name, value in names.items()
            if not (name.startswith("__") and name.endswith("__"))
            and not (is_notebook and (name in _IPYTHON_NAMES or name.startswith("_i")))
        }
    children = [Child(name, value) for name, value in names.items()]
    return sorted(children, key=lambda child: issubclass(type(child.value), _DEFINITIONS))


def find_child(roots: Sequence[Child], path: Sequence[int]) -> tuple[Child, str]:
    """The variable at a path, and the secret name above it.

    Args:
        roots: The variables that paths begin at.
        path: The index at each level; at least one.

    Returns:
        The variable; the name that makes it and all of it a secret, or "".

    Raises:
        UnknownVariableError: Something has changed, or the path is wrong.
    """
    child, hides = _find(list(roots[path[0] : path[0] + 1])), ""
    for index in path[1:]:
        hides = hides or _find_secret_name(child)
        child = _find(list_children(child.value, index, 1))
    return child, hides or _find_secret_name(child)


def describe_page(
    roots: Sequence[Child], path: Sequence[int], start: int, count: int, encoder: PayloadEncoder
) -> VariablesPage:
    """A page of the variables at a path.

    Args:
        roots: The variables that paths begin at.
        path: The index at each level; empty: the roots themselves.
        start: The index of the page's first variable.
        count: The most variables on the page.
        encoder: Has the agent's `redact=`.

    Raises:
        UnknownVariableError: As `find_child`.
    """
    hides = ""
    if path:
        child, hides = find_child(roots, path)
        total = count_children(child.value)
        children = list_children(child.value, start, count)
    else:
        total, children = len(roots), list(roots[start : start + count])
    describer = VariableDescriber(encoder)
    return VariablesPage(
        variables=tuple(describer.describe(child, hides) for child in children),
        start=start,
        total=total,
    )


def _find(found: list[Child]) -> Child:
    if not found:
        raise UnknownVariableError
    return found[0]


def _find_secret_name(child: Child) -> str:
    name: Any = child.key
    return name if isinstance(name, str) and is_secret(name, child.value) else ""
