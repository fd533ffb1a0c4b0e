"""The seam at HTTP: `send` of httpx's and httpx2's clients, which every query of most SDKs passes.

The two are one library in two names, and SDKs are divided between them: both are wrapped. A query
around which the agent has an event of its own passes as it is: that event is the query already.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any

from ..own_queries import is_own_query
from ..protocol.data_model import EventKind
from ..sdk.base_stepper import BaseStepper
from ..sdk.run_events import find_innermost_event
from ..sdk.scopes import skip_numbering
from .announcement import announce
from .current_run import find_run, is_run_expected, raise_if_stopped
from .discovery import discover_tools
from .endpoints import find_llm_request
from .http_query import HttpQuery
from .patches import Patches
from .retries import is_retry


def install(library: ModuleType, patches: Patches) -> None:
    """Let the queries through both clients of a library halt.

    Args:
        library: `httpx` or `httpx2`, which may be one module by two names.
        patches: Records the wrapped methods.
    """
    patches.wrap(library.Client, "send", partial(_send, library, False))
    patches.wrap(library.AsyncClient, "send", partial(_send, library, True))
    # SDKs close clients in a task, when these are collected.
    skip_numbering(library.AsyncClient.aclose)


def _send(
    library: ModuleType,
    is_async: bool,
    send: Any,
    client: Any,
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> Any:
    """Send a request, as a query of the current run where it is one; a coroutine if `is_async`."""
    request = args[0] if args else kwargs.get("request")
    if request is None or not is_run_expected() or is_own_query():
        return send(*args, **kwargs)
    known = find_llm_request(request)
    stepper = None if known is None else find_run()
    if known is None or stepper is None or _is_inside_query(stepper, request):
        return send(*args, **kwargs)
    raise_if_stopped(stepper, is_async)
    found = discover_tools(stepper, known.body)  # here, where the agent's frames are the callers
    options = {name: value for name, value in kwargs.items() if name != "request"}
    return HttpQuery(
        library,
        stepper,
        request,
        known,
        partial(_call, send, args[1:], options),
        is_async,
        bool(kwargs.get("stream", False)),
        announce(stepper, found),
    ).run()


def _call(send: Any, args: tuple[Any, ...], options: dict[str, Any], request: Any) -> Any:
    return send(request, *args, **options)


def _is_inside_query(stepper: BaseStepper, request: Any) -> bool:
    """Whether the agent's own event is this query; one that is repeated stands in its own event."""
    event = find_innermost_event(stepper.run_id)
    return event is not None and event.kind is EventKind.LLM_QUERY and not is_retry(request)
