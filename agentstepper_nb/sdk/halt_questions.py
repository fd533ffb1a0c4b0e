"""What the Core may ask at a halt point that waits: if an edit fits, where the code is, another answer.

No answer is waited for on the link's threads: validators and a `__repr__` of the agent may take long.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable, Iterable

from ..protocol.agent import AgentMessage, CheckEdit, EditChecked
from ..protocol.breakpoint_rules import Price
from ..protocol.inspection import InspectHaltPoint
from ..protocol.query_samples import RequestSample
from .flow_effects import EditCheck
from .inspection.inspector import HaltInspector
from .inspection.pdb_entry import enter_pdb
from .payload import PayloadEncoder
from .query_samples import HaltedSamplers, QuerySampler


class HaltQuestions:
    """The questions about the halt points of one run.

    Args:
        encoder: Makes the agent's values ready to travel.
        is_inspection_allowed: Whether a person may look at the agent's stack.
        find_prices: The prices in force.
        send: Sends an answer.
    """

    def __init__(
        self,
        encoder: PayloadEncoder,
        is_inspection_allowed: bool,
        find_prices: Callable[[], Iterable[Price]],
        send: Callable[[AgentMessage], None],
    ) -> None:
        self._send = send
        #: What says whether an edit can be taken, and its context, by the halt point that waits.
        self._edit_checks: dict[str, tuple[contextvars.Context, EditCheck]] = {}
        self._inspector = HaltInspector(encoder, is_inspection_allowed, send)
        self._samplers = HaltedSamplers(find_prices, send)

    def expect_edit(self, halt_point: str, check: EditCheck) -> None:
        """An edit of a halt point is checked by this, in a copy of this context, until `end`."""
        self._edit_checks[halt_point] = contextvars.copy_context(), check

    def begin(self, halt_point: str, is_task: bool, sampler: QuerySampler | None = None) -> None:
        """This thread, or its task, is about to wait at a halt point.

        Args:
            halt_point: Its id.
            is_task: Whether the task waits.
            sampler: Asks its query again.
        """
        if sampler is not None:
            self._samplers.begin(halt_point, sampler)
        if self._inspector.is_allowed:
            self._inspector.halted.begin(halt_point, is_task)

    def end(self, halt_point: str, is_answered: bool) -> None:
        """Nobody waits at a halt point any more; on the thread that did."""
        self._edit_checks.pop(halt_point, None)
        if halt_point in self._samplers.waiting:
            self._samplers.end(halt_point)
        halted = self._inspector.halted.end(halt_point)
        if is_answered and halted is not None and halted.enters_pdb:
            enter_pdb()

    def on_inspection(self, request: InspectHaltPoint | RequestSample) -> None:
        """A person looks at a halt point, or has its query asked again."""
        if isinstance(request, RequestSample):
            self._samplers.on_request(request)
        else:
            self._inspector.inspect(request)

    def on_edit_check(self, request: CheckEdit) -> None:
        """The Core asks about an edit."""
        found = self._edit_checks.get(request.halt_point)
        # Each edit can be taken, or it waits no more, as the Core is about to see.
        if found is None:
            self._send(EditChecked(check=request.check))
            return
        threading.Thread(
            target=self._check_edit, args=(request, *found), name="agentstepper-check", daemon=True
        ).start()

    def _check_edit(
        self, request: CheckEdit, context: contextvars.Context, check: EditCheck
    ) -> None:
        refusal = context.copy().run(check, request.data)
        self._send(EditChecked(check=request.check, refusal=refusal))
