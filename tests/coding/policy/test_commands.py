"""Commands: each that must be asked about is, behind whatever; what only looks like it isn't."""

from __future__ import annotations

from itertools import cycle, islice
from pathlib import Path

import pytest

from agentstepper_nb.coding.policy import Kind, Verdict, judge_command

from .commands import HARMLESS, HARMLESS_SHELL, MORE, SHELL_ONLY, SPEC, WRAPPERS
from .ways_around import SHELL, WORDS

ROOT = Path("/ws")
#: How many commands stand behind each wrapper in each run; `make soak` has them all.
SAMPLE = 2


def as_words(command: str) -> Verdict:
    return judge_command(command, root=ROOT)


def by_shell(command: str) -> Verdict:
    return judge_command(command, shell=True, root=ROOT)


# ---- what is asked about ---------------------------------------------------------------------------


def test_what_the_specification_lists_is_dangerous() -> None:
    judged = {command: (as_words(command).kind, by_shell(command).kind) for command in SPEC}
    assert judged == dict.fromkeys(SPEC, (Kind.DANGEROUS, Kind.DANGEROUS))


def test_all_that_is_known_is_asked_about() -> None:
    assert [command for command in MORE if not as_words(command).why] == []


def test_what_only_a_shell_makes_of_it_is_asked_about() -> None:
    assert [command for command in SHELL_ONLY if not by_shell(command).why] == []


def test_ways_around_are_closed() -> None:
    assert [command for command in WORDS if not as_words(command).why] == []
    assert [command for command in SHELL if not by_shell(command).why] == []


@pytest.mark.parametrize("position", range(len(WRAPPERS)), ids=list(WRAPPERS))
def test_it_is_found_behind(position: int) -> None:
    wrap = list(WRAPPERS.values())[position]
    for command in islice(cycle(SPEC), position * SAMPLE, (position + 1) * SAMPLE):
        assert by_shell(wrap(command)).kind is not Kind.HARMLESS, wrap(command)


@pytest.mark.soak
@pytest.mark.parametrize("position", range(len(WRAPPERS)), ids=list(WRAPPERS))
def test_much_is_found_behind(position: int) -> None:
    wrap = list(WRAPPERS.values())[position]
    commands = (*SPEC, *MORE[position % 15 :: 15])
    whole = [command for command in commands if as_words(command).kind is Kind.DANGEROUS]
    assert [wrap(command) for command in whole if not by_shell(wrap(command)).why] == []


# ---- what isn't ------------------------------------------------------------------------------------


def test_words_are_let_pass() -> None:
    assert [as_words(command).why for command in HARMLESS if as_words(command).why] == []


def test_what_a_shell_runs_is_let_pass() -> None:
    assert [by_shell(command).why for command in HARMLESS_SHELL if by_shell(command).why] == []


def test_a_shell_lets_the_same_words_pass() -> None:
    # One text for many: each parse is a process. What fetches makes running a file dangerous.
    local = [command for command in HARMLESS if not command.startswith(("curl", "wget"))]
    for start in range(0, len(local), 20):
        assert by_shell("\n".join(local[start : start + 20])).findings == ()


@pytest.mark.parametrize(
    "command",
    [
        *(
            "echo ; rm -rf x",
            "echo && rm -rf x",
            "echo | sudo ls",
            "echo $(rm -rf x)",
            "echo > /dev/sda",
        ),
        *("echo `reboot`", "grep $x y", "ls *", "rm $x", "rm x?", "echo {a,b}", "git commit -m $x"),
    ],
)
def test_without_a_shell_its_signs_are_words(command: str) -> None:
    assert as_words(command).findings == ()


# ---- what is said ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("rm -rf build", "`rm -rf build` deletes folders and all that is in them"),
        ("ls; rm -rf build", "`rm -rf build` deletes folders and all that is in them"),
        ("ls | xargs rm -f", "`xargs rm -f` deletes files without asking back"),
        ("curl x | sh", "`sh` runs whatever it is piped"),
        ("$x && rm -rf y", "`rm -rf y` deletes folders and all that is in them"),
        ("$x y", "`$x y` runs a program whose name is only known when it runs"),
        ("echo x > /dev/sda", "`> /dev/sda` writes to a device"),
        ("LD_PRELOAD=x ls", "`LD_PRELOAD=x` changes what other programs load or run"),
        ("sh -c 'rm -rf x; ls'", "`rm -rf x` deletes folders and all that is in them"),
        ("rm -r \u202ex\x7f", "the command has control characters"),
        ("rm -r \u202ex", "`rm -r \ufffdx` deletes folders and all that is in them"),
        ("git frobnicate", "`git frobnicate` may be an alias: `git frobnicate` isn't known"),
    ],
)
def test_it_says_which_part_does_what(command: str, why: str) -> None:
    assert by_shell(command).why == why


def test_it_tells_all_programs_that_it_found() -> None:
    calls = by_shell("env A=1 git push && sh -c 'ls | xargs wc'").calls
    assert {call.name for call in calls} == {"env", "git", "sh", "ls", "xargs", "wc"}


@pytest.mark.parametrize("command", ["", " ", "\n", "# nothing"])
def test_nothing_is_harmless(command: str) -> None:
    assert as_words("").findings == by_shell(command).findings == ()


def test_without_a_root_no_absolute_path_is_outside() -> None:
    assert judge_command("cp a /elsewhere/b").findings == ()
    assert judge_command("cp a ../b").kind is Kind.DANGEROUS
    assert judge_command("cp a /ws/../etc", root=ROOT).kind is Kind.DANGEROUS
    assert judge_command("cp a /ws-evil/b", root=ROOT).kind is Kind.DANGEROUS
    assert judge_command("cp a /ws/b", root=ROOT).findings == ()
