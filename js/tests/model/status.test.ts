import { expect, test, vi } from "vitest";
import { controls } from "../../src/model/controls";
import type { Connection, Run } from "../../src/model/model";
import { connectionProblem, runStatus, viewStatus } from "../../src/model/status";
import { formatDate, formatDuration, formatElapsed, formatSize } from "../../src/view/format";
import { aRun, endedRun, haltedRun, pendingRow } from "../helpers/values";

const OPEN: Connection = { kind: "open", control: true, core: "" };

test.each([
  ["Halted before LLM query", pendingRow(1)],
  ["Halted after LLM query", pendingRow(1, { side: "end" })],
  ["Halted before tool call", pendingRow(1, { kind: "tool_invocation" })],
  ["Halted after tool call", pendingRow(1, { kind: "tool_invocation", side: "end" })],
  ["Halted before plan step", pendingRow(1, { kind: "custom", name: "plan_step" })],
  ["Halted after retrieval", pendingRow(1, { kind: "custom", name: "retrieval", side: "end" })],
  ["Halted at the start", pendingRow(1, { kind: "program_started" })],
])("%s", (words, row) => {
  expect(runStatus(haltedRun("a", "r1"), [row]).words).toBe(words);
});

test.each<[string, Partial<Run>]>([
  ["Agent running…", {}],
  ["LLM thinking…", { agent_state: "llm_thinking" }],
  ["Tool executing…", { agent_state: "tool_executing" }],
  ["Waiting for a message", { agent_state: "waiting", stopping: true }],
  ["Halting…", { agent_state: "halting" }],
  ["Stopping…", { stopping: true }],
  ["Halted at 2 events", { state: "halted", pending: ["r1", "r2"] }],
  ["Finished", { state: "idle", ending: "finished" }],
  ["Stopped", { state: "idle", ending: "stopped" }],
  ["Crashed", { state: "idle", ending: "crashed" }],
  ["Lost", { state: "idle", ending: "lost" }],
  ["Ended", { state: "idle", ending: null }],
  ["Agent away", { state: "detached" }],
])("%s", (words, fields) => {
  expect(runStatus(aRun("a", fields)).words).toBe(words);
});

test.each([
  [{}, "nothing runs until then"],
  [{ state: "step" as const }, "nothing runs until then; it halts then"],
  [{ stopping: true }, "nothing runs until then; it stops then"],
])("an agent that waits for a message doesn't spin: %j", (fields, detail) => {
  const run = aRun("a", { agent_state: "waiting", state: "continue", ...fields });
  const status = runStatus(run);
  expect([status.spin ?? false, status.detail]).toEqual([false, detail]);
});

const DAY = new Date(2026, 10, 21, 14, 2).getTime() / 1000;

test("what waits for the person waits also while the agent is away", () => {
  vi.useFakeTimers({ now: DAY * 1000 + 60_000 });
  const away = aRun("a", { state: "detached", detached_at: DAY });
  const gone = runStatus(away);
  expect([gone.detail, gone.tone]).toEqual(["it may come back; away since 14:02", "off"]);
  const waits = runStatus({ ...away, pending: ["r1"] });
  expect(waits.detail).toBe("your answers reach it when it is back; away since 14:02");
  expect(waits.tone).toBe("you");
  vi.useRealTimers();
});

test.each<[string, Partial<Run>]>([
  ["ValueError: no", { ending: "crashed", failure: { type: "ValueError", message: "no" } }],
  ["killed by SIGKILL", { ending: "crashed", exit_code: -9 }],
  ["killed by signal 64", { ending: "crashed", exit_code: -64 }],
  ["exited with code 3", { ending: "crashed", exit_code: 3 }],
  [
    "killed by SIGTERM; last: tool call x (row 2)",
    { ending: "crashed", exit_code: -15, last_event: "tool call x (row 2)" },
  ],
  ["the agent did not come back", { ending: "lost" }],
  [
    "The Core went away",
    { ending: "lost", failure: { type: "CoreStopped", message: "The Core went away." } },
  ],
  [
    "exited with code 3",
    {
      ending: "crashed",
      exit_code: 3,
      failure: { type: "ProcessEnded", message: "The agent's process exited with 3." },
    },
  ],
  [
    "ValueError: no",
    { ending: "crashed", exit_code: 1, failure: { type: "ValueError", message: "no" } },
  ],
  ["", { ending: "crashed", exit_code: 0 }],
  ["", { ending: "finished", last_event: "answer of gpt (row 4)" }],
])("how it ended: %s", (detail, fields) => {
  expect(runStatus(aRun("a", { state: "idle", ...fields })).detail).toBe(detail);
});

const shown = (run: Run | null) => ({ run, pending: [], isAwaited: false, opening: false });

test("the link's state comes before the run's", () => {
  const lost: Connection = { kind: "lost", attempt: 2, retryInMs: 2100 };
  const { words, detail } = viewStatus(lost, shown(aRun("a")));
  expect([words, detail]).toEqual(["Connection lost", "retry in 3 s"]);
  expect(viewStatus({ ...lost, retryInMs: 0 }, shown(null)).detail).toBe("retrying…");
  expect(viewStatus({ kind: "refused", message: "" }, shown(null)).words).toBe("Not connected");
  expect(viewStatus(OPEN, shown(null)).words).toBe("No run yet");
  expect(viewStatus(OPEN, { ...shown(null), isAwaited: true }).words).toBe("Waiting for the run");
});

function held(run: Run | null, { connection = OPEN, draftError = null as string | null } = {}) {
  const now = controls({ connection, run, draftError, asksApproval: false });
  const open = [now.step, now.resume, now.halt, now.stop].map(
    (each) => each && each.disabledReason === null,
  );
  const primary = Object.entries(now).filter(([, control]) => control?.primary);
  return [open, primary.map(([name]) => name)];
}

test("what keeps view and Core apart is said, unless waiting mends it", () => {
  expect(connectionProblem({ kind: "refused", message: "log in" })).toBe("log in");
  expect(connectionProblem({ ...OPEN, stalled: "busy" })).toBe("busy");
  expect(connectionProblem({ kind: "connecting", stalled: "busy" })).toBe("busy");
  expect(connectionProblem({ kind: "lost", attempt: 1, retryInMs: 500 })).toBeNull();
  expect(connectionProblem(OPEN)).toBeNull();
});

test("what is possible, and which button is the filled one", () => {
  expect(held(haltedRun("a", "r1"))).toEqual([[true, true, false, true], ["step"]]);
  expect(held(aRun("a"))).toEqual([[false, true, false, true], ["step"]]);
  const going = aRun("a", { state: "continue", mode: "continue" });
  expect(held(going)).toEqual([[false, false, true, true], ["halt"]]);
  expect(held(endedRun("a"))).toEqual([[false, false, false, false], []]);
  expect(held(null)).toEqual([[false, false, false, false], []]);
});

test("while the agent is away the Core takes what it would take if it were there", () => {
  const away = aRun("a", { state: "detached" });
  expect(held({ ...away, pending: ["r1"] })).toEqual([[true, true, false, true], ["step"]]);
  expect(held(away)).toEqual([[false, true, false, true], []]);
  expect(held({ ...away, mode: "continue" })).toEqual([[false, false, true, true], ["halt"]]);
});

test("Stop is absent where the agent can't be stopped, held once it was pressed", () => {
  expect(held(aRun("a", { can_stop: false }))[0]).toEqual([false, true, false, null]);
  expect(held(aRun("a", { stopping: true }))[0]).toEqual([false, true, false, false]);
});

test("a draft that isn't JSON holds Step and Continue back", () => {
  expect(held(haltedRun("a", "r1"), { draftError: "line 4" })[0]).toEqual([
    false,
    false,
    false,
    true,
  ]);
});

test("who watches can press nothing, and is told why", () => {
  const connection: Connection = { kind: "open", control: false, core: "" };
  const now = controls({
    connection,
    run: haltedRun("a", "r1"),
    draftError: null,
    asksApproval: false,
  });
  expect(now.step.disabledReason).toMatch(/watch/);
  expect(held(haltedRun("a"), { connection })[0]).toEqual([false, false, false, false]);
});

test("durations, times and sizes", () => {
  expect([0, 0.004, 0.9996, 1.84, 12.34, 187].map(formatDuration)).toEqual([
    "0 ms",
    "4 ms",
    "1.00 s",
    "1.84 s",
    "12.3 s",
    "3:07",
  ]);
  expect([-1, 41, 725, 3750].map(formatElapsed)).toEqual(["0:00", "0:41", "12:05", "1:02:30"]);
  expect([812, 1234, 999_960, 34_000_000].map(formatSize)).toEqual([
    "812 B",
    "1.2 KB",
    "1.0 MB",
    "34 MB",
  ]);
});

test("when a run was: less is said the nearer it is", () => {
  const now = new Date(2026, 10, 21, 14, 2).getTime() / 1000;
  expect(formatDate(now - 60, now)).toBe("14:01");
  expect(formatDate(now - 86_400, now)).toBe("Yesterday 14:02");
  expect(formatDate(now - 3 * 86_400, now)).toMatch(/18.* 14:02|Nov.* 14:02/);
});
