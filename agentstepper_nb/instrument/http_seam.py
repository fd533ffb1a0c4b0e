"""The seam at HTTP: `send` of httpx's and httpx2's clients, which every query of most SDKs passes.

The two are one library in two names, and SDKs are divided between them: both are wrapped. A query
around which the agent has an event of its own passes as it is: that event is the query already.
"""

from __future__ import annotations

from functools import partial
from types import ModuleType
from typing import Any, Final

import wrapt

from ..errors import AgentStopped
from ..own_queries import is_own_query
from ..protocol.data_model import EventKind
from ..sdk.base_stepper import BaseStepper, find_current_stepper
from ..sdk.flow_steps import find_innermost_event
from . import auto_run
from .endpoints import find_llm_request
from .http_query import HttpQuery
from .retries import is_repeated

STOPPED_MESSAGE: Final = "The person pressed Stop: nothing of this run is asked any more."


class RepeatedStop(AgentStopped, KeyboardInterrupt):
    """An agent asks again after Stop. Loops that retry whatever fails end at a KeyboardInterrupt."""


def wrap_clients(library: ModuleType) -> list[tuple[type, Any]]:
    """Wrap `send` of both clients of httpx or httpx2, once.

    Args:
        library: The module, which may be the other one by another name.

    Returns:
        The classes that were wrapped, with the `send` that each had.
    """
    wrapped: list[tuple[type, Any]] = []
    for name, is_async in (("Client", False), ("AsyncClient", True)):
        client: Any = getattr(library, name)
        own = client.__dict__["send"]
        if isinstance(own, wrapt.FunctionWrapper):
            continue
        wrapped.append((client, own))
        client.send = wrapt.FunctionWrapper(own, partial(_send, library, is_async))
    return wrapped


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
    if request is None or is_own_query():
        return send(*args, **kwargs)
    stepper = find_current_stepper()
    if stepper is None and not auto_run.is_enabled():
        return send(*args, **kwargs)
    known = find_llm_request(request)
    if known is None:
        return send(*args, **kwargs)
    stepper = stepper or auto_run.open_run()
    if stepper is None or _is_inside_query(stepper, request):
        return send(*args, **kwargs)
    link = stepper._current_session().link
    if link.is_stopped:
        raise AgentStopped(STOPPED_MESSAGE) if is_async else RepeatedStop(STOPPED_MESSAGE)
    options = {name: value for name, value in kwargs.items() if name != "request"}
    return HttpQuery(
        library,
        stepper,
        request,
        known,
        partial(_call, send, args[1:], options),
        is_async,
        bool(kwargs.get("stream", False)),
    ).run()


def _call(send: Any, args: tuple[Any, ...], options: dict[str, Any], request: Any) -> Any:
    return send(request, *args, **options)


def _is_inside_query(stepper: BaseStepper, request: Any) -> bool:
    """Whether the agent's own event is this query; one that is repeated stands in its own event."""
    event = find_innermost_event(stepper.run_id)
    return event is not None and event.kind is EventKind.LLM_QUERY and not is_repeated(request)
