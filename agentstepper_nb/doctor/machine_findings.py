"""Findings, made of facts: nothing here looks at the machine."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from .agent_findings import make_agent_findings
from .facts import (
    CoreFacts,
    DiscoveryFacts,
    FolderFacts,
    JupyterFacts,
    KernelFacts,
    MachineFacts,
    PythonFacts,
    SandboxFacts,
    VariableFacts,
)
from .findings import Finding
from .findings import make_note_finding as _note
from .findings import make_ok_finding as _well
from .findings import make_problem_finding as _wrong

_LOW_SPACE_BYTES: Final = 200 * 1024 * 1024  # bytes: a few large runs
_OTHERS_PERMISSIONS: Final = 0o077

_START_ONE: Final = (
    "Start `agentstepper serve`, or JupyterLab with agentstepper_nb installed beside it."
)
_UNSEEN: Final = (
    "Not seen are gRPC, websockets, models inside of the process (transformers), other processes, and "
    "other transports than httpx: boto3, requests, aiohttp (docs/guide/attach.md)."
)


def make_findings(facts: MachineFacts) -> list[Finding]:
    """Say how it stands with each thing that is known."""
    return [
        *_make_python_findings(facts.python),
        *(_sandbox(facts.sandbox) if facts.sandbox else ()),
        *_jupyter(facts.jupyter, facts.python.package_version),
        *(finding for core in facts.cores for finding in _core(core, facts.python.package_version)),
        *_choice(facts.discovery, facts.variables, facts.cores),
        *_folder(facts.data, "data", "Runs that end"),
        *_folder(facts.runtime, "runtime", "The files by which Cores are found"),
        *_token("agents'", facts.agent_token_file_mode, f"{facts.data.path}/agent-token"),
        *_token("control", facts.control_token_file_mode, f"{facts.data.path}/control-token"),
        *_token("worker", facts.worker_token_file_mode, f"{facts.data.path}/worker-token"),
        *(_kernel(facts.kernel) if facts.kernel else _installed_seams(facts.installed_seams)),
    ]


# ---- what is installed ------------------------------------------------------------------------------


def _make_python_findings(here: PythonFacts) -> Iterator[Finding]:
    yield _well(
        "package", f"agentstepper_nb {here.package_version} on Python {here.python_version}."
    )
    if here.missing_javascript:
        yield _wrong(
            "javascript",
            f"The view's JavaScript isn't complete: {here.missing_javascript} is missing.",
            "In a checkout run `make js`; otherwise install agentstepper_nb again.",
        )
    else:
        yield _well("javascript", "The view's JavaScript is built.")
    if here.git_problem:  # has its own advice
        yield _note("git", f"Files of a workspace can't be shown: {here.git_problem}")
    else:
        yield _well("git", f"git {here.git} can watch a workspace.")


def _sandbox(sandbox: SandboxFacts) -> Iterator[Finding]:
    why = "; ".join(sandbox.unavailable_reasons)
    if sandbox.name == "none":
        yield _note(
            "sandbox",
            f"Nothing confines the coding agent's commands on this machine: {why}.",
            "Most commands ask a person first. docs/guide/install.md says how to install "
            "a sandbox.",
        )
    elif sandbox.name == "landlock":
        yield _note(
            "sandbox",
            "The coding agent's commands run in Landlock, which confines less than "
            f"bubblewrap: {why}.",
            "docs/guide/install.md says how to install bubblewrap.",
        )
    else:
        yield _well("sandbox", f"The coding agent's commands run in {sandbox.name}.")


def _jupyter(jupyter: JupyterFacts, package: str) -> Iterator[Finding]:
    if not jupyter.applications:
        yield _note(
            "jupyter",
            "Neither JupyterLab nor Notebook is installed beside this Python.",
            "This is fine in the environment of a kernel or an agent. Install "
            "agentstepper_nb in the server's environment as well.",
        )
        return
    yield _well("jupyter", f"{' and '.join(jupyter.applications)} beside this Python.")
    if jupyter.server_extension:
        yield _well("server extension", "The server extension is enabled.")
    else:
        yield _wrong(
            "server extension",
            "The server extension is "
            + ("disabled." if jupyter.server_extension is False else "not enabled."),
            "Run `jupyter server extension enable agentstepper_nb.server_ext` and "
            "restart the server.",
        )
    yield _labextension(jupyter, package)


def _labextension(jupyter: JupyterFacts, package: str) -> Finding:
    about = "labextension"
    if not jupyter.labextension:
        return _wrong(
            about,
            "The JupyterLab extension isn't installed: there is no side panel, and views need the "
            "kernel to draw them.",
            "Install agentstepper_nb again beside JupyterLab; in a checkout run `make setup`.",
        )
    if jupyter.damaged:
        return _wrong(
            about,
            f"The JupyterLab extension is damaged: {jupyter.damaged} is missing.",
            "Install agentstepper_nb again; in a checkout run `make js`.",
        )
    if jupyter.disabled:
        return _wrong(
            about,
            f"Parts of the JupyterLab extension are disabled: {', '.join(jupyter.disabled)}.",
            f"Run `jupyter labextension enable {jupyter.disabled[0]}` and reload the page.",
        )
    if jupyter.labextension != package:
        return _wrong(
            about,
            f"The JupyterLab extension has version {jupyter.labextension}, and the "
            f"package {package}.",
            "Install agentstepper_nb again; in a checkout run `make js`.",
        )
    return _well(
        about, f"The JupyterLab extension {jupyter.labextension} is installed and enabled."
    )


# ---- Cores ------------------------------------------------------------------------------------------


def _core(core: CoreFacts, package: str) -> Iterator[Finding]:
    said = f"{core.name or 'A Core'} at {core.url} (pid {core.pid}"
    said += f", version {core.version})" if core.version else ")"
    if core.problem:
        yield _wrong(
            "core", f"{said} doesn't accept agents: {core.problem}", _explain_missing_core(core)
        )
        return
    if core.missing_data_folder:
        yield _wrong(
            "core",
            f"{said} stores its runs in {core.missing_data_folder}, which was deleted, so the "
            "runs are lost.",
            f"Stop the Core (`kill {core.pid}`), and start it again if you need it.",
        )
        return
    yield _well("core", f"{said} answers.")
    if core.version and core.version != package:
        yield _note(
            "version",
            f"The Core at {core.url} has version {core.version}, and this Python {package}.",
            "Upgrade the older of the two, and start its server again.",
        )
    if core.agents is not None:
        yield from make_agent_findings(core.agents, core.url)


def _explain_missing_core(core: CoreFacts) -> str:
    """A Core that was killed leaves its file, and by now its process's number may be another's."""
    return (
        f"If process {core.pid} is neither a Jupyter server nor `agentstepper serve`, "
        f"delete agentstepper-{core.pid}.json in the folder that `jupyter --runtime-dir` "
        "names."
    )


def _choice(
    choice: DiscoveryFacts, variables: VariableFacts, cores: tuple[CoreFacts, ...]
) -> Iterator[Finding]:
    if variables.name:
        yield _note(
            "name",
            f"AGENTSTEPPER_NAME names every run that begins here {variables.name!r}.",
        )
    if variables.token and not variables.url:
        yield _note(
            "token",
            "AGENTSTEPPER_TOKEN is set without AGENTSTEPPER_URL. The SDK sends the token "
            "only to an address that you pass, not to a Core that it finds.",
        )
    if not choice.url:
        advice = _stop_some(cores) if cores else _START_ONE
        text = choice.reason if cores else "No Core runs, so an agent that starts here finds none."
        yield _note("choice", text, advice)
    elif choice.problem:
        yield _wrong("choice", *_unreachable(choice, variables))
    else:
        spoken = "" if choice.protocol > 1 else " It speaks version 1: no stop, no withdraw."
        yield _well("choice", f"An agent here connects to {choice.url}: {choice.reason}.{spoken}")


def _stop_some(cores: tuple[CoreFacts, ...]) -> str:
    """How to be left with one Core: what a program started may still run after its end."""
    stoppable = [f"`kill {core.pid}`" for core in cores if not core.is_jupyter]
    return f"Stop what you don't need: {', '.join(stoppable)}." if stoppable else ""


def _unreachable(choice: DiscoveryFacts, variables: VariableFacts) -> tuple[str, str]:
    text = f"An agent here can't connect to {choice.url} ({choice.reason}): {choice.problem}"
    if choice.token_source:
        return text, (
            f"AGENTSTEPPER_TOKEN is the token of {choice.token_source}. Set the right token, or "
            "unset the variable."
        )
    if variables.url:
        return text, "Unset AGENTSTEPPER_URL, or set it to a Core that runs."
    return text, ""


# ---- folders ----------------------------------------------------------------------------------------


def _folder(folder: FolderFacts, about: str, what: str) -> Iterator[Finding]:
    if not folder.writable:
        yield _wrong(
            about,
            f"{folder.path} can't be written.",
            f"{what} are stored there. Change the folder's owner, or name another folder.",
        )
        return
    yield _well(about, f"{folder.path} can be written.")
    if folder.free_bytes < _LOW_SPACE_BYTES:
        yield _note(
            about,
            f"Only {folder.free_bytes // 1024 // 1024} MiB are free in {folder.path}.",
            f"{what} need space. Delete some of them, or use another disk.",
        )
    if folder.network_file_system:
        yield _note(
            about,
            f"{folder.path} is on a network file system ({folder.network_file_system}).",
            "Locks and renames may be slow or unsafe there. Set JUPYTER_DATA_DIR and "
            "JUPYTER_RUNTIME_DIR to folders on this machine.",
        )


def _token(which: str, mode: int | None, file: str) -> Iterator[Finding]:
    about = f"{which} token"
    if mode is None:
        yield _well(about, f"There is no {about} yet; the first server creates it.")
    elif mode & _OTHERS_PERMISSIONS:
        yield _wrong(
            about,
            f"Others can read the {about} (its file has mode {mode:04o}).",
            f"Run `chmod 600 {file}`; to change the token, delete the file and restart the server.",
        )
    else:
        yield _well(about, f"Only you can read the {about}.")


# ---- the kernel -------------------------------------------------------------------------------------


def _kernel(kernel: KernelFacts) -> Iterator[Finding]:
    yield _transport(kernel)
    yield from _seams(kernel)
    if kernel.subshells:
        yield _well(
            "kernel", f"{kernel.name} has subshells, so a view works while a cell is halted."
        )
    elif kernel.server and not kernel.kernel_core_reason:
        yield _well("kernel", f"{kernel.name} has no subshells, and the server's Core needs none.")
    else:
        yield _note(
            "kernel",
            f"{kernel.name} has no subshells, so a view doesn't work while a cell uses "
            "the main thread.",
            "Cells under %%step run in the background instead. Install ipykernel 7.1 or "
            "newer to avoid this.",
        )
    if kernel.has_nested_loops:
        yield _note(
            "asyncio",
            "Event loops nest in this kernel (nest_asyncio): asyncio.run works in cells, "
            "but anyio.run doesn't.",
            "Cells under %%step don't need nested loops. Restart the kernel to undo them.",
        )
    else:
        yield _well(
            "asyncio", "Event loops don't nest in this kernel. Use await in cells, or %%step."
        )


def _seams(kernel: KernelFacts) -> Iterator[Finding]:
    if kernel.seams is None:
        yield _note(
            "seams",
            "Calls in this kernel halt only where they are traced by hand: instrumentation is off.",
            "agentstepper_nb.instrument.enable() turns it on.",
        )
        return
    found = kernel.seams or "none, since nothing here has imported a library that asks a model"
    yield _well(
        "seams",
        f"LLM queries and tool calls halt without a change to the agent. Active here: {found}. "
        f"{_UNSEEN}",
    )
    for failed in kernel.failed_seams:
        yield _wrong(
            "seams",
            f"Calls of {failed}",
            "Trace them by hand (docs/guide/attach.md), and report the library's version.",
        )


def _installed_seams(seams: str) -> Iterator[Finding]:
    if seams:
        yield _well(
            "seams",
            f"Under `agentstepper run`, programs of this Python halt at {seams}. {_UNSEEN}",
        )
    else:
        yield _note(
            "seams",
            "This Python has no library installed at whose calls programs halt without a change.",
            "`agentstepper proxy` halts programs of other languages; others are traced by hand "
            "(docs/guide/attach.md).",
        )


def _transport(kernel: KernelFacts) -> Finding:
    if kernel.kernel_core_reason:
        return _well(
            "view",
            f"The view reaches the Core through the kernel (comm): {kernel.kernel_core_reason}",
        )
    if kernel.server:
        return _well(
            "view",
            f"The view connects directly to the Core at {kernel.server}, without the "
            "kernel; by WebSocket, where the page belongs to that server.",
        )
    return _note(
        "view",
        "This kernel's Jupyter server has no Core: %%step starts one in the kernel, which the view "
        "reaches by comm.",
        "Install agentstepper_nb beside the server to keep the view after a reload.",
    )
