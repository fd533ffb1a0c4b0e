"""The dangerous list: commands that require approval in every mode, at any place in a command.

The list prevents accidents. The sandbox, not the list, limits the access of a command.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from typing import Final

from ..tool import Risk
from .command_analyzer import CallAnalyzer, CommandAnalyzer
from .command_model import (
    CommandReport,
    CommandWord,
    ProgramCall,
    find_option,
    is_device,
    make_call,
    select_operands,
    select_options,
    split_names,
)
from .shell_parser import MAX_TEXT_CHARS
from .wrapper_programs import (
    SHELLS,
    WRAPPERS,
    analyze_eval,
    analyze_shell,
    analyze_trap,
    make_wrapper_analyzer,
    record_executed_file,
)

_RECURSION = re.compile(r"\b(rmtree|rmSync|rm_rf?|remove_tree|removedirs|remove_dir_all|deltree)\b")
# A device, also right behind an option's letter.
_DEVICE = re.compile(r"(?:(?<![\w.])|(?<=^-\w))/+dev/[\w/.-]*")
_PID = re.compile(r"[1-9]\d*|%[\w%+-]*")
_SIGNAL = re.compile(r"-(s|n|l|L|\d+|[A-Z][A-Z0-9+]*)")

# ---- what asks whatever it is given ----------------------------------------------------------------

_ALWAYS: Final = {
    "acts with another account's rights": split_names("sudo sudoedit su doas pkexec runuser"),
    "overwrites or formats disks": split_names("dd mkfs mke2fs mkswap mkdosfs newfs"),
    "stops or restarts the machine": split_names("shutdown reboot halt poweroff telinit"),
}


def _make_danger_analyzer(why: str) -> CallAnalyzer:
    def analyze_one(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
        informs = [word.text for word in call.args] in (["--version"], ["--help"])
        if not informs:
            analyzer.add_dangerous_finding(call, why)

    return analyze_one


# ---- files and processes ---------------------------------------------------------------------------


def _rm(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    if find_option(call.args, "--recursive", shorts="rR"):
        analyzer.add_dangerous_finding(call, "deletes folders and all that is in them")
    elif find_option(call.args, "--force", shorts="f"):
        analyzer.add_dangerous_finding(call, "deletes files without confirmation")
    elif any(not word.is_certain for word in select_options(call.args)):
        analyzer.add_unclear_finding(
            call, "may delete folders: its options are known only when it runs"
        )


def _find(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    for word in call.args:
        if word.is_certain and word.text == "-delete":
            analyzer.add_dangerous_finding(call, "deletes files")
        elif word.is_certain and word.text in ("-exec", "-execdir", "-ok", "-okdir"):
            analyzer.add_dangerous_finding(call, "runs a program for each file")
    if any(word.can_split and not word.is_glob for word in call.args[1:]):
        analyzer.add_unclear_finding(
            call, "may delete files: its options are known only when it runs"
        )


def _change_mode(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    if find_option(call.args, "--recursive", shorts="R"):
        analyzer.add_dangerous_finding(call, "changes the rights of whole folders")
    elif any(word.can_split and word.may_be_option for word in call.args[:1]):
        analyzer.add_unclear_finding(call, "has options that are known only when it runs")


def _kill(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    words = [word for word in call.args if not (word.is_certain and word.text == "--")]
    if words and words[0].is_certain and (signal := _SIGNAL.fullmatch(words[0].text)):
        if signal[1] in ("l", "L"):
            return
        skipped = 2 if signal[1] in ("s", "n") else 1
        # `kill -1` alone is a signal without anybody to send it to.
        words = words[skipped:] if len(words) > skipped else words
    for word in words:
        if not word.is_certain:
            analyzer.add_unclear_finding(call, "ends a process that is known only when it runs")
        elif not _PID.fullmatch(word.text) or word.text == "1":
            analyzer.add_dangerous_finding(call, "ends all processes, or a group of processes")


# ---- git -------------------------------------------------------------------------------------------

_GIT: Final[dict[str, tuple[tuple[str, ...], str, str]]] = {
    "push": (
        ("--force", "--force-with-lease", "--force-if-includes", "--delete", "--mirror", "--prune"),
        "fd",
        "rewrites or deletes what others may have",
    ),
    "reset": (("--hard",), "", "throws away changes that are in no commit"),
    "clean": (("--force",), "f", "deletes files that git doesn't know"),
}
GIT_VALUE_OPTIONS: Final = split_names(
    "-c -C --git-dir --work-tree --namespace --config-env --attr-source"
)
#: Subcommands that run none of their arguments.
_GIT_TEXTS: Final = split_names(
    "commit tag log grep show blame notes stash branch merge add rm mv describe"
)


def parse_git_command(args: tuple[CommandWord, ...]) -> tuple[CommandWord, ...]:
    """Return git's subcommand and its arguments, without git's own options.

    Args:
        args: The arguments of `git`.
    """
    index = 0
    while index < len(args) and args[index].is_certain and args[index].text.startswith("-"):
        index += 2 if args[index].text in GIT_VALUE_OPTIONS else 1
    return args[index:]


def _git(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    command = parse_git_command(call.args)
    if command and not command[0].is_certain:
        analyzer.add_unclear_finding(call, "does something that is known only when it runs")
    elif command and command[0].text in _GIT:
        longs, shorts, why = _GIT[command[0].text]
        rewrites = command[0].text == "push" and any(
            word.text.startswith(("+", ":")) for word in select_operands(command[1:])
        )
        if rewrites or find_option(command[1:], *longs, shorts=shorts):
            analyzer.add_dangerous_finding(call, why)
        elif any(not word.is_certain for word in select_options(command[1:])):
            analyzer.add_unclear_finding(call, "has options that are known only when it runs")
    if [word.text for word in command[:2]] in (["stash", "drop"], ["stash", "clear"]):
        analyzer.add_dangerous_finding(call, "throws away stashed changes")
    texts = bool(command) and command[0].text in _GIT_TEXTS
    own = call.args[: len(call.args) - len(command)]
    _analyze_mentions(
        ProgramCall((call.words[0], *own), call.source_text) if texts else call, analyzer
    )


# ---- packages --------------------------------------------------------------------------------------

_INSTALLS: Final = "installs, removes or publishes packages"
_MANAGERS: Final = split_names(
    """
    apt apt-get aptitude dpkg rpm yum dnf microdnf zypper pacman apk brew port snap flatpak emerge
    nix-env pip uv poetry pdm pipenv hatch pixi conda mamba micromamba easy_install npm yarn pnpm bun
    jlpm gem bundle cargo go composer dotnet cpan cpanm luarocks nuget opam stack cabal mix rustup nvm
    """
)
_FETCHERS: Final = split_names("npx bunx uvx pipx pip-sync ensurepip")
#: The package managers that install packages if called without arguments.
_ALONE: Final = split_names("yarn jlpm bundle")
_VERBS: Final = split_names(
    """
    install i in ci add get uninstall remove rm erase purge download wheel sync update upgrade
    dist-upgrade publish upload dlx exec x create require link deps.get
    """
)
_OPERATIONS: Final = re.compile(r"-[a-zA-Z]*[SUi]\w*|-R\w*|--install|--upgrade|--sync|--remove")
_BY_OPTION: Final = split_names("dpkg rpm pacman nix-env")
_RUNS: Final = {"run": split_names("uv poetry pdm pipenv hatch conda mamba micromamba pixi")}


def _manager(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    name = call.name if call.name in _MANAGERS else call.unversioned_name
    by_option = any(_OPERATIONS.fullmatch(word.text) for word in call.args)
    is_alone = name == "cpan" or (name in _ALONE and not call.args)
    if is_alone or (by_option and name in _BY_OPTION):
        analyzer.add_dangerous_finding(call, _INSTALLS, Risk.MEDIUM)
    behind_option = False
    for index, word in enumerate(call.args):
        if not word.is_certain:
            analyzer.add_unclear_finding(call, "does something that is known only when it runs")
        elif word.text in _VERBS:
            analyzer.add_dangerous_finding(call, _INSTALLS, Risk.MEDIUM)
        elif name in _RUNS.get(word.text, ()):
            _analyze_after_options(call, call.args[index + 1 :], analyzer)
        elif word.text.startswith(("-", "+")):
            behind_option = word.text.startswith("-") and "=" not in word.text
            continue
        elif word.text in _MANAGERS or behind_option:
            behind_option = False  # `uv pip`; the value of an option
            continue
        break
    _analyze_mentions(call, analyzer)


def _analyze_after_options(
    call: ProgramCall, words: tuple[CommandWord, ...], analyzer: CommandAnalyzer
) -> None:
    """Analyze the program that a package manager runs, from each word on that may be the program."""
    for index, word in enumerate(words):
        behind_option = index > 0 and words[index - 1].text.startswith("-")
        if not (word.is_certain and word.text.startswith("-")):
            analyzer.analyze_wrapped_command(call, words[index:])
            if not behind_option:
                return


def _fetcher(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    analyzer.add_unclear_finding(call, "fetches packages, and runs them")
    _analyze_mentions(call, analyzer)


# ---- programs that run programs --------------------------------------------------------------------


def _interpreter(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    """Analyze a call of `python`, `perl` or the like: its module, its file or its code as text."""
    words = [word.text for word in call.args]
    if "-m" in words[:-1] and words[words.index("-m") + 1] in (*_MANAGERS, "ensurepip", "coverage"):
        analyzer.analyze_wrapped_command(call, call.args[words.index("-m") + 1 :])
    elif words[:1] and words[0].startswith("-m") and words[0][2:] in (*_MANAGERS, "ensurepip"):
        analyzer.analyze_wrapped_command(call, (CommandWord(words[0][2:]), *call.args[1:]))
    if any(word.endswith("setup.py") for word in words) and {"install", "develop"} & set(words):
        analyzer.add_dangerous_finding(call, _INSTALLS, Risk.MEDIUM)
    if not (call.stdin and call.stdin.is_certain):
        record_executed_file(call, select_operands(call.args), analyzer)
    _analyze_mentions(call, analyzer)


def _fetch(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    analyzer.record_download(call)
    _device(call, analyzer)


def _analyze_mentions(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    """Find dangerous commands in a program's arguments, which the program may run."""
    texts = [word.text for word in call.args] + ([call.stdin.text] if call.stdin else [])
    if any(_RECURSION.search(text) for text in texts):
        analyzer.add_dangerous_finding(call, "deletes folders and all that is in them")
    if any(is_device(path) for text in texts for path in _DEVICE.findall(text)):
        analyzer.add_dangerous_finding(call, "reaches a device")
    for mention in analyzer.find_possible_calls(call):
        if mention.name in _DANGEROUS_PROGRAMS or mention.unversioned_name in _DANGEROUS_PROGRAMS:
            _DANGEROUS_PROGRAMS.get(
                mention.name, _DANGEROUS_PROGRAMS.get(mention.unversioned_name, _analyze_mentions)
            )(mention, analyzer)


def _device(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    found = (path for word in call.args for path in _DEVICE.findall(word.text))
    if any(is_device(path) for path in found):
        analyzer.add_dangerous_finding(call, "reaches a device")


def _small_language(runs: re.Pattern[str]) -> CallAnalyzer:
    """Make the analyzer of `sed` or `awk`, whose scripts run programs only with a few constructs."""

    def analyze_one(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
        if any(not word.is_certain or runs.search(word.text) for word in call.args):
            _analyze_mentions(call, analyzer)
        else:
            _device(call, analyzer)

    return analyze_one


def analyze_call(call: ProgramCall, analyzer: CommandAnalyzer) -> None:
    """Analyze a call whose program's name is known.

    Args:
        call: The call.
        analyzer: The analyzer that collects the findings.
    """
    name = call.name
    if name.startswith("git-"):
        analyzer.analyze_wrapped_command(
            call, (CommandWord("git"), CommandWord(name.removeprefix("git-")), *call.args)
        )
        return
    known = _CALL_ANALYZERS.get(name) or _CALL_ANALYZERS.get(call.unversioned_name)
    if not known and name[:1] == "g":  # `grm`, where the system's own isn't GNU's
        known = _CALL_ANALYZERS.get(name[1:])
    if known:
        known(call, analyzer)
        for _ in (
            analyzer.find_possible_calls(call)
            if name in _DANGEROUS_PROGRAMS and name != "git"
            else ()
        ):
            continue  # they are noted
    elif name not in _TEXTS:
        if "/" in call.words[0].text:
            analyzer.record_execution(call, name)
        _analyze_mentions(call, analyzer)


#: Programs that don't run their arguments and open no device.
_TEXTS: Final = split_names(
    """
    [ [[ basename cat cd command df diff dirname echo file grep egrep fgrep head less ls lsblk man more
    mkdir printf pwd readlink realpath rg ag ack stat tail test touch type wc whereis which : true false
    """
)
_DANGEROUS_PROGRAMS: Final[dict[str, CallAnalyzer]] = {
    **{name: _make_danger_analyzer(why) for why, listed in _ALWAYS.items() for name in listed},
    **dict.fromkeys(_MANAGERS, _manager),
    **dict.fromkeys(("chmod", "chown", "chgrp"), _change_mode),
    "rm": _rm,
    "find": _find,
    "kill": _kill,
    "git": _git,
}
_INTERPRETERS: Final = split_names(
    """
    python pypy ipython perl ruby node nodejs deno bun php lua luajit julia rscript groovy ts-node tsx
    """
)
_CALL_ANALYZERS: Final[dict[str, CallAnalyzer]] = {
    **dict.fromkeys(_INTERPRETERS, _interpreter),
    **_DANGEROUS_PROGRAMS,
    **dict.fromkeys(_FETCHERS, _fetcher),
    **dict.fromkeys(WRAPPERS, make_wrapper_analyzer(_analyze_mentions)),
    **dict.fromkeys(SHELLS, analyze_shell),
    **dict.fromkeys(
        ("source", "."), lambda call, analyzer: record_executed_file(call, call.args, analyzer)
    ),
    **dict.fromkeys(("curl", "wget", "curlie", "http", "https", "xh", "wget2", "aria2c"), _fetch),
    **dict.fromkeys(
        ("sed", "gsed"), _small_language(re.compile(r"(?<![a-z])[gpiImM\d]*e(?![a-z])"))
    ),
    **dict.fromkeys(
        ("awk", "gawk", "mawk", "nawk"), _small_language(re.compile(r"system|\||get|@"))
    ),
    "eval": analyze_eval,
    "trap": analyze_trap,
}


def analyze_command(command: str | Sequence[str], *, shell: bool = False) -> CommandReport:
    """Report the programs that a command would run. Runs nothing, and raises no errors.

    Args:
        command: The command's text, or its words.
        shell: Whether a shell runs the command. False: `;`, `$(…)` and the like are plain words.
    """
    analyzer = CommandAnalyzer(analyze_call)
    text = command if isinstance(command, str) else shlex.join(command)
    if len(text) > MAX_TEXT_CHARS:
        analyzer.add_unclear_finding("", f"the command is longer than {MAX_TEXT_CHARS} characters")
    elif shell:
        analyzer.analyze_text(text)
    else:
        _analyze_argv(command, analyzer)
    return analyzer.report()


def _analyze_argv(command: str | Sequence[str], analyzer: CommandAnalyzer) -> None:
    try:
        argv = shlex.split(command) if isinstance(command, str) else list(command)
    except ValueError as error:
        analyzer.add_unclear_finding("", f"the command can't be parsed: {error}")
        return
    if argv:
        analyzer.analyze_program(make_call(argv))
