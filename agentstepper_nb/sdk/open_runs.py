"""The open runs of a process: finds the run of the calling code, and the run that a stepper joins."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ClassVar, Generic, Protocol, TypeVar

from .core_location import CoreLocation
from .run_session import RunSession
from .scopes import enter_scope, propagate_to_threads


class RunMember(Protocol):
    """An AgentStepper, as others find and join its run."""

    _is_async: ClassVar[bool]
    _is_of_context: bool
    _location: CoreLocation
    program_name: str

    def _is_open(self) -> bool: ...

    def _current_session(self) -> RunSession: ...


S = TypeVar("S", bound=RunMember)


class OpenRuns(Generic[S]):
    """The AgentSteppers of this process that opened a run, by weak references."""

    def __init__(self) -> None:
        self._owners: tuple[
            weakref.ref[S], ...
        ] = ()  # replaced whole, since threads look through it
        self._lock = threading.Lock()
        self._context: ContextVar[S | None] = ContextVar("agentstepper_context", default=None)
        propagate_to_threads(self._context)

    def add(self, stepper: S) -> None:
        """An AgentStepper opened a run."""
        with self._lock:
            self._owners = (*self._owners, weakref.ref(stepper))

    @contextmanager
    def set_current(self, stepper: S) -> Iterator[S]:
        """Let an AgentStepper without an address, made in this context, join this run and not end it.

        Functions that are wrapped inside halt in the run of the context that calls them.

        Args:
            stepper: The AgentStepper of the run.
        """
        stepper._is_of_context = True
        token = self._context.set(stepper)
        scope = stepper._current_session().events.root if stepper._is_open() else None
        try:
            with enter_scope(scope):
                yield stepper
        finally:
            self._context.reset(token)

    def find_current(self) -> S | None:
        """The AgentStepper whose run the calling code belongs to.

        The context's AgentStepper; for code in another context, as a thread that copied none, the
        only one in this process whose run is open.

        Returns:
            None outside of any run, and for code without a context where several runs are open.
        """
        context = self.find_context()
        if context is not None:
            return context
        if not self._owners:
            return None
        opened = self._list_open()
        return opened[0] if len(opened) == 1 else None

    def _list_open(self) -> list[S]:
        """List the owners whose run is open, and forget the others."""
        owners = self._owners
        opened = _select_open(owners)
        if len(opened) < len(owners):
            with self._lock:
                self._owners = tuple(map(weakref.ref, _select_open(self._owners)))
        return opened

    def find_context(self) -> S | None:
        """The AgentStepper that was set around the calling code, while its run is open."""
        stepper = self._context.get()
        return stepper if stepper is not None and stepper._is_open() else None

    def find_joinable_run(self, joining: S) -> S | None:
        """The AgentStepper whose open run a new one joins.

        Args:
            joining: The new AgentStepper, whose run isn't open yet.

        Returns:
            The context's AgentStepper, where the new one names no Core. Else the only AgentStepper of
            the other form, synchronous or asynchronous, with the same program name and Core; None where
            there is no such AgentStepper, or several.
        """
        context = None if any(joining._location) else self.find_context()
        if context is not None:
            return context
        others = [stepper for stepper in self._list_open() if _is_other_form(joining, stepper)]
        return others[0] if len(others) == 1 else None


def _select_open(owners: tuple[weakref.ref[S], ...]) -> list[S]:
    steppers = (owner() for owner in owners)
    return [stepper for stepper in steppers if stepper is not None and stepper._is_open()]


def _is_other_form(joining: RunMember, other: RunMember) -> bool:
    """Whether one stepper is synchronous and one asynchronous, with one program name and one Core."""
    if joining._is_async is other._is_async or joining.program_name != other.program_name:
        return False
    return (
        joining._location == other._location
        or joining._location.find_endpoint().url == other._current_session().endpoint.url
    )


def describe_ignored_arguments(joined: RunMember, lender: RunMember) -> str:
    """Name the arguments that an AgentStepper ignores because it joined another one's run.

    Args:
        joined: The AgentStepper.
        lender: The AgentStepper that began the run.

    Returns:
        "" where no argument differs, and in a cell, whose run no program configures.
    """
    asked = (
        ("mode", "_mode"),
        ("on_disconnect", "_on_disconnect"),
        ("notice", "_notice"),
        ("inspect", "_inspect"),
    )
    ignored = [f"{name}=" for name, own in asked if getattr(joined, own) != getattr(lender, own)]
    if not ignored or lender._is_of_context:
        return ""
    return (
        f"This {type(joined).__name__} joined the run that an {type(lender).__name__} of the same "
        f"program began, and these arguments of it are ignored: {', '.join(ignored)}."
    )
