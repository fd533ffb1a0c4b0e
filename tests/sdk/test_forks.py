"""Agents that fork: each child has a run of its own, or leaves no trace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from agentstepper_nb.protocol.agent import Bye, CommitMade, EventBegun
from agentstepper_nb.protocol.data_model import EventOutcome, RunEnding
from tests.sdk.processes import agent, outcome
from tests.sdk.scripted_core import ScriptedCore, answer_start, waiting

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")


@needs_fork
def test_a_forked_child_opens_a_run_of_its_own(core: ScriptedCore) -> None:
    program = """
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    with dbg.tool("outer", {}) as t:
        pid = os.fork()
        if pid == 0:
            try:
                dbg.end_tool_invocation_breakpoint("the parent's")
            except RuntimeError as error:
                print(error, flush=True)
            with dbg.llm("from the child") as q:
                q.response = "r"
            sys.exit(0)
        os.waitpid(pid, 0)
        t.result = "of the parent"
    dbg.close()
    print("parent done", pid)
    """
    with agent(core, program) as process:
        code, out, err = outcome(process)
    assert code == 0, err
    assert "hasn't begun" in out
    parent, child = core.wait_for_peer(), core.wait_for_peer()
    assert parent.hello is not None
    assert child.hello is not None
    pid = int(out.split()[-1])
    assert child.hello.program == f"T (child {pid})"
    assert child.hello.pid == pid
    assert child.hello.run != parent.hello.run
    assert parent.wait_until_gone() == Bye(ending=RunEnding.FINISHED)
    assert child.wait_until_gone() == Bye(ending=RunEnding.FINISHED)
    assert [point.waits for point in child.halt_points] == [False, True, True]
    assert [event.parent for event in child.events] == [None, None]
    assert [point.outcome for point in parent.halt_points] == [None, None, EventOutcome.OK]


@pytest.mark.slow
@needs_fork
def test_a_forked_child_commits_for_itself(core: ScriptedCore, tmp_path: Path) -> None:
    program = f"""
    dbg = AgentStepper("T", "127.0.0.1", PORT, {str(tmp_path / "project")!r})
    pid = os.fork()
    if pid == 0:
        dbg.post_debug_message("the first call opens the child's run, and its workspace")
        open({str(tmp_path / "project" / "new.txt")!r}, "w").close()
        assert dbg.commit_agent_changes("of the child")
        sys.exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert dbg.commit_agent_changes("of the parent")
    """
    (tmp_path / "project").mkdir()
    with agent(core, program) as process:
        code, _, err = outcome(process)
    assert code == 0, err
    for peer, title in [
        (core.wait_for_peer(), "of the parent"),
        (core.wait_for_peer(), "of the child"),
    ]:
        peer.wait_until_gone()
        commits = [message for message in peer.received if isinstance(message, CommitMade)]
        assert [commit.title for commit in commits] == ["Initialized repository", title]
        assert [change.path for change in commits[-1].changes] == ["new.txt"]


@needs_fork
def test_a_child_that_calls_nothing_leaves_no_trace(core: ScriptedCore) -> None:
    program = """
    with AgentStepper("T", "127.0.0.1", PORT) as dbg:
        with dbg.tool("t", {}):
            pid = os.fork()
            if pid == 0:
                sys.exit(0)
            os.waitpid(pid, 0)
        dbg.post_debug_message("still connected")
    """
    with agent(core, program) as process:
        code, _, err = outcome(process)
    assert code == 0, err
    peer = core.wait_for_peer()
    assert peer.wait_until_gone() == Bye(ending=RunEnding.FINISHED)
    assert bytes(peer.events[-1].data) == b'"still connected"'
    assert len(core.peers) == 1


@needs_fork
def test_a_child_does_not_hold_the_parents_connection_open(core: ScriptedCore) -> None:
    program = """
    dbg = AgentStepper("T", "127.0.0.1", PORT)
    if os.fork() == 0:
        print("forked", flush=True)
        sys.stdout.close()
        os.read(0, 1)
        os._exit(0)
    dbg.begin_llm_query_breakpoint("p")
    """
    core.policy = answer_start
    with agent(core, program) as process:
        peer = core.wait_for_peer()
        waiting(peer)
        assert process.stdout is not None
        assert process.stdout.readline() == "forked\n"
        process.kill()
        assert peer.wait_until_gone() is None


@needs_fork
def test_multiprocessing_children_say_goodbye(core: ScriptedCore) -> None:
    program = """
    import multiprocessing
    dbg = AgentStepper("T", "127.0.0.1", PORT)

    def work(n):
        with dbg.llm(n) as q:
            q.response = n
        return n

    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(work, range(4), chunksize=2) == [0, 1, 2, 3]
        pool.close()
        pool.join()
    """
    with agent(core, program) as process:
        code, _, err = outcome(process)
    assert code == 0, err
    first = core.wait_for_peer()
    assert first.wait_until_gone() == Bye(ending=RunEnding.FINISHED)
    children = core.peers[1:]
    assert children
    for child in children:
        assert child.wait_until_gone() == Bye(ending=RunEnding.FINISHED)
    assert sum(len(child.events) - 1 for child in children) == 4
    assert all(isinstance(event, EventBegun) for event in first.events)
