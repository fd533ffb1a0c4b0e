"""Edits of prompt messages that a person made sticky: they are repeated wherever the message occurs.

An agent's own history keeps the original message. The run's table has the replacement of each such
message; a later prompt with the message is sent with the edit already made, so that a person sees
the edit, and may undo it or edit further.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from difflib import SequenceMatcher
from hashlib import sha256
from typing import Any, Final

from msgspec import UNSET, Raw, UnsetType
from msgspec.structs import replace

from ..protocol.answers import ResumeAnswer
from .json_text import dump_json

#: The members of a prompt that hold no messages, whatever is in them.
_OTHER_MEMBERS: Final = frozenset({"tools", "functions", "model"})

#: The replacement of a message: nothing, the edited message, or several messages.
_Replacement = tuple[Any, ...]


class StickyEdits:
    """The sticky edits of one run.

    Attributes:
        replacements: The replacement of each edited message, by the message's hash.
    """

    def __init__(self) -> None:
        self.replacements: dict[str, _Replacement] = {}

    def apply(self, shown: Raw, find_problem: Callable[[Raw], str | None]) -> Raw | UnsetType:
        """Repeat the edits in a prompt.

        Args:
            shown: The prompt as it is shown to a person.
            find_problem: Returns the reason why the agent can't apply an edit; None: it can.

        Returns:
            The edited prompt; UNSET where it has no such message, or the edits don't fit.
        """
        edited = _replace_messages(json.loads(bytes(shown)), self.replacements)
        if edited is None:
            return UNSET
        made = Raw(dump_json(edited).encode())
        return made if find_problem(made) is None else UNSET

    def accept(self, answer: ResumeAnswer, shown: Raw, applied: Raw | UnsetType) -> ResumeAnswer:
        """Record the edits that a person made sticky, or no longer sticky.

        Args:
            answer: The halt point's answer, where it makes an edit sticky or an edit was applied.
                Without data, it leaves `applied` unchanged.
            shown: The prompt as it was shown.
            applied: The edit that was sent with the prompt: the result of `apply`, edited by edit rules.

        Returns:
            The answer with the edit that is in force.
        """
        if answer.data is UNSET:
            return answer if applied is UNSET else replace(answer, data=applied)
        if answer.sticky and applied is not UNSET and bytes(answer.data) == bytes(applied):
            return answer  # what edit rules made of it isn't the person's
        prompt, replacements = json.loads(bytes(shown)), dict(self.replacements)
        for message in (each for _, messages in _list_messages(prompt) for each in messages):
            replacements.pop(_hash(message), None)
        if answer.sticky:
            replacements |= _compare(prompt, json.loads(bytes(answer.data)))
        self.replacements = replacements
        return answer


def _list_messages(prompt: Any) -> Iterator[tuple[str | None, list[Any]]]:
    """A prompt's lists of messages, each with the member that holds it; a text alone is one message."""
    if isinstance(prompt, list):
        yield None, prompt
    elif isinstance(prompt, str):
        yield None, [prompt]
    elif isinstance(prompt, dict):
        for name, value in prompt.items():
            if name in _OTHER_MEMBERS:
                continue
            if isinstance(value, list):
                yield name, value
            elif isinstance(value, str | dict):
                yield name, [{name: value}]  # the member's name tells a text from another member's


def _replace_messages(prompt: Any, table: dict[str, _Replacement]) -> Any | None:
    """A prompt with each message replaced that the table has; None where it has none of them."""
    edited, is_edited = prompt, False
    for name, messages in _list_messages(prompt):
        found = [table.get(_hash(message)) for message in messages]
        if all(each is None for each in found):
            continue
        pairs = zip(messages, found, strict=True)
        made = [new for old, each in pairs for new in ((old,) if each is None else each)]
        is_edited = True
        edited = _put(edited, name, made)
    return edited if is_edited else None


def _put(prompt: Any, name: str | None, messages: list[Any]) -> Any:
    """A prompt with other messages in one of its places."""
    if name is None:
        return messages if isinstance(prompt, list) else messages[0]
    if isinstance(prompt[name], list):
        return {**prompt, name: messages}
    return {**prompt, **messages[0]}


def _compare(prompt: Any, edited: Any) -> dict[str, _Replacement]:
    """The replacement of each message of a prompt that was edited."""
    if type(prompt) is not type(edited):
        return {}
    after = dict(_list_messages(edited))
    table: dict[str, _Replacement] = {}
    for name, messages in _list_messages(prompt):
        if name in after:
            is_whole = isinstance(prompt[name] if name is not None else prompt, list)
            table |= _compare_lists(messages, after[name], is_whole)
    return table


def _compare_lists(before: list[Any], after: list[Any], is_list: bool) -> dict[str, _Replacement]:
    hashes = [_hash(each) for each in before], [_hash(each) for each in after]
    if not is_list:
        same = hashes[0] == hashes[1] or len(after) != 1
        return {} if same else {hashes[0][0]: tuple(after)}
    table: dict[str, _Replacement] = {}
    matcher = SequenceMatcher(None, *hashes, autojunk=False)
    for kind, first, last, new_first, new_last in matcher.get_opcodes():
        new = after[new_first:new_last]
        if kind == "insert" and before:
            _insert(table, before, hashes[0], first, new)
        elif kind != "equal":
            for index in range(first, last):
                at = index - first
                # What is more than was there follows the last that was replaced.
                table[hashes[0][index]] = tuple(new[at:] if index == last - 1 else new[at : at + 1])
    return table


def _insert(
    table: dict[str, _Replacement], before: list[Any], hashes: list[str], at: int, new: list[Any]
) -> None:
    """New messages follow the message before them; the first ones stand before the first."""
    index = max(at - 1, 0)
    known = table.get(hashes[index], (before[index],))
    table[hashes[index]] = (*new, *known) if at == 0 else (*known, *new)


def _hash(message: Any) -> str:
    return sha256(dump_json(message).encode()).hexdigest()
