"""The walk of one breakpoint, written once: generators that yield what is to be done.

Nothing here touches a socket or waits. A driver (`pumps.pump`, `pumps.apump`) carries out each step
and sends its outcome back in, or throws what went wrong: a lost connection, an interrupt, a cancelled
task.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import Any, Final

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ..errors import ProtocolError
from ..protocol.agent import (
    Answer,
    CommitMade,
    EventBegun,
    Resume,
    Skip,
)
from ..protocol.values import Commit, EventKind, Outcome, Side, Usage
from .approvals import Approval, AskedCall
from .argument_checks import check_text
from .edits import Accept, EditReader
from .encoding import Shown
from .packing import Packed, Packer, Word, plain
from .steps import (
    NULL,
    Asking,
    Begun,
    BegunTool,
    Ended,
    Flush,
    OpenEvent,
    Send,
    Steps,
    Work,
    clock,
    innermost,
    new_point,
    obey,
)
from .steps import new_id as new_id

log = logging.getLogger("agentstepper_nb.sdk")

#: What no query costs; infinity and what isn't a number is as little a cost.
_MOST: Final = 1e12
NOT_BEGUN: Final = "Can't end breakpoint, breakpoint hasn't begun!"


class Flow(Asking):
    """The flows of one run.

    Args:
        run: The run's id.
        program: The program's name.
        packer: Makes values ready to travel.
    """

    def __init__(self, run: str, program: str, packer: Packer) -> None:
        self.run = run
        #: Called with an event's id when a tool, or whatever isn't an LLM query, has run, to send what
        #: it changed in the workspace. It may block, and doesn't raise.
        self.look: Callable[[str], None] | None = None
        self._program = program
        self._packer = packer

    # ---- the run ------------------------------------------------------------------------------------

    def start(self, waits: bool, commit: Commit | None = None) -> Steps[None]:
        """The program started.

        Args:
            waits: Whether to halt there.
            commit: The workspace's first commit.
        """
        data = self._packer.show(Word.PROGRAM, self._program).raw
        event = EventBegun(
            id=new_id(), kind=EventKind.PROGRAM_STARTED, at=time.time(), clock=clock(), data=data
        )
        commits = () if commit is None else (self._commit_made(commit, None),)
        point = new_point(event.id, Side.BEGIN, data, waits, summary="Agent program started.")
        messages = (event, *commits, point)
        if not waits:
            yield Send(messages)
            return
        answer = yield from self._ask(messages, point)
        if isinstance(answer, Resume) and answer.data is not UNSET:
            log.info("The program's name was edited at its start, which changes nothing.")
        obey(answer)

    def debug(self, message: str) -> Steps[None]:
        """A message for whoever is watching."""
        yield self._message(message)
        yield Flush()

    def _message(self, message: str) -> Send:
        parent = innermost(self.run)
        event = EventBegun(
            id=new_id(),
            kind=EventKind.DEBUG_MESSAGE,
            at=time.time(),
            clock=clock(),
            parent=parent.id if parent else None,
            data=self._packer.show(Word.DEBUG_MESSAGE, message).raw,
        )
        return Send((event,))

    def commit(self, commit: Commit) -> Steps[None]:
        """A commit of the workspace."""
        parent = innermost(self.run)
        yield Send((self._commit_made(commit, parent.id if parent else None),))
        yield Flush()

    def snapshot(self, commit: Commit, event: str) -> Steps[None]:
        """What a tool changed in the workspace; `event` is its event."""
        yield Send((self._commit_made(commit, event),))
        yield Flush()

    # ---- an event -----------------------------------------------------------------------------------

    def begin(
        self,
        kind: EventKind,
        value: Any,
        name: str | None = None,
        approval: Approval | None = None,
        accept: Accept | None = None,
    ) -> Steps[Begun]:
        """An event begins.

        Args:
            kind: An LLM query, a tool invocation or a custom event.
            value: Its prompt, its `{"Tool", "Argument"}`, or what the custom event begins with.
            name: The tool, the model or the custom event's type; a model's is the prompt's own where
                none is given.
            approval: What a person is to approve first, of a tool invocation.
            accept: Makes of an edited value what the caller takes, or raises.

        Raises:
            ProtocolError: The edit can't become the value, and the Core couldn't ask before.
            ToolDeniedError: The person denied the call, or nobody could be asked to approve it.
            InjectedError: The person lets the call fail.
            AgentStopped: The person pressed Stop.
        """
        packed = self._packer.show(_WORDS[kind, Side.BEGIN], value)
        reader = EditReader(self._packer, packed, accept)
        parent = innermost(self.run)
        event = OpenEvent(new_id(), self.run, kind)
        if name is None and kind is EventKind.LLM_QUERY:
            name = model_of(packed.shown.json)
        begun = EventBegun(
            id=event.id,
            kind=kind,
            at=time.time(),
            clock=clock(),
            parent=parent.id if parent else None,
            name=plain(name) if name else None,
        )
        point = new_point(event.id, Side.BEGIN, packed.raw, waits=True)
        if approval is None:
            answer = yield from self._ask((begun, point), point, reader, closing=event)
        else:
            asked = AskedCall(point.id, name or "", self._packer)
            point = replace(point, approval=approval.begin(asked))
            answer = yield from self._approved(
                (begun, point), point, reader, event, approval, asked
            )
            reader = reader.beside(asked.shown(answer, packed))
        if isinstance(answer, Skip):
            event.skipped = True
            event.result = packed.unmasked(answer.result)
            answer = Resume()
        elif not isinstance(answer, Resume):
            yield from self._refuse(event, answer)
        try:
            ended = _in_force(answer, value, reader)
        except Exception as error:
            yield from self.give_up(event, error)
            raise
        event.push()
        return Begun(event, ended.value, ended.edited)

    def begin_tool(
        self, tool: str, args: Any, approval: Approval | None = None
    ) -> Steps[BegunTool]:
        """A tool invocation begins; raises as `begin`, and ProtocolError where the edit is no call.

        A part of the call that wasn't edited stays the same object.
        """
        check_text("The tool's name", tool)
        call = {"Tool": tool, "Argument": args}
        begun = yield from self.begin(EventKind.TOOL_INVOCATION, call, tool, approval, read_call)
        if begun.edited:
            tool, args = begun.value
        return BegunTool(begun.event, tool, args)

    def end(
        self,
        kind: EventKind,
        value: Any,
        usage: Usage | None = None,
        event: OpenEvent | None = None,
        accept: Accept | None = None,
    ) -> Steps[Ended]:
        """An event ended as it should.

        Args:
            kind: What it is.
            value: Its response or result.
            usage: What it cost.
            event: The event; the innermost of this context where none is given.
            accept: Makes of an edited value what the caller takes, or raises.

        Raises:
            RuntimeError: The innermost event isn't of this kind, or there is none.
        """
        if event is None:
            event = innermost(self.run)
            if event is None or event.kind is not kind:
                raise RuntimeError(NOT_BEGUN)
        if event.skipped:
            if value is not None:
                log.info(
                    "The person gave the result of a call; the one the program made is dropped."
                )
            value = event.result
        yield from self._ran(event)
        packed = self._packer.show(_WORDS[kind, Side.END], value)
        if usage is None and kind is EventKind.LLM_QUERY:
            usage = usage_of(packed.shown.json)
        point = new_point(
            event.id, Side.END, packed.raw, waits=True, outcome=Outcome.OK, usage=usage
        )
        event.end()
        reader = EditReader(self._packer, packed, accept)
        answer = yield from self._ask((point,), point, reader)
        obey(answer)
        return (yield from self._ended(answer, value, reader))

    def fail(
        self, event: OpenEvent, error: BaseException, accept: Accept | None = None
    ) -> Steps[Ended | None]:
        """An event ended with an exception, which the caller raises on.

        An `Exception` halts there, so that the person sees it; an order to end (KeyboardInterrupt, a
        cancelled task, AgentStopped) doesn't.

        Args:
            event: The event.
            error: The exception.
            accept: As for `end`.

        Returns:
            The result that the person gave in the exception's place, or None.
        """
        # A generator that is being closed can't wait for anything.
        if not isinstance(error, GeneratorExit):
            yield from self._ran(event)
        if not isinstance(error, Exception):
            yield from self.give_up(event, error)
            return None
        event.end()
        point = self._failed_point(event, error, waits=True)
        reader = EditReader(self._packer, Packed(NULL, {}, Shown(None)), accept)
        answer = yield from self._ask((point,), point, reader)
        obey(answer, cause=error)
        ended = yield from self._ended(answer, None, reader)
        return ended if ended.edited else None

    # ---- parts --------------------------------------------------------------------------------------

    def _ran(self, event: OpenEvent) -> Steps[None]:
        """The call of an event was made: before its end is told, what it changed is."""
        if self.look is None or event.kind is EventKind.LLM_QUERY:  # a model changes no files
            return
        try:
            yield Work(partial(self.look, event.id))
        except GeneratorExit:
            raise
        except BaseException as order:  # an interrupt, a cancelled task
            yield from self.give_up(event, order)
            raise

    def _ended(self, answer: Answer, value: Any, reader: EditReader) -> Steps[Ended]:
        """As `_in_force`; where the Core couldn't ask before, an edit that can't be made isn't."""
        try:
            return _in_force(answer, value, reader)
        except Exception as error:
            refusal = f"Your edit was refused, and the agent goes on unedited: {reader.told(error)}"
        log.warning("%s", refusal)
        yield self._message(refusal)
        return Ended(value, False)

    def _commit_made(self, commit: Commit, event: str | None) -> CommitMade:
        packed = self._packer.commit(commit)
        return CommitMade(
            id=packed.id,
            at=packed.at,
            title=packed.title,
            description=packed.description,
            event=event,
            snapshot=commit.snapshot,  # also where `redact` left it out
            ruled=commit.ruled,
            changes=packed.changes,
        )


def _in_force(answer: Answer, value: Any, reader: EditReader) -> Ended:
    """The edit where there is one, else the value itself: the same object."""
    data: Raw | UnsetType = UNSET
    if isinstance(answer, Resume):
        data = answer.data
    elif isinstance(answer, Skip):
        data = answer.result
    return Ended(value, False) if data is UNSET else Ended(reader.read(data), True)


_WORDS: Final = {
    (EventKind.LLM_QUERY, Side.BEGIN): Word.PROMPT,
    (EventKind.LLM_QUERY, Side.END): Word.RESPONSE,
    (EventKind.TOOL_INVOCATION, Side.BEGIN): Word.TOOL_CALL,
    (EventKind.TOOL_INVOCATION, Side.END): Word.TOOL_RESULT,
    (EventKind.CUSTOM, Side.BEGIN): Word.EVENT,
    (EventKind.CUSTOM, Side.END): Word.EVENT_RESULT,
}


# ---- what values of well-known shapes say ------------------------------------------------------------


def read_call(edit: Any) -> tuple[str, Any]:
    """Read a tool call.

    Raises:
        ProtocolError: `invalid_edit`. The Core refuses such an edit; this is for the ones that don't.
    """
    match edit:
        case {"Tool": str() as tool, "Argument": args, **rest} if not rest:
            return tool, args
    raise ProtocolError(
        "invalid_edit", 'The edit of this tool call isn\'t {"Tool": text, "Argument": any}.'
    )


def model_of(prompt: Any) -> str | None:
    """The model that a prompt in the form of an LLM API asks."""
    match prompt:
        case {"model": str() as model}:
            return model
    return None


def usage_of(response: Any) -> Usage | None:
    """What a response in the form of an LLM API says that it cost."""
    match response:
        case {"usage": {"prompt_tokens": int() as asked, "completion_tokens": int() as said}}:
            pass
        case {"usage": {"input_tokens": int() as asked, "output_tokens": int() as said}}:
            pass
        case _:
            return None
    return Usage(input_tokens=asked, output_tokens=said, cost=_dollars(response["usage"]))


def _dollars(usage: dict[str, Any]) -> float | None:
    """The cost as OpenRouter and those like it tell it, beside the tokens."""
    cost: Any = usage.get("cost")
    if type(cost) not in (int, float) or not 0 <= cost < _MOST:
        return None
    return float(cost)
