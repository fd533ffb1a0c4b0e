"""A chat in a terminal: a backend that reads and prints lines."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final

from ...errors import AgentStepperError, ProtocolError
from ...protocol.chat import (
    ChatEvent,
    ChatMessageChanged,
    ChatMessageDelta,
    ChatSessionChanged,
    ChatSessionInfo,
    ChatSessionRemoved,
    ChatSessionSnapshot,
    Message,
    MessageType,
    State,
    TurnEnding,
)
from ..backend import Backend, UserInput
from ..chat import Chat
from ..event_feed import to_built_in_message
from . import view
from .commands import run_chat_command
from .view import ChatScreen, MessageWriter

#: Messages of an opened conversation that are shown.
_MAX_SHOWN_MESSAGES: Final = 20
#: The most digits of a choice's number. Python refuses to parse numbers of thousands of digits.
_MAX_CHOICE_DIGITS: Final = 9
_INTERRUPT_HINT: Final = "Ctrl+C again, or Ctrl+D, exits."
_STOPPING: Final = "Stopping the turn; Ctrl+C again exits."


class Repl(Backend[str]):
    """Shows a chat's conversation in a terminal, and handles typed lines.

    The object doesn't read or wait. The owner of the terminal passes lines (`handle_line`) and events
    (`show`, then `update_prompt`), on one thread.

    Args:
        chat: The chat.
        screen: The screen to print on.
        forward: Passes events from the chat's event loop to the terminal's thread, for `show`.
        terminal: Whether a person types, not a program.

    Attributes:
        is_over: Whether the person has quit.
        recipient: The agent that messages are for; None: the conversation's default.
        info: The last received state of the conversation.
        is_awaiting_user: Whether the conversation waits for a person.
    """

    def __init__(
        self,
        chat: Chat,
        screen: ChatScreen,
        forward: Callable[[ChatEvent], None],
        *,
        terminal: bool,
    ) -> None:
        self.chat = chat
        self.screen = screen
        self.is_over = False
        self.recipient: str | None = None
        self.info: ChatSessionInfo = chat.info
        self._forward = forward
        self._terminal = terminal
        self._writer = MessageWriter(screen)
        self._confirmation: Message | None = None  # the confirmation that waits
        self._unsent_echo: deque[str] = deque()  # what was sent from here, and isn't told yet
        self._speaker: str | None = None
        self.is_awaiting_user = False
        self._has_snapshot = False  # whether this conversation was told
        self._is_refused = False  # the last line that was typed
        self._has_interrupted = False  # Ctrl+C, since something was typed
        self._detach = chat.attach(self)

    # ---- a backend ----------------------------------------------------------------------------------

    def receive(self, event: ChatEvent) -> None:
        """Hand an event on; see `Backend.receive`."""
        self._forward(event)

    def render(self, message: Message) -> None:
        """Show a message; see `Backend.render`."""
        message = to_built_in_message(message)
        if message.role == "user" and self._was_typed(message):
            return
        self._name(message)
        self._writer.write(message)

    def convert_in(self, given: str) -> UserInput:
        """A line: a message, or where a confirmation waits, its choice by number or by word.

        Raises:
            ProtocolError: It is none of the choices.
        """
        if self._confirmation is None:
            return UserInput(content=given, agent_name=self.recipient)
        choices, word = self._confirmation.choices, given.strip().casefold()
        number = int(word) if word.isdecimal() and len(word) <= _MAX_CHOICE_DIGITS else 0
        if 0 < number <= len(choices):
            return UserInput(content=choices[number - 1], confirmation_id=self._confirmation.id)
        found = [choice for choice in choices if choice.casefold() == word]
        found = found or [choice for choice in choices if choice.casefold().startswith(word)]
        if len(found) != 1:
            raise ProtocolError(
                "invalid_message",
                f"That is not a choice: write a number from 1 to {len(choices)}, or the "
                "choice itself. /stop ends the turn.",
            )
        return UserInput(content=found[0], confirmation_id=self._confirmation.id)

    def convert_out(self, message: Message) -> str:
        """A message as lines, without colours. They are inert only once the screen has written them."""
        return "\n".join(text for text, _ in view.format_message(to_built_in_message(message)))

    # ---- what happens -------------------------------------------------------------------------------

    @property
    def accepts_line(self) -> bool:
        """Whether a line may be typed. A person's may at any time; a program's waits for its turn."""
        return self._has_snapshot and (self._terminal or self.is_awaiting_user)

    @property
    def choices(self) -> tuple[str, ...]:
        """The choices of the confirmation that waits; empty: none waits."""
        return () if self._confirmation is None else self._confirmation.choices

    @property
    def has_failed(self) -> bool:
        """Whether the last line was refused, its turn broke off, or it waits for a choice that doesn't
        come.
        """
        return (
            self._is_refused
            or self._confirmation is not None
            or self.info.ending is TurnEnding.ERROR
        )

    def show(self, event: ChatEvent) -> None:
        """Show an event that was handed on.

        Args:
            event: The event.
        """
        match event:
            case ChatSessionSnapshot():
                self._begin(event)
            case _ if not self._has_snapshot:
                return  # of the conversation before
            case ChatMessageChanged(message=message):
                self._note(message)
                self.render(message)
            case ChatMessageDelta(message_id=id, text=text):
                self._writer.append(id, text)
            case ChatSessionChanged(session=session):
                self._change(session)
            case ChatSessionRemoved():
                self.screen.write_line("This conversation was deleted: a new one begins.", "yellow")
                self.begin("")

    def update_prompt(self) -> None:
        """All that was handed on is shown: ask for a line, where it is a person's turn."""
        may = self.info.state is not State.STATE_RUNNING or self._confirmation is not None
        self.is_awaiting_user = self._has_snapshot and may and self.chat.is_awaiting_user
        self._show_prompt()

    # ---- what a person does -------------------------------------------------------------------------

    def handle_line(self, line: str) -> None:
        """A line was typed.

        Args:
            line: Without its end; what was pasted at once may be several.
        """
        self.screen.end_prompt()
        self._has_interrupted = self._is_refused = False
        text = line.strip()
        try:
            if text.startswith("/"):
                run_chat_command(self, text)
            elif text:
                self._submit(self.convert_in(text))
        except AgentStepperError as error:
            self._is_refused = True
            self.screen.write_line(str(error), "red")
        self._show_prompt()

    def handle_interrupt(self) -> None:
        """Ctrl+C: the turn ends, or where that was asked for, or there is none, the second time all."""
        if self._has_interrupted:
            self.is_over = True
            return
        self._has_interrupted = True
        if self.info.state is State.STATE_RUNNING:
            self.screen.write_line(_STOPPING, "yellow")
            self.chat.stop(wait=False)
        else:
            self.screen.write_line(_INTERRUPT_HINT, "dim")
            self._show_prompt()

    def begin(self, title: str) -> None:
        """Begin another conversation.

        Args:
            title: Its title.
        """
        self._switch(lambda: self.chat.new_session(title))

    def open(self, session: str) -> None:
        """Go on with another conversation.

        Args:
            session: Its id.

        Raises:
            CommandError: There is no such conversation.
        """
        self._switch(lambda: self.chat.open(session))

    def close(self) -> None:
        """Show nothing more. The chat goes on."""
        self._writer.end()
        self._detach()

    # ---- inside -------------------------------------------------------------------------------------

    def _submit(self, given: UserInput) -> None:
        """Give what was typed to the chat."""
        self.is_awaiting_user = False
        try:
            if given.confirmation_id is not None:
                self.chat.choose(given.content, given.confirmation_id, wait=False)
            else:
                self._unsent_echo.append(given.content)
                self.chat.send(given.content, agent=given.agent_name, wait=False)
        except AgentStepperError:
            self._unsent_echo.clear()
            self.is_awaiting_user = self.chat.is_awaiting_user
            raise

    def _switch(self, turn: Callable[[], object]) -> None:
        """Show another conversation."""
        before = self.chat.session_id
        turn()
        if self.chat.session_id == before:
            return
        self._detach()
        self._writer.end()
        self._has_snapshot, self.is_awaiting_user = False, False
        self._confirmation, self._speaker, self.recipient = None, None, None
        self._unsent_echo.clear()
        self._detach = self.chat.attach(self)

    def _begin(self, event: ChatSessionSnapshot) -> None:
        if event.session.id != self.chat.session_id:
            return
        if self._has_snapshot:
            self._writer.end()
            self.screen.write_line(
                "A person edited some of these messages in the debugger.", "yellow"
            )
            self._change(event.session)
            return
        self._has_snapshot, self.info = True, event.session
        hidden = event.session.messages - len(event.messages[-_MAX_SHOWN_MESSAGES:])
        if hidden > 0:
            self.screen.write_line(f"… {hidden} messages before", "dim")
        for message in event.messages[-_MAX_SHOWN_MESSAGES:]:
            self._note(message)
            self.render(message)

    def _change(self, session: ChatSessionInfo) -> None:
        before, self.info = self.info, session
        if session.state is State.STATE_STOP and before.state is State.STATE_RUNNING:
            self._writer.end()
            if session.ending is TurnEnding.STOPPED:
                self.screen.write_line("Stopped.", "yellow")
        elif session.halted and not before.halted and session.waiting is None:
            self._writer.end()
            for line in view.format_halted(session):
                self.screen.write_line(line, "yellow")

    def _show_prompt(self) -> None:
        if not self._terminal or not self.is_awaiting_user or self.is_over:
            return
        if self._confirmation is not None:
            self.screen.show_prompt(view.format_choice_prompt(self._confirmation))
        else:
            self.screen.show_prompt(view.format_prompt(self.info, self.recipient))

    def _note(self, message: Message) -> None:
        """Know the confirmation that waits."""
        if message.type == MessageType.CONFIRMATION and not message.final:
            self._confirmation = message
        elif self._confirmation is not None and self._confirmation.id == message.id:
            self._confirmation = None

    def _was_typed(self, message: Message) -> bool:
        if self._unsent_echo and self._unsent_echo[0] == message.content:
            self._unsent_echo.popleft()
            return True
        return False

    def _name(self, message: Message) -> None:
        """Say who speaks, where several may and it is another than before."""
        if message.role in ("user", "system"):
            self._speaker = None
            return
        if message.agent_name == self._speaker or len(self.info.agents) < 2:
            return
        self._speaker = message.agent_name
        roles = [agent.role for agent in self.info.agents if agent.name == self._speaker]
        self.screen.write_line(f"{self._speaker} ({roles[0] if roles else 'gone'}):", "bold")
