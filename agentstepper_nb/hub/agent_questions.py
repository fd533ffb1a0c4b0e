"""What a Core asks the agent of a run: whether it takes an edit, its stack, its query once more."""

from __future__ import annotations

from collections.abc import Callable

from ..protocol.agent import (
    CheckEdit,
    EditChecked,
    HaltPointInspected,
    Hello,
    InspectHaltPoint,
    RequestSample,
    SampleMade,
)
from .agent_messages import PendingEditChecks
from .halt_inspections import PendingInspections
from .halt_samples import PendingSamples
from .run_service import RunService


class AgentQuestions:
    """The questions to one agent, on one connection.

    Args:
        hub: Where they are found by those who ask, once the agent is welcome.
        send: Sends the agent a question.
    """

    def __init__(
        self,
        hub: RunService,
        send: Callable[[CheckEdit | InspectHaltPoint | RequestSample], None],
    ) -> None:
        self._hub = hub
        self._edit_checks = PendingEditChecks(hub.new_id, send)
        self._inspections = PendingInspections(hub.new_id, send)
        self._samples = PendingSamples(hub.new_id, send)
        self._can_check_edits = False
        self._inspects = False
        self._can_sample = False

    def on_hello(self, hello: Hello) -> None:
        """The agent said what it answers."""
        self._can_check_edits = hello.can_check_edits
        self._inspects = hello.inspects is True
        self._can_sample = hello.samples is True

    def register(self, run: str) -> None:
        """From now on it may be asked about its run."""
        if self._can_check_edits:
            self._hub.edit_checks[run] = self._edit_checks
        if self._inspects:
            self._hub.inspections[run] = self._inspections
        if self._can_sample:
            self._hub.samples[run] = self._samples

    def resolve(self, answer: EditChecked | HaltPointInspected | SampleMade) -> None:
        """It answered."""
        match answer:
            case EditChecked():
                self._edit_checks.resolve(answer)
            case HaltPointInspected():
                self._inspections.resolve(answer)
            case SampleMade():
                self._samples.resolve(answer)

    def end(self) -> None:
        """It is gone."""
        self._edit_checks.end()
        self._inspections.end()
        self._samples.end()
