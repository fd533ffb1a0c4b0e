"""Whatever comes over a line: it is answered or refused, and the runtime goes on."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw

from agentstepper_nb.errors import CommandError, ProtocolError
from agentstepper_nb.hub.runtime import MethodRight, RuntimeService
from agentstepper_nb.protocol.runtime_methods import CALLS, STREAMS
from tests.hub.runtime.harness import RuntimeHarness, open_harness

METHODS = {**CALLS, **STREAMS}
#: Values that some field takes, among others that none does.
PLAUSIBLE: tuple[Any, ...] = (
    *("s", "c", "ann", "w", "user", "session", "agent_create", "agent_input", "closed", "member"),
    *("session:s", "conversation:c", "sessions", "", "x" * 201, "\0", "\ud800", "é"),
    *(0, 1, -1, 1000, 1001, 2**31, 2**53, 2**80, 0.5, 1e300, True, None),
    *({"moniker": "joke"}, {"text": "tea"}, {"moniker": "joke", "conversation_id": "c"}, [], ["s"]),
)


@st.composite
def plausible_requests(draw: st.DrawFn) -> tuple[str, bytes]:
    """A method, and parameters with fields that it knows."""
    method = draw(st.sampled_from(sorted(METHODS)))
    fields = METHODS[method].request.__struct_fields__ or ("none",)
    values = st.sampled_from(PLAUSIBLE)
    params = draw(st.dictionaries(st.sampled_from(fields), values, max_size=len(fields)))
    return method, json.dumps(params).encode()


async def call_method(service: RuntimeService, method: str, params: Raw) -> None:
    try:
        if method in STREAMS:
            items = service.stream(method, params)
            await anext(items)
            await items.aclose()
        else:
            await service.call(method, params)
    except (CommandError, ProtocolError):
        pass


async def still_well(harness: RuntimeHarness) -> None:
    acted = await harness.create("after", "bob")
    assert acted.is_new
    await harness.conversation("after")


@pytest.mark.slow
@given(asks=st.lists(plausible_requests(), min_size=5, max_size=20))
async def test_whatever_is_asked_is_answered_or_refused(asks: list[tuple[str, bytes]]) -> None:
    async with open_harness() as harness:
        await harness.create("s")
        await harness.conversation("c")
        service = RuntimeService(harness.runtime, MethodRight.WORK)
        for method, params in asks:
            await call_method(service, method, Raw(params))
        await still_well(harness)
