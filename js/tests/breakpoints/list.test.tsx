import { describe, expect, test } from "vitest";
import type { Run } from "../../src/protocol/types.gen";
import { useLayout } from "../helpers/dom";
import { aBreakpoint, endedRun } from "../helpers/values";
import {
  box,
  button,
  click,
  drawn,
  field,
  focused,
  press,
  ROWS,
  RUN,
  renderTab,
  row,
  rows,
} from "./render";

useLayout();

const ERROR = aBreakpoint("error", { side: "end", on_error: true });
const LOG = aBreakpoint("log", {
  kind: "llm_query",
  side: "end",
  condition: '"sorry" in answer.text',
  enabled: false,
  // biome-ignore lint/suspicious/noThenProperty: the protocol's word; it is never awaited
  then: "log",
});
const OTHER = aBreakpoint("other", { program: "triage.py" });

const cells = (id: string) =>
  [...row(id).querySelectorAll('[role="gridcell"]')].map((each) => each.textContent).slice(1, 6);
const isOn = (id: string) => row(id).querySelector('[role="switch"]')?.getAttribute("aria-checked");

describe("the list", () => {
  test("says where, on what condition, for whom, and what then", async () => {
    await renderTab([ERROR, LOG]);
    expect(cells("error")).toEqual(["A tool fails for all agents", "always", "Halt", "0", "never"]);
    expect(cells("log")).toEqual([
      "After an LLM answer for all agents",
      '"sorry" in answer.text',
      "Log",
      "0",
      "never",
    ]);
    expect([isOn("error"), isOn("log")]).toEqual(["true", "false"]);
    expect(box.querySelector("[role=grid]")?.getAttribute("aria-rowcount")).toBe("3");
  });

  test("says by which agent", async () => {
    await renderTab([
      aBreakpoint("any", { agent: "researcher" }),
      aBreakpoint("some", { agent: "research*", condition: "args.n > 1", once: true }),
    ]);
    expect(cells("any")[1]).toBe("by researcher");
    expect(cells("some")[1]).toBe("by research* where args.n > 1, once");
  });

  test("has those first that are for the shown run, and counts only them", async () => {
    const { model } = await renderTab([OTHER, ERROR]);
    expect(rows().map(({ dataset }) => dataset.breakpoint)).toEqual(["error", "other"]);
    expect(row("other").className).toContain("as-mod-off");
    expect(model.breakpoints.enabledCount.value).toBe(1);
  });

  test("counts the shown run's hits, and leads to the last", async () => {
    const run: Run = { ...RUN, hits: [{ stop: "error", count: 2, last: 7 }] };
    const { model } = await renderTab([ERROR], { runs: [run] });
    expect(cells("error").slice(-2)).toEqual(["2", "event 7"]);
    await click(button("event 7"));
    expect([model.tab.value, model.selectedRow.value]).toEqual(["timeline", "r7"]);
  });

  test("else leads to another run's last hit", async () => {
    const old: Run = {
      ...endedRun("b"),
      name: "run 2",
      hits: [{ stop: "log", count: 4, last: 3 }],
    };
    const { model, opens } = await renderTab([LOG], { runs: [old, RUN] });
    expect(cells("log").slice(-2)).toEqual(["0", "run 2, event 3"]);
    await click(button("run 2, event 3"));
    await opens(old, ROWS);
    await drawn();
    expect(model.run.value?.id).toBe("b");
    expect([model.tab.value, model.selectedRow.value]).toEqual(["timeline", "r3"]);
  });

  test("follows what the Core says", async () => {
    const { peer, draw } = await renderTab([ERROR]);
    await peer.push("stop", { stop: LOG });
    await peer.push("stop", { stop: { ...ERROR, enabled: false } });
    await draw();
    await drawn();
    expect([isOn("error"), isOn("log")]).toEqual(["false", "false"]);
    await peer.push("stop_gone", { stop: "error" });
    await draw();
    await drawn();
    expect(rows().map(({ dataset }) => dataset.breakpoint)).toEqual(["log"]);
  });

  test("where there is none, teaches, and gives something to begin with", async () => {
    await renderTab();
    expect(box.textContent).toContain("No breakpoints yet");
    await click(button("Going in circles"));
    expect(field("Watch").value).toBe("repeated");
    expect(field("Times in a row").value).toBe("3");
  });
});

describe("a breakpoint", () => {
  test("is switched by its switch and by Space", async () => {
    const { peer } = await renderTab([ERROR]);
    await click(row("error").querySelector("[role=switch]") as HTMLElement);
    const first = peer.take("set_stop");
    expect(first.body).toEqual({ stop: { ...ERROR, enabled: false } });
    await peer.answer(first, "ok", {});
    await drawn();
    expect(isOn("error")).toBe("false");
    row("error").focus();
    await press(" ");
    expect(peer.take("set_stop").body).toEqual({ stop: ERROR });
  });

  test("all are switched off, one after the other", async () => {
    const { peer } = await renderTab([ERROR, LOG, OTHER]);
    await click(button("Disable all"));
    for (const breakpoint of [ERROR, OTHER]) {
      const sent = peer.take("set_stop");
      expect(sent.body).toEqual({ stop: { ...breakpoint, enabled: false } });
      await peer.answer(sent, "ok", {});
    }
    await drawn();
    expect(button("Disable all").getAttribute("aria-disabled")).toBe("true");
  });

  test("says in place what the Core refuses", async () => {
    const { peer } = await renderTab([ERROR]);
    await click(button("Disable all"));
    await peer.refuse(peer.take("set_stop"), "too_many", "There are 200 breakpoints already.");
    await drawn();
    expect(box.querySelector("[role=alert]")?.textContent).toContain(
      "There are 200 breakpoints already.",
    );
    expect(isOn("error")).toBe("true");
    await click(button("Dismiss"));
    expect(box.querySelector("[role=alert]")).toBeNull();
  });

  test("is deleted once that is confirmed, and the focus goes on", async () => {
    const { peer } = await renderTab([ERROR, LOG]);
    row("error").focus();
    await press("Delete");
    expect(document.activeElement?.textContent).toBe("Keep");
    await press("Escape");
    expect(focused()).toBe("error");
    await press("Delete");
    await click(button("Delete"));
    const sent = peer.take("delete_stop");
    expect(sent.body).toEqual({ stop: "error" });
    await peer.answer(sent, "ok", {});
    await drawn();
    expect(rows().map(({ dataset }) => dataset.breakpoint)).toEqual(["log"]);
    expect(focused()).toBe("log");
  });

  test("is gone through by keys: one tab stop, its buttons by Right", async () => {
    await renderTab([ERROR, LOG]);
    expect(rows().map(({ tabIndex }) => tabIndex)).toEqual([0, -1]);
    row("error").focus();
    await press("ArrowDown");
    expect(focused()).toBe("log");
    expect(rows().map(({ tabIndex }) => tabIndex)).toEqual([-1, 0]);
    await press("ArrowRight");
    expect(document.activeElement?.getAttribute("role")).toBe("switch");
    await press("ArrowLeft");
    expect(focused()).toBe("log");
    await press("Home");
    expect(focused()).toBe("error");
  });

  test("comes into the bar by Enter, is changed there, and has the focus again", async () => {
    const { peer } = await renderTab([ERROR, LOG]);
    row("log").focus();
    await press("Enter");
    expect(document.activeElement).toBe(field("Condition"));
    expect(row("log").getAttribute("aria-selected")).toBe("true");
    expect(field("Condition").value).toBe('"sorry" in answer.text');
    field("Condition").value = "True";
    field("Condition").dispatchEvent(new Event("input", { bubbles: true }));
    await drawn();
    await click(button("Save breakpoint"));
    const sent = peer.take("set_stop");
    expect(sent.body).toEqual({ stop: { ...LOG, condition: "True" } });
    await peer.answer(sent, "ok", {});
    await drawn();
    expect(focused()).toBe("log");
    expect(button("Add breakpoint")).toBeDefined();
    expect(cells("log")[1]).toBe("True");
  });

  test("is left as it was by Esc", async () => {
    const { peer } = await renderTab([ERROR]);
    row("error").focus();
    await press("Enter");
    await press("Escape");
    expect(focused()).toBe("error");
    expect(row("error").getAttribute("aria-selected")).toBe("false");
    expect(peer.inbox).toEqual([]);
  });

  test("is made once more, as another", async () => {
    const { peer } = await renderTab([ERROR]);
    await click(button("Make another like A tool fails"));
    await click(button("Add breakpoint"));
    const { stop: breakpoint } = peer.take("set_stop").body;
    expect(breakpoint).toEqual({ ...ERROR, id: expect.not.stringMatching(/^error$/) });
  });

  test("is only looked at by who may not control", async () => {
    const { peer } = await renderTab([ERROR], { control: false });
    const toggle = row("error").querySelector("[role=switch]") as HTMLElement;
    expect(toggle.getAttribute("aria-disabled")).toBe("true");
    await click(toggle);
    for (const name of ["Disable all", "Add breakpoint"])
      expect(button(name).title).toBe("This login may watch, not control");
    row("error").focus();
    await press("Delete");
    await press(" ");
    expect(focused()).toBe("error");
    expect(peer.inbox).toEqual([]);
  });
});
