"""The table of what tests run: files are summed by package, and a loss is named."""

from __future__ import annotations

from scripts.coverage_by_package import Counts, by_package, lost, table


def file(lines: int, run: int, branches: int, taken: int) -> dict[str, dict[str, int]]:
    return {
        "summary": {
            "num_statements": lines,
            "covered_lines": run,
            "num_branches": branches,
            "covered_branches": taken,
        }
    }


REPORT = {
    "files": {
        "agentstepper_nb/errors.py": file(10, 10, 0, 0),
        "agentstepper_nb/hub/a.py": file(60, 50, 20, 10),
        "agentstepper_nb/hub/runtime/b.py": file(40, 40, 0, 0),
    }
}


def test_files_are_summed_by_package() -> None:
    found = by_package(REPORT)
    assert found["(top)"] == Counts(1, 10, 10, 0, 0)
    assert found["hub"] == Counts(2, 100, 90, 20, 10)
    assert found["total"] == Counts(3, 110, 100, 20, 10)
    assert found["(top)"].branch_rate == 100.0


def test_a_package_of_which_less_is_run_is_named() -> None:
    now = by_package(REPORT)
    before = now | {"hub": now["hub"]._replace(branches_run=11)}
    assert lost(before, now) == ["hub"]
    assert lost(now, now) == []
    marked = [row.split()[0] for row in table(before, now).splitlines() if "LESS" in row]
    assert marked == ["hub"]


def test_new_and_removed_packages_have_no_other_side() -> None:
    text = table({"worker": Counts(1, 2, 1, 0, 0)}, {"rpc": Counts(1, 4, 4, 0, 0)})
    assert "2 → –" in text and "– → 4" in text
    assert lost({"worker": Counts(1, 2, 1, 0, 0)}, {"rpc": Counts(1, 4, 4, 0, 0)}) == []
