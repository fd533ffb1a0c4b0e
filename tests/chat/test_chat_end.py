"""`Chat`: how it ends, with its program, in a fork, and while an agent holds it up."""

from __future__ import annotations

import gc
import subprocess
import sys
import threading
import weakref
from collections.abc import AsyncGenerator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentstepper_nb.chat.chat import Chat
from agentstepper_nb.chat.chat_thread import ChatThreadLimits
from agentstepper_nb.chat.connector import Item, Turn
from agentstepper_nb.protocol.chat import Message
from tests.chat.chats import FunctionTestAgent, Make


def test_closed_it_says_so(make: Make) -> None:
    chat = make()
    chat.close()
    chat.close()
    with pytest.raises(RuntimeError, match="closed"):
        chat.send("Hello")


def test_the_last_reference_ends_it(tmp_path: Path) -> None:
    chat = Chat(FunctionTestAgent(), debugger=False, data_dir=tmp_path)
    thread, gone = chat._thread._thread, weakref.ref(chat)
    chat.send("Hello")
    del chat
    gc.collect()
    assert gone() is None and not thread.is_running


class ImpatientChat(Chat):
    """A chat that doesn't wait long for agents that hold it up."""

    _thread_limits = ChatThreadLimits(close_timeout_s=0.05, poll_interval_s=0.05)


def test_its_end_does_not_wait_for_an_agent_that_holds_it_up(tmp_path: Path) -> None:
    reached, let_go = threading.Event(), threading.Event()

    async def hold(message: Message, turn: Turn) -> AsyncGenerator[Item, None]:
        reached.set()
        let_go.wait()
        yield "At last."

    chat = ImpatientChat(FunctionTestAgent(hold), debugger=False, data_dir=tmp_path)
    thread = chat._thread._thread._thread
    chat.send("Hello", wait=False)
    reached.wait()
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(lambda: chat.messages)
        chat.close()  # it comes back
        assert thread.is_alive()
        for ask in (waiting.result, lambda: chat.send("And now?"), lambda: chat.messages):
            with pytest.raises(RuntimeError, match="closed"):
                ask()
    chat.close()
    let_go.set()
    thread.join()


_PROGRAM = """\
import os, sys, threading
from agentstepper_nb import Chat

chat = Chat(lambda message: message, debugger=False, data_dir=sys.argv[1])
child = os.fork()
if child == 0:
    try:
        chat.send("Hello")
    except RuntimeError as error:
        assert "fork" in str(error)
        with Chat(lambda message: message, debugger=False, data_dir=sys.argv[1]) as own:
            assert [each.content for each in own.send("Hello")] == ["Hello"]
        sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
assert [each.content for each in chat.send("Hello")] == ["Hello"]

reached = threading.Event()

def block(message):
    reached.set()
    threading.Event().wait()

blocked = Chat(block, debugger=False, data_dir=sys.argv[1])
blocked.send("Hello", wait=False)
reached.wait()
print("over", flush=True)
"""


@pytest.mark.slow
def test_a_fork_leaves_it_behind_and_a_program_ends_without_close_while_an_agent_blocks(
    tmp_path: Path,
) -> None:
    command = [sys.executable, "-W", "ignore", "-c", _PROGRAM, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")
