"""A session of `agentstepper step` without a Core, for the tests of what a person is shown."""

from __future__ import annotations

import io

from msgspec import Struct
from msgspec.structs import replace

from agentstepper_nb.cli.core_connection import (
    CoreConnected,
    CoreMessageReceived,
)
from agentstepper_nb.cli.screen import Screen
from agentstepper_nb.cli.step_commands import StepCommands
from agentstepper_nb.cli.step_session import StepSession
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import (
    Actor,
    ApprovalPrompt,
    EventKind,
    EventSide,
    Run,
    RunState,
    TimelineRow,
)
from agentstepper_nb.protocol.store_info import StoreInfo

RUN = Run(id="r1", name="Run #1 of demo", program="demo", started_at=0.0)
ROW = TimelineRow(
    id="b1",
    seq=1,
    event="e1",
    kind=EventKind.LLM_QUERY,
    side=EventSide.BEGIN,
    source=Actor.AGENT,
    target=Actor.LLM,
    summary="a prompt",
    at=0.0,
    size=10,
    pending=True,
)
HALTED = replace(RUN, state=RunState.HALTED, pending=("b1",))


class StepSessionHarness:
    """A session without a Core: what it sends is answered by the test."""

    def __init__(self, wanted: str | None = None) -> None:
        self._out = io.StringIO()
        self.sent: list[Struct] = []
        self.connected = True
        screen = Screen(self._out, is_coloured=False, terminal=False)
        self.session = StepSession(screen, self._send, wanted)
        self.keys = StepCommands(self.session)

    def _send(self, command: Struct) -> str | None:
        if not self.connected:
            return None
        self.sent.append(command)
        return str(len(self.sent))

    def hello(self, *runs: Run, control: bool = True, more: int = 0) -> None:
        hello = ui.CoreHello(
            version=2,
            core="a Core",
            control=control,
            runs=runs,
            more=more,
            store=StoreInfo(kind="memory"),
            breakpoints=(),
            prices=(),
        )
        self.session.handle(CoreConnected(hello))

    def push(self, message: Struct) -> None:
        """The Core pushes a message."""
        self.session.handle(CoreMessageReceived(message, None))

    def answers(self, message: Struct) -> Struct:
        """The Core answers the last command, which is returned."""
        self.session.handle(CoreMessageReceived(message, str(len(self.sent))))
        return self.sent[-1]

    def open_run(self, run: Run, *rows: TimelineRow) -> None:
        command = self.sent[-1]
        assert command == ui.OpenRun(run=run.id)
        self.answers(ui.RunOpened(run=run, rows=rows, commits=(), notes=()))

    def push_halt(
        self,
        data: str = '"a prompt"',
        revision: int = 1,
        message: str = "b1",
        approval: ApprovalPrompt | None = None,
    ) -> None:
        command = self.sent[-1]
        assert command == ui.GetMessage(run="r1", message=message)
        self.answers(
            ui.MessageBody(
                run="r1",
                message=message,
                revision=revision,
                data=data,
                edit=None,
                is_strict_json=True,
                approval=approval,
            )
        )

    def take_shown(self) -> str:
        """What was written since the last time."""
        text = self._out.getvalue()
        self._out.seek(0)
        self._out.truncate()
        return text


def halted() -> StepSessionHarness:
    harness = StepSessionHarness()
    harness.hello(HALTED)
    harness.open_run(HALTED, ROW)
    harness.push_halt()
    harness.take_shown()
    return harness
