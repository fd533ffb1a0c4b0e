"""What commands find in their environment."""

from pathlib import Path

import pytest

from agentstepper_nb.coding.sandbox.command_environment import make_environment

SECRETS = [
    "OPENAI_API_KEY",
    "AWS_ACCESS_KEY_ID",
    "GH_TOKEN",
    "TOKEN_OF_MINE",
    "my_secret_2",
    "PGPASSWORD",
    "MYSQL_PWD",
    "DB_PASS",
    "GOOGLE_APPLICATION_CREDENTIALS",
    "NPM_AUTH",
    "AZURE_STORAGE_CONNECTION_STRING",
    "ConnectionStrings__Default",
    "SQLAZURECONNSTR_main",
    "SLACK_WEBHOOK_URL",
    "XAUTHORITY",
    "SSH_AUTH_SOCK",
    "SENTRY_DSN",
    "DBUS_SESSION_BUS_ADDRESS",
    "XDG_RUNTIME_DIR",
    "DOCKER_HOST",
    "JUPYTER_RUNTIME_DIR",
    "JPY_SESSION_NAME",
    "GIT_DIR",
    "AGENTSTEPPER_URL",
]
KEPT = ["PWD", "OLDPWD", "PATH", "LANG", "EDITOR", "COMPASS", "PYENV_ROOT", "DATABASE"]


@pytest.mark.parametrize("name", SECRETS)
def test_secrets_and_ways_to_services_are_left_out(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "value")
    assert name not in make_environment()


@pytest.mark.parametrize("name", KEPT)
def test_the_rest_stays(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "value")
    assert make_environment()[name] == "value"


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("postgres://me:pass@db/x", False),
        ("a=1;url=https://:pass@host", False),
        ("https://ghp_0123456789abcdefghij@host/x", False),
        ("https://host:8080/x@y", True),
        ("ssh://git@host/x", True),
    ],
)
def test_a_url_with_a_password_is_left_out(
    url: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INDEX", url)
    assert ("INDEX" in make_environment()) is kept


def test_home_and_temporary_folder_are_the_sessions_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.setenv("TMPDIR", "/tmp/mine")
    monkeypatch.setenv("XDG_CACHE_HOME", "/home/me/.cache")
    assert make_environment()["HOME"] == "/home/me"
    assert make_environment()["TMPDIR"] == "/tmp/mine"
    given = make_environment(Path("/private"), Path("/tmp"))
    assert (given["HOME"], given["TMPDIR"]) == ("/private", "/tmp")
    assert given["PYTHONPYCACHEPREFIX"].startswith("/private/")
    assert "XDG_CACHE_HOME" not in given
