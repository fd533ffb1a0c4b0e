"""Monikers by name: those that come with the package, and those that other packages bring.

Another package brings one as an entry point: a name, and a subclass of `Moniker`, or a function that is
given a `MonikerContext` and makes one::

    [project.entry-points."agentstepper_nb.monikers"]
    review = "my_package:ReviewMoniker"
"""

from __future__ import annotations

from typing import Any, Final

from ...entry_point_loader import EntryPointLoader
from ...errors import CommandError
from ...protocol.routes import OfferedMoniker
from ..moniker import ENTRY_POINT_GROUP, Moniker, MonikerFactory


def load_monikers() -> dict[str, type[Moniker] | MonikerFactory]:
    """Every moniker that can be used here; what fails to load is left out."""
    return _INSTALLED.load_all()


def list_offered_monikers() -> tuple[OfferedMoniker, ...]:
    """What a worker can offer: every moniker that can be used here, with its version."""
    return tuple(
        OfferedMoniker(name=name, version=_find_version(moniker))
        for name, moniker in load_monikers().items()
    )


def find_moniker(name: str) -> type[Moniker] | MonikerFactory:
    """The moniker of a name.

    Args:
        name: As `create_agent` has it.

    Raises:
        CommandError: `invalid_message`: there is none of that name, which says those that there are; or
            its package can't be used, which says why.
    """
    return _INSTALLED.find(name)


def check_config(name: str, config: Any) -> None:
    """Refuse a session that can't work, before it is created.

    Args:
        name: Its moniker.
        config: What it is to be created with.

    Raises:
        CommandError: `invalid_message`: there is no such moniker, or the config is none for it.
    """
    moniker = find_moniker(name)
    if not (isinstance(moniker, type) and issubclass(moniker, Moniker)):
        return  # a function: it says so where it is called
    try:
        moniker.check(config)
    except ValueError as error:
        text = f"The config of moniker {name!r} can't be used: {error}"
        raise CommandError("invalid_message", text) from None


def _find_version(moniker: object) -> str:
    """A moniker's version; a function may have one as an attribute."""
    version = getattr(moniker, "version", "")
    return version if isinstance(version, str) else ""


def _check(made: object) -> None:
    if not callable(made) or (isinstance(made, type) and not issubclass(made, Moniker)):
        raise TypeError(
            "it is neither a subclass of agentstepper_nb.runtime.moniker.Moniker nor a function that "
            "makes one."
        )


_INSTALLED: Final = EntryPointLoader[type[Moniker] | MonikerFactory](
    ENTRY_POINT_GROUP, "moniker", _check
)
