"""A person at the debugger: a view of version 2, over a real socket."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, Self

from msgspec import UNSET, Struct
from websockets.sync.client import connect
from websockets.typing import Subprotocol

from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import Commit, Run, RunState, TimelineRow
from agentstepper_nb.protocol.delta_decoding import decode_contents
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder
from agentstepper_nb.protocol.edit_rules import (
    DryRunEditRule,
    EditRuleDefinition,
    EditRuleOutcome,
    SetEditRule,
)
from agentstepper_nb.protocol.envelope import MAX_MESSAGE_BYTES, SUBPROTOCOL
from agentstepper_nb.protocol.fork_trees import (
    FilesPutBack,
    ForkTree,
    ListForks,
    PutBack,
    RestoredFolder,
)
from agentstepper_nb.protocol.run_programs import (
    BisectCommand,
    BisectPhase,
    BisectState,
    ExportedTest,
    ExportTest,
    GetBisect,
)
from agentstepper_nb.protocol.step_targets import StepKind, StepTarget
from tests.helpers.auth_headers import view_headers
from tests.sdk.scripted_core import TIMEOUT_S


class LiveView:
    """Watches all runs, and acts on the newest.

    Args:
        port: The Core's port for UIs.
    """

    def __init__(self, port: int) -> None:
        self._connection = connect(
            url := f"ws://127.0.0.1:{port}",
            additional_headers=view_headers(url),
            subprotocols=[Subprotocol(SUBPROTOCOL)],
            proxy=None,
            max_size=MAX_MESSAGE_BYTES,
        )
        self.runs: dict[str, Run] = {}
        self._sent = 0
        self._decoder = DeltaDecoder()

    def __enter__(self) -> Self:
        self._socket = self._connection.__enter__()
        self._request(ui.UiHello(version=2, client="test"))
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.close()

    @property
    def run(self) -> Run:
        return list(self.runs.values())[-1]

    def wait_until(self, true: Callable[[Run], bool]) -> Run:
        """Watch until the newest run is as asked."""
        while not (self.runs and true(self.run)):
            self._receive()
        return self.run

    def wait_change(self) -> None:
        """Watch until the next message of the Core's."""
        self._receive()

    def wait_until_halted(self) -> str:
        """Watch until the run halts; the halt point it halts at."""
        return self.wait_until(lambda run: bool(run.pending)).pending[0]

    def wait_until_ended(self) -> Run:
        """Watch until the run has ended."""
        return self.wait_until(lambda run: run.state is RunState.IDLE)

    def step(self, edit: Any = ..., revision: int = 1) -> None:
        """Step the oldest pending halt point, with an edit where one is given."""
        halt_point = self.wait_until_halted()
        if edit is ...:
            self._request(ui.StepRun(run=self.run.id, halt_point=halt_point, revision=revision))
            return
        text = json.dumps(edit)
        self._request(
            ui.StepRun(run=self.run.id, halt_point=halt_point, revision=revision, edit=text),
        )

    def edit(self, value: Any, *, sticky: bool = False) -> None:
        """Edit the oldest pending halt point for the first time, and leave it pending."""
        meant = {"run": self.run.id, "halt_point": self.wait_until_halted(), "revision": 1}
        self._request(ui.SetEdit(**meant, edit=json.dumps(value), sticky=sticky or UNSET))

    def approve(
        self, edit: Any = ..., revision: int = 1, *, always: bool = False, confirmed: bool = True
    ) -> None:
        """Approve what the oldest pending halt point asks, with an edit where one is given."""
        text = None if edit is ... else json.dumps(edit)
        halt_point = self.wait_until_halted()
        meant = {"run": self.run.id, "halt_point": halt_point, "revision": revision}
        self._request(ui.ApproveCall(**meant, edit=text, always=always, confirmed=confirmed))

    def deny(self, reason: str, revision: int = 1) -> None:
        halt_point = self.wait_until_halted()
        meant = {"run": self.run.id, "halt_point": halt_point, "revision": revision}
        self._request(ui.DenyCall(**meant, reason=reason))

    def skip(self, result: Any) -> None:
        """Supply the result of the call that the oldest pending halt point begins."""
        self._request(ui.SkipCall(**self._meant(), result=json.dumps(result)))

    def raise_error(self, message: str, type: str | None = None) -> None:
        """Let the agent's code see an exception at the oldest pending halt point."""
        named = UNSET if type is None else type
        self._request(ui.RaiseError(**self._meant(), message=message, type=named))

    def guide(self, text: str) -> None:
        """Add a message to the oldest pending prompt, and leave it pending."""
        self._request(ui.GuidePrompt(**self._meant(), text=text))

    def set_edit_rule(self, rule: EditRuleDefinition) -> None:
        self._request(SetEditRule(rule=rule))

    def dry_run_edit_rule(self, rule: EditRuleDefinition) -> EditRuleOutcome:
        """What a rule would have edited in the newest run."""
        command = DryRunEditRule(rule=rule, run=self.run.id)
        (outcome,) = self._request(command, ui.EditRuleDryRun).outcomes
        assert isinstance(outcome, EditRuleOutcome)
        return outcome

    def _meant(self) -> dict[str, Any]:
        halt_point = self.wait_until_halted()
        return {"run": self.run.id, "halt_point": halt_point, "revision": 1}

    def try_action(self, does: Callable[..., None], *args: Any) -> bool:
        """Do it, and tell whether nobody was faster."""
        try:
            does(*args)
        except AssertionError as refused:
            assert "code='stale'" in str(refused)
            return False
        return True

    def step_to(self, kind: StepKind, halt_point: str | None = None, **asked: Any) -> None:
        """Step a pending halt point, the oldest where none is named, to a target."""
        named = halt_point or self.wait_until_halted()
        target = StepTarget(kind=kind, **asked)
        self._request(ui.StepRun(run=self.run.id, halt_point=named, target=target))

    def start_again(self, run: str, **how: Any) -> ui.RunStartedAgain:
        """Start a run again."""
        answer = self._request(ui.StartAgain(run=run, **how), ui.RunStartedAgain)
        assert isinstance(answer, ui.RunStartedAgain)
        return answer

    def bisect(self, command: BisectCommand) -> BisectState:
        """Start, answer, cancel or look at a search."""
        state = self._request(command, BisectState)
        assert isinstance(state, BisectState)
        return state

    def wait_bisect(self, run: str, *phases: BisectPhase) -> BisectState:
        """Watch until the search of a run is so."""
        state = self.bisect(GetBisect(run=run))
        while state.phase not in phases:
            state = self.wait_bisect_change(state)
        return state

    def wait_bisect_change(self, state: BisectState) -> BisectState:
        """Watch until a search has another state."""
        return self.bisect(GetBisect(run=state.run, seen=state.revision))

    def export_test(self, command: ExportTest) -> str:
        """Write a run's test; its path."""
        exported = self._request(command, ExportedTest)
        assert isinstance(exported, ExportedTest)
        return exported.path

    def list_forks(self, run: str) -> ForkTree:
        """The tree that a run belongs to."""
        return self._request(ListForks(run=run), ForkTree)

    def put_back(self, restored: RestoredFolder) -> str:
        """Put back files that a fork restored in place; the report."""
        asked = PutBack(run=restored.run, restore=restored.restore)
        return self._request(asked, FilesPutBack).report

    def resume(self) -> None:
        self._request(ui.ContinueRun(run=self.run.id))

    def halt(self) -> None:
        self._request(ui.HaltRun(run=self.run.id))

    def stop(self) -> None:
        self._request(ui.StopRun(run=self.run.id))

    def list_rows(self) -> list[TimelineRow]:
        return list(self._request(ui.OpenRun(run=self.run.id), ui.RunOpened).rows)

    def list_commits(self) -> list[Commit]:
        return list(self._request(ui.OpenRun(run=self.run.id), ui.RunOpened).commits)

    def get_body(self, row: TimelineRow) -> ui.MessageBody:
        found = self._request(ui.GetMessage(run=self.run.id, message=row.id), ui.MessageBody)
        assert isinstance(found, ui.MessageBody)
        return found

    def get_data(self, row: TimelineRow) -> Any:
        found = self.get_body(row)
        return json.loads(found.data if found.edit is None else found.edit)

    def _request(self, command: Struct, answer: type[Any] | None = None) -> Any:
        self._sent += 1
        id = f"c{self._sent}"
        self._socket.send(ui.from_ui.encode(command, self._sent, id))
        while True:
            got, message = self._receive()
            if got == id:
                assert not isinstance(message, ui.UiError), message
                assert answer is None or isinstance(message, answer)
                return message

    def _receive(self) -> tuple[Any, Any]:
        envelope, message = ui.to_ui.decode(self._socket.recv(timeout=TIMEOUT_S))
        message = decode_contents(message, self._decoder)
        if isinstance(message, ui.CoreHello):
            self.runs |= {run.id: run for run in message.runs}
        if isinstance(message, ui.RunChanged):
            self.runs[message.run.id] = message.run
        return envelope.id, message
