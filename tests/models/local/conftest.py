"""A local model of which only the model is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from agentstepper_nb.models.local.model_process import (
    GGUF_VARIABLE,
    KEY_VARIABLE,
    URL_VARIABLE,
    WEIGHTS_PACKAGE,
)

FAKE = Path(__file__).with_name("fake")

#: What the “file of a model” says: a script, in the form that a constrained answer has.
SCRIPT = """\
from agentstepper_nb.models.scripted import *

script = Script("local", [
    ScriptRule(says("user", "^call"), say('{"tool": "look", "arguments": {"path": "ü.py"}}')),
    ScriptRule(says("user", "^wait"), say("one two three", ), PauseFault("never", pieces_sent=2)),
    ScriptRule(always, say('{"text": "Hello."}')),
])
"""


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake is what is installed, here and in processes that are started."""
    for variable in (URL_VARIABLE, KEY_VARIABLE, GGUF_VARIABLE):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("PYTHONPATH", str(FAKE))
    monkeypatch.syspath_prepend(str(FAKE))


@pytest.fixture
def weights(runtime: None, tmp_path: Path) -> Path:
    file = tmp_path / "model.gguf"
    file.write_text(SCRIPT)
    return file


@pytest.fixture
def package(runtime: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The package that brings weights; who imports it fails."""
    folder = tmp_path / "site" / WEIGHTS_PACKAGE
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("import llm_is_not_here")
    (folder / "small.gguf").write_text(SCRIPT)
    monkeypatch.syspath_prepend(str(folder.parent))
    return folder
