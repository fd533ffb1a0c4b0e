"""Contents in pieces, from agents and to UIs: what is recorded and shown is what was said."""

from __future__ import annotations

import json
import logging
import random
from typing import Any

import msgspec
import pytest

from agentstepper_nb.hub.limits import HubLimits
from agentstepper_nb.protocol.data_model import RunState
from agentstepper_nb.protocol.delta_encoding import DeltaDecoder, DeltaEncoder, EncodedContent
from tests.hub.harness import ScriptedAgent, ScriptedView, open_hub
from tests.hub.test_slow_reads import settle

Json = Any


def prompt(count: int, size: int = 600) -> str:
    """A conversation after so many messages, in a form that nobody else writes."""
    said = [
        f'{{"role" : "user","n":1.0, "content":"{n} {"é" * (size // 2)}"}}' for n in range(count)
    ]
    return f"[{' ,'.join(said)}\n]"


def reach_with_content(agent: ScriptedAgent, encoder: DeltaEncoder, text: str, id: str) -> None:
    """Reach a halt point whose contents travel in pieces."""
    reach_with_encoded(agent, encoder.encode(text.encode()), id)


def reach_with_encoded(agent: ScriptedAgent, encoded: EncodedContent | None, id: str) -> None:
    assert encoded is not None
    agent.reach(id, pieces=msgspec.to_builtins(encoded), waits=False)


async def read_shown(person: ScriptedView, decoder: DeltaDecoder, message: str) -> Json:
    """A message's contents, as a view gets them."""
    answer = await person.request("get_message", run="r", message=message)
    assert answer["type"] == "message", answer
    return read_content(answer["body"], decoder)


def read_content(body: Json, decoder: DeltaDecoder) -> Json:
    if body["pieces"] is None:
        return body["data"]
    assert body["data"] == ""
    return decoder.decode(msgspec.convert(body["pieces"], EncodedContent)).decode()


# ---- from agents -----------------------------------------------------------------------------------


async def test_what_an_agent_tells_in_pieces_is_recorded_as_it_was() -> None:
    hub, agent, encoder = await open_hub(), ScriptedAgent(), DeltaEncoder()
    await agent.connect(hub)
    for count in range(2, 12):
        reach_with_content(agent, encoder, prompt(count), f"b{count}")
    history = await hub.history("r")
    assert [point.data for point in history.halt_points] == [prompt(n) for n in range(2, 12)]
    assert sum(map(len, agent.sent_texts)) < 3 * len(
        json.dumps(prompt(11))
    )  # as the test writes it
    await hub.close()


async def test_what_is_told_again_is_taken_once_and_understood() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    encoder = DeltaEncoder()
    for count in (2, 3):
        reach_with_content(agent, encoder, prompt(count), f"b{count}")
    agent.disconnect()
    said, agent.sent_texts = agent.sent_texts, []
    anew = DeltaEncoder()
    await agent.connect(hub, sent=len(said) + 1)
    for count in (2, 3):  # it didn't hear that these are kept
        reach_with_content(agent, anew, prompt(count), f"b{count}")
    reach_with_content(agent, anew, prompt(4), "b4")
    history = await hub.history("r")
    assert [point.data for point in history.halt_points] == [prompt(n) for n in (2, 3, 4)]
    assert agent.connection.take_bodies("error") == []
    await hub.close()


async def test_an_unknown_piece_ends_the_connection_and_the_run_goes_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    hub, agent, encoder = await open_hub(), ScriptedAgent(), DeltaEncoder()
    await agent.connect(hub)
    reach_with_content(agent, encoder, prompt(2), "b2")
    agent.begin("e-b3")
    lost = EncodedContent(number=2, prefix_of=1, prefix_pieces=1, rest=(99,))
    for _ in range(2):  # nothing that follows is heard
        agent.reach("b3", event="e-b3", pieces=msgspec.to_builtins(lost))
    code, reason = agent.connection.closed_with or (0, "")
    assert (code, reason.partition(":")[0]) == (1003, "unknown_content")
    assert agent.connection.take_bodies("error") == []
    assert "This connection has no piece 99" in caplog.text
    agent.disconnect()
    assert hub.run("r").state is RunState.DETACHED
    agent.sent_texts = agent.sent_texts[:-2]
    assert (await agent.connect(hub))["received"] == 1 + len(agent.sent_texts)
    anew = DeltaEncoder().encode(prompt(3).encode())
    agent.reach("b3", event="e-b3", pieces=msgspec.to_builtins(anew))
    history = await hub.history("r")
    assert [point.data for point in history.halt_points] == [prompt(2), prompt(3)]
    await hub.close()


async def test_a_content_that_could_not_be_read_is_missed() -> None:
    hub, agent, encoder = await open_hub(), ScriptedAgent(), DeltaEncoder()
    await agent.connect(hub)
    first = msgspec.to_builtins(encoder.encode(prompt(2).encode()))
    agent.reach("b2", pieces=first, clock="soon")
    assert (await agent.connection.receive("error"))["code"] == "invalid_message"
    assert agent.connection.closed_with is None
    reach_with_content(agent, encoder, prompt(3), "b3")
    assert agent.connection.closed_with is not None
    await hub.close()


@pytest.mark.parametrize("then", [("tru",), ("[1,", "]"), ('"', "\\", "ud800", '"'), ("",), ()])
async def test_joined_they_are_json(then: tuple[str, ...]) -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    reach_with_encoded(agent, EncodedContent(number=1, rest=then), "b")
    assert (await agent.connection.receive("error"))["code"] == "invalid_message"
    reach_with_encoded(agent, EncodedContent(number=2, rest=("[", "1]")), "c")
    assert [point.id for point in (await hub.history("r")).halt_points] == ["c"]
    await hub.close()


async def test_few_bytes_can_t_tell_more_than_a_message_may_have() -> None:
    hub, agent = await open_hub(limits=HubLimits(max_content_bytes=10_000)), ScriptedAgent()
    await agent.connect(hub)
    reach_with_encoded(agent, EncodedContent(number=1, rest=("[", "0", *[",0"] * 998, "]")), "a")
    reach_with_encoded(
        agent, EncodedContent(number=2, prefix_of=1, prefix_pieces=999, rest=(2,) * 9000), "b"
    )
    assert (await agent.connection.receive("error"))["code"] == "too_large"
    assert [point.id for point in (await hub.history("r")).halt_points] == ["a"]
    await hub.close()


async def test_what_is_acknowledged_counts_as_it_was() -> None:
    limits = HubLimits(acknowledgement_delay_s=1000, max_unacknowledged_bytes=20_000)
    hub, agent, encoder = await open_hub(limits=limits), ScriptedAgent(), DeltaEncoder()
    await agent.connect(hub)
    reach_with_content(agent, encoder, prompt(50), "b1")
    reach_with_content(agent, encoder, prompt(50), "b2")
    await agent.connection.receive("acknowledged", received=5)
    await hub.close()


# ---- to UIs ------------------------------------------------------------------------------------------


async def test_a_ui_is_told_what_is_new() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    for count in range(1, 12):
        agent.reach(f"b{count}", data=json.loads(prompt(count)), waits=False)
    agent.reach("short", data=7, waits=False)
    person, decoder = ScriptedView(hub), DeltaDecoder()
    await settle()
    person.connection.sent.clear()
    size = 0
    for count in range(1, 12):
        answer = await person.request("get_message", run="r", message=f"b{count}")
        size += len(json.dumps(answer))
        assert json.loads(read_content(answer["body"], decoder)) == json.loads(prompt(count))
    assert size < 3 * len(json.dumps(json.loads(prompt(11))))
    answer = await person.request("get_message", run="r", message="short")
    assert (answer["body"]["data"], answer["body"]["pieces"]) == ("7", None)
    other, anew = ScriptedView(hub), DeltaDecoder()
    assert json.loads(await read_shown(other, anew, "b5")) == json.loads(prompt(5))
    await hub.close()


async def test_large_and_small_contents_come_in_the_order_in_which_they_were_asked() -> None:
    hub, agent = await open_hub(), ScriptedAgent()
    await agent.connect(hub)
    for count in (300, 2, 301, 3):
        agent.reach(f"b{count}", data=json.loads(prompt(count)), waits=False)
    person, decoder = ScriptedView(hub), DeltaDecoder()
    await settle()
    asked = [300, 2, 301, 3] * 2
    ids = [person.send_command("get_message", run="r", message=f"b{count}") for count in asked]
    await person.request("get_message", run="r", message="b2")
    answers = [each for each in person.connection.sent if each.get("id") in ids]
    assert [answer["id"] for answer in answers] == ids
    for count, answer in zip(asked, answers, strict=True):
        assert json.loads(read_content(answer["body"], decoder)) == json.loads(prompt(count))
    await hub.close()


# ---- hostile ones ------------------------------------------------------------------------------------


def hostile(chance: random.Random, encoder: DeltaEncoder, count: int) -> Json:
    """What an agent might send as pieces; about half of it is right."""
    right: Json = msgspec.to_builtins(encoder.encode(prompt(2 + count % 30).encode()))
    match chance.randrange(14):
        case 0:
            right[chance.choice(["number", "like", "keep"])] = chance.choice(
                [-1, 0, 3, 2**52, "1", None]
            )
        case 1:
            right["then"] = [chance.choice([-1, 0, 1, 10**30, "", "x", 1.5, None, []])] * 3
        case 2:
            right["then"] = [*right["then"], *[1] * chance.randrange(2000)]
        case 3:
            return chance.choice([None, [], {}, "pieces", {"number": 1}])
        case 4:
            right["then"] = right["then"][1:]
    return right


async def bombard(messages: int) -> None:
    """Tell a hub so much, each new connection from the start; the run stays one that can be shown."""
    hub, chance = await open_hub(), random.Random(messages)
    codes = set()
    agent, encoder = ScriptedAgent(), DeltaEncoder()
    await agent.connect(hub)
    for number in range(messages):
        agent.begin(f"e{number}")
        agent.reach(f"b{number}", event=f"e{number}", pieces=hostile(chance, encoder, number))
        if agent.connection.closed_with is not None:
            codes.add(agent.connection.closed_with[1].partition(":")[0])
            agent.disconnect()
            encoder = DeltaEncoder()
            await agent.connect(hub, acknowledged=0)
            agent.sent_texts = agent.sent_texts[: hub.debugger.last_received("r") - 1]
        codes.update(error["code"] for error in agent.connection.take_bodies("error"))
        hub.perform(hub.commands.resume("r", hub.clock()))
    assert codes == {"unknown_content", "invalid_message"}
    history = await hub.history("r")
    assert len(history.halt_points) > messages / 3
    for point in history.halt_points:
        json.loads(point.data)
    await hub.close()


@pytest.fixture
def quiet(caplog: pytest.LogCaptureFixture) -> Any:
    """Nothing may be logged as an error: refusals are warnings."""
    yield
    assert [each for each in caplog.records if each.levelno >= logging.ERROR] == []


@pytest.mark.usefixtures("quiet")
async def test_hostile_pieces() -> None:
    await bombard(500)


@pytest.mark.soak
@pytest.mark.usefixtures("quiet")
async def test_many_hostile_pieces() -> None:
    await bombard(20_000)
