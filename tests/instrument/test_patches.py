"""Methods that are wrapped in their places, also where another package wraps them."""

from __future__ import annotations

from typing import Any

import wrapt

from agentstepper_nb.instrument.patches import Patches, Wrapper


class Client:
    def send(self) -> str:
        return "sent"


def mark(name: str) -> Wrapper:
    def call(send: Any, client: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
        return f"{name}({send(*args, **kwargs)})"

    return call


def test_a_method_that_another_package_has_wrapped_is_wrapped_once_around_that() -> None:
    wrapt.wrap_function_wrapper(Client, "send", mark("theirs"))
    patches = Patches()
    patches.wrap(Client, "send", mark("ours"))
    patches.wrap(Client, "send", mark("again"))
    assert Client().send() == "ours(theirs(sent))"
    patches.undo()
    assert Client().send() == "theirs(sent)"
