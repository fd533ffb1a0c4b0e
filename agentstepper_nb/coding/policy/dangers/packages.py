"""Package managers: what they bring runs code of others, here or later."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from ..judging import Judge, Look
from ..words import Call, Word, names, operands

_INSTALLS = "installs, removes or publishes packages"


class Form(Struct, frozen=True):
    """What a package manager is asked about.

    Args:
        harmless: Its subcommands that need no question; all others do.
        asked: Where given, only these need one.
        runs: Subcommands that run another program, which is what counts.
        valued: Its own options whose value is the next word.
    """

    harmless: frozenset[str] = frozenset()
    asked: frozenset[str] = frozenset()
    runs: frozenset[str] = frozenset()
    valued: frozenset[str] = frozenset()


_SYSTEM = Form(harmless=names("list search show info policy depends rdepends why files provides"))
_PIP = Form(
    harmless=names("list show freeze check help debug inspect index hash search"),
    valued=names("--python --log --proxy --cache-dir"),
)
_CONDA = Form(
    harmless=names("list info search"), runs=names("run"), valued=names("-n -p --name --prefix")
)
_SCRIPTS: Final = """
    test t tst run run-script start stop restart ls list ll la view info show outdated help root
    prefix bin why explain fund search pack query version doctor ping whoami docs repo
"""
_NODE = Form(
    harmless=names(_SCRIPTS + " lint build check typecheck dev format"),
    valued=names("--prefix -C --cwd --dir -w --workspace --filter"),
)
_PROJECT = Form(
    harmless=names(
        "check show env config lock version help list tree info about build search export"
    ),
    runs=names("run"),
    valued=names("-C --directory --project -P"),
)

_FORMS: Final[dict[str, Form]] = {
    **dict.fromkeys(
        names(
            """
            apt apt-get aptitude apt-cache yum dnf microdnf rpm zypper pacman yay paru
            apk brew port snap flatpak emerge xbps-install pkg pkg_add pkgin nix nix-env
            nix-shell guix opkg slackpkg swupd choco scoop winget eopkg urpmi dpkg
            dpkg-deb tdnf rpm-ostree softwareupdate mas
            """
        ),
        _SYSTEM,
    ),
    "pip": _PIP,
    **dict.fromkeys(("conda", "mamba", "micromamba"), _CONDA),
    **dict.fromkeys(("npm", "yarn", "pnpm", "cnpm", "jlpm"), _NODE),
    **dict.fromkeys(("poetry", "pipenv", "pdm", "rye", "uv", "hatch", "pixi"), _PROJECT),
    # Whatever these are asked for they fetch first, and most of it runs at once.
    **dict.fromkeys(
        names(
            """
            npx bunx uvx pipx easy_install cpan cpanm cpanminus luarocks opam nvm fnm
            volta asdf mise pyenv rbenv rustup sdk corepack vcpkg conan tlmgr pear pecl
            bower jspm degit fpm-install pkgx pip-sync
            """
        ),
        Form(harmless=names("list versions which show current local")),
    ),
    "cargo": Form(
        asked=names("install uninstall add remove rm publish yank login logout owner update")
    ),
    "gem": Form(harmless=names("list search environment env help which contents dependency")),
    **dict.fromkeys(
        names("nimble shards raco dub elm pod carthage flutter dart spack ansible-galaxy ghcup"),
        Form(asked=names("install uninstall add remove update upgrade publish get fetch pub pkg")),
    ),
    "bundle": Form(
        asked=names("install update add remove outdated-fix inject clean init plugin"),
        runs=names("exec"),
    ),
    "go": Form(asked=names("install get generate clean"), valued=names("-C")),
    "composer": Form(
        harmless=names("show validate run-script test check licenses diagnose outdated")
    ),
    "dotnet": Form(asked=names("add remove tool nuget workload restore publish new")),
    "nuget": Form(harmless=names("list search locals")),
    "mix": Form(asked=names("deps.get deps.update archive.install local.hex escript.install do")),
    "cabal": Form(asked=names("install update upload")),
    "stack": Form(asked=names("install upgrade update upload"), runs=names("exec runghc")),
    "mvn": Form(asked=names("deploy install")),
    "gradle": Form(asked=names("publish")),
    "lerna": Form(asked=names("publish bootstrap")),
    "pre-commit": Form(asked=names("install uninstall autoupdate")),
}
#: Those that are there to run what they fetch.
_RUNNERS: Final = frozenset({"npx", "bunx", "uvx", "pipx", "pkgx"})
#: Those that install where they are told nothing.
_ALONE: Final = frozenset({"yarn", "jlpm", "bundle", "pip-sync"})
#: Those that take several at once.
_MANY: Final = frozenset({"mvn", "gradle", "lerna"})
#: Subcommands that bring packages, whatever manager it is.
_BRINGS: Final = names("install i ci add uninstall remove download wheel sync exec dlx publish")
_GO_RUNS = re.compile(r"--?(toolexec|exec|vettool)\b")
_INFORMS: Final = {"--version", "-v", "-V", "--help", "-h"}


def _look(call: Call, judge: Judge) -> None:
    form = _FORMS.get(call.name) or _FORMS[call.plain_name]
    rest = list(call.args)
    if _brings_behind_options(form, rest):
        judge.danger(call, _INSTALLS)
    while rest:
        word = rest.pop(0)
        if not word.sure:
            judge.unclear(call, "does something that is only known when it runs")
            return
        if word.text in form.valued:
            del rest[:1]
        elif word.text in form.runs:
            _inner(call, tuple(rest), judge)
            return
        elif word.text.startswith("+"):
            continue  # cargo's toolchain
        elif not word.text.startswith("-"):
            _subcommand(call, form, word.text, tuple(rest), judge)
            return
        elif word.text not in _INFORMS and not word.text.startswith("--") and not form.asked:
            judge.danger(call, _INSTALLS)  # pacman -S, dpkg -i
            return
    if call.args and not any(word.text in _INFORMS for word in call.args) and not form.asked:
        judge.danger(call, _INSTALLS)
    if call.name in _ALONE and not call.args:
        judge.danger(call, _INSTALLS)


def _brings_behind_options(form: Form, args: list[Word]) -> bool:
    """Whether a subcommand that installs may follow an option whose value seems to be one."""
    unknown = 0
    for word in args:
        if word.text in form.runs:
            return False
        if word.text.startswith("--") and "=" not in word.text and word.text not in form.valued:
            unknown += 1
        elif not word.text.startswith("-"):
            if word.text in (form.asked or _BRINGS):
                return True
            if not unknown:
                return False
            unknown -= 1
    return False


def _subcommand(call: Call, form: Form, name: str, rest: tuple[Word, ...], judge: Judge) -> None:
    if call.name == "uv" and name == "pip":
        judge.inner(call, (Word(name), *rest))
        return
    goals = {name, *(word.text for word in rest)} if call.name in _MANY else {name}
    asked = bool(goals & form.asked) if form.asked else name not in form.harmless
    if name == "env" and any(word.text in ("run", "remove", "prune") for word in rest[:1]):
        judge.hidden(call, "runs another program, or removes an environment")
    if call.name == "go" and any(_GO_RUNS.match(word.text) for word in rest):
        judge.hidden(call, "runs another program")
    fixes = name == "audit" and any(word.text == "fix" for word in rest)
    fetches = (
        call.name == "go" and name == "run" and any("@" in word.text for word in operands(rest))
    )
    if call.name in _RUNNERS or name in ("exec", "dlx", "x"):
        judge.hidden(call, "fetches and runs other programs")
    elif asked or fixes or fetches:
        judge.danger(call, _INSTALLS)


def _inner(call: Call, rest: tuple[Word, ...], judge: Judge) -> None:
    """`uv run …`, `conda run -n env …`: options of its own may stand before the program."""
    while rest and rest[0].sure and rest[0].text.startswith("-"):
        if rest[0].text != "--":
            judge.unclear(call, f"has the option `{rest[0].text}`, which may install something")
            return
        rest = rest[1:]
    judge.inner(call, rest)


LOOKS: Final[dict[str, Look]] = dict.fromkeys(_FORMS, _look)
