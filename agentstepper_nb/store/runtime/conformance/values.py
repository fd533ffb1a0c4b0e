"""Values: what is kept comes back as it was, and what can't be kept is refused whole."""

from __future__ import annotations

from typing import Any, Final

from msgspec.structs import replace

from ....errors import AgentStepperError
from ....protocol.runtime import Limits
from ....protocol.runtime_asks import MessageQuery, StepQuery
from .suite import (
    Suite,
    action,
    begin,
    conversation,
    create,
    enqueue,
    message,
    one_action,
    snapshot,
    step,
    write,
)

#: JSON values that something on the way might take for something else.
TELLING: Final[tuple[Any, ...]] = (
    *(None, True, False, 0, -1, 2**53, -(2**63), 0.1, 1e300, 5e-324),
    *("", "null", "true", "1", "1e400", "not json", '{"a": 1}', '"quoted"', "[1", "\\u0000"),
    *("\x00", "line\nline\r\n", "'; DROP TABLE actions; --", "naïve 🙂 \u2028 אב"),
    *([], {}, [[]], [None], {"": ""}, {"a": {"b": [1, "2", None, 3.5]}}, {"$type": "x", "a.b": 1}),
    "x" * 100_000,
)
#: Texts that stand where JSON belongs, and what they are read as.
PLANTED: Final[dict[str, Any]] = {
    "not json": "not json",
    "": "",
    "{": "{",
    "NaN": "NaN",
    "1e400": "1e400",
    "null": None,
    '"text"': "text",
    ' {"a": 1} ': {"a": 1},
    "[" * 100_000: "[" * 100_000,
}


def nested(depth: int) -> Any:
    """A list in a list in a list."""
    value: Any = "the innermost"
    for _ in range(depth):
        value = [value]
    return value


class Values(Suite):
    """JSON, texts, and what is neither."""

    async def test_json_comes_back_as_it_was(self) -> None:
        async with self.opened() as store:
            everything = [*TELLING, nested(200)]
            await store.save_conversation(conversation(tags=("one", "two, three", '"')))
            standing = await begin(store, config=everything)
            for number, value in enumerate((*TELLING, nested(200), everything)):
                left = action(f"a{number}", payload=value, metadata=[value])
                await enqueue(store, left)
                assert await one_action(store, left.id) == left
                row = step(iteration=number, data=value, state={"v": value}, guidance=value)
                full = replace(
                    standing, state=value, result={"v": value}, context=[value], guidance=value
                )
                heard = message(f"m{number}", number, data=value)
                await write(store, state=full, steps=(row,), messages=(heard,))
                assert await snapshot(store) == full
                query = StepQuery(session_id="s", min_iteration=number)
                assert (await store.steps(query)).steps == (row,)
                last = MessageQuery(conversation_id="c", last=True, limit=1)
                assert (await store.messages(last)).messages == (heard,)
            assert (await snapshot(store)).config == everything

    async def test_every_field_comes_back(self) -> None:
        async with self.opened() as store:
            limits = Limits(
                stop_on_done=False, max_steps=3, max_runtime_s=1.5, retries=2, backoff_s=0.25
            )
            given: dict[str, Any] = {
                "conversation_id": "c",
                "run_id": "run",
                "step": True,
                "limits": limits,
                "last_error": "none yet",
                "step_token": "a",
                "next_step_token": "b",
                "iteration": 7,
                "ran_s": 1.25,
                "config": {"subject": "cats"},
            }
            made = await create(store, **given)
            assert await snapshot(store) == made.state
            assert {name: getattr(made.state, name) for name in given} == given

    async def test_texts_of_any_kind_come_back(self) -> None:
        async with self.opened() as store:
            await begin(store)
            texts = [each for each in TELLING if isinstance(each, str)]
            rows = tuple(
                step(iteration=number, text=text, notes=text, error=text, latency_ms=number / 3)
                for number, text in enumerate(texts)
            )
            await write(store, steps=rows)
            assert (await store.steps(StepQuery(limit=1000))).steps == rows

    async def test_plain_text_where_json_belongs_is_read_as_that_text(self) -> None:
        async with self.opened() as store:
            await begin(store)
            for text, value in PLANTED.items():
                await self.plant(store, "s", text)
                assert (await snapshot(store)).state == value, text[:20]

    async def test_what_no_text_can_carry_is_refused_and_the_store_goes_on(self) -> None:
        async with self.opened() as store:
            await begin(store)
            for bad in ("\ud800", ["\udfff"], {"\ud800": 1}, object()):
                try:
                    await enqueue(store, action("good"), action("bad", payload=bad))
                except AgentStepperError as error:
                    assert str(error)
                else:
                    raise AssertionError(f"{bad!a} was taken")
            assert await enqueue(store, action("next")) == (action("next"),)
            assert (await store.info()).open == 1
