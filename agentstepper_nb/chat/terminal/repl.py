"""A chat in a terminal: a backend whose front end is lines."""

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
from ..event_feed import to_known_message
from . import view
from .commands import run_chat_command
from .view import ChatScreen, MessageWriter

#: Messages of an opened conversation that are shown.
_SHOWN: Final = 20
#: Digits of a number that somebody means: Python reads no number of thousands.
_DIGITS: Final = 9
_AGAIN: Final = "Ctrl+C again, or Ctrl+D, ends."
_STOPPING: Final = "Stopping; Ctrl+C again ends."


class Repl(Backend[str]):
    """Shows a chat's conversation in a terminal, and takes what is typed there.

    It doesn't read and wait itself: whoever has the terminal gives it lines (`typed`) and events
    (`show`, then `settle`), on one thread.

    Args:
        chat: The chat.
        screen: Where it is shown.
        hand_on: Brings events from the chat's event loop to the terminal's thread, there to be given to
            `show`.
        terminal: Whether a person types, not a program.

    Attributes:
        over: Whether the person has enough.
        to: The agent that messages are for; None: the conversation's default.
        info: The conversation, as it was told.
        rests: Whether it is a person's turn.
    """

    def __init__(
        self,
        chat: Chat,
        screen: ChatScreen,
        hand_on: Callable[[ChatEvent], None],
        *,
        terminal: bool,
    ) -> None:
        self.chat = chat
        self.screen = screen
        self.over = False
        self.to: str | None = None
        self.info: ChatSessionInfo = chat.info
        self._hand_on = hand_on
        self._terminal = terminal
        self._flow = MessageWriter(screen)
        self._asked: Message | None = None  # the confirmation that waits
        self._typed: deque[str] = deque()  # what was sent from here, and isn't told yet
        self._speaker: str | None = None
        self.rests = False
        self._begun = False  # whether this conversation was told
        self._refused = False  # the last line that was typed
        self._pressed = False  # Ctrl+C, since something was typed
        self._detach = chat.attach(self)

    # ---- a backend ----------------------------------------------------------------------------------

    def receive(self, event: ChatEvent) -> None:
        """Hand an event on; see `Backend.receive`."""
        self._hand_on(event)

    def render(self, message: Message) -> None:
        """Show a message; see `Backend.render`."""
        message = to_known_message(message)
        if message.role == "user" and self._was_typed(message):
            return
        self._name(message)
        self._flow.say(message)

    def convert_in(self, given: str) -> UserInput:
        """A line: a message, or where a confirmation waits, its choice by number or by word.

        Raises:
            ProtocolError: It is none of the choices.
        """
        if self._asked is None:
            return UserInput(content=given, agent_name=self.to)
        choices, word = self._asked.choices, given.strip().casefold()
        number = int(word) if word.isdecimal() and len(word) <= _DIGITS else 0
        if 0 < number <= len(choices):
            return UserInput(content=choices[number - 1], confirms=self._asked.id)
        found = [choice for choice in choices if choice.casefold() == word]
        found = found or [choice for choice in choices if choice.casefold().startswith(word)]
        if len(found) != 1:
            raise ProtocolError(
                "invalid_message",
                f"Choose by a number from 1 to {len(choices)}, or by the word; /stop ends the turn.",
            )
        return UserInput(content=found[0], confirms=self._asked.id)

    def convert_out(self, message: Message) -> str:
        """A message as lines, without colours. They are inert only once the screen has written them."""
        return "\n".join(text for text, _ in view.format_message(to_known_message(message)))

    # ---- what happens -------------------------------------------------------------------------------

    @property
    def listens(self) -> bool:
        """Whether a line may be typed. A person's may at any time; a program's waits for its turn."""
        return self._begun and (self._terminal or self.rests)

    @property
    def choices(self) -> tuple[str, ...]:
        """What may be chosen, where a confirmation waits."""
        return () if self._asked is None else self._asked.choices

    @property
    def failed(self) -> bool:
        """Whether the last line was refused, its turn broke off, or it waits for a choice that doesn't
        come.
        """
        return self._refused or self._asked is not None or self.info.ending is TurnEnding.ERROR

    def show(self, event: ChatEvent) -> None:
        """Show an event that was handed on.

        Args:
            event: The event.
        """
        match event:
            case ChatSessionSnapshot():
                self._begin(event)
            case _ if not self._begun:
                return  # of the conversation before
            case ChatMessageChanged(message=message):
                self._note(message)
                self.render(message)
            case ChatMessageDelta(message_id=id, text=text):
                self._flow.grow(id, text)
            case ChatSessionChanged(session=session):
                self._change(session)
            case ChatSessionRemoved():
                self.screen.write_line(
                    "This conversation was removed: here is a new one.", "yellow"
                )
                self.begin("")

    def settle(self) -> None:
        """All that was handed on is shown: ask for a line, where it is a person's turn."""
        may = self.info.state is not State.STATE_RUNNING or self._asked is not None
        self.rests = self._begun and may and self.chat.rests
        self._ask()

    # ---- what a person does -------------------------------------------------------------------------

    def typed(self, line: str) -> None:
        """A line was typed.

        Args:
            line: Without its end; what was pasted at once may be several.
        """
        self.screen.answered()
        self._pressed = self._refused = False
        text = line.strip()
        try:
            if text.startswith("/"):
                run_chat_command(self, text)
            elif text:
                self._give(self.convert_in(text))
        except AgentStepperError as error:
            self._refused = True
            self.screen.write_line(str(error), "red")
        self._ask()

    def interrupted(self) -> None:
        """Ctrl+C: the turn ends, or where that was asked for, or there is none, the second time all."""
        if self._pressed:
            self.over = True
            return
        self._pressed = True
        if self.info.state is State.STATE_RUNNING:
            self.screen.write_line(_STOPPING, "yellow")
            self.chat.stop(wait=False)
        else:
            self.screen.write_line(_AGAIN, "dim")
            self._ask()

    def begin(self, title: str) -> None:
        """Begin another conversation.

        Args:
            title: Its title.
        """
        self._turn_to(lambda: self.chat.new_session(title))

    def open(self, session: str) -> None:
        """Go on with another conversation.

        Args:
            session: Its id.

        Raises:
            CommandError: There is no such conversation.
        """
        self._turn_to(lambda: self.chat.open(session))

    def close(self) -> None:
        """Show nothing more. The chat goes on."""
        self._flow.end()
        self._detach()

    # ---- inside -------------------------------------------------------------------------------------

    def _give(self, given: UserInput) -> None:
        """Give what was typed to the chat."""
        self.rests = False
        try:
            if given.confirms is not None:
                self.chat.choose(given.content, given.confirms, wait=False)
            else:
                self._typed.append(given.content)
                self.chat.send(given.content, agent=given.agent_name, wait=False)
        except AgentStepperError:
            self._typed.clear()
            self.rests = self.chat.rests
            raise

    def _turn_to(self, turn: Callable[[], object]) -> None:
        """Show another conversation."""
        before = self.chat.session_id
        turn()
        if self.chat.session_id == before:
            return
        self._detach()
        self._flow.end()
        self._begun, self.rests = False, False
        self._asked, self._speaker, self.to = None, None, None
        self._typed.clear()
        self._detach = self.chat.attach(self)

    def _begin(self, event: ChatSessionSnapshot) -> None:
        if event.session.id != self.chat.session_id:
            return
        if self._begun:
            self._flow.end()
            self.screen.write_line("Some of what was said was changed in the debugger.", "yellow")
            self._change(event.session)
            return
        self._begun, self.info = True, event.session
        hidden = event.session.messages - len(event.messages[-_SHOWN:])
        if hidden > 0:
            self.screen.write_line(f"… {hidden} messages before", "dim")
        for message in event.messages[-_SHOWN:]:
            self._note(message)
            self.render(message)

    def _change(self, session: ChatSessionInfo) -> None:
        before, self.info = self.info, session
        if session.state is State.STATE_STOP and before.state is State.STATE_RUNNING:
            self._flow.end()
            if session.ending is TurnEnding.STOPPED:
                self.screen.write_line("Stopped.", "yellow")
        elif session.halted and not before.halted and session.waiting is None:
            self._flow.end()
            for line in view.format_halted(session):
                self.screen.write_line(line, "yellow")

    def _ask(self) -> None:
        if not self._terminal or not self.rests or self.over:
            return
        if self._asked is not None:
            self.screen.show_prompt(view.format_choice_prompt(self._asked))
        else:
            self.screen.show_prompt(view.format_prompt(self.info, self.to))

    def _note(self, message: Message) -> None:
        """Know the confirmation that waits."""
        if message.type == MessageType.CONFIRMATION and not message.final:
            self._asked = message
        elif self._asked is not None and self._asked.id == message.id:
            self._asked = None

    def _was_typed(self, message: Message) -> bool:
        if self._typed and self._typed[0] == message.content:
            self._typed.popleft()
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
