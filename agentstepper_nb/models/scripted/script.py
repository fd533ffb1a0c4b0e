"""A script: rules that say what the model answers to which request."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agentstepper_nb.llm_wire.chat import Request

from .conditions import Condition, turn_of
from .faults import Fault

#: Characters of the newest message that an error shows.
SHOWN = 200


@dataclass(frozen=True)
class Call:
    """The model calls a tool."""

    tool: str
    arguments: Mapping[str, Any] | str = field(default_factory=dict)
    """A string is sent as it is, malformed JSON included."""

    @property
    def arguments_json(self) -> str:
        """The arguments as the model writes them."""
        if isinstance(self.arguments, str):
            return self.arguments
        return json.dumps(self.arguments, ensure_ascii=False)


@dataclass(frozen=True)
class Reply:
    """What the model answers: a text, tool calls, or both."""

    text: str | None = None
    calls: tuple[Call, ...] = ()


def say(text: str | None, *calls: Call) -> Reply:
    """A reply, as it reads in a rule: `say("Let me look.", Call("list_files"))`."""
    return Reply(text, calls)


@dataclass(frozen=True)
class Rule:
    """Where `when` holds, the model answers `reply`."""

    when: Condition
    reply: Reply | Call | Callable[[Request], Reply | Call]
    """A function is called with the request, and must be as pure as the rest."""
    fault: Fault | None = None

    def reply_to(self, request: Request) -> Reply:
        """The reply to a request for which the rule holds."""
        reply = self.reply(request) if callable(self.reply) else self.reply
        return Reply(calls=(reply,)) if isinstance(reply, Call) else reply


class NoRuleMatchesError(LookupError):
    """The script says nothing about a request: names the turn, what was seen, and the rules."""


@dataclass(frozen=True)
class Script:
    """What a model says: the first rule that holds answers."""

    name: str
    rules: Sequence[Rule]
    about: str = ""
    """A line for people: what conversation this is for."""

    def rule_for(self, request: Request) -> Rule:
        """The first rule that holds.

        Raises:
            NoRuleMatchesError: None does.
        """
        for rule in self.rules:
            if rule.when(request):
                return rule
        raise NoRuleMatchesError(self._nothing_to_say(request))

    def _nothing_to_say(self, request: Request) -> str:
        if request.messages:
            last = request.messages[-1]
            text = last.text if len(last.text) <= SHOWN else f"{last.text[:SHOWN]}…"
            seen = f"{len(request.messages)} messages, the newest from {last.role}: {text!r}"
        else:
            seen = "no messages"
        rules = "; ".join(f"{number}. {rule.when}" for number, rule in enumerate(self.rules, 1))
        return (
            f"No rule of the script {self.name!r} matches turn {turn_of(request)}. "
            f"Seen: {seen}. Its rules: {rules or 'none'}."
        )
