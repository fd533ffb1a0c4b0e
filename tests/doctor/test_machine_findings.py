"""Each finding, shown by facts: no machine has to be in such a state."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from agentstepper_nb.doctor.facts import (
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
from agentstepper_nb.doctor.findings import (
    Finding,
    FindingStatus,
    encode_findings,
    format_findings,
    has_problems,
)
from agentstepper_nb.doctor.machine_findings import make_findings

CORE = CoreFacts("ws://here", "Jupyter server in /work", 7, "1.0")
WELL = MachineFacts(
    python=PythonFacts(python_version="3.11.7", package_version="1.0", git="2.39.5"),
    jupyter=JupyterFacts(("JupyterLab 4.6.6", "Notebook 7.6.5"), True, "1.0"),
    cores=(CORE,),
    discovery=DiscoveryFacts("ws://here", "no other Core of yours runs"),
    agent_token_file_mode=0o600,
    control_token_file_mode=0o600,
    worker_token_file_mode=0o600,
    kernel=KernelFacts("ipykernel 7.4.0", subshells=True, server="ws://here"),
    sandbox=SandboxFacts("bubblewrap"),
)
JUPYTER = WELL.jupyter
KERNEL = WELL.kernel
assert KERNEL is not None


def about(facts: MachineFacts, what: str) -> list[Finding]:
    return [finding for finding in make_findings(facts) if finding.subject == what]


def test_where_all_is_well_all_is_said() -> None:
    findings = make_findings(WELL)
    assert {finding.status for finding in findings} == {FindingStatus.OK}
    assert not has_problems(findings)
    assert format_findings(findings).splitlines() == [
        "✓ agentstepper_nb 1.0 on Python 3.11.7.",
        "✓ The view's JavaScript is built.",
        "✓ git 2.39.5 can watch a workspace.",
        "✓ The coding agent's commands run in bubblewrap.",
        "✓ JupyterLab 4.6.6 and Notebook 7.6.5 beside this Python.",
        "✓ The server extension is enabled.",
        "✓ The JupyterLab extension 1.0 is installed and enabled.",
        "✓ Jupyter server in /work at ws://here (pid 7, version 1.0) answers.",
        "✓ An agent here connects to ws://here: no other Core of yours runs.",
        "✓ data can be written.",
        "✓ runtime can be written.",
        "✓ Only you can read the agents' token.",
        "✓ Only you can read the control token.",
        "✓ Only you can read the worker token.",
        "✓ The view connects directly to the Core at ws://here, without the kernel; by WebSocket, "
        "where the page belongs to that server.",
        "✓ LLM queries and tool calls halt without a change to the agent. Active here: none, since "
        "nothing here has imported a library that asks a model. Not seen are gRPC, websockets, models "
        "inside of the process (transformers), other processes, and other transports than httpx: boto3, "
        "requests, aiohttp (docs/guide/attach.md).",
        "✓ ipykernel 7.4.0 has subshells, so a view works while a cell is halted.",
        "✓ Event loops don't nest in this kernel. Use await in cells, or %%step.",
        "Nothing is wrong.",
    ]


WRONG = {
    "javascript": (
        replace(WELL, python=replace(WELL.python, missing_javascript="app")),
        "app is missing. In a checkout run `make js`",
    ),
    "server extension": (
        replace(WELL, jupyter=replace(JUPYTER, server_extension=False)),
        "is disabled. Run `jupyter server extension enable",
    ),
    "labextension": (
        replace(WELL, jupyter=replace(JUPYTER, labextension="")),
        "isn't installed: there is no side panel",
    ),
    "core": (
        replace(WELL, cores=(replace(CORE, problem="No Core answered in 3 seconds."),)),
        "(pid 7, version 1.0) doesn't accept agents: No Core answered in 3 seconds. If process 7 is "
        "neither a Jupyter server nor `agentstepper serve`, delete agentstepper-7.json in the folder",
    ),
    "lost folder": (
        replace(WELL, cores=(replace(CORE, missing_data_folder="/gone/runs"),)),
        "stores its runs in /gone/runs, which was deleted, so the runs are lost. "
        "Stop the Core (`kill 7`)",
    ),
    "choice": (
        replace(WELL, discovery=replace(WELL.discovery, problem="Nobody listens there.")),
        "An agent here can't connect to ws://here (no other Core of yours runs): Nobody",
    ),
    "data": (replace(WELL, data=FolderFacts("/full", writable=False)), "/full can't be written."),
    "runtime": (
        replace(WELL, runtime=FolderFacts("/run", writable=False)),
        "/run can't be written.",
    ),
    "agents' token": (
        replace(WELL, agent_token_file_mode=0o644),
        "the agents' token (its file has mode 0644). Run `chmod 600 data/agent-token`",
    ),
    "control token": (
        replace(WELL, control_token_file_mode=0o640),
        "the control token (its file has mode 0640). Run `chmod 600 data/control-token`",
    ),
    "worker token": (
        replace(WELL, worker_token_file_mode=0o640),
        "the worker token (its file has mode 0640). Run `chmod 600 data/worker-token`",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong(what: str) -> None:
    facts, said = WRONG[what]
    (found,) = about(facts, "core" if what == "lost folder" else what)
    assert found.status is FindingStatus.PROBLEM
    assert said in f"{found.text} {found.advice}"
    assert has_problems(make_findings(facts))
    assert format_findings(make_findings(facts)).splitlines()[-1] == "1 thing is wrong."


@pytest.mark.parametrize(
    ("jupyter", "said"),
    [
        (replace(JUPYTER, server_extension=None), "The server extension is not enabled."),
        (replace(JUPYTER, damaged="static/x.js"), "is damaged: static/x.js is missing."),
        (
            replace(JUPYTER, disabled=("agentstepper_nb:panel",)),
            "Run `jupyter labextension enable agentstepper_nb:panel`",
        ),
        (replace(JUPYTER, labextension="0.9"), "has version 0.9, and the package 1.0."),
    ],
)
def test_what_may_be_wrong_with_jupyter(jupyter: JupyterFacts, said: str) -> None:
    assert said in format_findings(make_findings(replace(WELL, jupyter=jupyter)))
    assert has_problems(make_findings(replace(WELL, jupyter=jupyter)))


NOTES = {
    "git": (
        replace(WELL, python=replace(WELL.python, git_problem="git is too old.")),
        "is too old.",
    ),
    "jupyter": (replace(WELL, jupyter=JupyterFacts()), "environment as well."),
    "version": (
        replace(WELL, cores=(replace(CORE, version="0.9"),)),
        "has version 0.9, and this Python 1.0. Upgrade the older",
    ),
    "name": (
        replace(WELL, variables=VariableFacts(name="x")),
        "names every run that begins here 'x'.",
    ),
    "token": (replace(WELL, variables=VariableFacts(token=True)), "without AGENTSTEPPER_URL"),
    "view": (replace(WELL, kernel=replace(KERNEL, server="")), "%%step starts one in the kernel"),
    "kernel": (
        replace(
            WELL, kernel=replace(KERNEL, subshells=False, kernel_core_reason="You asked for it.")
        ),
        "run in the background instead",
    ),
    "asyncio": (replace(WELL, kernel=replace(KERNEL, has_nested_loops=True)), "anyio.run doesn't."),
}


@pytest.mark.parametrize(
    ("name", "said"), [("landlock", "confines less than bubblewrap"), ("none", "Nothing confines")]
)
def test_a_weaker_sandbox_is_said_with_the_reason(name: str, said: str) -> None:
    facts = replace(WELL, sandbox=SandboxFacts(name, ("bubblewrap: no user namespaces",)))
    (found,) = about(facts, "sandbox")
    assert found.status is FindingStatus.NOTE
    assert said in found.text
    assert "no user namespaces" in found.text
    assert "install.md" in found.advice
    assert about(replace(WELL, sandbox=None), "sandbox") == []


@pytest.mark.parametrize("what", NOTES)
def test_what_is_worth_knowing(what: str) -> None:
    facts, said = NOTES[what]
    (found,) = about(facts, what)
    assert found.status is FindingStatus.NOTE
    assert said in f"{found.text} {found.advice}"
    assert not has_problems(make_findings(facts))


def test_a_folder_may_be_more_than_one_thing() -> None:
    folder = FolderFacts("/home/data", free_bytes=5 * 1024 * 1024, network_file_system="nfs4")
    well, space, network = about(replace(WELL, data=folder), "data")
    assert (well.status, space.status, network.status) == (
        FindingStatus.OK,
        FindingStatus.NOTE,
        FindingStatus.NOTE,
    )
    assert "Only 5 MiB are free" in space.text
    assert "network file system (nfs4)" in network.text


def test_no_core() -> None:
    facts = replace(WELL, cores=(), discovery=DiscoveryFacts(reason="long words"))
    (found,) = about(facts, "choice")
    assert found.status is FindingStatus.NOTE
    assert "No Core runs" in found.text and "`agentstepper serve`" in found.advice


def test_several_cores() -> None:
    cores = (replace(CORE, is_jupyter=True), replace(CORE, pid=8))
    facts = replace(
        WELL, cores=cores, discovery=DiscoveryFacts(reason="Several:\n  ws://a\n  ws://b")
    )
    said = "! Several: ws://a ws://b Stop what you don't need: `kill 8`."
    assert said in format_findings(make_findings(facts)).splitlines()


@pytest.mark.parametrize(
    ("choice", "advice"),
    [
        (DiscoveryFacts("ws://x", "so", "refused"), "Unset AGENTSTEPPER_URL"),
        (
            DiscoveryFacts("ws://x", "so", "refused", token_source="Jupyter"),
            "TOKEN is the token of Jupyter. Set",
        ),
    ],
)
def test_variables_that_are_wrong(choice: DiscoveryFacts, advice: str) -> None:
    facts = replace(WELL, discovery=choice, variables=VariableFacts("ws://x", token=True))
    (found,) = about(facts, "choice")
    assert found.status is FindingStatus.PROBLEM
    assert advice in found.advice


def test_an_old_core_is_said_to_be_one() -> None:
    (found,) = about(replace(WELL, discovery=replace(WELL.discovery, protocol=1)), "choice")
    assert found.text.endswith("It speaks version 1: no stop, no withdraw.")


def test_a_kernel_without_subshells_needs_none_at_the_servers_core() -> None:
    facts = replace(
        WELL, kernel=KernelFacts("ipykernel 6.31.0", subshells=False, server="ws://here")
    )
    (found,) = about(facts, "kernel")
    assert (found.status, "needs none" in found.text) == (FindingStatus.OK, True)


@pytest.mark.parametrize(
    ("kernel", "status", "words"),
    [
        (
            replace(KERNEL, seams="queries of httpx2 2.0; tools of mcp 1.2"),
            FindingStatus.OK,
            "Active here: queries of httpx2 2.0; tools of mcp 1.2.",
        ),
        (replace(KERNEL, seams=""), FindingStatus.OK, "Active here: none"),
        (replace(KERNEL, seams=None), FindingStatus.NOTE, "instrumentation is off"),
    ],
)
def test_what_halts_without_a_change_is_said(
    kernel: KernelFacts, status: FindingStatus, words: str
) -> None:
    (found,) = about(replace(WELL, kernel=kernel), "seams")
    assert (found.status, words in found.text) == (status, True)


@pytest.mark.parametrize(
    ("seams", "status", "words"),
    [
        ("queries of httpx 0.28", FindingStatus.OK, "halt at queries of httpx 0.28."),
        ("", FindingStatus.NOTE, "no library installed"),
    ],
)
def test_what_would_halt_under_run_is_said(seams: str, status: FindingStatus, words: str) -> None:
    (found,) = about(replace(WELL, kernel=None, installed_seams=seams), "seams")
    assert (found.status, words in found.text) == (status, True)


def test_a_library_that_cannot_be_wrapped_is_wrong() -> None:
    kernel = replace(KERNEL, failed_seams=("mcp: This version can't be wrapped: KeyError('x').",))
    _, found = about(replace(WELL, kernel=kernel), "seams")
    assert found.status is FindingStatus.PROBLEM
    assert "mcp" in found.text


def test_a_core_in_the_kernel_is_reached_by_comm() -> None:
    facts = replace(WELL, kernel=replace(KERNEL, kernel_core_reason="You asked for it."))
    (found,) = about(facts, "view")
    assert "through the kernel (comm): You asked for it." in found.text


def test_no_token_yet_and_no_kernel() -> None:
    facts = replace(WELL, agent_token_file_mode=None, control_token_file_mode=None, kernel=None)
    for which in ("agents'", "control"):
        assert f"no {which} token yet" in format_findings(make_findings(facts))
    assert about(facts, "kernel") == []


def test_for_programs() -> None:
    facts = replace(WELL, agent_token_file_mode=0o640)
    document = json.loads(encode_findings(make_findings(facts)))
    assert document["well"] is False
    (wrong,) = [each for each in document["findings"] if each["sign"] == "wrong"]
    assert wrong["about"] == "agents' token"
    assert set(wrong) == {"sign", "about", "text", "advice"}


def test_names_of_folders_do_nothing_to_a_terminal() -> None:
    facts = replace(WELL, cores=(replace(CORE, name="in /a\x1b[2J\nb"),))
    text = format_findings(make_findings(facts))
    assert "\x1b" not in text
    assert len(text.splitlines()) == len(make_findings(facts)) + 1
