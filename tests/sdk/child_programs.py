"""Programs for child processes, and an ear for what they say."""

from __future__ import annotations

import io
import sys
from queue import SimpleQueue

from tests.sdk.scripted_core import TIMEOUT_S

#: An agent that halts at a prompt, wherever its Core is.
CHILD = """
from agentstepper_nb import AgentStepper
with AgentStepper("child", stop_on_entry=False) as dbg:
    print(dbg.begin_llm_query_breakpoint("of the child"), flush=True)
"""
FOREVER = "import signal; print('ready', flush=True); signal.pause()"


def make_python_command(program: str, *arguments: str) -> list[str]:
    return [sys.executable, "-c", program, *arguments]


class CollectedOutput(io.StringIO):
    """An output that hands on what is written as it comes."""

    def __init__(self) -> None:
        super().__init__()
        self._texts: SimpleQueue[str] = SimpleQueue()

    def write(self, text: str) -> int:
        self._texts.put(text)
        return len(text)

    def wait_for_text(self, words: str) -> str:
        said = ""
        while words not in said:
            said += self._texts.get(timeout=TIMEOUT_S)
        return said
