"""The tool calls in an answer and their results in later requests, whatever the API: read and edited.

Chat Completions, Responses, Messages and Bedrock's Converse give each call an id, which its result
names. Gemini's calls may have none: there a call is known by its place, which is a digest of the
conversation before it.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import msgspec

from .answer_events import JsonObject

#: The items of Responses and Messages by which the client is to call a tool, each with the member that
#: has the arguments.
_CALL_ITEMS: Final = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "tool_use": "input",
}
#: The members that an item has which is a call, where no type says so.
_CALL_MEMBERS: Final = frozenset({"function", "custom", "functionCall", "toolUse"})
#: The items that hold a result, each with the members that have the call's id and the content.
_RESULT_ITEMS: Final = {
    "function_call_output": ("call_id", "output"),
    "custom_tool_call_output": ("call_id", "output"),
    "tool_result": ("tool_use_id", "content"),
}
#: Why an answer ended that called tools, and why one that doesn't.
_END_REASONS: Final = {"tool_calls": "stop", "function_call": "stop", "tool_use": "end_turn"}


@dataclass(frozen=True, eq=False)
class WireToolCall:
    """A tool call in an answer.

    Args:
        match_keys: By these its result is known.
        named_object: The object that has the name and the arguments.
        value_key: The member of that object that has the arguments.
        item_list: The list that the call stands in.
        item: The call's item of that list.
        parent: The object that has the list, for what depends on it.
    """

    match_keys: tuple[str, ...]
    named_object: JsonObject
    value_key: str
    item_list: list[Any]
    item: JsonObject
    parent: JsonObject

    @property
    def name(self) -> str:
        """The tool's name."""
        return str(self.named_object["name"])

    @property
    def given_id(self) -> str | None:
        """The id that the model gave the call, by which a result names it."""
        ids = (self.item.get("call_id"), self.item.get("id"), self.named_object.get("id"))
        return next((id for id in ids if isinstance(id, str) and id), None)

    @property
    def args(self) -> Any:
        """The arguments; JSON in a text as what it stands for."""
        given = self.named_object.get(self.value_key)
        if self.value_key == "arguments" and isinstance(given, str):
            try:
                return msgspec.json.decode(given or "{}")
            except ValueError:  # the model's own mistake
                return given
        return given

    def edit(self, name: str, args: Any) -> None:
        """Call another tool, or with other arguments, in place."""
        is_text = isinstance(self.named_object.get(self.value_key), str)
        as_json = is_text and not isinstance(args, str)
        self.named_object["name"] = name
        self.named_object[self.value_key] = msgspec.json.encode(args).decode() if as_json else args


@dataclass(frozen=True, eq=False)
class WireToolResult:
    """A tool's result in a request.

    Args:
        match_keys: By these its call is known.
        named_object: The object that has the content.
        value_key: The member of that object that has it.
    """

    match_keys: tuple[str, ...]
    named_object: JsonObject
    value_key: str

    @property
    def content(self) -> Any:
        """The tool's result."""
        return self.named_object.get(self.value_key)

    def edit(self, content: Any) -> None:
        """Replace the content, in place."""
        self.named_object[self.value_key] = content

    def check(self, edited: Any) -> Any:
        """See that an edited content is one that the API takes.

        Raises:
            ValueError: It isn't.
        """
        if self._is_converse:
            if not isinstance(edited, list):
                raise ValueError("A result of Bedrock's API is a list of content blocks.")
        elif self.value_key == "response":
            if not isinstance(edited, dict):
                raise ValueError("A result of Gemini's API is a JSON object.")
        elif not isinstance(edited, str | list):
            raise ValueError("A tool's result is a text, or a list of content parts.")
        return edited

    @property
    def _is_converse(self) -> bool:
        return "toolUseId" in self.named_object

    def make_content(self, text: str) -> Any:
        """A text as the content."""
        if self._is_converse:
            return [{"text": text}]
        return {"error": text} if self.value_key == "response" else text


# ---- calls -------------------------------------------------------------------------------------------


def find_tool_calls(answer: Mapping[str, Any], body: Mapping[str, Any]) -> list[WireToolCall]:
    """The calls that a whole answer asks its client for, in its order.

    Args:
        answer: The answer.
        body: The request's body, as the agent sent it.
    """
    calls = (
        *_chat_calls(answer),
        *_listed_calls(answer),
        *_gemini_calls(answer, body),
        *_converse_calls(answer),
    )
    return [call for call in calls if isinstance(call.named_object.get("name"), str)]


def _chat_calls(answer: Mapping[str, Any]) -> Iterator[WireToolCall]:
    for choice in iterate_objects(answer.get("choices")):
        calls = _list_of(_find_member(choice.get("message"), "tool_calls"))
        for call in iterate_objects(calls):
            for kind, member in (("function", "arguments"), ("custom", "input")):
                for holder in iterate_objects([call.get(kind)]):
                    yield WireToolCall(_keys(call.get("id")), holder, member, calls, call, choice)


def _listed_calls(answer: Mapping[str, Any]) -> Iterator[WireToolCall]:
    """Those of Responses and of Messages, which stand among the answer's other parts."""
    for name, key in (("output", "call_id"), ("content", "id")):
        parts = _list_of(answer.get(name))
        for part in iterate_objects(parts):
            member = _CALL_ITEMS.get(str(part.get("type")))
            if member is not None:
                yield WireToolCall(
                    _keys(part.get(key)), part, member, parts, part, _dict_of(answer)
                )


def _gemini_calls(answer: Mapping[str, Any], body: Mapping[str, Any]) -> Iterator[WireToolCall]:
    for candidate in iterate_objects(answer.get("candidates")):
        parts = _list_of(_find_member(candidate.get("content"), "parts"))
        called = [
            part for part in iterate_objects(parts) if isinstance(part.get("functionCall"), dict)
        ]
        place = _digest(body.get("contents")) if called else ""
        for index, part in enumerate(called):
            call = part["functionCall"]
            keys = (*_keys(call.get("id")), f"{place}/{index}")
            yield WireToolCall(keys, call, "args", parts, part, candidate)


def _converse_calls(answer: Mapping[str, Any]) -> Iterator[WireToolCall]:
    """Those of Bedrock's Converse."""
    message = _find_member(answer.get("output"), "message")
    parts = _list_of(_find_member(message, "content"))
    for part in iterate_objects(parts):
        for call in iterate_objects([part.get("toolUse")]):
            keys = _keys(call.get("toolUseId"))
            yield WireToolCall(keys, call, "input", parts, part, _dict_of(answer))


def remove_call(call: WireToolCall, text: str) -> None:
    """Replace a call in its answer by a text, in place, so that the client doesn't make the call.

    Args:
        call: The call, in an answer that the caller may change.
        text: The text.
    """
    index = next(index for index, part in enumerate(call.item_list) if part is call.item)
    replacement = _make_text(call, text)
    call.item_list[index : index + 1] = [] if replacement is None else [replacement]
    left = [part for part in call.item_list if _is_call(part)]
    message = call.parent.get("message")
    if replacement is None and isinstance(message, dict):
        message["content"] = "\n".join(filter(None, (message.get("content"), text)))
        if not left:
            del message["tool_calls"]
    for reason in ("finish_reason", "stop_reason", "stopReason"):
        if not left and call.parent.get(reason) in _END_REASONS:
            call.parent[reason] = _END_REASONS[call.parent[reason]]


def _make_text(call: WireToolCall, text: str) -> JsonObject | None:
    """A part that says a text; None where texts stand apart from calls."""
    if call.item.get("type") == "tool_use":
        return {"type": "text", "text": text}
    if call.item.get("type") in _CALL_ITEMS:
        content = [{"type": "output_text", "text": text, "annotations": []}]
        identity = f"msg_{call.item.get('call_id', '')}"
        kind = {"type": "message", "id": identity, "role": "assistant", "status": "completed"}
        return {**kind, "content": content}
    return {"text": text} if {"functionCall", "toolUse"} & call.item.keys() else None


def _is_call(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    # By its members: some servers of Chat Completions leave the type of a call out.
    return part.get("type") in _CALL_ITEMS or not _CALL_MEMBERS.isdisjoint(part)


# ---- results -----------------------------------------------------------------------------------------


def find_tool_results(body: Mapping[str, Any]) -> list[WireToolResult]:
    """The results that a request's conversation holds, in its order.

    Args:
        body: The request's body, as the agent sent it.
    """
    return [*_message_results(body), *_input_results(body), *_gemini_results(body)]


def _message_results(body: Mapping[str, Any]) -> Iterator[WireToolResult]:
    for message in iterate_objects(body.get("messages")):
        if message.get("role") == "tool":
            yield WireToolResult(_keys(message.get("tool_call_id")), message, "content")
        else:
            yield from _listed_results(message.get("content"))


def _input_results(body: Mapping[str, Any]) -> Iterator[WireToolResult]:
    yield from _listed_results(body.get("input"))


def _listed_results(parts: Any) -> Iterator[WireToolResult]:
    for part in iterate_objects(parts):
        for given in iterate_objects([part.get("toolResult")]):  # Bedrock's
            yield WireToolResult(_keys(given.get("toolUseId")), given, "content")
        members = _RESULT_ITEMS.get(str(part.get("type")))
        if members is not None:
            yield WireToolResult(_keys(part.get(members[0])), part, members[1])


def _gemini_results(body: Mapping[str, Any]) -> Iterator[WireToolResult]:
    contents = list(iterate_objects(body.get("contents")))
    before = sha256()  # the conversation before a content
    left: list[tuple[str, Any]] = []
    for content in contents:
        parts = list(iterate_objects(content.get("parts")))
        called = [*iterate_objects([part.get("functionCall") for part in parts])]
        if called:
            place = before.hexdigest()
            left = [(f"{place}/{number}", call.get("name")) for number, call in enumerate(called)]
        for part in parts:
            given = part.get("functionResponse")
            if isinstance(given, dict):
                at = next((each for each in left if each[1] == given.get("name")), None)
                if at is not None:
                    left.remove(at)
                keys = (*_keys(given.get("id")), *([] if at is None else [at[0]]))
                yield WireToolResult(keys, given, "response")
        before.update(msgspec.json.encode(content))


# ---- edits -------------------------------------------------------------------------------------------


def copy_and_find(
    value: Mapping[str, Any], find: Callable[[JsonObject], list[Any]]
) -> tuple[JsonObject, list[Any]]:
    """Copy an answer or body, so that it may be edited in place, and find the calls or results in it."""
    copied = copy.deepcopy(dict(value))
    return copied, find(copied)


def iterate_objects(items: Any) -> Iterator[JsonObject]:
    """Iterate over the objects in a list; nothing if the value isn't a list."""
    if isinstance(items, list):
        yield from (item for item in items if isinstance(item, dict))


def _find_member(value: Any, name: str) -> Any:
    """The member of an object; None of what is none: a person or a server may write anything there."""
    return value.get(name) if isinstance(value, dict) else None


def _list_of(value: Any) -> list[Any]:
    """The same list, as one that may be edited in place; an empty one of what is none."""
    return value if isinstance(value, list) else []


def _dict_of(value: Mapping[str, Any]) -> JsonObject:
    """The same object, as one that may be edited in place."""
    assert isinstance(value, dict)
    return value


def _keys(identity: Any) -> tuple[str, ...]:
    return (identity,) if isinstance(identity, str) and identity else ()


def _digest(contents: Any) -> str:
    digest = sha256()
    for content in iterate_objects(contents):
        digest.update(msgspec.json.encode(content))
    return digest.hexdigest()
