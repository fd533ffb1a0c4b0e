"""The book of rules: private, whole, shared by several processes, and told where it is damaged."""

from __future__ import annotations

import json
import multiprocessing
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import PolicyRulesFile
from agentstepper_nb.coding.workspace import LocalWorkspace
from agentstepper_nb.errors import PolicyRulesError


def test_without_a_file_there_are_no_rules(book: PolicyRulesFile) -> None:
    assert book.rules() == []
    assert not book.path.exists()


def test_rules_are_kept(book: PolicyRulesFile, workspace: LocalWorkspace) -> None:
    rules = [
        book.allow_similar(
            "run_command", {"command": "rm -r x", "shell": True, "folder": "a"}, workspace
        ),
        book.allow_similar("edit_file", {"path": "x"}, workspace),
        book.deny(command="git push"),
        book.deny("write_*", path="*.env", workspace=workspace.root),
    ]
    again = PolicyRulesFile(book.path)
    assert again.rules() == again.rules(workspace.root) == rules
    assert again.rules(workspace.root.parent) == [rules[2]]
    assert [str(rule) for rule in rules] == [
        "allow the command `rm -r x` in this workspace",
        "allow `edit_file` in this workspace",
        "deny commands like `git push` everywhere",
        "deny `write_*` on `*.env` in this workspace",
    ]


def test_the_same_rule_is_written_once(book: PolicyRulesFile, workspace: LocalWorkspace) -> None:
    first = book.allow_similar("edit_file", {}, workspace)
    assert book.allow_similar("edit_file", {"other": 1}, workspace) == first
    assert book.rules() == [first]


def test_a_rule_is_removed(book: PolicyRulesFile) -> None:
    kept, removed = book.deny("a"), book.deny("b")
    assert book.remove(removed.id)
    assert not book.remove(removed.id)
    assert book.rules() == [kept]


def test_only_this_user_can_read_it(book: PolicyRulesFile) -> None:
    book.deny("a")
    assert book.path.stat().st_mode & 0o777 == 0o600
    lock = book.path.with_suffix(".lock")
    assert set(book.path.parent.iterdir()) == {book.path, lock}


def test_a_call_without_a_command_can_not_be_allowed(
    book: PolicyRulesFile, workspace: LocalWorkspace
) -> None:
    with pytest.raises(PolicyRulesError, match="no command that a rule could allow"):
        book.allow_similar("run_command", {}, workspace)


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "null", "[]", '{"rules": 1}', '{"version": 2, "rules": []}', '{"rule": []}'),
        '{"rules": [{"id": "a", "effect": "maybe", "tool": "x"}]}',
        '{"rules": [{"id": "a", "effect": "deny", "tool": "x", "comand": "y"}]}',
        '{"rules": [{"id": "a", "effect": "deny"}]}',
    ],
)
def test_a_damaged_file_is_told_and_left_alone(
    book: PolicyRulesFile, workspace: LocalWorkspace, text: str
) -> None:
    book.path.parent.mkdir(parents=True)
    book.path.write_text(text)
    for use in (
        book.rules,
        lambda: book.deny("x"),
        lambda: book.remove("x"),
        lambda: book.allow_similar("x", {}, workspace),
    ):
        with pytest.raises(
            PolicyRulesError, match=r"can't be read .*Repair the file, or delete it"
        ):
            use()
    assert book.path.read_text() == text


def test_what_can_not_be_written_is_told(tmp_path: Path, workspace: LocalWorkspace) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PolicyRulesError, match="can't be written"):
        PolicyRulesFile(tmp_path / "file" / "rules.json").allow_similar("x", {}, workspace)


def test_a_failed_write_leaves_the_old_rules(
    book: PolicyRulesFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = book.deny("a")

    def fail(*_: object) -> None:
        raise OSError("the disk is full")

    with monkeypatch.context() as broken:
        broken.setattr("agentstepper_nb.coding.policy.policy_rules_file.os.fsync", fail)
        with pytest.raises(PolicyRulesError, match="the disk is full"):
            book.deny("b")
    assert book.rules() == [rule]
    lock = book.path.with_suffix(".lock")
    assert set(book.path.parent.iterdir()) == {book.path, lock}


def test_threads_lose_no_rule(book: PolicyRulesFile) -> None:
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda n: PolicyRulesFile(book.path).deny(f"tool_{n}"), range(40)))
    assert {rule.tool for rule in book.rules()} == {f"tool_{n}" for n in range(40)}


def test_processes_lose_no_rule(book: PolicyRulesFile) -> None:
    def deny_ten(name: str) -> None:
        for number in range(10):
            PolicyRulesFile(book.path).deny(f"{name}_{number}")

    fork = multiprocessing.get_context("fork")
    running = [fork.Process(target=deny_ten, args=(name,)) for name in "ab"]
    for process in running:
        process.start()
    for process in running:
        process.join()
    assert [process.exitcode for process in running] == [0, 0]
    assert len(book.rules()) == 20
    json.loads(book.path.read_text())
