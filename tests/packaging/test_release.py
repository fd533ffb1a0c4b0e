"""The release notes, and the workflow that publishes."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from agentstepper_nb import __version__
from scripts import release_notes
from scripts.release_notes import NotesError, find_notes

WORKFLOW = Path(__file__).parents[2] / ".github" / "workflows" / "publish.yml"
CHANGELOG = """\
# Changelog

## Unreleased

### Added

- Soon.

## 1.2.0 – 2026-12-01

### Fixed

- This.

## 1.1.0
"""


def test_the_version_is_the_packages() -> None:
    assert release_notes.read_version() == __version__


@pytest.mark.parametrize("is_release", [False, True])
def test_the_notes_are_the_versions_part(is_release: bool) -> None:
    assert find_notes(CHANGELOG, "1.2.0", is_release) == "### Fixed\n\n- This."


def test_a_draft_has_what_is_unreleased() -> None:
    assert find_notes(CHANGELOG, "1.3.0", is_release=False) == "### Added\n\n- Soon."


@pytest.mark.parametrize("version", ["1.3.0", "1.1.0", "1.2"])
def test_a_release_without_dated_notes_is_refused(version: str) -> None:
    with pytest.raises(NotesError, match=f"no notes for {version}"):
        find_notes(CHANGELOG, version, is_release=True)


def test_a_tag_of_another_version_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert release_notes.main(["--release", "v0.0.0"]) == 1
    assert f"0.0.0 is not the version {__version__}" in capsys.readouterr().err


def test_the_notes_of_now_are_found(capsys: pytest.CaptureFixture[str]) -> None:
    assert release_notes.main([]) == 0
    assert capsys.readouterr().out.startswith("### ")


def test_a_person_publishes_and_no_token_is_stored() -> None:
    text = WORKFLOW.read_text()
    workflow = yaml.safe_load(text)
    assert list(workflow[True]) == ["workflow_dispatch"]  # YAML reads `on` so
    assert workflow["permissions"] == {}
    build, publish = workflow["jobs"]["build"], workflow["jobs"]["publish"]
    assert (publish["needs"], publish["environment"]) == ("build", "release")
    assert publish["permissions"]["id-token"] == "write"
    assert build["permissions"] == {"contents": "read"}
    assert "secrets." not in text and "password" not in text
    # An input is no part of a command: whoever starts the workflow runs nothing else by its name.
    commands = [step["run"] for job in (build, publish) for step in job["steps"] if "run" in step]
    assert any("make dist RELEASE=" in command for command in commands)
    assert not any("${{" in command for command in commands)
