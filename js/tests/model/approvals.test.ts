import { expect, test } from "vitest";
import { canDeny, controls, runControl } from "../../src/model/controls";
import type { TimelineRow } from "../../src/model/model";
import { runStatus } from "../../src/model/status";
import { showing } from "../helpers/debugger";
import { aBody, aRow, haltedRun, pendingRow, rowsTo } from "../helpers/values";

const CALL = { kind: "tool_invocation", target: "tools" } as const;
const asking = (seq: number, fields: Partial<TimelineRow> = {}) =>
  pendingRow(seq, { ...CALL, approval: true, ...fields });

/** A run in CONTINUE whose last rows ask. */
const asked = (...rows: TimelineRow[]) => {
  const waiting = rows.filter(({ pending }) => pending).map(({ id }) => id);
  return showing({ ...haltedRun("a", ...waiting), mode: "continue" }, rows);
};

test("approve names the row and its revision, and sends its draft", async () => {
  const { model, peer } = await asked(asking(1, { revision: 3 }));
  const row = model.rows.value[0] as TimelineRow;
  void model.approve(row, { always: false, confirmed: false });
  const plain = peer.take("approve");
  const aim = { run: "a", breakpoint: "r1", revision: 3 };
  expect(plain.body).toEqual({ ...aim, edit: null, always: false, confirmed: false });
  expect(model.target.value).toBeNull(); // answered, as far as the person is concerned
  await peer.refuse(plain, "stale", "Another view was faster.");
  expect(model.target.value?.id).toBe("r1");
  expect(model.problem.value?.code).toBe("stale");

  model.draft("r1").value = { text: "[1]", revision: 3 };
  void model.approve(row, { always: true, confirmed: true });
  const edited = peer.take("approve");
  expect(edited.body).toEqual({ ...aim, edit: "[1]", always: true, confirmed: true });
  await peer.answer(edited, "ok", {});
  expect(model.draft("r1").value).toBeNull();
});

test("approve sends no draft that isn't JSON", async () => {
  const { model, peer } = await asked(asking(1));
  model.draft("r1").value = { text: "{", revision: 1 };
  await model.approve(model.rows.value[0] as TimelineRow, { always: false, confirmed: false });
  expect(peer.inbox).toEqual([]);
  expect(model.editing.value).toBe(true);
});

test("deny sends the reason, whatever was edited", async () => {
  const { model, peer } = await asked(asking(1));
  model.draft("r1").value = { text: "{", revision: 1 };
  void model.deny(model.rows.value[0] as TimelineRow, "Not here.");
  const sent = peer.take("deny");
  expect(sent.body).toEqual({ run: "a", breakpoint: "r1", revision: 1, reason: "Not here." });
  await peer.answer(sent, "ok", {});
  expect(model.draft("r1").value).toBeNull();
});

test("step never approves: it leads to what is asked, wherever the person looks", async () => {
  const { model, peer } = await asked(...rowsTo(2), asking(3));
  model.draft("r3").value = { text: "[1]", revision: 1 };
  expect(model.hasDraft.value).toBe(false);
  model.select("r1");
  await model.step();
  expect(model.selectedRow.value).toBe("r3");
  model.tab.value = "runs";
  await model.step();
  expect(model.tab.value).toBe("timeline");
  const first = model.focusedQuestion.value;
  expect(first).toEqual({ row: "r3" });
  for (let times = 0; times < 20; times += 1) await model.step();
  expect(model.focusedQuestion.value).not.toBe(first); // led there again
  expect(peer.inbox).toEqual([]);
  model.select("r1");
  expect(model.focusedQuestion.value).toBeNull();
});

test("step answers what doesn't ask, beside what does", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1", "r2"), [asking(1), pendingRow(2)]);
  model.select("r2");
  void model.step();
  expect(peer.take("step").body).toMatchObject({ breakpoint: "r2" });
});

test("what a shell steps by never approves either, and leads there", async () => {
  const { model, peer } = await asked(asking(1));
  const control = runControl(model);
  for (let times = 0; times < 20; times += 1) control.step();
  control.resume();
  expect(peer.inbox).toEqual([]);
  expect(model.focusedQuestion.value).toEqual({ row: "r1" });
});

test("continue answers all but what asks, whichever is selected", async () => {
  const rows = [asking(1), pendingRow(2), pendingRow(3)];
  const { model, peer } = await showing(haltedRun("a", "r1", "r2", "r3"), rows);
  model.select("r1");
  model.draft("r1").value = { text: "[1]", revision: 1 };
  model.draft("r3").value = { text: "[3]", revision: 1 };
  void model.resume();
  const edit = peer.take("edit");
  expect(edit.body).toMatchObject({ breakpoint: "r3", edit: "[3]" });
  await peer.answer(edit, "ok", {});
  const order = peer.take("continue");
  expect(order.body).toMatchObject({ breakpoint: "r2", edit: null });
  await peer.answer(order, "ok", {});
  expect(model.target.value?.id).toBe("r1");
  expect(model.draft("r1").value).not.toBeNull();
});

test("where all that waits asks, continue names nothing", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1"), [asking(1)]);
  void model.resume();
  const order = peer.take("continue");
  expect(order.body).toEqual({ run: "a", breakpoint: null, revision: null, edit: null });
  await peer.answer(order, "ok", {});
  expect(model.target.value?.id).toBe("r1");
});

test("in CONTINUE, Halt is possible while something asks, and Continue has nothing to do", () => {
  const connection = { kind: "open", control: true, core: "" } as const;
  const run = haltedRun("a", "r1");
  const input = { connection, draftError: null, asksApproval: true };
  const stepping = controls({ ...input, run });
  expect([stepping.resume.disabledReason, stepping.halt.disabledReason]).toEqual([
    null,
    "Already halted",
  ]);
  const on = controls({ ...input, run: { ...run, mode: "continue" } });
  expect([on.step.disabledReason, on.halt.disabledReason]).toEqual([
    expect.stringContaining("approve or deny"),
    null,
  ]);
  expect([on.step.focusesCause, on.step.primary]).toEqual([true, undefined]);
  expect(on.resume.disabledReason).toContain("The agent continues when");
});

test.each<[string, TimelineRow[]]>([
  ["Waiting for approval", [asking(1)]],
  ["Waiting for 2 approvals", [asking(1), asking(2)]],
  ["Halted at 2 events", [asking(1), pendingRow(2)]],
])("the state says %s", (words, rows) => {
  const run = haltedRun("a", ...rows.map(({ id }) => id));
  expect(runStatus(run, rows).words).toBe(words);
});

test.each<[boolean, Partial<TimelineRow>]>([
  [true, { kind: "llm_query" }],
  [true, { kind: "tool_invocation" }],
  [true, { kind: "custom" }],
  [false, { kind: "program_started" }],
  [false, { side: "end" }],
  [false, { pending: false }],
])("%s: may be denied: %o", (may, fields) => {
  expect(canDeny(pendingRow(1, fields))).toBe(may);
});

test("what was answered is asked for again: it is known only then", async () => {
  const { model, peer } = await asked(asking(1));
  const waiting = model.body(model.rows.value[0] as TimelineRow);
  await peer.answer(peer.take("get_message"), "message", aBody("r1"));
  await waiting;
  void model.body(aRow(1, { ...CALL, approval: true, answer: "resume" }));
  peer.take("get_message");
});
