from __future__ import annotations

import subprocess
import sys

import pytest

import agentstepper_nb


def in_a_new_process(program: str) -> str:
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("name", agentstepper_nb.__all__)
def test_every_public_name_is_there(name: str) -> None:
    value = getattr(agentstepper_nb, name)
    assert getattr(value, "__name__", name) == name
    assert name in dir(agentstepper_nb)


def test_other_names_are_not() -> None:
    with pytest.raises(AttributeError, match="no attribute 'Debugger'"):
        agentstepper_nb.Debugger  # noqa: B018


def test_importing_does_nothing() -> None:
    """Time is measured by the bench; what costs time is kept out here."""
    program = """
import sys, threading
before = set(sys.modules)
import agentstepper_nb
print(*sorted(name for name in set(sys.modules) - before if "." not in name))
assert threading.active_count() == 1
"""
    new = set(in_a_new_process(program).split())
    assert new.isdisjoint(
        {"msgspec", "websockets", "asyncio", "wrapt", "anywidget", "IPython", "tornado"}
    )


@pytest.mark.slow
def test_the_sdk_brings_no_house_along() -> None:
    program = """
import sys
from agentstepper_nb import AgentStepper
print(*sorted({name.partition(".")[0] for name in sys.modules}))
"""
    loaded = set(in_a_new_process(program).split())
    assert loaded.isdisjoint({"anywidget", "IPython", "tornado", "jupyter_server", "openai"})


def test_the_extension_is_the_magics() -> None:
    program = """
import agentstepper_nb
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
agentstepper_nb.load_ipython_extension(shell)
print(sorted(name for name in shell.magics_manager.magics["line"] if name == "agentstepper"))
"""
    assert in_a_new_process(program) == "['agentstepper']\n"
