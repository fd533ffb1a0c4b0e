"""Types of msgspec are first used in several threads at once."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "agentstepper_nb"
#: Types that are used without a plan.
PLAIN = ("str", "Raw", "msgspec.Raw", "dict[", "list[")

#: Four threads use the type at once, in forks that have not used it yet. Printed: how the forks ended.
_FIRST_USES = """
import os
import sys
import threading

from agentstepper_nb import typed_json
from agentstepper_nb.protocol.runtime import AgentState

sys.setswitchinterval(1e-6)
STATE = {
    "agent_id": "a", "session_id": "s", "moniker": "m", "created_at": 1.0, "updated_at": 1.0,
    "limits": {"retries": 1},
}

def use_type(barrier, done):
    barrier.wait()
    done.append(typed_json.USE(STATE, AgentState).limits.retries)

codes = []
for _ in range(40):
    if not (child := os.fork()):
        barrier, done = threading.Barrier(4), []
        threads = [threading.Thread(target=use_type, args=(barrier, done)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        os._exit(done != [1] * 4)
    codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
print(sorted(set(codes)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("use", ["convert", "decode"])
def test_threads_may_use_a_type_first_at_once(use: str) -> None:
    program = _FIRST_USES.replace("USE", use)
    if use == "decode":
        program = program.replace("STATE, ", "json.dumps(STATE), ").replace(
            "import os", "import json, os", 1
        )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, timeout=100
    )
    assert done.stdout.strip() == "[0]"


def find_lazy_uses(tree: ast.AST, inside: str = "") -> Iterator[int]:
    """The lines on which a function makes a decoder, or decodes a typed value, by msgspec itself."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            types = [ast.unparse(each.value) for each in node.keywords if each.arg == "type"]
            is_typed = any(not kind.startswith(PLAIN) for kind in types)
            # A class's own decoders are made with its instances, at import.
            if (called == "msgspec.json.Decoder" and inside not in ("", "__init__")) or (
                called == "msgspec.json.decode" and is_typed
            ):
                yield node.lineno
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        yield from find_lazy_uses(node, node.name if is_function else inside)


@pytest.mark.slow
def test_no_function_uses_a_type_first_by_msgspec_itself() -> None:
    found = [
        f"{path.relative_to(PACKAGE)}:{line}"
        for path in sorted(PACKAGE.rglob("*.py"))
        if path.name != "typed_json.py"
        for line in find_lazy_uses(ast.parse(path.read_text()))
    ]
    assert found == []
    assert list(find_lazy_uses(ast.parse("def f(x): msgspec.json.decode(x, type=Run)"))) == [1]
