"""The page that says what becomes of each capability of the Debug Adapter Protocol."""

from __future__ import annotations

import re
from collections import Counter
from typing import Final

from tests.docs.pages import GUIDE

#: The members of DAP's type `Capabilities`, as its specification has them.
CAPABILITIES: Final = (
    "supportsConfigurationDoneRequest",
    "supportsFunctionBreakpoints",
    "supportsConditionalBreakpoints",
    "supportsHitConditionalBreakpoints",
    "supportsEvaluateForHovers",
    "exceptionBreakpointFilters",
    "supportsStepBack",
    "supportsSetVariable",
    "supportsRestartFrame",
    "supportsGotoTargetsRequest",
    "supportsStepInTargetsRequest",
    "supportsCompletionsRequest",
    "completionTriggerCharacters",
    "supportsModulesRequest",
    "additionalModuleColumns",
    "supportedChecksumAlgorithms",
    "supportsRestartRequest",
    "supportsExceptionOptions",
    "supportsValueFormattingOptions",
    "supportsExceptionInfoRequest",
    "supportTerminateDebuggee",
    "supportSuspendDebuggee",
    "supportsDelayedStackTraceLoading",
    "supportsLoadedSourcesRequest",
    "supportsLogPoints",
    "supportsTerminateThreadsRequest",
    "supportsSetExpression",
    "supportsTerminateRequest",
    "supportsDataBreakpoints",
    "supportsReadMemoryRequest",
    "supportsWriteMemoryRequest",
    "supportsDisassembleRequest",
    "supportsCancelRequest",
    "supportsBreakpointLocationsRequest",
    "supportsClipboardContext",
    "supportsSteppingGranularity",
    "supportsInstructionBreakpoints",
    "supportsExceptionFilterOptions",
    "supportsSingleThreadExecutionRequests",
    "supportsDataBreakpointBytes",
    "breakpointModes",
    "supportsANSIStyling",
)
#: What may become of one.
STATES: Final = ("done", "no")


def test_each_capability_has_one_row_that_says_how_or_why_not() -> None:
    text = (GUIDE / "dap.md").read_text(encoding="utf-8").partition("## Capabilities")[2]
    rows = re.findall(r"^\| `(\w+)` \| ([^|]*) \| (.+) \|$", text, re.MULTILINE)
    assert Counter(name for name, _, _ in rows) == Counter(CAPABILITIES)
    assert {state for _, state, _ in rows} <= set(STATES)
    assert all(reason.strip() for _, _, reason in rows)
