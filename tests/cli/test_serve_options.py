"""The options of `agentstepper serve`, in the command line and in a file."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from msgspec import structs

from agentstepper_nb.cli import main
from agentstepper_nb.cli.serve import ServeOptions, read_options_file


def test_each_option_has_the_same_name_in_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--help"])
    options = re.findall(r"^ +(?:-\w, )?--(?:no-)?([a-z-]+)", capsys.readouterr().out, re.MULTILINE)
    named = {field.encode_name for field in structs.fields(ServeOptions)}
    assert {*options} - {"help", "config"} <= named
    file = tmp_path / "agentstepper.toml"
    file.write_text("until-eof = true\n")
    assert read_options_file(file).until_eof
