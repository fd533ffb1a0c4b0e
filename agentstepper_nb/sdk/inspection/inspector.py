"""Answers the Core's questions about a halt point that waits, each on a thread of its own."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any, Final

from ...errors import ProtocolError
from ...protocol.inspection import (
    CompletionList,
    CompletionRequest,
    Evaluation,
    EvaluationRequest,
    HaltPointInspected,
    InspectHaltPoint,
    InspectionRequest,
    InspectionResult,
    PdbReady,
    PdbRequest,
    StackRequest,
    StackSnapshot,
    VariablesPage,
    VariablesRequest,
)
from ..agent_frames import HaltedThread
from ..payload import PayloadEncoder, SecretMask, escape_surrogates
from . import expressions, frame_variables, pdb_entry
from .bounded_calls import CallFailedError, CallTimedOutError, call_bounded
from .frame_variables import UnknownVariableError
from .secret_names import mask_assignments
from .stack_frames import describe_stack
from .value_children import Child
from .variable_texts import VariableDescriber

log = logging.getLogger("agentstepper_nb.sdk")

NOT_HALTED: Final = (
    "The agent doesn't wait at this halt point any more. Look at the one it waits at now."
)
SWITCHED_OFF: Final = (
    "This agent doesn't show its stack: it was started with inspect=False or AGENTSTEPPER_INSPECT=0, "
    "or its Core is on another machine. Start the agent with inspect=True or AGENTSTEPPER_INSPECT=1 to "
    "allow it."
)
NO_FRAME: Final = "The stack has changed since it was shown. Open it again."
NO_VARIABLE: Final = "This variable isn't there any more. Open the stack again."
TIMED_OUT: Final = (
    "The expression didn't end in time and was told to stop. Write an expression that takes less than "
    f"{expressions.EVALUATION_TIMEOUT_S:.0f} s."
)
_MAX_ERROR_CHARS: Final = 2000


class HaltInspector:
    """Answers for one run.

    Args:
        encoder: Has the agent's `redact=`.
        is_allowed: Whether the agent lets a person look.
        find_halted: Finds what waits at a halt point.
        send: Sends the answer.
        evaluation_timeout_s: Seconds that an expression has.
    """

    def __init__(
        self,
        encoder: PayloadEncoder,
        is_allowed: bool,
        find_halted: Callable[[str], HaltedThread | None],
        send: Callable[[HaltPointInspected], None],
        evaluation_timeout_s: float = expressions.EVALUATION_TIMEOUT_S,
    ) -> None:
        self.is_allowed = is_allowed
        self._encoder = encoder
        self._find_halted = find_halted
        self._send = send
        self._evaluation_timeout_s = evaluation_timeout_s

    def inspect(self, request: InspectHaltPoint) -> None:
        """Answer a request on a new thread. Never waits."""
        threading.Thread(
            target=self._answer, args=(request,), name="agentstepper-inspect", daemon=True
        ).start()

    def _answer(self, request: InspectHaltPoint) -> None:
        result: InspectionResult | None = None
        refusal: str | None = None
        try:
            result = self._inspect(request.halt_point, request.what)
        except ProtocolError as error:
            refusal = error.message
        except UnknownVariableError:
            refusal = NO_VARIABLE
        except Exception as error:
            log.exception("A halt point could not be inspected.")
            refusal = (
                f"The agent failed to look at this halt point ({type(error).__name__}). Its log has the "
                "traceback."
            )
        self._send(HaltPointInspected(request=request.request, result=result, refusal=refusal))

    def _inspect(self, halt_point: str, what: InspectionRequest) -> InspectionResult:
        if not self.is_allowed:
            raise _refuse(SWITCHED_OFF)
        halted = self._find_halted(halt_point)
        if halted is None:
            raise _refuse(NOT_HALTED)
        return _HANDLERS[type(what)](self, halted, what)

    def _describe_stack(self, halted: HaltedThread, what: StackRequest) -> StackSnapshot:
        return describe_stack(halted, pdb_entry.find_pdb_refusal(halted.list_frames()))

    def _describe_variables(self, halted: HaltedThread, what: VariablesRequest) -> VariablesPage:
        path, encoder = what.path, self._encoder
        if isinstance(what.result, int):
            try:
                root: list[Any] = [halted.find_result(what.result)]
            except KeyError:
                raise UnknownVariableError from None
            return frame_variables.describe_page(root, (0, *path), what.start, what.count, encoder)
        roots = frame_variables.list_names(_find_frame(halted, what.frame))
        return frame_variables.describe_page(roots, path, what.start, what.count, encoder)

    def _evaluate(self, halted: HaltedThread, what: EvaluationRequest) -> Evaluation:
        code = expressions.compile_expression(what.expression)
        frame = _find_frame(halted, what.frame)
        try:
            value, output = call_bounded(
                lambda: expressions.evaluate(code, frame),
                self._evaluation_timeout_s,
                halted.context,
            )
        except CallTimedOutError:
            raise _refuse(TIMED_OUT) from None
        except CallFailedError as failed:
            return Evaluation(error=_describe_error(failed.error), output=_mask(failed.output))
        child = Child(expressions.find_last_name(what.expression), value)
        return Evaluation(
            value=VariableDescriber(self._encoder).describe(child),
            result=halted.add_result(child),
            output=_mask(output),
        )

    def _complete(self, halted: HaltedThread, what: CompletionRequest) -> CompletionList:
        frame = _find_frame(halted, what.frame)
        try:
            found = call_bounded(
                lambda: expressions.complete(what.text, what.cursor, frame),
                expressions.COMPLETION_TIMEOUT_S,
                halted.context,
            )
        except (CallTimedOutError, CallFailedError):
            return CompletionList(start=what.cursor, end=what.cursor, matches=())
        start, end, matches = found.value
        return CompletionList(start=start, end=end, matches=tuple(map(escape_surrogates, matches)))

    def _prepare_pdb(self, halted: HaltedThread, what: PdbRequest) -> PdbReady:
        refusal = pdb_entry.find_pdb_refusal(halted.list_frames())
        if refusal is not None:
            raise _refuse(refusal)
        halted.enters_pdb = True
        return PdbReady(where=pdb_entry.PLACE)


_HANDLERS: Final[dict[type[InspectionRequest], Callable[..., InspectionResult]]] = {
    StackRequest: HaltInspector._describe_stack,
    VariablesRequest: HaltInspector._describe_variables,
    EvaluationRequest: HaltInspector._evaluate,
    CompletionRequest: HaltInspector._complete,
    PdbRequest: HaltInspector._prepare_pdb,
}


def _refuse(reason: str) -> ProtocolError:
    return ProtocolError("inspection_refused", reason)


def _find_frame(halted: HaltedThread, index: int) -> FrameType:
    frames = halted.list_frames()
    if index >= len(frames):
        raise _refuse(NO_FRAME)
    return frames[index]


def _describe_error(error: BaseException) -> str:
    try:
        text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    except Exception:
        text = type(error).__name__
    return _mask(text)[:_MAX_ERROR_CHARS]


def _mask(text: str) -> str:
    return escape_surrogates(mask_assignments(SecretMask().text(text)))
