"""Frozen clocks and random numbers, so that a run can be replayed exactly.

Python's own functions are wrapped, once per process, when the first such run begins. In the scopes
of such a run the functions answer from the scope's `FrozenScope`. Everywhere else (in other
threads, in this package, and while a query is on its way) they are the real ones, for the cost of
reading a context variable.

Never frozen: `time.monotonic` and `perf_counter`, which timeouts and event loops need; `os.urandom`
and `secrets`, which make keys. See docs/design/0026-replay.md.
"""

from __future__ import annotations

import asyncio
import ctypes
import datetime
import gc
import logging
import os
import random
import sys
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, wraps
from typing import Any, Final

from ..protocol.data_model import EventKind
from .environment import FREEZE_VARIABLE
from .frozen_scope import FrozenScope
from .run_events import find_innermost_event
from .scopes import Scope, find_numbering_scope

log = logging.getLogger("agentstepper_nb.sdk")

_PACKAGE: Final = __name__.partition(".")[0]
#: The functions of `random` that draw from its one generator.
_RANDOM: Final = (
    *("random", "uniform", "triangular", "randint", "choice", "randrange", "sample", "shuffle"),
    *("choices", "normalvariate", "lognormvariate", "expovariate", "vonmisesvariate", "gauss"),
    *("gammavariate", "betavariate", "paretovariate", "weibullvariate", "binomialvariate"),
    *("getstate", "setstate", "getrandbits", "randbytes", "seed"),
)

_is_freezing: list[bool] = []


@contextmanager
def freeze_runs() -> Iterator[None]:
    """Record the runs that begin inside of a block so that `freeze=True` replays them exactly.

    The agent sees a time that moves at its events and where it sleeps, and random numbers that
    follow from the run's id. A loop that waits for a time of day without sleeping never ends.
    """
    _is_freezing.append(True)
    try:
        yield
    finally:
        _is_freezing.pop()


def is_freezing() -> bool:
    """Whether a run that begins now is recorded with frozen values."""
    return bool(_is_freezing) or os.environ.get(FREEZE_VARIABLE) == "1"


def freeze(root: Scope, run: str, seed: str) -> None:
    """Give a run's code the frozen time and random numbers of a run: its own, or the one it replays.

    Args:
        root: The run's own scope.
        run: The run's id.
        seed: The id of the run that time and random numbers come from.
    """
    _wrap_functions()
    root.frozen = FrozenScope(run, seed)


def _find_frozen() -> FrozenScope | None:
    """The frozen scope of the calling code; None where the code sees live values."""
    scope = find_numbering_scope()
    if scope is None or scope.frozen is None or scope.has_forked:
        return None
    # A query's own code isn't run where its answer is served: it must use up nothing.
    event = find_innermost_event(scope.frozen.run)
    if event is not None and event.kind is not EventKind.TOOL_INVOCATION:
        return None
    # The frames of this function, of the wrapper, and of who called that.
    caller = sys._getframe(2).f_globals.get("__name__", "")
    return None if caller.partition(".")[0] == _PACKAGE else scope.frozen


# ---- Python's functions ------------------------------------------------------------------------------


@cache
def _wrap_functions() -> None:
    """Wrap the functions that read the clock or draw random numbers, once a process."""
    wrapped: dict[int, Any] = {}  # by the ids of what they wrap
    for name in _RANDOM:
        if hasattr(random, name):
            _replace(random, name, _wrap_random(name, getattr(random, name)), wrapped)
    _replace(uuid, "uuid4", _wrap(uuid.uuid4, _make_uuid), wrapped)
    _replace(time, "time", _wrap(time.time, lambda frozen: frozen.at), wrapped)
    _replace(time, "time_ns", _wrap(time.time_ns, lambda frozen: int(frozen.at * 1e9)), wrapped)
    _replace(time, "sleep", _wrap_sleep(time.sleep), wrapped)
    _replace(asyncio, "sleep", _wrap_async_sleep(asyncio.sleep), wrapped)
    localtime = time.localtime
    for name, count, convert in (
        ("localtime", 0, float),
        ("gmtime", 0, float),
        ("ctime", 0, float),
        ("asctime", 0, localtime),
        ("strftime", 1, localtime),
    ):
        _replace(time, name, _wrap_date(getattr(time, name), count, convert), wrapped)
    _replace_imported(wrapped)
    _wrap_datetime()


def _replace(module: Any, name: str, wrapper: Any, wrapped: dict[int, Any]) -> None:
    wrapped[id(getattr(module, name))] = wrapper
    setattr(module, name, wrapper)


def _replace_imported(wrapped: dict[int, Any]) -> None:
    """Replace what modules have imported by its name, as `from time import time`."""
    skipped = {_PACKAGE, *sys.stdlib_module_names} - {"__main__"}
    for name, module in list(sys.modules.items()):
        if name.partition(".")[0] in skipped:
            continue
        members = getattr(module, "__dict__", {})
        for key, value in list(members.items()):
            if id(value) in wrapped:
                members[key] = wrapped[id(value)]


def _wrap(live: Callable[..., Any], answer: Callable[[FrozenScope], Any]) -> Callable[..., Any]:
    @wraps(live)
    def call() -> Any:
        frozen = _find_frozen()
        return live() if frozen is None else answer(frozen)

    return call


def _wrap_random(name: str, live: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(live)
    def call(*args: Any, **kwargs: Any) -> Any:
        frozen = _find_frozen()
        return (live if frozen is None else getattr(frozen.chance, name))(*args, **kwargs)

    return call


def _wrap_date(
    live: Callable[..., Any], count: int, convert: Callable[[float], Any]
) -> Callable[..., Any]:
    """Wrap a function of `time` whose last argument is a time, by default the present time.

    Args:
        live: The function.
        count: The number of arguments before the time.
        convert: Converts POSIX seconds to the argument's type.
    """

    @wraps(live)
    def call(*args: Any) -> Any:
        frozen = _find_frozen() if args[count:] in ((), (None,)) else None
        return live(*args) if frozen is None else live(*args[:count], convert(frozen.at))

    return call


def _wrap_sleep(live: Callable[[float], None]) -> Callable[[float], None]:
    @wraps(live)
    def sleep(seconds: float, /) -> None:
        frozen = _find_frozen()
        live(seconds)
        if frozen is not None:
            frozen.at += seconds

    return sleep


def _wrap_async_sleep(live: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(live)
    async def sleep(delay: float, result: Any = None) -> Any:
        frozen = _find_frozen()
        slept = await live(delay, result)
        if frozen is not None:
            frozen.at += delay
        return slept

    return sleep


def _make_uuid(frozen: FrozenScope) -> uuid.UUID:
    return uuid.UUID(int=frozen.chance.getrandbits(128), version=4)


def _wrap_datetime() -> None:
    """Wrap `datetime.now` and `utcnow` in the class itself, which everybody has imported by name.

    The class is immutable: its dictionary is changed beside Python's rules. `date.today` calls
    `time.time`.
    """
    kind = datetime.datetime
    (members,) = gc.get_referents(kind.__dict__)
    live_now, live_utcnow = members["now"], members["utcnow"]

    def now(cls: Any, tz: Any = None) -> Any:
        frozen = _find_frozen()
        if frozen is None:
            return live_now.__get__(None, cls)(tz)
        return cls.fromtimestamp(frozen.at, tz)

    def utcnow(cls: Any) -> Any:
        frozen = _find_frozen()
        if frozen is None:
            return live_utcnow.__get__(None, cls)()
        return cls.fromtimestamp(frozen.at, datetime.UTC).replace(tzinfo=None)

    members["now"], members["utcnow"] = classmethod(now), classmethod(utcnow)
    ctypes.pythonapi.PyType_Modified(ctypes.py_object(kind))
