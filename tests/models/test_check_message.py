"""What a message may name as a model: never a Python file by its path."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import Raw, json

from agentstepper_nb.coding.moniker import CodingMoniker
from agentstepper_nb.coding.service import create
from agentstepper_nb.errors import CommandError, ModelError
from agentstepper_nb.models import registry
from agentstepper_nb.protocol import coding_api as wire
from agentstepper_nb.runtime.monikers.joke import JokeMoniker
from agentstepper_nb.runtime.monikers.llm import LlmMoniker
from agentstepper_nb.runtime.monikers.model_moniker import open_provider
from agentstepper_nb.worker.services import ServiceContext

#: Leaves a mark where it is run.
EVIL = """
from pathlib import Path
from agentstepper_nb.models.scripted import ScriptRule, Script, always, say
Path(__file__).with_name("ran").touch()
script = Script("evil", [ScriptRule(always, say("Hello."))])
"""

CONFIGS: dict[str, tuple[Any, dict[str, Any]]] = {
    "joke": (JokeMoniker, {}),
    "llm": (LlmMoniker, {"task": "Count."}),
    "coding": (CodingMoniker, {"prompt": "Hello."}),
}


@pytest.fixture
def evil(tmp_path: Path) -> Path:
    (tmp_path / "evil.py").write_text(EVIL)
    return tmp_path / "evil.py"


@pytest.mark.parametrize("moniker", CONFIGS)
def test_no_background_agent_runs_a_file(moniker: str, evil: Path, tmp_path: Path) -> None:
    kind, config = CONFIGS[moniker]
    more = {"workspace": str(tmp_path)} if moniker == "coding" else {}
    with pytest.raises(ValueError, match="A message may not name the script"):
        kind.check(config | more | {"provider": "scripted", "model": str(evil)})
    with pytest.raises(ModelError, match="AGENTSTEPPER_SCRIPTS"):
        open_provider("scripted", str(evil))
    assert not (tmp_path / "ran").exists()


def ways(evil: Path) -> dict[str, Any]:
    how = wire.CreateCodingSession(
        workspace_path=str(evil.parent), provider="scripted", model=str(evil), auto_approve=True
    )
    return {"create": how, "resume": wire.ResumeCodingSession(session="s1", settings=how)}


@pytest.mark.parametrize("method", ["create", "resume"])
async def test_no_coding_session_runs_a_file(method: str, evil: Path, tmp_path: Path) -> None:
    context = ServiceContext(tmp_path / "data")
    service = create(context)
    call: Callable[[str, Raw], Awaitable[Any]] = service.call
    with pytest.raises(CommandError, match="A message may not name the script") as refused:
        await call(method, Raw(json.encode(ways(evil)[method])))
    assert refused.value.code == "session_failed"
    assert not (tmp_path / "ran").exists()
    await service.close()


def test_what_ships_with_the_package_and_what_the_environment_names(
    evil: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registry.refuse_script_path("scripted", "jokes")
    registry.refuse_script_path("openai", "any/model.py")
    with pytest.raises(ModelError, match=r"the scripts are fix_tests, jokes\."):
        registry.refuse_script_path("scripted", "evil")
    monkeypatch.setenv("AGENTSTEPPER_SCRIPTS", str(evil.parent))
    registry.refuse_script_path("scripted", "evil")
    with pytest.raises(ModelError, match=r"the scripts are fix_tests, jokes, evil\."):
        registry.refuse_script_path("scripted", str(evil))
    registry.create_provider("scripted", "evil")
    assert evil.with_name("ran").exists()


def test_this_processs_own_code_may(evil: Path) -> None:
    registry.create_provider("scripted", str(evil))
    assert evil.with_name("ran").exists()
