import { describe, expect, test, vi } from "vitest";
import { runControl } from "../../src/model/controls";
import { aModel, showing } from "../helpers/debugger";
import { aHello, aRun, endedRun, haltedRun, opened, pendingRow, rowsTo } from "../helpers/values";

const numbered = (first: number, last: number) =>
  Array.from({ length: last - first + 1 }, (_, at) => endedRun(`n${first + at}`));
const ids = (runs: readonly { id: string }[]) => runs.map(({ id }) => id);

/** A Core of 1,000 runs, of which the third lives. */
async function greeted({ run = "", more = 799 } = {}) {
  const all = aModel({ run });
  all.peer.opened();
  const runs = [aRun("n3"), ...numbered(801, 1000)];
  await all.peer.answer(all.peer.take("hello"), "hello", aHello(runs, { more }));
  return all;
}

describe("older runs", () => {
  test("are asked for until all are here, in their order among those that live", async () => {
    const { model, peer } = await greeted();
    const asked = peer.inbox.shift();
    expect([asked?.type, asked?.body]).toEqual(["list_runs", { before: "n801" }]);
    peer.take("open_run");
    expect([model.runs.value.length, model.moreRuns.value]).toEqual([201, 799]);
    if (!asked) throw new Error("nothing was asked");
    await peer.answer(asked, "runs", { runs: numbered(401, 800), more: 399 });
    expect(model.moreRuns.value).toBe(399);
    const next = peer.take("list_runs");
    expect(next.body).toEqual({ before: "n401" });
    const rest = [...numbered(1, 2), aRun("n3"), ...numbered(4, 400)];
    await peer.answer(next, "runs", { runs: rest, more: 0 });
    expect(ids(model.runs.value)).toEqual(ids(numbered(1, 1000)));
    expect([model.moreRuns.value, peer.inbox]).toEqual([0, []]);
  });

  test("that change meanwhile are taken as they were told last", async () => {
    const { model, peer, draw } = await greeted();
    const asked = peer.take("list_runs");
    await peer.push("run", { run: { ...endedRun("n700"), name: "renamed" } });
    await draw();
    await peer.answer(asked, "runs", { runs: numbered(1, 800), more: 0 });
    expect(model.runs.value[699]?.name).toBe("renamed");
    expect(model.runs.value).toHaveLength(1000);
  });

  test("are asked for by another, where the one asked by is deleted", async () => {
    const { model, peer } = await greeted();
    await peer.refuse(peer.take("list_runs"), "unknown_run");
    peer.take("open_run");
    expect(peer.take("list_runs").body).toEqual({ before: "n802" });
    expect(model.runs.value.some(({ id }) => id === "n801")).toBe(false);
  });

  test("are waited for, before a wanted one is said to be absent", async () => {
    const { model, peer } = await greeted({ run: "n500" });
    expect([model.isAbsent.value, model.run.value]).toEqual([false, null]);
    const asked = peer.take("list_runs");
    await peer.answer(asked, "runs", { runs: numbered(401, 800), more: 399 });
    const open = peer.inbox.find(({ type }) => type === "open_run");
    expect(open?.body).toEqual({ run: "n500" });
    if (open) await peer.answer(open, "run_opened", opened(endedRun("n500")));
    expect(model.run.value?.id).toBe("n500");
  });

  test("keep the shown one among them shown over a lost link, and its place", async () => {
    const { model, peer } = await greeted({ run: "n500" });
    const asked = peer.take("list_runs");
    await peer.answer(asked, "runs", { runs: numbered(1, 800), more: 0 });
    const rows = rowsTo(5);
    await peer.answer(peer.take("open_run"), "run_opened", opened(endedRun("n500"), { rows }));
    model.select("r2");
    await peer.drop();
    model.retry();
    peer.opened();
    await peer.answer(peer.take("hello"), "hello", aHello(numbered(801, 1000), { more: 800 }));
    expect([model.run.value?.id, model.selectedRow.value]).toEqual(["n500", "r2"]);
    const opens = peer.inbox.find(({ type }) => type === "open_run");
    expect(opens?.body).toEqual({ run: "n500" });
    if (opens) await peer.answer(opens, "run_opened", opened(endedRun("n500"), { rows }));
    const again = peer.take("list_runs");
    expect(again.body).toEqual({ before: "n801" });
    await peer.answer(again, "runs", { runs: numbered(1, 800), more: 0 });
    expect(ids(model.runs.value)).toEqual(ids(numbered(1, 1000)));
    expect([model.selectedRow.value, model.rows.value.length]).toEqual(["r2", 5]);
  });

  test("that were deleted while there was no link don't stay", async () => {
    const { model, peer } = await greeted({ run: "n500" });
    const asked = peer.take("list_runs");
    await peer.answer(asked, "runs", { runs: numbered(1, 800), more: 0 });
    await peer.answer(peer.take("open_run"), "run_opened", opened(endedRun("n500")));
    await peer.drop();
    model.retry();
    peer.opened();
    await peer.answer(peer.take("hello"), "hello", aHello(numbered(801, 1000), { more: 799 }));
    const opens = peer.inbox.find(({ type }) => type === "open_run");
    if (opens) await peer.refuse(opens, "unknown_run");
    const others = [...numbered(1, 499), ...numbered(501, 800)];
    await peer.answer(peer.take("list_runs"), "runs", { runs: others, more: 0 });
    expect([model.runs.value.length, model.isAbsent.value]).toEqual([999, true]);
  });

  test("that aren't there either make it absent", async () => {
    const { model, peer } = await greeted({ run: "gone" });
    const asked = peer.take("list_runs");
    await peer.answer(asked, "runs", { runs: numbered(1, 800), more: 0 });
    expect(model.isAbsent.value).toBe(true);
  });
});

// ---- run control

test("without a run nothing is possible, and it is said why", async () => {
  const { model, peer } = aModel();
  const control = runControl(model);
  expect(control.controlStates().step.disabledReason).toBe("Not connected to the Core");
  await peer.greet([]);
  expect(control.run()).toBe("");
  expect(control.controlStates().step.disabledReason).toBe("There is no run yet");
});

test("orders reach the Core where they are possible, and only there", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
  const control = runControl(model);
  expect(control.run()).toBe("a");
  control.halt();
  expect(peer.inbox).toEqual([]);
  control.step();
  expect(peer.take("step").body).toMatchObject({ run: "a", breakpoint: "r1" });
});

test("each change of what is possible is told, until it isn't wanted any more", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
  const changed = vi.fn();
  const end = runControl(model).watch(changed);
  expect(changed.mock.lastCall?.[0].step.disabledReason).toBeNull();
  await peer.drop();
  expect(changed.mock.lastCall?.[0].step.disabledReason).toBe("Not connected to the Core");
  end();
  changed.mockClear();
  model.retry();
  await peer.greet([]);
  expect(changed).not.toHaveBeenCalled();
});
