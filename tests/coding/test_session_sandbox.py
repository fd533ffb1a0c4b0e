"""A coding session whose commands really run in the best sandbox of this machine."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from agentstepper_nb.coding.approvals import ApprovalDecision, Approver
from agentstepper_nb.coding.session import CodingSession
from agentstepper_nb.coding.session_list import CodingDataPaths
from agentstepper_nb.errors import CodingSessionError, SandboxError
from agentstepper_nb.llm_wire.conversation import ToolResultMessage
from agentstepper_nb.llm_wire.events import AgentEvent
from agentstepper_nb.protocol import ui
from agentstepper_nb.protocol.data_model import Actor, EventKind
from tests.coding.scripted_parts import (
    FakeApprover,
    FakeProvider,
    make_text_answer,
    make_tool_calls,
)
from tests.coding.session_helpers import open_session as opened_in
from tests.coding.session_helpers import traces
from tests.sdk.person import LiveView
from tests.sdk.workspace.helpers import git, make_repository

pytestmark = pytest.mark.usefixtures("cached_python")

YES = ApprovalDecision(approved=True)


class SandboxedSessions:
    """Sessions in one workspace, and what they told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.data = folder / "data"
        self.repo = make_repository(folder / "repo", LICENSE="free\n")
        self.outside = folder / "outside"
        self.outside.mkdir()
        (self.outside / "there.txt").write_text("outside\n")
        self.events: list[AgentEvent] = []
        self.requests: list[Any] = []

    def run(
        self, *commands: dict[str, Any], approver: Approver | None = None, **options: Any
    ) -> Any:
        """Let a session run commands, one a question; gives the results."""
        return asyncio.run(self.arun(*commands, approver=approver, **options))

    async def arun(self, *commands: dict[str, Any], **options: Any) -> list[dict[str, Any]]:
        answers = [
            make_tool_calls((str(n), "run_command", each)) for n, each in enumerate(commands)
        ]
        model = FakeProvider(*answers, make_text_answer("Done."))
        async with await self.open(model, **options) as session:
            await session.run("Go.")
            results = [m for m in session.messages if isinstance(m, ToolResultMessage)]
        self.requests = model.requests
        return [json.loads(each.content) for each in results]

    async def open(self, model: FakeProvider, **options: Any) -> CodingSession:
        given = {"workspace": self.repo, "data_dir": self.data, "listener": self.events.append}
        return await opened_in(self.folder, model, **{**given, **options})


@pytest.fixture
def opened(home: Path) -> SandboxedSessions:
    return SandboxedSessions(home)


# ---- what holds -------------------------------------------------------------------------------------


def test_commands_write_in_the_workspace_and_nowhere_else(opened: SandboxedSessions) -> None:
    inside, outside, temporary = opened.run(
        {"command": "echo a | tr a b > made.txt && cat made.txt"},
        {"command": f"echo a > {opened.outside}/made.txt"},
        {"command": 'echo a > "$TMPDIR/a" && cat "$TMPDIR/a" && test "$HOME" && echo b > ~/b'},
    )
    assert inside["output"] == "b\n"
    assert outside["data"]["exit_code"] != 0
    assert temporary["output"] == "a\n"
    assert (opened.repo / "made.txt").read_text() == "b\n"
    assert sorted(path.name for path in opened.outside.iterdir()) == ["there.txt"]


def test_read_only_leaves_the_workspace_as_it_is(opened: SandboxedSessions) -> None:
    read, wrote = opened.run(
        {"command": "cat LICENSE"}, {"command": "touch new.txt"}, sandbox_mode="read-only"
    )
    assert read["output"] == "free\n"
    assert not (opened.repo / "new.txt").exists()
    assert wrote["diagnostics"]["sandbox"]["cause"] == "this session is read-only"


@pytest.mark.slow
def test_a_setting_makes_folders_visible_and_writable(opened: SandboxedSessions) -> None:
    (hidden,) = opened.run({"command": f"cat {opened.outside}/there.txt"})
    assert not hidden["ok"]
    assert "readable" in hidden["error"]
    seen, not_changed = opened.run(
        {"command": f"cat {opened.outside}/there.txt"},
        {"command": f"echo b > {opened.outside}/there.txt"},
        readable=[opened.outside],
    )
    assert seen["output"] == "outside\n"
    assert not not_changed["ok"]
    (changed,) = opened.run(
        {"command": f"echo c > {opened.outside}/there.txt; echo done"}, writable=[opened.outside]
    )
    assert changed["output"] == "done\n"
    assert (opened.outside / "there.txt").read_text() == "c\n"


async def test_the_private_home_ends_with_the_session(opened: SandboxedSessions) -> None:
    model = FakeProvider(
        make_tool_calls(("1", "run_command", {"command": "echo a > ~/kept"})),
        make_text_answer("Done."),
    )
    session = await opened.open(model)
    await session.run("Go.")
    assert list((opened.data / "coding" / "sandboxes").glob("*/home/kept"))
    await session.close()
    assert not list((opened.data / "coding" / "sandboxes").iterdir())


# ---- what is said -----------------------------------------------------------------------------------


def test_the_session_says_what_holds_its_commands(opened: SandboxedSessions) -> None:
    opened.run({"command": "true"})
    (report,) = traces(opened.events, "sandbox")
    assert report["mode"] == "workspace-write"
    assert report["name"] in ("bubblewrap", "landlock", "seatbelt")
    assert not report["network"] and not report["warning"]
    system = opened.requests[0].system
    assert "Commands run in a sandbox" in system
    assert "no network" in system


@pytest.mark.parametrize(
    ("options", "warning"),
    [
        ({"sandbox_mode": "danger-full-access"}, "Full access: approvals are no protection"),
        ({"sandbox": "none"}, "No sandbox: approvals are no protection"),
    ],
)
def test_without_a_sandbox_it_says_that_approvals_protect_nothing(
    opened: SandboxedSessions, options: dict[str, Any], warning: str
) -> None:
    (ran,) = opened.run({"command": "ls"}, **options)
    assert ran["output"] == "LICENSE\n"
    (report,) = traces(opened.events, "sandbox")
    assert report["name"] == "none"
    assert report["warning"].startswith(warning)
    assert "control token" in report["warning"]
    assert "Nothing holds what commands do" in opened.requests[0].system


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"sandbox_mode": "full"}, "sandbox_mode"),
        ({"sandbox": "docker"}, "'docker'"),
        ({"sandbox": "seatbelt"}, "seatbelt"),
        ({"sandbox": "bubblewrap", "sandbox_mode": "danger-full-access"}, "uses no sandbox"),
        ({"writable": ["/no/such/folder"]}, "/no/such/folder"),
    ],
)
def test_what_cannot_be_held_is_refused(
    opened: SandboxedSessions, options: dict[str, Any], said: str
) -> None:
    with pytest.raises((SandboxError, CodingSessionError), match=said):
        opened.run({"command": "true"}, **options)
    assert not list((opened.data / "coding").glob("sandboxes/*"))


def test_a_workspace_among_jupyters_folders_is_refused(
    opened: SandboxedSessions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUPYTER_DATA_DIR", str(opened.folder))
    with pytest.raises(SandboxError, match="hidden from commands"):
        opened.run({"command": "true"})


def test_a_workspace_below_the_data_folder_shows_nothing_else_of_it(
    opened: SandboxedSessions,
) -> None:
    opened.data = opened.folder
    listed, read = opened.run(
        {"command": "ls .. ../coding; cat LICENSE"},
        {"command": f"cat {opened.folder}/coding/sessions/*"},
    )
    assert "free" in json.dumps(listed)
    assert "sessions" not in json.dumps(listed)
    assert not read["ok"]


# ---- again ------------------------------------------------------------------------------------------

FETCH = {"command": "python3 -c 'import socket; socket.create_connection((\"192.0.2.1\", 9), 1)'"}


@pytest.mark.slow
def test_without_network_it_is_asked_again_and_granted_for_the_session(
    opened: SandboxedSessions,
) -> None:
    person = FakeApprover(ApprovalDecision(approved=True, always=True))
    first, second = opened.run(FETCH, FETCH, approver=person)
    (asked,) = person.requests
    assert asked.call_id == "0-again"
    assert asked.args == {**FETCH, "network": True}
    assert (
        "failed: the sandbox has no network. Run it again with the network?" in asked.policy_reason
    )
    assert asked.rule == "the network in this session"
    assert first["diagnostics"]["run_again"]["with"] == {"network": True}
    # 192.0.2.0/24 is nobody's: what the network says of it isn't what the sandbox says.
    assert "sandbox" not in first["diagnostics"]
    assert "sandbox" not in (second.get("diagnostics") or {})
    assert not CodingDataPaths(opened.data).rules.exists()


def test_a_folder_is_granted_once_and_only_for_that_call(opened: SandboxedSessions) -> None:
    person = FakeApprover(YES, ApprovalDecision(approved=False, reason="Not twice."))
    (opened.outside / "deep").mkdir()
    folders = [opened.outside, opened.outside / "deep"]
    write = [{"command": f"echo a >> {folder}/made.txt"} for folder in folders]
    first, second = opened.run(*write, approver=person)
    assert [each.args["writable"] for each in person.requests] == [[str(each)] for each in folders]
    assert first["ok"]
    assert first["diagnostics"]["run_again"]["with"] == {"writable": [str(opened.outside)]}
    assert not second["ok"]
    assert "Not twice." in second["diagnostics"]["asked_again"]
    assert (opened.outside / "made.txt").read_text() == "a\n"


def test_it_is_not_asked_again_where_nobody_can_be_asked(opened: SandboxedSessions) -> None:
    (result,) = opened.run(FETCH)
    assert "network: true" in result["error"]
    assert result["diagnostics"]["sandbox"]["again"] == {"network": True}
    assert not traces(opened.events, "approval_required")


def test_yes_never_leaves_the_sandbox(opened: SandboxedSessions) -> None:
    person = FakeApprover()
    fetched, asked, wrote = opened.run(
        FETCH,
        {**FETCH, "network": True},
        {"command": "true", "writable": [str(opened.outside)]},
        approver=person,
        auto_approve=True,
    )
    assert fetched["diagnostics"]["sandbox"]["again"] == {"network": True}
    assert "The policy denies" in asked["error"]
    assert "The policy denies" in wrote["error"]
    assert not person.requests


@pytest.mark.slow
def test_in_the_debugger_the_second_run_is_a_call_of_its_own(
    opened: SandboxedSessions, person: LiveView
) -> None:
    def approve() -> None:
        run = person.wait_until(lambda run: bool(run.pending))
        (halted,) = run.pending
        person._request(
            ui.ApproveCall(run=run.id, halt_point=halted, revision=1, always=True, confirmed=True)
        )
        person.wait_until(lambda run: not run.pending)

    async def scene() -> list[dict[str, Any]]:
        approving = asyncio.create_task(asyncio.to_thread(approve))
        results = await opened.arun(FETCH, FETCH, debugger=True)
        await approving
        return results

    results = asyncio.run(scene())
    person.wait_until_ended()
    rows = person.list_rows()
    begun = [row for row in rows if row.kind is EventKind.TOOL_INVOCATION]
    calls = [person.get_data(row) for row in begun if row.target is Actor.TOOLS]
    said = [person.get_data(row) for row in rows if row.kind is EventKind.DEBUG_MESSAGE]
    assert person.run.notice == ""
    assert [each["Argument"].get("network", False) for each in calls] == [False, True, False]
    assert results[0]["diagnostics"]["run_again"]["with"] == {"network": True}
    assert any(str(text).startswith("Sandbox: ") for text in said)


def test_full_access_is_a_notice_of_the_run(opened: SandboxedSessions, person: LiveView) -> None:
    opened.run({"command": "ls"}, debugger=True, sandbox_mode="danger-full-access")
    person.wait_until_ended()
    assert person.run.notice.startswith("Full access: approvals are no protection")


# ---- snapshots --------------------------------------------------------------------------------------


def test_a_command_that_loses_work_loses_nothing_that_a_snapshot_holds(
    opened: SandboxedSessions,
) -> None:
    (opened.repo / "LICENSE").write_text("uncommitted work\n")
    opened.run({"command": "git checkout LICENSE"}, approver=FakeApprover(YES))
    assert (opened.repo / "LICENSE").read_text() in ("free\n", "uncommitted work\n")
    (private,) = (opened.data / "workspaces").iterdir()
    kept = git(private, "log", "--all", "--format=%H", "--", "LICENSE").split()
    texts = [git(private, "show", f"{each}:LICENSE") for each in kept]
    assert "uncommitted work" in texts
