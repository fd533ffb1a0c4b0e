"""The person's editor, and what it leaves."""

from __future__ import annotations

import pytest

from agentstepper_nb.cli.json_editor import EditorError, edit_json


def test_the_saved_text_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VISUAL", """sh -c 'printf "é\n" > "$0"'""")
    assert edit_json("{}") == "é"


@pytest.mark.parametrize(
    ("editor", "reason"),
    [("""sh -c 'rm "$0"'""", "No such file"), ("""sh -c 'printf "\\351" > "$0"'""", "utf-8")],
)
def test_what_cannot_be_read_is_an_editors_error(
    editor: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VISUAL", editor)
    with pytest.raises(EditorError, match=f"{reason}.* Save it as UTF-8, under the name"):
        edit_json("{}")
