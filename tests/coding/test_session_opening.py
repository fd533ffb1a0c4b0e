"""Opening a session that ends halfway leaves nothing open."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agentstepper_nb.errors import CodingSessionError
from tests.coding.scripted_parts import FakeProvider
from tests.coding.session_helpers import open_session, resume_session


class FakeStepper:
    """A run in a debugger, of which only opening and closing is seen."""

    run_id = "run-1"

    def __init__(self) -> None:
        self.is_closed = False

    def _find_watched_workspace(self, folder: Path) -> None:
        return None

    async def close(self) -> None:
        self.is_closed = True


class ClosedProvider(FakeProvider):
    """A provider that knows whether it was closed."""

    is_closed = False

    async def close(self) -> None:
        self.is_closed = True


@pytest.mark.parametrize("ending", ["cancelled", "failed"])
async def test_opening_that_ends_after_the_debugger_connected_closes_all(
    home: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    stepper, model, is_connected = FakeStepper(), ClosedProvider(), asyncio.Event()

    async def open_run(*args: object, **options: object) -> FakeStepper:
        return stepper

    async def find_run_name(dbg: object) -> str:
        is_connected.set()
        if ending == "cancelled":
            await asyncio.Event().wait()
        raise OSError("The debugger is gone.")

    monkeypatch.setattr("agentstepper_nb.coding.session.open_run", open_run)
    monkeypatch.setattr("agentstepper_nb.coding.session.find_run_name", find_run_name)
    monkeypatch.setattr(
        "agentstepper_nb.coding.session.registry.create_provider", lambda *names: model
    )
    opening = asyncio.create_task(
        open_session(home, model, provider="playing", session_id="s1", debugger=True)
    )
    await is_connected.wait()
    if ending == "cancelled":
        opening.cancel()
    with pytest.raises((asyncio.CancelledError, OSError)):
        await opening
    assert (stepper.is_closed, model.is_closed) == (True, True)
    async with await resume_session(home, "s1", FakeProvider(), debugger=False):
        pass


async def test_opening_without_a_log_closes_the_provider(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = ClosedProvider()
    monkeypatch.setattr(
        "agentstepper_nb.coding.session.registry.create_provider", lambda *names: model
    )
    async with await open_session(home, FakeProvider()) as session:
        with pytest.raises(CodingSessionError, match="open in this process"):
            await resume_session(home, session.id, "playing")  # type: ignore[arg-type]
    assert model.is_closed
