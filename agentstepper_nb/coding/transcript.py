"""The conversation as it grows, and who is told of it: the session's log, and the listeners."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence

import msgspec
from msgspec import UNSET

from ..llm_wire.conversation import AssistantMessage, ChatMessage, UserMessage
from ..llm_wire.events import AgentEvent, ToolResultEvent, TraceEvent
from .log_reader import open_calls
from .results import ToolResult, result_message
from .session_log import (
    EDITED,
    Approval,
    Entry,
    PromptEdit,
    SessionLog,
    UserPrompt,
    event_entry,
    message_entry,
    result_entry,
)

log = logging.getLogger("agentstepper_nb.coding")

Listener = Callable[[AgentEvent], None]


class Transcript:
    """What was said and done. Each is written to the log before a listener hears of it.

    Args:
        messages: The conversation so far.
        session_log: Where it is kept; None keeps nothing.
        listeners: Called with each event. What they raise is logged, and goes no further.
    """

    def __init__(
        self,
        messages: Iterable[ChatMessage] = (),
        session_log: SessionLog | None = None,
        listeners: Sequence[Listener] = (),
    ) -> None:
        self.messages = list(messages)
        self._log = session_log
        self._listeners = listeners
        self._log_failed = False
        self._failed: list[Listener] = []  # listeners that have

    @property
    def open_calls(self) -> list[str]:
        """The ids of the calls that have no result yet."""
        return open_calls(self.messages)

    def prompt(self, text: str) -> None:
        """A person asks for something."""
        message = UserMessage(content=text)
        self._keep(UserPrompt(content=text))
        self._keep(message_entry(message))
        self.messages.append(message)

    def answer(self, message: AssistantMessage) -> None:
        """The model has answered; with a person's edit, if there was one."""
        self._keep(message_entry(message))
        self.messages.append(message)

    def result(self, call_id: str, result: ToolResult) -> None:
        """A call has a result."""
        self.messages.append(result_message(call_id, result))
        self._keep(result_entry(call_id, result))
        self.tell(ToolResultEvent(call_id, result))

    def approval(self, approval: Approval) -> None:
        """It was decided about a call that had to be asked for."""
        self._keep(approval)
        told = {name: getattr(approval, name) for name in approval.__struct_fields__}
        data = {name: value for name, value in told.items() if value is not UNSET}
        self._spread(TraceEvent("approval", data))

    def replace(self, messages: Sequence[ChatMessage]) -> None:
        """A person has edited the conversation in a prompt: it goes on as it is there."""
        kept = 0
        for ours, theirs in zip(self.messages, messages, strict=False):
            if ours != theirs:
                break
            kept += 1
        if kept == len(self.messages) == len(messages):
            return
        edit = PromptEdit(kept=kept, messages=tuple(messages[kept:]))
        self.messages[kept:] = edit.messages
        self.tell(TraceEvent(EDITED, msgspec.to_builtins(edit)))

    def tell(self, event: AgentEvent) -> None:
        """Something happened."""
        self._keep(event_entry(event))
        self._spread(event)

    def _spread(self, event: AgentEvent) -> None:
        for listener in self._listeners:
            try:
                listener(event)
            except Exception:
                self._complain(listener, event)

    def _complain(self, listener: Listener, event: AgentEvent) -> None:
        """Say that a listener failed: once, since one that fails mostly goes on so."""
        if listener not in self._failed:
            self._failed.append(listener)
            log.exception("A listener failed at %s.", type(event).__name__)

    def _keep(self, entry: Entry | dict[str, object]) -> None:
        if self._log is None:
            return
        try:
            self._log.append(entry)
        except (OSError, ValueError) as error:  # a full disk: the work is worth more than its log
            if not self._log_failed:
                self._log_failed = True
                text = f"The session's log can't be written, so that it can't be resumed: {error}."
                self._spread(TraceEvent("error", {"kind": "log", "message": text}))
