"""A traced function's call, made once more outside of its run."""

from __future__ import annotations

import inspect
from typing import Any

from .arguments import CallArguments
from .query_samples import SampledStream
from .traced_streams import find_stream_kind


def ask_again(call: CallArguments, request: Any) -> Any:
    """Repeat a traced function's call, outside of the run; a stream is read whole.

    Args:
        call: The call, as the debugger showed it.
        request: The arguments by name, or the call that an edit of them makes.
    """
    call = request if isinstance(request, CallArguments) else call
    return _read(call.function(*call.args, **call.kwargs))


def _read(value: Any) -> Any:
    if inspect.isawaitable(value):
        return _await(value)
    kind = find_stream_kind(value)
    if kind == "sync":
        return SampledStream(list(value), "sync")
    return value if kind is None else _drain(value)


async def _await(value: Any) -> Any:
    read = _read(await value)
    return await read if inspect.isawaitable(read) else read


async def _drain(stream: Any) -> SampledStream:
    return SampledStream([item async for item in stream], "async")
