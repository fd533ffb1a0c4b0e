"""The files of the machine that every command sees read-only, since programs need them to run."""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Final

#: The system's own folders.
SYSTEM_PATHS: Final = tuple(
    map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/nix/store"))
)
#: Of /etc what the loader, name look-ups, certificates and times need; never a secret.
VISIBLE_ETC_NAMES: Final = (
    "alternatives",
    "ca-certificates",
    "ca-certificates.conf",
    "fonts",
    "group",
    "host.conf",
    "hosts",
    "ld.so.cache",
    "ld.so.conf",
    "ld.so.conf.d",
    "localtime",
    "mime.types",
    "nsswitch.conf",
    "os-release",
    "passwd",
    "perl",
    "pki/ca-trust",
    "pki/tls/certs",
    "protocols",
    "resolv.conf",
    "services",
    "ssl/certs",
    "ssl/openssl.cnf",
    "timezone",
)
# Settings of toolchains that don't start without; beside Java's may lie passwords.
_ETC_TOOLCHAINS: Final = ("java-*/security", "java-*/*.cfg", "java-*/*.properties")
# Toolchains in homes, by what names them or where they are otherwise. Only what is run and read.
_HOME_TOOLCHAINS: Final = (
    ("PYENV_ROOT", ".pyenv", ("",)),
    ("NVM_DIR", ".nvm", ("versions", "nvm.sh", "alias")),
    ("RUSTUP_HOME", ".rustup", ("toolchains", "settings.toml")),
    ("CARGO_HOME", ".cargo", ("bin",)),
    ("GOPATH", "go", ("bin",)),
    ("VOLTA_HOME", ".volta", ("bin", "tools")),
    ("ASDF_DATA_DIR", ".asdf", ("bin", "shims", "installs", "plugins")),
    ("SDKMAN_DIR", ".sdkman", ("candidates",)),
    ("BUN_INSTALL", ".bun", ("bin",)),
    ("DENO_INSTALL_ROOT", ".deno", ("bin",)),
    ("DOTNET_ROOT", ".dotnet", ("",)),
    ("UV_PYTHON_INSTALL_DIR", ".local/share/uv/python", ("",)),
    ("UV_TOOL_DIR", ".local/share/uv/tools", ("",)),
    ("PIPX_HOME", ".local/share/pipx", ("venvs", "shared")),
    ("FNM_DIR", ".local/share/fnm", ("node-versions", "aliases")),
    ("MISE_DATA_DIR", ".local/share/mise", ("shims", "installs")),
    ("PNPM_HOME", ".local/share/pnpm", ("",)),
)
# Whole prefixes of toolchains.
_PREFIXES: Final = ("VIRTUAL_ENV", "CONDA_PREFIX", "GOROOT", "JAVA_HOME", "NODE_HOME", "CUDA_HOME")
_PROGRAMS: Final = frozenset({"bin", "sbin", "shims", "condabin", "libexec"})
_PARTS: Final = ("lib", "lib64", "include", "pyvenv.cfg")
# Who has one of these may have more: of such a folder only the programs are shown.
_SECRETS: Final = frozenset(
    {
        ".aws",
        ".azure",
        ".config",
        ".docker",
        ".env",
        ".git-credentials",
        ".gnupg",
        ".kube",
        ".netrc",
        ".npmrc",
        ".pypirc",
        ".ssh",
        "credentials",
        "credentials.toml",
    }
)


def find_visible_paths(changeable: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """The folders and files that every command sees, read-only, none inside another.

    They exist, and may be links: then what they lead to is among them, or in one of them. What stands in
    the environment decides; the same environment isn't looked at twice.

    Args:
        changeable: Folders that commands may change. Of what the environment names there nothing is
            looked at, but this process's Python: a command may have put a link there that leads to
            secrets.
    """
    names = ("HOME", "PATH", *_PREFIXES, *(name for name, _, _ in _HOME_TOOLCHAINS))
    return _visible(tuple(os.environ.get(name) for name in names), changeable)


@cache
def _visible(variables: tuple[str | None, ...], changeable: tuple[Path, ...]) -> tuple[Path, ...]:
    etc = Path("/etc")
    listed = (etc / name for name in VISIBLE_ETC_NAMES)
    matching = (path for pattern in _ETC_TOOLCHAINS for path in etc.glob(pattern))
    wanted = (*SYSTEM_PATHS, *listed, *matching, *find_toolchains(changeable))
    return select_outermost(path for path in wanted if _path_exists(path))


def find_toolchains(changeable: tuple[Path, ...] = ()) -> tuple[Path, ...]:
    """The interpreters and toolchains in use: this Python, the search path's, known ones in homes.

    Args:
        changeable: See `find_visible_paths`.
    """
    named = (*_prefixes(), *_in_homes(), *_on_path(changeable))
    trusted = (path for path in named if not is_at_or_below(path, changeable))
    return tuple(path for path in _with_targets([*_pythons(), *trusted]) if _path_exists(path))


def find_own_python() -> tuple[Path, ...]:
    """The prefixes of the Python that runs this process: who changes those, changes this process."""
    return tuple(_with_targets([Path(sys.prefix), Path(sys.base_prefix)]))


def is_at_or_below(path: Path, folders: Iterable[Path]) -> bool:
    """Whether a path is one of the folders or lies in one."""
    return any(path.is_relative_to(folder) for folder in folders)


def select_outermost(paths: Iterable[Path]) -> tuple[Path, ...]:
    """The paths that lie in no other of them, in order of their names."""
    outermost: list[Path] = []
    for path in sorted(set(paths)):  # a folder comes before what it holds
        if not outermost or not is_at_or_below(path, outermost):
            outermost.append(path)
    return tuple(outermost)


def _pythons() -> Iterator[Path]:
    for prefix in (Path(sys.prefix), Path(sys.base_prefix)):
        yield from _prefix(prefix, prefix / "bin")
    if site.ENABLE_USER_SITE:
        yield Path(site.getusersitepackages())


def _prefixes() -> Iterator[Path]:
    for name in _PREFIXES:
        if folder := _variable(name):
            yield from _prefix(folder, folder / "bin")


def _in_homes() -> Iterator[Path]:
    home = Path.home()
    for name, default, parts in _HOME_TOOLCHAINS:
        folder = _variable(name) or home / default
        if parts != ("",) or _can_mount_fully(folder):
            yield from (folder / part for part in parts)


def _on_path(changeable: tuple[Path, ...]) -> Iterator[Path]:
    for text in os.environ.get("PATH", os.defpath).split(os.pathsep):
        folder = Path(text)
        if (
            not folder.is_absolute()
            or is_at_or_below(folder, changeable)
            or not _path_exists(folder)
        ):
            continue
        for each in {folder, folder.resolve()}:
            if each.name in _PROGRAMS:
                yield from _prefix(each.parent, each)
            elif _is_outside_homes(each):
                yield each


def _prefix(prefix: Path, programs: Path) -> Iterator[Path]:
    """A prefix; or of one that has more than a toolchain, the parts of a toolchain."""
    if _can_mount_fully(prefix) and prefix.name != ".cargo":
        yield prefix
        return
    yield programs
    if _is_outside_homes(prefix):
        yield from (prefix / part for part in _PARTS)


def _can_mount_fully(folder: Path) -> bool:
    if not _is_outside_homes(folder):
        return False
    try:
        return not _SECRETS.intersection(path.name for path in folder.iterdir())
    except OSError:
        return False


def _is_outside_homes(folder: Path) -> bool:
    """Whether a folder is neither a home, nor above one, nor of the system's first level, as `/opt`."""
    homes = {Path.home(), Path.home().resolve()}
    own = {home / ".local" for home in homes}
    others = folder.parent == Path("/home")
    above = any(home.is_relative_to(folder) for home in homes)
    return not above and not others and folder not in own and len(folder.parts) > 2


def _path_exists(path: Path) -> bool:
    """Whether a path exists and this user may get there: PATH may name folders of others."""
    try:
        return path.exists()
    except OSError:
        return False


def _variable(name: str) -> Path | None:
    path = Path(os.environ.get(name, ""))
    return path if path.is_absolute() else None


def _with_targets(paths: Iterable[Path]) -> Iterator[Path]:
    """Paths, and where they lead."""
    for path in paths:
        yield from {path, path.resolve()}
