"""The states of a session, and the rules of AutoChat, without I/O."""

from __future__ import annotations

from ..errors import CommandError, ProtocolError
from ..protocol.chat import AUTO_CHAT_MAX, MAX_AUTO_TURNS, State, TurnEnding


class SessionStates:
    """The states of one session: INIT, then RUNNING and STOP in turn.

    A turn begins once and ends once; nothing goes back within it, and nothing comes back to INIT.

    Attributes:
        state: Where it is.
        ending: How the last turn ended; None before the first end, and while a turn is under way.
    """

    def __init__(self) -> None:
        self.state = State.STATE_INIT
        self.ending: TurnEnding | None = None

    @property
    def is_running(self) -> bool:
        """Whether a turn is under way."""
        return self.state is State.STATE_RUNNING

    def begin(self) -> None:
        """A turn begins.

        Raises:
            CommandError: `session_busy`: one is under way.
        """
        if self.is_running:
            raise CommandError(
                "session_busy", "A turn is under way: wait until it has ended, or stop it."
            )
        self.state = State.STATE_RUNNING
        self.ending = None

    def end(self, ending: TurnEnding) -> None:
        """The turn ends.

        Args:
            ending: How.

        Raises:
            AssertionError: None is under way, which is its caller's fault.
        """
        if not self.is_running:
            raise AssertionError(f"no turn is under way that could end: {self.state.value}")
        self.state = State.STATE_STOP
        self.ending = ending


class AutoChat:
    """Counts the turns that a session takes without a user's message.

    Args:
        max: The most such turns until a user sends a message.

    Attributes:
        turns: The turns since a user's last message.

    Raises:
        ProtocolError: `invalid_message`: `max` isn't a valid number of turns.
    """

    def __init__(self, max: int = AUTO_CHAT_MAX) -> None:
        self.max = max
        self.turns = 0

    @property
    def max(self) -> int:
        """The turns that it may take. May be set at any time; raises as the class does."""
        return self._max

    @max.setter
    def max(self, turns: int) -> None:
        if type(turns) is not int or not 0 <= turns <= MAX_AUTO_TURNS:
            text = (
                f"AutoChat can't take {turns!r:.40} turns by itself: choose 0 to {MAX_AUTO_TURNS}."
            )
            raise ProtocolError("invalid_message", text, "auto_chat_max")
        self._max = turns

    def reset(self) -> None:
        """A user said something: it counts from there."""
        self.turns = 0

    def count_turn(self) -> None:
        """A turn was begun by AutoChat."""
        self.turns += 1

    def may_continue(
        self, state: State, ending: TurnEnding | None, had_confirmation: bool = False
    ) -> str | None:
        """Whether a turn may follow that no user asked for.

        Args:
            state: Where the session is.
            ending: How its last turn ended.
            had_confirmation: Whether the user was asked something in that turn.

        Returns:
            None where it may; else why not, for a person.
        """
        if state is State.STATE_INIT:
            return "the conversation is empty: write the first message yourself"
        if state is not State.STATE_STOP:
            return "a turn is under way: AutoChat needs STATE_STOP"
        if ending is TurnEnding.ERROR:
            return "the last turn failed: write a message to continue"
        if ending is TurnEnding.STOPPED:
            return "the last turn was stopped: write a message to continue"
        if had_confirmation:
            return "the last turn asked you a question: answer it"
        if self.turns >= self.max:
            return f"AutoChat took {self.turns} of {self.max} turns: write a message yourself"
        return None
