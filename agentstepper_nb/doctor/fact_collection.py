"""The facts, asked of the machine. Nothing is judged here, and nothing but Cores is connected to."""

from __future__ import annotations

import os
import platform
import shutil
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from jupyter_core.paths import jupyter_runtime_dir

from .. import discover, static_files
from .._version import __version__
from ..errors import DiscoveryError
from .facts import (
    BackgroundAgentFacts,
    CoreFacts,
    DiscoveryFacts,
    FolderFacts,
    JupyterFacts,
    MachineFacts,
    PythonFacts,
    SandboxFacts,
    VariableFacts,
)
from .jupyter_facts import is_server_extension_enabled, read_labextension

#: Entries of the build's manifest without which some view stays empty.
_ENTRIES: Final = ("app", "page", "kernel")


def collect_facts() -> MachineFacts:
    """Ask everything once."""
    from .kernel_facts import collect_kernel_facts

    cores = tuple(discover.list_announced_cores())
    with ThreadPoolExecutor(8) as pool:
        problems = list(pool.map(lambda core: _problem(core.endpoint), cores))
        agents = list(pool.map(_agents, cores, problems))
    return MachineFacts(
        python=_collect_python_facts(),
        jupyter=_jupyter(),
        cores=tuple(
            CoreFacts(
                url=core.url,
                name=core.name,
                pid=core.pid,
                version=core.version,
                problem=problem,
                missing_data_folder=_find_missing_folder(core),
                is_jupyter=bool(core.base_url),
                agents=found,
            )
            for core, problem, found in zip(cores, problems, agents, strict=True)
        ),
        discovery=_choice(cores),
        variables=VariableFacts(
            url=os.environ.get(discover.URL_VARIABLE, ""),
            token=bool(os.environ.get(discover.AGENT_TOKEN_VARIABLE)),
            name=os.environ.get(discover.PROGRAM_NAME_VARIABLE, ""),
        ),
        data=collect_folder_facts(discover.data_dir()),
        runtime=collect_folder_facts(Path(jupyter_runtime_dir())),
        agent_token_file_mode=read_token_mode(discover.data_dir(), discover.AGENT_TOKEN_FILE),
        control_token_file_mode=read_token_mode(discover.data_dir(), discover.CONTROL_TOKEN_FILE),
        worker_token_file_mode=read_token_mode(discover.data_dir(), discover.WORKER_TOKEN_FILE),
        kernel=collect_kernel_facts(),
        installed_seams=_describe_installed_seams(),
        sandbox=_sandbox(),
    )


def _describe_installed_seams() -> str:
    from ..instrument.seams import list_installed_seams
    from ..sdk.seam_report import describe_seams

    return describe_seams(list_installed_seams())


def _collect_python_facts() -> PythonFacts:
    git, problem = _git()
    return PythonFacts(
        python_version=platform.python_version(),
        package_version=__version__,
        missing_javascript=_unbuilt(),
        git=git,
        git_problem=problem,
    )


def _unbuilt() -> str:
    for entry in _ENTRIES:
        try:
            static_files.find_built_file(entry)
        except static_files.NotBuiltError:
            return entry
    return ""


def _git() -> tuple[str, str]:
    """Git's version, and why it can't be used."""
    from ..errors import WorkspaceError
    from ..sdk.workspace.git_command import check_git
    from ..sdk.workspace.git_command import find_git_version as git_version

    try:
        check_git()
    except WorkspaceError as error:
        return "", str(error)
    return git_version(), ""


def _sandbox() -> SandboxFacts:
    """What a coding session would have, by the same real run."""
    from ..coding.sandbox import ResourceLimits
    from ..coding.sandbox.backend_selection import choose_sandbox

    chosen = choose_sandbox("auto", ResourceLimits())
    return SandboxFacts(chosen.sandbox.name, chosen.rejection_reasons)


def _jupyter() -> JupyterFacts:
    names = {"jupyterlab": "JupyterLab", "notebook": "Notebook"}
    found = {name: _version(package) for package, name in names.items()}
    installed, damaged, disabled = read_labextension()
    return JupyterFacts(
        applications=tuple(f"{name} {number}" for name, number in found.items() if number),
        server_extension=is_server_extension_enabled(),
        labextension=installed,
        damaged=damaged,
        disabled=disabled,
    )


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


# ---- Cores ------------------------------------------------------------------------------------------


def _find_missing_folder(core: discover.CoreInfo) -> str:
    return core.data_dir if core.data_dir and not Path(core.data_dir).is_dir() else ""


def _problem(endpoint: discover.CoreEndpoint) -> str:
    from ..sdk.handshake import probe

    try:
        probe(endpoint)
    except ConnectionError as error:
        return str(error)
    return ""


def _agents(core: discover.CoreInfo, problem: str) -> BackgroundAgentFacts | None:
    if problem or not core.tokens.worker:  # it takes no workers: an older one, or one in a kernel
        return None
    from .agent_facts import collect_agent_facts

    return collect_agent_facts(core)


def _choice(cores: tuple[discover.CoreInfo, ...]) -> DiscoveryFacts:
    from ..sdk.handshake import probe

    try:
        endpoint = discover.discover()
    except DiscoveryError as error:
        return DiscoveryFacts(reason=str(error))
    try:
        problem, protocol = "", probe(endpoint)
    except ConnectionError as error:
        problem, protocol = str(error), 0
    return DiscoveryFacts(
        url=endpoint.url,
        reason=_explain_choice(endpoint.url),
        problem=problem,
        protocol=protocol,
        token_source=_whose(endpoint, cores),
    )


def _explain_choice(url: str) -> str:
    """Why discovery chose a Core, in discovery's own order."""
    from .kernel_facts import find_kernel_core_url

    if url == find_kernel_core_url():
        return "this Core is in this kernel"
    if os.environ.get(discover.URL_VARIABLE):
        return "AGENTSTEPPER_URL names it"
    if discover.find_own_core() is not None:
        return "this Core belongs to the server that started this process"
    return "no other Core of yours runs"


def _whose(endpoint: discover.CoreEndpoint, cores: tuple[discover.CoreInfo, ...]) -> str:
    """Another Core whose token this is, and not the token of the Core that it goes to."""
    if any(core.url == endpoint.url and core.tokens.agent == endpoint.token for core in cores):
        return ""
    owners = [core for core in cores if core.tokens.agent and core.tokens.agent == endpoint.token]
    return next((core.name or core.url for core in owners), "")


# ---- folders ----------------------------------------------------------------------------------------


def collect_folder_facts(path: Path, mounts: str | None = None) -> FolderFacts:
    """Look at a folder, or at the one that it would be made in.

    Args:
        path: The folder.
        mounts: The text of `/proc/self/mountinfo`; None reads it.
    """
    from ..store.atomic_files import find_network_file_system

    there = next((each for each in (path, *path.parents) if _is_there(each)), Path("/"))
    return FolderFacts(
        path=str(path),
        writable=there.is_dir() and os.access(there, os.W_OK | os.X_OK),
        free_bytes=shutil.disk_usage(there).free,
        network_file_system=find_network_file_system(there, mounts) or "",
    )


def _is_there(path: Path) -> bool:
    try:
        return path.exists()
    except OSError:  # nobody may look below a folder that can't be entered
        return False


def read_token_mode(data: Path, file: str) -> int | None:
    """The permissions of a token's file in a data folder."""
    try:
        return (data / file).stat().st_mode & 0o777
    except OSError:
        return None
