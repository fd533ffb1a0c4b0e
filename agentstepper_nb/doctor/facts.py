"""What the doctor knows about a machine: plain values, without tokens."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class PythonFacts:
    """This Python and what is installed in it.

    Args:
        python_version: Its version.
        package_version: The version of agentstepper_nb.
        missing_javascript: What is missing of the view's JavaScript, in words; empty where nothing is.
        git: git's version; empty where there is none.
        git_problem: Why it can't watch a workspace; empty where it can.
    """

    python_version: str
    package_version: str
    missing_javascript: str = ""
    git: str = ""
    git_problem: str = ""


@dataclass(frozen=True)
class JupyterFacts:
    """Jupyter beside this Python.

    Args:
        applications: JupyterLab and Notebook, each with its version.
        server_extension: Whether the configuration switches ours on; None where it doesn't name it.
        labextension: The version of ours that is installed; empty where none is.
        damaged: What is missing of it.
        disabled: What of it is switched off, by JupyterLab's names.
    """

    applications: tuple[str, ...] = ()
    server_extension: bool | None = True
    labextension: str = ""
    damaged: str = ""
    disabled: tuple[str, ...] = ()


@dataclass(frozen=True)
class BackgroundAgentFacts:
    """A Core's background agents.

    Args:
        kind: What keeps them: `sqlite`, `memory`; empty where the Core doesn't say.
        store_location: Where.
        size_bytes: Bytes.
        live_sessions: Sessions that need a worker.
        open_actions: Actions that are queued or under way.
        workers: Workers that take them.
        waiting: For each kind of sessions that no worker fits, how many there are and what is missing.
        set_aside_files: Files of before that couldn't be read, beside that place.
        damaged: Why they can't be read; empty where they can.
        problem: Why nothing can be told of them; empty where it can.
    """

    kind: str = ""
    store_location: str = ""
    size_bytes: int = 0
    live_sessions: int = 0
    open_actions: int = 0
    workers: int = 0
    waiting: tuple[tuple[int, str], ...] = ()
    set_aside_files: tuple[str, ...] = ()
    damaged: str = ""
    problem: str = ""


@dataclass(frozen=True)
class CoreFacts:
    """A Core that a runtime file tells of.

    Args:
        url: Where agents reach it.
        name: What it calls itself.
        pid: Its process.
        version: The version of its package; empty where it doesn't say.
        problem: Why an agent can't connect; empty where it can.
        missing_data_folder: The data folder that it keeps its runs in, where that is gone.
        is_jupyter: Whether a Jupyter server has it.
        agents: Its background agents; None where it has no place for them, or can't be asked.
    """

    url: str
    name: str
    pid: int
    version: str = ""
    problem: str = ""
    missing_data_folder: str = ""
    is_jupyter: bool = False
    agents: BackgroundAgentFacts | None = None


@dataclass(frozen=True)
class DiscoveryFacts:
    """What an AgentStepper without an address would do here.

    Args:
        url: The Core that it would take; empty where it finds none, or several.
        reason: Why that one; or why none, in words for a person.
        problem: Why it couldn't connect there; empty where it could.
        protocol: The version that they would speak.
        token_source: Another Core whose token it would send; empty where there is none.
    """

    url: str = ""
    reason: str = ""
    problem: str = ""
    protocol: int = 2
    token_source: str = ""


@dataclass(frozen=True)
class VariableFacts:
    """What the environment says.

    Args:
        url: AGENTSTEPPER_URL.
        token: Whether AGENTSTEPPER_TOKEN is set.
        name: AGENTSTEPPER_NAME.
    """

    url: str = ""
    token: bool = False
    name: str = ""


@dataclass(frozen=True)
class FolderFacts:
    """A folder that a Core writes to.

    Args:
        path: Where it is.
        writable: Whether it, or what it would be made in, can be written.
        free_bytes: Bytes that are free there.
        network_file_system: The network file system it lies on; empty where it is this machine's.
    """

    path: str
    writable: bool = True
    free_bytes: int = 1 << 40
    network_file_system: str = ""


@dataclass(frozen=True)
class KernelFacts:
    """The kernel that this process is.

    Args:
        name: Its implementation and version.
        subshells: Whether it hears a view while its main thread is busy.
        server: Where its Jupyter server's Core is; empty where that has none.
        kernel_core_reason: Why a Core runs in the kernel; empty where none does.
        has_nested_loops: Whether event loops were made to nest.
        seams: Which calls halt without a change to the agent, in words; None where that is off.
        failed_seams: Libraries whose calls don't, though they are imported, each with why.
    """

    name: str
    subshells: bool
    server: str = ""
    kernel_core_reason: str = ""
    has_nested_loops: bool = False
    seams: str | None = ""
    failed_seams: tuple[str, ...] = ()


@dataclass(frozen=True)
class SandboxFacts:
    """What confines the coding agent's commands on this machine.

    Args:
        name: `bubblewrap`, `landlock`, `seatbelt` or `none`.
        unavailable_reasons: Why better ones don't work here, each in words.
    """

    name: str
    unavailable_reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class MachineFacts:
    """All of it.

    Args:
        python: This Python.
        jupyter: Jupyter beside it.
        cores: The Cores of this user that run here.
        discovery: What discovery would do.
        variables: What the environment says.
        data: Where runs and tokens are kept.
        runtime: Where Cores leave the files by which they are found.
        agent_token_file_mode: The permissions of the agents' token's file; None where there is none yet.
        control_token_file_mode: Those of the control token's.
        worker_token_file_mode: Those of the worker token's.
        kernel: This kernel, where this process is one.
        installed_seams: Which calls of this Python's programs would halt without a change, in words.
        sandbox: What confines the coding agent's commands; None where that can't be told.
    """

    python: PythonFacts
    jupyter: JupyterFacts = field(default_factory=JupyterFacts)
    cores: tuple[CoreFacts, ...] = ()
    discovery: DiscoveryFacts = field(default_factory=DiscoveryFacts)
    variables: VariableFacts = field(default_factory=VariableFacts)
    data: FolderFacts = field(default_factory=lambda: FolderFacts("data"))
    runtime: FolderFacts = field(default_factory=lambda: FolderFacts("runtime"))
    agent_token_file_mode: int | None = None
    control_token_file_mode: int | None = None
    worker_token_file_mode: int | None = None
    kernel: KernelFacts | None = None
    installed_seams: str = ""
    sandbox: SandboxFacts | None = None
