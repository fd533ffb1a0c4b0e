import signal
import subprocess
import sys

import pytest
from openai import OpenAI

from agentstepper_nb.models.scripted.__main__ import main

COMMAND = [sys.executable, "-m", "agentstepper_nb.models.scripted"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_serves_until_it_is_told_to_stop(number: signal.Signals) -> None:
    with subprocess.Popen(
        [*COMMAND, "fix_tests"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("export OPENAI_BASE_URL=http://127.0.0.1:")
        with OpenAI(base_url=line.split()[1].partition("=")[2], api_key="any") as client:
            assert client.models.list().data[0].id == "fix_tests"
        process.send_signal(number)
        _, errors = process.communicate()
        assert process.returncode == 0
        assert errors == '"GET /v1/models HTTP/1.1" 200 -\n'


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such"], "built-in scripts: fix_tests"),
        (["fix_tests", "--port", "99999"], "port must be 0-65535"),
        (["fix_tests", "--port", "x"], "invalid int value"),
    ],
)
def test_what_it_cannot_do_it_says(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert message in capsys.readouterr().err
