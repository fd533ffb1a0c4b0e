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


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("port = 1", "unknown field `port`"),
        ('client-port = "x"', "Expected `int`, got `str` - at `$.client-port`"),
        ("ui-port = 70000", "`int` <= 65535 - at `$.ui-port`"),
        ("keep-days = 0", "`float` > 0.0 - at `$.keep-days`"),
        ("keep-sessions = 0", "`int` >= 1 - at `$.keep-sessions`"),
        ("max-sessions = 0", "`int` >= 1 - at `$.max-sessions`"),
        ('durability = "never"', "Invalid enum value 'never' - at `$.durability`"),
        ("client-port 8765", "isn't TOML"),
        (None, "can't be read"),
    ],
)
def test_what_a_file_sets_wrongly_is_said(
    text: str | None, message: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = home / "bad.toml"
    if text is not None:
        config.write_text(text)
    assert main(["serve", "--config", str(config)]) == 2
    said = capsys.readouterr().err
    assert str(config) in said
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["--model-rate", "m=60/min", "gpt-5=often"],
            "'gpt-5=often' isn't a model's rate. Use MODEL=60/min",
        ),
        (["--token", "same", "--control-token", "same"], "must differ"),
    ],
)
def test_values_that_can_not_be_are_refused(
    arguments: list[str], message: str, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["serve", "--data", str(home), *arguments]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert said.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["serve", "--client-port", "70000"], "70000 is not between 0 and 65535"),
        (["serve", "--durability", "never"], "invalid choice: 'never'"),
        (["serve", "--keep-days", "0"], "0 is not above 0"),
        (["serve", "--keep-sessions", "0"], "0 is not between 1 and"),
        (["serve", "--max-actions", "0"], "0 is not between 1 and"),
        (["serve", "--keep-gib", "much"], "invalid number value: 'much'"),
        (["serve", "--client", "1"], "unrecognized arguments: --client"),
        (["dance"], "invalid choice: 'dance'"),
        ([], "required: COMMAND"),
    ],
)
def test_wrong_arguments_are_named(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
