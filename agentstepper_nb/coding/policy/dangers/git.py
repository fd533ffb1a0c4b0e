"""`git`: what loses work, what reaches others, and its many ways to run another program."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Final

from ..judging import Judge, Look
from ..words import Call, Word, given, is_long, is_short, names, operands, options, pairs

_RUNS = "runs another program"
_LOSES = "throws away changes that are in no commit"
_FORGETS = "throws away commits"
_REWRITES = "rewrites or deletes what others may have"

#: Per subcommand: long options, short ones, and what they do.
_OPTIONS: Final[dict[str, tuple[tuple[tuple[str, ...], str, str], ...]]] = {
    "push": (
        (("--force", "--force-with-lease", "--force-if-includes"), "f", _REWRITES),
        (("--delete", "--mirror", "--prune"), "d", _REWRITES),
        (("--receive-pack", "--exec"), "", _RUNS),
    ),
    "reset": ((("--hard", "--merge", "--keep"), "", _LOSES),),
    "clean": ((("--force",), "fxX", "deletes files that git doesn't know"),),
    "branch": ((("--delete", "--force"), "DdMCf", _FORGETS),),
    "checkout": ((("--force", "--ours", "--theirs"), "fB", _LOSES),),
    "switch": ((("--force", "--discard-changes", "--force-create"), "fC", _LOSES),),
    "tag": ((("--delete", "--force"), "df", _FORGETS),),
    "update-ref": ((("--stdin",), "d", _FORGETS),),
    "rm": ((("--force",), "rf", "deletes files"),),
    "mv": ((("--force",), "f", "overwrites files"),),
    "gc": ((("--prune", "--aggressive"), "", _FORGETS),),
    "rebase": ((("--exec",), "x", _RUNS),),
    "grep": ((("--open-files-in-pager",), "O", _RUNS),),
    "clone": ((("--upload-pack", "--config", "--template"), "uc", _RUNS),),
    "init": ((("--template",), "", _RUNS),),
    "fetch": ((("--upload-pack",), "", _RUNS), (("--force",), "f", _FORGETS)),
    "pull": ((("--upload-pack",), "", _RUNS), (("--force",), "f", _FORGETS)),
    "ls-remote": ((("--upload-pack", "--exec"), "", _RUNS),),
    "archive": ((("--exec", "--remote", "--output"), "o", "reaches outside of the workspace"),),
    "diff": (),
    "log": (),
    "show": (),
    "apply": ((("--unsafe-paths", "--directory"), "", "reaches outside of the workspace"),),
    "stash": (),
    "commit": (),
    "merge": (),
}
#: Subcommands that are always asked about.
_ALWAYS: Final[dict[str, str]] = {
    **dict.fromkeys(("filter-branch", "filter-repo", "replace", "prune", "fast-import"), _FORGETS),
    **dict.fromkeys(("difftool", "mergetool", "instaweb", "daemon", "hook", "send-email"), _RUNS),
    **dict.fromkeys(("credential", "http-push", "upload-pack", "receive-pack", "shell"), _RUNS),
    **dict.fromkeys(("p4", "svn", "cvsserver", "imap-send", "gui", "citool", "gitk"), _RUNS),
    **dict.fromkeys(("for-each-repo", "maintenance", "remote-ext", "remote-fd"), _RUNS),
    "read-tree": _LOSES,
    "checkout-index": _LOSES,
}
#: The first word of a subcommand's own subcommands that is asked about.
_NESTED: Final[dict[str, tuple[frozenset[str], str]]] = {
    "stash": (frozenset({"drop", "clear"}), _LOSES),
    "reflog": (frozenset({"expire", "delete", "drop"}), _FORGETS),
    "worktree": (frozenset({"remove", "prune"}), _LOSES),
    "submodule": (frozenset({"foreach", "deinit"}), _RUNS),
    "bisect": (frozenset({"run", "view", "visualize"}), _RUNS),
    "remote": (
        frozenset({"remove", "rm", "set-url", "add", "prune"}),
        "changes where it pushes to",
    ),
    "lfs": (frozenset({"install", "prune", "migrate"}), _FORGETS),
    "notes": (frozenset({"remove", "prune"}), _FORGETS),
}
#: Those that do nothing of the kind; what isn't known may be an alias for anything.
_HARMLESS: Final = names(
    """
    add am blame bundle cat-file check-attr check-ignore cherry cherry-pick commit-tree
    count-objects describe diff-files diff-index diff-tree for-each-ref format-patch fsck help
    hash-object interpret-trailers log ls-files ls-tree merge-base merge-file mktree name-rev
    pack-refs range-diff rev-list rev-parse restore revert shortlog show-branch show-ref
    sparse-checkout status stripspace symbolic-ref tag update-index var verify-commit verify-tag
    version whatchanged write-tree config
    """
)
#: Settings that change nothing but looks and names.
_TAME_SETTINGS = re.compile(
    r"(color|column|advice)\..*|user\.(name|email)|core\.(quotepath|abbrev|autocrlf|eol)|log\.\w+"
    r"|core\.pager=(cat)?|diff\.(algorithm|context|renames)=.*|init\.defaultbranch|pull\.rebase"
    r"|commit\.gpgsign=false|safe\.directory=.*",
    re.IGNORECASE,
)
_VALUED: Final = {
    "-C",
    "--git-dir",
    "--work-tree",
    "--namespace",
    "--super-prefix",
    "--attr-source",
}
_FLAGS: Final = {
    *("-p", "-P", "--paginate", "--no-pager", "--bare", "--no-optional-locks", "--version"),
    *("--no-replace-objects", "--literal-pathspecs", "--glob-pathspecs", "--icase-pathspecs"),
    *(
        "--help",
        "-h",
        "-v",
        "--html-path",
        "--man-path",
        "--info-path",
        "--no-lazy-fetch",
        "--exec-path",
    ),
}


def _look(call: Call, judge: Judge) -> None:
    subcommand = _subcommand(call, judge)
    if subcommand is None:
        return
    name, args = subcommand
    if name in _ALWAYS:
        (judge.hidden if _ALWAYS[name] == _RUNS else judge.danger)(call, _ALWAYS[name])
    elif name not in _HARMLESS | _OPTIONS.keys() | _NESTED.keys() | _MORE.keys():
        judge.unclear(call, f"may be an alias: `git {name}` isn't known")
    if any(not word.sure and not word.glob for word in options(args)):
        judge.unclear(call, "has options that are only known when it runs")
    for longs, shorts, why in _OPTIONS.get(name, ()):
        if given(args, *longs, shorts=shorts):
            (judge.hidden if why == _RUNS else judge.danger)(call, why)
    if given(args, "--output", "--ext-diff"):
        judge.danger(call, "writes where it is told, or runs another program")
    nested, why = _NESTED.get(name, (frozenset(), ""))
    if nested & {word.text for word in operands(args)[:1]}:
        (judge.hidden if why == _RUNS else judge.danger)(call, why)
    if any(word.text.startswith(("ext::", "fd::")) for word in operands(args)):
        judge.hidden(call, _RUNS)
    more = _MORE.get(name)
    if more:
        more(call, args, judge)


def _subcommand(call: Call, judge: Judge) -> tuple[str, tuple[Word, ...]] | None:
    """The subcommand and what it is given, behind git's own options."""
    args = list(call.args)
    while args:
        word = args.pop(0)
        text = word.text
        if not word.sure:
            judge.unclear(call, "does something that is only known when it runs")
            return None
        if text == "-c":
            _setting(call, args.pop(0) if args else Word(""), judge)
        elif text in _VALUED:
            where = args.pop(0) if args else Word("")
            if not where.sure or judge.places.is_outside(where.text):
                judge.unclear(call, "works on another folder")
        elif text.partition("=")[0] in _VALUED:
            if judge.places.is_outside(text.partition("=")[2]):
                judge.unclear(call, "works on another folder")
        elif text in _FLAGS:
            continue
        elif text.startswith("-"):
            judge.unclear(call, f"is run with `{text}`, which isn't known")
        else:
            return text, tuple(args)
    return None


def _setting(call: Call, setting: Word, judge: Judge) -> None:
    """`-c NAME=VALUE`."""
    forms = (setting.text, setting.text.partition("=")[0])
    if not setting.sure or not any(_TAME_SETTINGS.fullmatch(form) for form in forms):
        judge.danger(call, "changes git's settings, which can name programs to run")


def _push(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    for word in operands(args):
        if word.text.startswith(("+", ":")):
            judge.danger(call, _REWRITES)
        elif not word.sure and not word.text:
            judge.unclear(call, "pushes what is only known when it runs")


def _checkout(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    """Switching branches keeps changes; naming files throws theirs away."""
    if given(args, shorts="b"):
        return
    names = [word.text for word in operands(args)]
    to_files = any(word.text == "--" for word in args) or given(args, "--pathspec-from-file")
    # One name is a branch's or a file's; a dot is rare in the first.
    if to_files or len(names) > 1 or any("." in name for name in names):
        judge.danger(call, _LOSES)


def _restore(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    staged = given(args, "--staged", shorts="S")
    if not staged or given(args, "--worktree", shorts="W"):
        judge.danger(call, _LOSES)


def _config(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    reading = ("--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list", "--name-only")
    names = [word.text for word in operands(args)]
    if names[:1] in (["get"], ["list"]) or any(
        word.text in reading or is_short(word.text, "l") for word in options(args)
    ):
        return
    names = names[1:] if names[:1] == ["set"] else names
    if len(names) == 1 and not any(word.text.startswith("--") for word in args):
        return  # prints it
    if given(args, "--global", "--system", "--file", shorts="f"):
        judge.danger(call, "changes settings outside of this repository")
    if not _TAME_SETTINGS.fullmatch(names[0] if names else ""):
        judge.danger(call, "changes git's settings, which can name programs to run")


def _clean(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    if given(args, "--interactive", shorts="i"):
        judge.danger(call, "deletes files that git doesn't know")


def _symbolic_ref(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    if given(args, "--delete", shorts="d"):
        judge.danger(call, _FORGETS)


def _writing(call: Call, args: tuple[Word, ...], judge: Judge) -> None:
    """Those that write where their operands say."""
    if any(judge.places.is_outside(word.text) for word in operands(args)):
        judge.danger(call, "writes outside of the workspace")
    for word, following in pairs(args):
        if is_long(word.text, "--output-directory"):
            _, equals, value = word.text.partition("=")
            judge.writes(call, Word(value, word.sure) if equals else following)
        elif word.text.startswith("-o") and word.text[2:]:
            judge.writes(call, Word(word.text[2:], word.sure))


_MORE: Final[dict[str, Callable[[Call, tuple[Word, ...], Judge], None]]] = {
    "push": _push,
    "checkout": _checkout,
    "restore": _restore,
    "config": _config,
    "clean": _clean,
    "symbolic-ref": _symbolic_ref,
    **dict.fromkeys(("format-patch", "clone", "init", "worktree", "bundle", "submodule"), _writing),
}

LOOKS: Final[dict[str, Look]] = {"git": _look}
