"""Each finding about a data folder, shown by facts."""

from __future__ import annotations

from dataclasses import replace

import pytest

from agentstepper_nb.doctor.findings import Finding, FindingStatus, format_findings, has_problems
from agentstepper_nb.doctor.store_findings import make_store_findings
from agentstepper_nb.store.checkup import DamagedRun, FolderReport, SetAsideStore

WELL = FolderReport(folder="data", size_bytes=3 << 20, version=2, latest_version=2, runs=7)
HURT = DamagedRun("id", "Run #1", "its header is damaged")
REPAIR = "Run `agentstepper doctor --data data --repair`."


def about(checkup: FolderReport, what: str) -> list[Finding]:
    return [finding for finding in make_store_findings(checkup) if finding.subject == what]


def test_where_all_is_well() -> None:
    findings = make_store_findings(WELL)
    assert not has_problems(findings)
    assert format_findings(findings).splitlines() == [
        "✓ data holds 7 runs in a store of version 2; its files have 3 MiB in all.",
        "✓ SQLite finds no damage in the store's file.",
        "✓ Every run matches its checksums.",
        "Nothing is wrong.",
    ]


def test_each_hurt_run_is_named_with_what_of_it_is_hurt() -> None:
    hurt = replace(WELL, damaged=(HURT, DamagedRun("other", "", "its header is lost")))
    texts = [finding.text for finding in about(hurt, "run")]
    assert texts == [
        "Run 'Run #1' (id) is damaged: its header is damaged.",
        "Run other is damaged: its header is lost.",
    ]
    assert {finding.advice for finding in about(hurt, "run")} == {REPAIR}
    assert about(hurt, "runs") == []


def test_a_core_has_to_let_go_first() -> None:
    held = replace(WELL, holder="agentstepper serve (pid 7 on box)", damaged=(HURT,))
    (holder,) = about(held, "holder")
    assert holder.status is FindingStatus.OK
    (run,) = about(held, "run")
    assert run.advice == (
        "Stop agentstepper serve (pid 7 on box), then run "
        "`agentstepper doctor --data data --repair`."
    )


@pytest.mark.parametrize(
    ("facts", "what", "sign", "text"),
    [
        (replace(WELL, exists=False), "store", FindingStatus.NOTE, "data has no store"),
        (
            replace(WELL, version=3),
            "version",
            FindingStatus.PROBLEM,
            "has version 3, and this agentstep",
        ),
        (
            replace(WELL, version=1),
            "version",
            FindingStatus.NOTE,
            "has version 1, and this agentstep",
        ),
        (
            replace(WELL, unreadable_reason="why"),
            "store",
            FindingStatus.PROBLEM,
            "can't be read: why.",
        ),
        (
            replace(WELL, structure_problems=("a", "b")),
            "structure",
            FindingStatus.PROBLEM,
            "damaged: a, and 1 thing",
        ),
        (
            replace(
                WELL, missing=(DamagedRun("id", "Run #1", "the last change is lost of run id"),)
            ),
            "marks",
            FindingStatus.PROBLEM,
            "lost data: the last change is lost of run id ('Run #1').",
        ),
        (
            replace(WELL, past_losses=(DamagedRun("id", "", "run id is lost whole"),)),
            "marks",
            FindingStatus.NOTE,
            "A damaged journal lost data earlier: run id is lost whole.",
        ),
        (
            replace(WELL, damaged_config_rows=1),
            "rules",
            FindingStatus.PROBLEM,
            "1 row of the breakpoints and prices",
        ),
        (
            replace(WELL, damaged_counters=2),
            "marks",
            FindingStatus.NOTE,
            "2 marks beside the journal",
        ),
        (
            replace(WELL, search_problem="why"),
            "search",
            FindingStatus.NOTE,
            "The index for search can't be used: why.",
        ),
        (
            replace(WELL, unreadable_run_files=(("a.run", "why"),)),
            "file",
            FindingStatus.PROBLEM,
            "logs/a.run isn't listed",
        ),
        (
            replace(WELL, tokens=(("control-token", "it is damaged"),)),
            "token",
            FindingStatus.PROBLEM,
            "The token in control-token can't be used: it is damaged.",
        ),
        (
            replace(WELL, open_to_others=(".", "b")),
            "rights",
            FindingStatus.PROBLEM,
            "your files: the folder, b.",
        ),
        (replace(WELL, store_copies=("x",)), "copies", FindingStatus.NOTE, "deleted since: x."),
        (
            replace(WELL, other_core_folders=("data/2",)),
            "others",
            FindingStatus.NOTE,
            "other folders: data/2.",
        ),
        (
            replace(WELL, leftover_files=("x.part",)),
            "leftovers",
            FindingStatus.NOTE,
            "behind: x.part.",
        ),
        (
            replace(WELL, network_file_system="nfs4"),
            "network",
            FindingStatus.NOTE,
            "network file system (nfs4)",
        ),
        (
            replace(WELL, free_bytes=1 << 20),
            "room",
            FindingStatus.NOTE,
            "Only 1 MiB are free in data.",
        ),
        (
            replace(WELL, sqlite=(3, 40, 1)),
            "sqlite",
            FindingStatus.NOTE,
            "SQLite 3.40.1 can damage",
        ),
    ],
    ids=range(19),
)
def test_a_finding(facts: FolderReport, what: str, sign: FindingStatus, text: str) -> None:
    (found,) = about(facts, what)
    assert found.status is sign
    assert text in found.text
    assert has_problems(make_store_findings(facts)) is (sign is FindingStatus.PROBLEM)


@pytest.mark.parametrize("where", ["set_aside_stores", "unopenable_store"])
def test_a_store_that_cannot_be_opened(where: str) -> None:
    damaged = SetAsideStore("store.sqlite.damaged-1", intact_runs=3, damaged=(HURT,))
    value = (damaged,) if where == "set_aside_stores" else damaged
    found = make_store_findings(replace(WELL, **{where: value}))
    (store, run) = [finding for finding in found if finding.status is FindingStatus.PROBLEM]
    assert store.text == (
        "store.sqlite.damaged-1 can't be opened. 3 of its runs can be repaired completely, and 1 in "
        "part."
    )
    assert store.advice == run.advice == REPAIR
    assert "'Run #1' (id)" in run.text


def test_a_store_of_which_nothing_can_be_read() -> None:
    empty = SetAsideStore("store.sqlite", lost_run_ids=("a", "b"), problem="the file is empty")
    lost = replace(WELL, unopenable_store=empty)
    (store,) = about(lost, "damaged store")
    assert "All runs in it are lost." in store.text
    assert [finding.text for finding in about(lost, "run")] == [
        "Run a is lost: store.sqlite has none of its data.",
        "Run b is lost: store.sqlite has none of its data.",
    ]
    assert about(lost, "store") == about(lost, "runs") == []
