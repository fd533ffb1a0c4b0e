import { describe, expect, test } from "vitest";
import type { Run } from "../../src/protocol/types.gen";
import { useLayout } from "../helpers/dom";
import { aBreakpoint, aDryRun, aLabel, aRow, endedRun } from "../helpers/values";
import {
  box,
  button,
  click,
  drawn,
  field,
  pause,
  pick,
  press,
  preview,
  ROWS,
  RUN,
  renderTab,
  write,
} from "./render";

useLayout();

/** Answer what is tried next. */
async function answerDryRun(
  all: Awaited<ReturnType<typeof renderTab>>,
  hits: number[],
  fields = {},
) {
  const sent = all.peer.take("try_stop");
  await all.peer.answer(sent, "stop_tried", { trials: [aDryRun("a", hits, fields)] });
  await drawn();
  return sent.body;
}

/** What a field offers. */
function offered(label: string): string[] | undefined {
  const list = document.getElementById(field(label)?.getAttribute("list") ?? "");
  return list ? [...list.querySelectorAll("option")].map(({ value }) => value) : undefined;
}

describe("the bar", () => {
  test("makes a breakpoint of what its fields say", async () => {
    const { peer } = await renderTab();
    await pick("Where", "After a tool");
    await write("Tool", "run_*");
    await write("Agent", " research* ");
    await write("Condition", "args.n > 1");
    await pick("Watch", "and tokens over");
    await write("Tokens", "50,000");
    await pick("How often", "only at hit");
    await write("Hit count", "3");
    await pick("Then", "Log message");
    await pick("For which agents", "all agents");
    await click(button("Add breakpoint"));
    const sent = peer.take("set_stop");
    expect(sent.body.stop).toEqual({
      id: expect.stringMatching(/^breakpoint-[0-9a-f]{16}$/),
      program: "*",
      kind: "tool_invocation",
      side: "end",
      name: "run_*",
      agent: "research*",
      on_error: false,
      condition: "args.n > 1",
      watch: { kind: "tokens", limit: 50_000 },
      nth: 3,
      once: true,
      // biome-ignore lint/suspicious/noThenProperty: the protocol's word; it is never awaited
      then: "log",
      enabled: true,
    });
    await peer.answer(sent, "ok", {});
    await drawn();
    expect(field("Condition").value).toBe("");
    expect(field("Where").value).toBe("tool_invocation/begin");
    expect(box.querySelector('[role="status"].as-Hidden')?.textContent).toBe("Breakpoint added");
    await click(button("Add breakpoint"));
    const second = peer.take("set_stop").body.stop;
    expect(second).toMatchObject({ program: "fix_tests.py" });
    expect(second).not.toHaveProperty("agent");
  });

  test("offers the names that the run has", async () => {
    await renderTab();
    const names = () => offered("Tool") ?? offered("Model") ?? offered("Name");
    expect(names()).toEqual(["run_tests"]);
    await pick("Where", "Before an LLM query");
    expect(names()).toEqual(["gpt-5"]);
    await pick("Where", "Any event");
    expect(names()).toEqual(["gpt-5", "run_tests"]);
  });

  test("offers the names of the run's agents, each once", async () => {
    const rows = ["task:1", "task:2"].map((task, at) =>
      aRow(at + 1, { scope: [task, "agent:a*:1"], label: aLabel("a*") }),
    );
    const writer = aRow(3, { scope: ["agent:writer:1"], label: aLabel("writer") });
    await renderTab([], { rows: [...rows, writer] });
    expect(offered("Agent")).toEqual(["a[*]", "writer"]);
  });

  test("holds back what is no breakpoint yet, and says why", async () => {
    const { peer } = await renderTab();
    await pick("Watch", "and path is changed");
    expect(button("Add breakpoint").title).toBe("Enter a path: src/*.py");
    await press("Enter");
    expect(peer.inbox).toEqual([]);
  });

  test("keeps a draft while another tab is looked at, and by Enter sets it", async () => {
    const { model, peer } = await renderTab();
    await write("Condition", "args.n > 1");
    model.tab.value = "timeline";
    await drawn();
    model.tab.value = "breakpoints";
    await drawn();
    expect(field("Condition").value).toBe("args.n > 1");
    field("Condition").focus();
    await press("Enter");
    expect(peer.take("set_stop").body.stop).toMatchObject({ condition: "args.n > 1" });
  });

  test("keeps what is edited at the Escape that ends a composition", async () => {
    await renderTab([aBreakpoint("a", { condition: "args.n > 1" })]);
    await click(button("Edit"));
    const { activeElement } = document;
    const fields = { key: "Escape", isComposing: true, bubbles: true };
    activeElement?.dispatchEvent(new KeyboardEvent("keydown", fields));
    await drawn();
    expect(button("Save breakpoint")).toBeDefined();
  });

  test("says what the Core refuses until the breakpoint is another", async () => {
    const { peer } = await renderTab();
    await write("Condition", "1 +");
    await click(button("Add breakpoint"));
    await peer.refuse(peer.take("set_stop"), "invalid_stop", "The condition ends too early.");
    await drawn();
    expect(box.querySelector("form [role=alert]")?.textContent).toBe(
      "The condition ends too early.",
    );
    expect(button("Add breakpoint").title).toBe("Correct the breakpoint first");
    await write("Condition", "1 + 1");
    expect(box.querySelector("form [role=alert]")).toBeNull();
    expect(button("Add breakpoint").title).toBe("Add the breakpoint (Enter)");
  });

  test("shows a breakpoint like a row, and has the focus", async () => {
    const { model } = await renderTab();
    const row = ROWS[5];
    if (!row) throw new Error("there are 13");
    model.breakpoints.template.value = { ...row, side: "end", label: aLabel("writer") };
    await drawn();
    expect(field("Agent").value).toBe("writer");
    expect(field("Where").value).toBe("tool_invocation/end");
    expect(field("Tool").value).toBe("run_tests");
    expect(document.activeElement).toBe(field("Condition"));
    expect(model.breakpoints.template.value).toBeNull();
  });

  test("shows an edited breakpoint's place though it offers none such", async () => {
    const { model } = await renderTab([
      aBreakpoint("start", { kind: "program_started", side: null }),
    ]);
    const { draftFromBreakpoint } = await import("../../src/breakpoints/draft");
    const [breakpoint = aBreakpoint("")] = model.breakpoints.all.value;
    model.breakpoints.draft.value = draftFromBreakpoint(breakpoint);
    await drawn();
    expect(field("Where").value).toBe("program_started/");
    await click(button("Save breakpoint"));
    expect(model.breakpoints.all.value).toEqual([breakpoint]);
  });
});

describe("the preview", () => {
  test("says where the breakpoint would have hit in the shown run, and leads there", async () => {
    const all = await renderTab();
    await pause();
    const body = await answerDryRun(all, [4, 6, 9]);
    expect(body).toMatchObject({ run: "a", stop: { kind: "tool_invocation", side: "begin" } });
    expect(preview().textContent).toContain("Would have hit 3 times in this run:4,6,9");
    expect(box.querySelector("svg.as-Ticks")?.getAttribute("aria-label")).toBe(
      "Hits at 4, 6, 9 of 13 events",
    );
    await click(button("Event 6"));
    expect([all.model.tab.value, all.model.selectedRow.value]).toEqual(["timeline", "r6"]);
  });

  test("is asked for once the person pauses, and only the latest answer counts", async () => {
    const all = await renderTab();
    await write("Condition", "args.n");
    await write("Condition", "args.n > 1");
    expect(all.peer.inbox).toEqual([]);
    await pause();
    const first = all.peer.take("try_stop");
    expect(first.body.stop).toMatchObject({ condition: "args.n > 1" });
    await write("Condition", "args.n > 2");
    await pause();
    await answerDryRun(all, [4]);
    await all.peer.answer(first, "stop_tried", { trials: [aDryRun("a", [1, 2, 3])] });
    await drawn();
    expect(preview().textContent).toContain("Would have hit 1 time in this run");
  });

  test("stays as it was, marked, until the next answer", async () => {
    const all = await renderTab();
    await pause();
    await answerDryRun(all, [4, 6]);
    await write("Condition", "args.n");
    expect(preview().textContent).toContain("2 times");
    expect(box.querySelector(".as-mod-stale")).not.toBeNull();
    await pause();
    await answerDryRun(all, []);
    expect(preview().textContent).toContain("Would not have hit in this run.");
    expect(box.querySelector(".as-mod-stale")).toBeNull();
  });

  test("says what is missing, also where another breakpoint was tried before", async () => {
    const all = await renderTab();
    await pause();
    await answerDryRun(all, [4, 6]);
    await pick("Watch", "and path is changed");
    await write("Tool", "tax");
    await pause();
    expect(all.peer.inbox).toEqual([]);
    expect(preview().textContent).toContain("Enter a path: src/*.py");
    expect(preview().textContent).not.toContain("Looking");
    await write("Tool", "");
    await write("Path", "tax");
    await pause();
    const body = await answerDryRun(all, []);
    expect(body.stop.watch).toEqual({ kind: "touched", path: "tax" });
    expect(preview().textContent).toContain("Would not have hit in this run.");
  });

  test("offers to count equal calls that do not stand in a row", async () => {
    const all = await renderTab();
    await click(button("Going in circles"));
    await pause();
    const inARow = await answerDryRun(all, []);
    expect(inARow.stop.watch).toEqual({ kind: "repeated", times: 3, in_a_row: true });
    expect(preview().textContent).toContain("Would not have hit in this run.");
    await click(button("Count in all, not in a row"));
    await pause();
    const overall = await answerDryRun(all, [9]);
    expect(overall.stop.watch).toEqual({ kind: "repeated", times: 3, in_a_row: false });
    expect(preview().textContent).toContain("Would have hit 1 time in this run");
    expect(() => button("Count in all, not in a row")).toThrow("no button");
  });

  test("counts hits that have no room, and says where a condition failed", async () => {
    const all = await renderTab();
    await pause();
    await answerDryRun(all, [1, 2, 3, 4, 5, 6, 7, 8], { total: 1200, error: "args has no “n”" });
    expect(preview().textContent).toContain("1,200 times");
    expect(preview().textContent).toContain("1,194 more");
    expect(preview().textContent).toContain("args has no “n”");
  });

  test("of an invalid condition says what is wrong under it, and holds it back", async () => {
    const all = await renderTab();
    await write("Condition", "1 +");
    await pause();
    await all.peer.refuse(all.peer.take("try_stop"), "invalid_stop", "It ends too early.");
    await drawn();
    expect(field("Condition").getAttribute("aria-invalid")).toBe("true");
    expect(box.querySelector("form [role=alert]")?.textContent).toBe("It ends too early.");
    expect(button("Add breakpoint").title).toBe("Correct the breakpoint first");
  });

  test("is tried again as the run goes on by steps, not while it runs by itself", async () => {
    const all = await renderTab();
    await pause();
    await answerDryRun(all, []);
    const grow = async (fields: Partial<Run>) => {
      await all.peer.push("run", { run: { ...RUN, ...fields } });
      await all.draw();
      await drawn();
      await pause();
    };
    await grow({ rows: 14 });
    await answerDryRun(all, [14]);
    await grow({ rows: 15, state: "continue", mode: "continue" });
    await answerDryRun(all, [14]);
    await grow({ rows: 99, state: "continue", mode: "continue" });
    expect(all.peer.inbox).toEqual([]);
  });

  test("isn't asked for while the tab is hidden", async () => {
    const all = await renderTab();
    all.model.tab.value = "timeline";
    await drawn();
    await pause();
    expect(all.peer.inbox).toEqual([]);
  });
});

describe("past runs", () => {
  const OLD: Run = { ...endedRun("b"), name: "run 2", rows: 40 };

  test("are listed by a button, each leading into the run", async () => {
    const all = await renderTab([], { runs: [OLD, RUN] });
    await click(button("Dry run on past runs"));
    const sent = all.peer.take("try_stop");
    expect(sent.body.run).toBeNull();
    const trials = [aDryRun("a", [4]), aDryRun("b", [3, 5]), aDryRun("gone")];
    await all.peer.answer(sent, "stop_tried", { trials });
    await drawn();
    expect(box.textContent).toContain("Would have hit in 2 of the last 3 runs.");
    const lines = [...box.querySelectorAll(".as-BreakpointsPast li")].map(
      (each) => each.textContent,
    );
    expect(lines[1]).toContain("run 2");
    expect(lines[1]).toContain("2 hits:3,5");
    expect(lines[2]).toContain("no hit");
    await click(button("run 2"));
    await all.opens(OLD, ROWS);
    await drawn();
    expect(all.model.run.value?.id).toBe("b");
    expect([all.model.tab.value, all.model.selectedRow.value]).toEqual(["timeline", "r3"]);
  });

  test("are of one breakpoint: with another they are gone", async () => {
    const all = await renderTab();
    await click(button("Dry run on past runs"));
    const sent = all.peer.take("try_stop");
    await write("Condition", "args.n");
    await all.peer.answer(sent, "stop_tried", { trials: [aDryRun("a", [4])] });
    await drawn();
    expect(box.querySelector(".as-BreakpointsPast")).toBeNull();
  });

  test("say why they can't be had", async () => {
    const all = await renderTab();
    await click(button("Dry run on past runs"));
    await all.peer.refuse(all.peer.take("try_stop"), "store", "The store is shut.");
    await drawn();
    expect(box.querySelector("form [role=alert]")?.textContent).toBe("The store is shut.");
  });
});
