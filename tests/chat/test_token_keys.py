"""The keys of chat tokens: what their file keeps, and what it stands."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.chat.remote.key_file import KEYS_FILE
from agentstepper_nb.chat.remote.tokens import MAX_EXPIRES_IN_S, ChatTokens
from agentstepper_nb.errors import StoreError
from tests.chat.harness import (
    HOUR,
    NONE,
    expect_refusal,
    signing_key,
    token_refusal,
    tokens_at,
)


def read_keys(folder: Path) -> Any:
    return json.loads((folder / KEYS_FILE).read_text())


def test_what_is_over_is_forgotten(tmp_path: Path) -> None:
    long_ago = tokens_at(tmp_path, -2 * MAX_EXPIRES_IN_S)
    token = long_ago.issue("s1", expires_in_s=HOUR)
    long_ago.revoke("some id")
    long_ago.revoke_session("s1")
    for _ in range(3):
        long_ago.rotate()
    assert len(read_keys(tmp_path)["keys"]) == 2, "keys that signed nothing aren't kept"
    chat_tokens = ChatTokens(tmp_path)
    chat_tokens.rotate()
    assert (len(read_keys(tmp_path)["keys"]), read_keys(tmp_path)["revoked"]) == (1, {})
    assert read_keys(tmp_path)["sessions"] == {}
    assert token_refusal(chat_tokens, token) == NONE


def test_the_keys_are_this_users_alone(chat_tokens: ChatTokens, tmp_path: Path) -> None:
    chat_tokens.issue("s1")
    assert len(signing_key(tmp_path)) == 32
    for each in tmp_path.iterdir():
        assert each.stat().st_mode & 0o777 == 0o600, each
    assert {each.name for each in tmp_path.iterdir()} == {KEYS_FILE, "chat-keys.lock"}


@pytest.mark.parametrize(
    "damaged",
    [b"", b"\xff", b"[" * 2000, b"{}", b'{"issuer": "x", "keys": []}', None],
    ids=["empty", "binary", "deep", "nothing", "no keys", "short key"],
)
def test_a_damaged_file_is_an_error_and_stays(
    chat_tokens: ChatTokens, tmp_path: Path, damaged: bytes | None
) -> None:
    token = chat_tokens.issue("s1")
    if damaged is None:
        content = read_keys(tmp_path)
        content["keys"][0]["secret"] = "c2hvcnQ="
        damaged = json.dumps(content).encode()
    (tmp_path / KEYS_FILE).write_bytes(damaged)
    asks: list[Callable[[], object]] = [
        lambda: chat_tokens.check(token),
        lambda: chat_tokens.issue("s1"),
        lambda: chat_tokens.revoke("x"),
        chat_tokens.rotate,
    ]
    for ask in asks:
        with pytest.raises(
            StoreError, match=r"The keys of chat tokens in .*Move the file away"
        ) as bad:
            ask()
        assert str(bad.value).count("can't be used") == 1
    assert (tmp_path / KEYS_FILE).read_bytes() == damaged


@pytest.mark.parametrize("nonsense", ["", "x" * 201, "\udcff"])
def test_nonsense_that_is_revoked_spoils_no_file(
    chat_tokens: ChatTokens, tmp_path: Path, nonsense: str
) -> None:
    """What can't be read back isn't written: all tokens would be refused from then on."""
    token = chat_tokens.issue("s1")
    before = (tmp_path / KEYS_FILE).read_bytes()
    for revoke in (chat_tokens.revoke, chat_tokens.revoke_session):
        with expect_refusal("invalid_message"):
            revoke(nonsense)
    assert (tmp_path / KEYS_FILE).read_bytes() == before
    assert ChatTokens(tmp_path).check(token).session_id == "s1"


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602])
def test_keys_that_others_can_read_or_write_are_shut(
    chat_tokens: ChatTokens, tmp_path: Path, mode: int, caplog: pytest.LogCaptureFixture
) -> None:
    token = chat_tokens.issue("s1")
    (tmp_path / KEYS_FILE).chmod(mode)
    assert ChatTokens(tmp_path).check(token).session_id == "s1"
    assert (tmp_path / KEYS_FILE).stat().st_mode & 0o777 == 0o600
    assert "rotate_keys" in caplog.text


def test_a_file_system_without_modes_has_keys_as_well(
    chat_tokens: ChatTokens, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = chat_tokens.issue("s1")
    (tmp_path / KEYS_FILE).chmod(0o666)
    monkeypatch.setattr("agentstepper_nb.chat.remote.key_file.os.fchmod", lambda *of: None)
    assert ChatTokens(tmp_path).check(token).session_id == "s1"


def test_a_pipe_is_no_key_file(chat_tokens: ChatTokens, tmp_path: Path) -> None:
    """Who asks for it isn't held up by it."""
    os.mkfifo(tmp_path / KEYS_FILE, 0o600)
    with pytest.raises(StoreError, match="the path is not a regular file"):
        chat_tokens.check("a.b.c")


def test_a_link_is_no_lock(chat_tokens: ChatTokens, tmp_path: Path) -> None:
    (tmp_path / "chat-keys.lock").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(StoreError):
        chat_tokens.issue("s1")
    assert not (tmp_path / "elsewhere").exists()


def test_a_link_is_no_key_file(chat_tokens: ChatTokens, tmp_path: Path) -> None:
    token = chat_tokens.issue("s1")
    (tmp_path / KEYS_FILE).rename(tmp_path / "moved")
    (tmp_path / KEYS_FILE).symlink_to(tmp_path / "moved")
    with pytest.raises(StoreError):
        chat_tokens.check(token)


def test_many_threads_change_it_at_once(tmp_path: Path) -> None:
    """Nobody's change is lost, and nobody reads half a file."""
    numbers = itertools.count()
    tokens: list[str] = []

    def work() -> None:
        chat_tokens = ChatTokens(tmp_path, new_id=lambda: str(next(numbers)))
        for _ in range(5):
            tokens.append(token := chat_tokens.issue("s1"))
            chat_tokens.check(token)
            chat_tokens.revoke(token)
            chat_tokens.rotate()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    chat_tokens = ChatTokens(tmp_path)
    assert [token_refusal(chat_tokens, each) for each in tokens] == ["was revoked"] * 20
    assert len(read_keys(tmp_path)["revoked"]) == 20


def test_another_process_has_the_same_keys(chat_tokens: ChatTokens, tmp_path: Path) -> None:
    script = (
        "import sys, pathlib\n"
        "from agentstepper_nb.chat.remote.tokens import ChatTokens\n"
        "desk = ChatTokens(pathlib.Path(sys.argv[1]))\n"
        "print(desk.check(sys.argv[2]).session_id)\n"
        "desk.revoke(sys.argv[2])\n"
    )
    token = chat_tokens.issue("s1")
    command = [sys.executable, "-c", script, str(tmp_path), token]
    ran = subprocess.run(command, capture_output=True, text=True, check=True)
    assert ran.stdout == "s1\n"
    assert token_refusal(chat_tokens, token) == "was revoked"


def test_who_listens_hears_what_takes_tokens_away(chat_tokens: ChatTokens) -> None:
    heard: list[str] = []
    stop = chat_tokens.listen(lambda: heard.append("!"))
    token = chat_tokens.issue("s1")
    assert heard == []
    chat_tokens.revoke(token)
    chat_tokens.revoke_session("s1")
    chat_tokens.rotate(drop_old=True)
    assert len(heard) == 3
    stop()
    stop()
    chat_tokens.revoke("x")
    assert len(heard) == 3
