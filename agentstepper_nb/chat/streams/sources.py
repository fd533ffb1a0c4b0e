"""What can be done with a source, sync or async: a generator, an iterator, or a response, say."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Iterable, Iterator
from typing import Any, Final, cast

#: Said of code that would end this process.
ENDED: Final = "What gives the answer wanted to end its process: {error!r}."


def next_of(iterator: AsyncIterator[Any], sent: object) -> Awaitable[Any]:
    """Await it for the next item; a generator is sent something for it, unless that is None."""
    send = getattr(iterator, "asend", None)
    if sent is None or send is None:
        return anext(iterator)
    return cast("Awaitable[Any]", send(sent))


def next_item(iterator: Iterator[Any], sent: object) -> Any:
    """The next item; a generator is sent something for it, unless that is None."""
    send = getattr(iterator, "send", None)
    return next(iterator) if sent is None or send is None else send(sent)


def told(error: BaseException) -> BaseException:
    """An error as it is given on: what would end the process or a loop is one like others."""
    if isinstance(error, SystemExit | KeyboardInterrupt | GeneratorExit):
        return RuntimeError(ENDED.format(error=error))
    return error


def close(source: object) -> None:
    """Close a sync source, if it can be closed."""
    ending = getattr(source, "close", None)
    if callable(ending):
        ending()


async def aclose(source: object) -> None:
    """Close an async source, by what it has for that."""
    ending = getattr(source, "aclose", None) or getattr(source, "close", None)
    if callable(ending):
        closing = ending()
        if inspect.isawaitable(closing):
            await closing


def apart(sources: Iterable[object]) -> list[object]:
    """Those that are there, each once."""
    found: list[object] = []
    for source in sources:
        if source is not None and not any(source is other for other in found):
            found.append(source)
    return found
