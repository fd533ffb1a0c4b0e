"""The diffs that tools show."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agentstepper_nb.coding.tools.apply_patch import apply_hunks
from agentstepper_nb.coding.tools.diffs import make_unified_diff, parse_patch, split_lines

SMALL = st.lists(st.sampled_from(["a\n", "b\n", "\n", "c", "\r\n", "é\n"]), max_size=12).map(
    "".join
)


@given(old=SMALL, new=SMALL)
def test_a_diff_leads_from_one_text_to_the_other(old: str, new: str) -> None:
    diff = make_unified_diff("x", old, new)
    if old == new:
        assert diff == ""
    else:
        (patch,) = parse_patch(diff)
        assert "".join(apply_hunks("x", split_lines(old), patch.hunks)) == new


def test_a_diff_of_very_long_texts_is_made_quickly() -> None:
    old, new = "same\n" * 50_000, "other\n" * 50_000
    diff = make_unified_diff("x", f"head\n{old}tail\n", f"head\n{new}tail\n")
    assert diff.startswith("--- a/x\n+++ b/x\n@@ -1,50002 +1,50002 @@\n head\n-same\n")
    assert diff.endswith("+other\n tail\n")
    far = old + "x\n" + old
    assert make_unified_diff("x", far, far.replace("x", "y")).count("\n") == 11
