"""Write the golden store and the golden run files, as the Core of issue 17's beginning wrote them.

Not to be run again for the same folders: later Cores have to open what an earlier one wrote.

    python -m tests.goldens.make_store tests/goldens
"""

from __future__ import annotations

import asyncio
import base64
import json
import shutil
import sys
import zlib
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from agentstepper_nb.protocol.breakpoint_rules import (
    BreakpointRule,
    CostBudget,
    Price,
    Reaction,
    Repeated,
    TokenBudget,
    Touched,
)
from agentstepper_nb.protocol.data_model import (
    ChangeKind,
    EventKind,
    EventSide,
    Failure,
    FileBody,
    FileChange,
    Run,
    RunEnding,
    Usage,
)
from agentstepper_nb.protocol.records import ImportedRunSaved, Record, RunHistory, RunStarted
from agentstepper_nb.protocol.runtime import ConversationCursor, ConversationStatus, SessionStatus
from agentstepper_nb.protocol.runtime_store_messages import (
    ActionList,
    ActionQuery,
    AgentStateList,
    AgentStepList,
    ConversationList,
    ConversationMessageList,
    ConversationQuery,
    CursorQuery,
    CursorResult,
    MessageQuery,
    ParticipantList,
    ParticipantQuery,
    PostMessage,
    StateQuery,
    StepQuery,
)
from agentstepper_nb.protocol.v1 import runfile
from agentstepper_nb.store import archive, open_store
from agentstepper_nb.store.runtime.base import RuntimeStore
from agentstepper_nb.store.runtime.conformance import base_suite
from agentstepper_nb.store.runtime.sqlite import open_runtime_store
from tests.helpers.debugger_harness import DebuggerHarness
from tests.helpers.histories import make_full_history, make_random_records

STORE = "store"
TRUTH = "truth.json"
#: A content above the bound up to which contents stand in their row.
LONG = " ".join(f"sentence {number} of a long text" for number in range(60))
SYSTEM = f"You are a solver. {LONG}"


class Agents(Struct, frozen=True, kw_only=True):
    """Everything that a runtime's store answers."""

    actions: ActionList
    states: AgentStateList
    steps: AgentStepList
    conversations: ConversationList
    participants: ParticipantList
    messages: ConversationMessageList
    cursor: CursorResult


class Truth(Struct, frozen=True, kw_only=True):
    """What is in the golden store and in the golden files."""

    runs: tuple[Run, ...]  # as the Core shows them once it has replayed
    stops: tuple[BreakpointRule, ...]
    prices: tuple[Price, ...]
    histories: tuple[RunHistory, ...]
    sentences: dict[str, str]
    agents: Agents
    files: dict[str, RunHistory]  # by the file's name


async def read_agents(store: RuntimeStore) -> Agents:
    """Read everything in a runtime's store."""
    return Agents(
        actions=await store.actions(ActionQuery()),
        states=await store.states(StateQuery()),
        steps=await store.steps(StepQuery()),
        conversations=await store.conversations(ConversationQuery()),
        participants=await store.participants(ParticipantQuery(conversation_id="c")),
        messages=await store.messages(MessageQuery(conversation_id="c")),
        cursor=await store.cursor(CursorQuery(session_id="s", conversation_id="c")),
    )


# ---- what there is in them --------------------------------------------------------------------------


def records(harness: DebuggerHarness) -> list[Record]:
    """Runs that ended, one that is deleted, one that is halted, and what holds for all."""
    _rules(harness)
    _ended(harness)
    _halted(harness)
    _deleted(harness)
    by_chance = [r for seed in (1, 2, 3) for r in make_random_records(seed, f"chance-{seed}", 12)]
    return [*harness.records, *by_chance, ImportedRunSaved(history=make_full_history())]


def _rules(harness: DebuggerHarness) -> None:
    harness.set_breakpoint(
        BreakpointRule(id="tokens", watch=TokenBudget(limit=10**6), enabled=False)
    )
    harness.set_breakpoint(
        BreakpointRule(id="cost", watch=CostBudget(limit=2.5), reaction=Reaction.LOG)
    )
    harness.set_breakpoint(
        BreakpointRule(id="again", watch=Repeated(times=4, in_a_row=False), once=True)
    )
    harness.set_breakpoint(BreakpointRule(id="file", watch=Touched(path="*.py"), program="solve*"))
    condition = "data.Tool == 'rm'"
    call, begin = EventKind.TOOL_INVOCATION, EventSide.BEGIN
    harness.set_breakpoint(
        BreakpointRule(id="rm", kind=call, side=begin, name="r*", condition=condition, hit_count=2)
    )
    harness.set_breakpoint(BreakpointRule(id="gone"))
    harness.delete_breakpoint("gone")
    harness.set_prices(
        Price(model="gpt-*", input=1.25, output=10.0), Price(model="*", input=0, output=0)
    )


def _prompt(turns: int) -> str:
    said = [{"role": "system", "content": SYSTEM}]
    said += [{"role": "user", "content": f"Turn {turn}: {LONG}"} for turn in range(turns)]
    return json.dumps({"model": "m", "messages": said})


def _turn(harness: DebuggerHarness, run: str, turn: int) -> None:
    event = harness.begin(EventKind.LLM_QUERY, run, name="gpt-x")
    asked = harness.reach(event, data=_prompt(turn + 1), run=run)
    if turn == 1:
        harness.step(asked, 1, json.dumps({"edited": 1.0, "text": LONG}), run)
    else:
        harness.step(asked, run=run)
    harness.now += 1
    usage = Usage(input_tokens=900, output_tokens=50 + turn)
    said = harness.reach(event, EventSide.END, json.dumps(f"Answer {turn}"), run, usage=usage)
    harness.step(said, run=run)


def _ended(harness: DebuggerHarness) -> None:
    run = harness.start("ended", "solver", workspace="/projects/solver", pid=7, host="host")
    for turn in range(3):
        harness.now += 1
        _turn(harness, run, turn)
    said = harness.post_debug_message('"Look at größe 😀"', run)
    denied = harness.request_approval(run)
    harness.deny(denied, reason="Not that folder.", run=run)
    body = FileBody(diff=f"+{LONG}\n", content=f"{LONG}\n", previous_content="old\n")
    harness.commit(
        run, "c0ffee", changes=(FileChange(path="a.py", kind=ChangeKind.CHANGED, body=body),)
    )
    harness.commit(run, "decade", snapshot=True)
    harness.note(said, "Why there?", run)
    harness.rename("Night run", run)
    harness.tag("blue", "größe", run=run)
    harness.record_summary(harness.find_halt_point(denied), "It asks to list a folder.")
    harness.acknowledge(40, run)
    harness.finish(run, RunEnding.CRASHED, Failure(type="ValueError", message="no"), exit_code=1)


def _halted(harness: DebuggerHarness) -> None:
    run = harness.start("halted", "solver", workspace="/projects/solver", pid=8, host="host")
    _turn(harness, run, 0)
    harness.now += 1
    event = harness.begin(EventKind.LLM_QUERY, run, name="gpt-x")
    asked = harness.reach(event, data=_prompt(2), run=run)
    harness.edit(asked, json.dumps({"text": f"in the middle of an edit: {LONG}"}), 1, run)
    harness.acknowledge(11, run)


def _deleted(harness: DebuggerHarness) -> None:
    run = harness.start("deleted", "solver")
    harness.post_debug_message('"xylophone"', run)
    harness.finish(run)
    harness.delete(run)


async def write_agents(store: RuntimeStore) -> None:
    """Two sessions, their steps and actions, and a conversation."""
    await store.save_conversation(
        base_suite.make_conversation(tags=("t",), status=ConversationStatus.OPEN)
    )
    await store.join(base_suite.make_participant("p"))
    await base_suite.begin_session(store, "done", status=SessionStatus.DONE, result={"text": LONG})
    standing = await base_suite.begin_session(
        store, conversation_id="c", config={"subject": "größe"}
    )
    rows = tuple(
        base_suite.make_step(iteration=n, data={"n": n}, guidance="none yet") for n in range(3)
    )
    heard = base_suite.make_message("m0", data={"a": [1, None]})
    changed = msgspec.structs.replace(standing, iteration=3, state={"seen": [LONG]})
    await base_suite.write_session(store, state=changed, steps=rows, messages=(heard,))
    await base_suite.enqueue_actions(
        store, base_suite.make_action("later", payload=LONG, urgency=2, idem_key="key")
    )
    await store.post(
        PostMessage(
            message=base_suite.make_message("m1", 1.0), actions=(base_suite.make_action("told"),)
        )
    )
    await store.advance(
        ConversationCursor(session_id="s", conversation_id="c", last_message_id="m0")
    )


# ---- writing ----------------------------------------------------------------------------------------


async def _store(folder: Path, all_of_it: list[Record]) -> tuple[tuple[RunHistory, ...], Agents]:
    runs = open_store(folder)
    list(runs.load())
    done = asyncio.Event()
    runs.append(all_of_it, done.set, durable=True)
    await done.wait()
    await runs.search("sentence")
    started = {record.run.id for record in all_of_it if isinstance(record, RunStarted)}
    names = sorted((started | {"r"}) - {"deleted"})
    histories = tuple([await runs.history(name) for name in names])
    agents = open_runtime_store(folder)
    await write_agents(agents)
    told = await read_agents(agents)
    await agents.close()
    runs.close()
    (folder / "lock").unlink()
    return histories, told


def _bare(data: bytes) -> bytes:
    return zlib.decompress(base64.b64decode(data))


def files(recorded: bytes, histories: tuple[RunHistory, ...]) -> dict[str, bytes]:
    """A run's file of each form, by its name."""
    ended = next(each for each in histories if each.run.id == "ended")
    whole = archive.dump_archive(make_full_history())
    return {
        "original.run": recorded,
        "packed.run": runfile.dump_run(ended),
        "bare.run": _bare(runfile.dump_run(ended)),
        "every_field.run": runfile.dump_run(make_full_history()),
        "whole.agentstepper.zip": whole,
        "in_base64.run": base64.b64encode(whole),
    }


def main(folder: Path) -> None:
    """Write all of it below a folder."""
    harness = DebuggerHarness()
    all_of_it = records(harness)
    store = folder / STORE
    shutil.rmtree(store, ignore_errors=True)
    histories, agents = asyncio.run(_store(store, all_of_it))
    replayed = DebuggerHarness()
    replayed.debugger.restore(all_of_it)
    written = files((folder.parent / "wire" / "recorded.run").read_bytes(), histories)
    for name, data in written.items():
        (folder / name).write_bytes(data)
    truth = Truth(
        runs=tuple(replayed.debugger.runs),
        stops=replayed.debugger.breakpoints,
        prices=replayed.debugger.prices,
        histories=histories,
        sentences={"key of It asks to list a folder.": "It asks to list a folder."},
        agents=agents,
        files={name: archive.load_run_file(data) for name, data in written.items()},
    )
    text: Any = msgspec.json.format(msgspec.json.encode(truth), indent=1)
    (folder / TRUTH).write_bytes(text + b"\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
