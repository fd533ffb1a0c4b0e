"""Where the local model is looked for, and what is said where there is none."""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import pytest

from agentstepper_nb.errors import ModelError
from agentstepper_nb.models.local.model_process import (
    INSTALL_WEIGHTS_COMMAND,
    SERVER_PACKAGE,
    WEIGHTS_PACKAGE,
    LocalEndpoint,
    ModelFile,
    find_local_model,
)

ROOT = Path(__file__).parents[3]
REQUIRED = Path(__file__).with_name("requirements.txt").read_text().split()


def test_a_server_comes_first(package: Path, weights: Path) -> None:
    environ = {"AGENTSTEPPER_LOCAL_URL": "http://a/v1", "AGENTSTEPPER_LOCAL_GGUF": str(weights)}
    assert find_local_model("m", environ) == LocalEndpoint("http://a/v1", "none")
    assert find_local_model(None, environ | {"AGENTSTEPPER_LOCAL_KEY": "k"}) == LocalEndpoint(
        "http://a/v1", "k"
    )


def test_then_the_file_that_the_variable_names(package: Path, weights: Path) -> None:
    environ = {"AGENTSTEPPER_LOCAL_URL": "", "AGENTSTEPPER_LOCAL_GGUF": str(weights)}
    assert find_local_model("m", environ) == ModelFile(weights)


def test_then_the_package_which_is_not_imported(package: Path) -> None:
    assert find_local_model("m", {}) == ModelFile(package / "small.gguf")
    assert WEIGHTS_PACKAGE not in sys.modules


def test_a_file_may_be_the_models_name(
    weights: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert find_local_model("model.gguf", {"AGENTSTEPPER_LOCAL_URL": "http://a/v1"}) == ModelFile(
        weights
    )


def test_without_any_it_says_how_to_get_one(runtime: None, tmp_path: Path) -> None:
    with pytest.raises(ModelError) as caught:
        find_local_model("m", {})
    for part in (INSTALL_WEIGHTS_COMMAND, "AGENTSTEPPER_LOCAL_GGUF", "AGENTSTEPPER_LOCAL_URL"):
        assert part in str(caught.value)


def test_a_package_without_a_file_is_none(package: Path) -> None:
    (package / "small.gguf").unlink()
    with pytest.raises(ModelError, match="There is no local model"):
        find_local_model("m", {})


def test_a_file_that_isnt_there(runtime: None) -> None:
    with pytest.raises(ModelError, match=r"AGENTSTEPPER_LOCAL_GGUF names nowhere, and"):
        find_local_model("m", {"AGENTSTEPPER_LOCAL_GGUF": "nowhere"})
    with pytest.raises(ModelError, match=r"--model names no\.gguf, and"):
        find_local_model("no.gguf", {})


def test_a_file_that_nothing_can_serve(weights: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = str(Path(__file__).with_name("fake"))
    monkeypatch.setattr(sys, "path", [folder for folder in sys.path if folder != fake])
    if any((Path(folder) / SERVER_PACKAGE).is_dir() for folder in sys.path):
        pytest.skip(f"{SERVER_PACKAGE} is installed here")
    with pytest.raises(ModelError, match=r"to serve model\.gguf\. Run `pip install"):
        find_local_model(str(weights), {})


def test_what_is_tested_is_what_is_told_to_be_installed() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"][
        "optional-dependencies"
    ]
    runtime, model = REQUIRED
    assert extras["local"] == [runtime]
    assert INSTALL_WEIGHTS_COMMAND.split()[-1] == model
    assert not any("smollm2" in required for extra in extras.values() for required in extra)
