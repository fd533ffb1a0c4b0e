/** What breakpoints leave in the rest of the view: the tab and its count, marks, the header, and messages. */
import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, test, vi } from "vitest";
import type { BreakpointRule, TimelineRow } from "../../src/protocol/types.gen";
import type { ViewPlacement } from "../../src/view/hooks";
import { Root } from "../../src/view/root";
import { aModel } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { aBreakpoint, aHello, aRow, haltedRun, pendingRow } from "../helpers/values";

useLayout();

const CALL = { kind: "tool_invocation", name: "run_tests" } as const;
const BREAKPOINTS: BreakpointRule[] = [
  aBreakpoint("halts", { name: "run_*" }),
  // biome-ignore lint/suspicious/noThenProperty: the protocol's word; it is never awaited
  aBreakpoint("logs", { kind: "llm_query", then: "log" }),
  aBreakpoint("off", { enabled: false }),
  aBreakpoint("other", { program: "triage.py" }),
];

useBox();

async function view(rows: TimelineRow[], { control = true } = {}) {
  const all = aModel();
  const run = haltedRun("a", rows.at(-1)?.id ?? "");
  all.peer.opened();
  const hello = aHello([run], { control, stops: BREAKPOINTS });
  await all.peer.answer(all.peer.take("hello"), "hello", hello);
  await all.opens(run, rows);
  const place: ViewPlacement = { shell: "inline", resizable: true, overlay: signal(null) };
  render(<Root model={all.model} place={place} />, box);
  await drawn();
  return all;
}

const marks = (id: string) =>
  [...box.querySelectorAll(`[data-row="${id}"] [role="img"][aria-label*="breakpoint"]`)].map(
    (each) => [each.getAttribute("aria-label"), each.getAttribute("title")],
  );
const tab = (name: string) =>
  [...box.querySelectorAll<HTMLElement>(".as-Tab")].find((each) =>
    each.textContent?.startsWith(name),
  );

describe("marks", () => {
  test("tell what hit, what only logs, and what failed", async () => {
    await view([
      aRow(1, { stops: ["logs"] }),
      aRow(2, { stops: ["logs", "halts"] }),
      aRow(3, { stops: ["gone"] }),
      aRow(4, { stop_error: "There is no “args”." }),
      pendingRow(5),
    ]);
    expect(marks("r1")).toEqual([
      ["logged by a breakpoint", "Logged by the breakpoint “Before an LLM query”"],
    ]);
    expect(marks("r2")).toEqual([
      ["hit by a breakpoint", "Hit by the breakpoints “Before an LLM query”, “Before tool run_*”"],
    ]);
    expect(marks("r3")).toEqual([["hit by a breakpoint", "Hit by the breakpoint (deleted)"]]);
    expect(marks("r4")).toEqual([
      [
        "a breakpoint’s condition failed",
        "A breakpoint’s condition failed here: There is no “args”.",
      ],
    ]);
    expect(marks("r5")).toEqual([]);
  });

  test("the header names the breakpoint where the agent is halted", async () => {
    await view([pendingRow(1, { ...CALL, stops: ["halts"] })]);
    const state = box.querySelector(".as-State");
    expect(state?.textContent).toBe("Halted before tool callat the breakpoint “Before tool run_*”");
  });

  test("a condition that failed there is told, with the way to mend it", async () => {
    const { model } = await view([pendingRow(1, { ...CALL, stop_error: "There is no “args”." })]);
    const banner = box.querySelector(".as-Banner");
    expect(banner?.getAttribute("role")).toBe("alert");
    expect(banner?.textContent).toContain("A breakpoint’s condition failed here");
    expect(banner?.textContent).toContain("There is no “args”.");
    banner?.querySelector("button")?.click();
    await drawn();
    expect(model.tab.value).toBe("breakpoints");
    expect(box.querySelector(".as-Banner")).toBeNull();
  });
});

describe("the tab", () => {
  test("counts the breakpoints that are on and for this run", async () => {
    const { peer, draw } = await view([pendingRow(1)]);
    expect(tab("Breakpoints")?.textContent).toBe("Breakpoints2");
    await peer.push("stop_gone", { stop: "logs" });
    await draw();
    await drawn();
    expect(tab("Breakpoints")?.textContent).toBe("Breakpoints1");
  });

  test("is reached by keys: a digit, and Alt with it from a text field too", async () => {
    const { model } = await view([pendingRow(1)]);
    box.querySelector<HTMLElement>(".as-Row")?.focus();
    await press("3");
    expect(model.tab.value).toBe("breakpoints");
    await press("1");
    box.querySelector<HTMLElement>(".as-Filter")?.focus();
    await press("3");
    expect(model.tab.value).toBe("timeline");
    await press("£", { code: "Digit3", altKey: true });
    expect(model.tab.value).toBe("breakpoints");
    expect(tab("Breakpoints")?.title).toBe("Breakpoints (Alt+3)");
  });
});

describe("a breakpoint like a row", () => {
  test("is begun by the key s, and by the row's button", async () => {
    const { model } = await view([aRow(1, { name: "gpt-5" }), pendingRow(2, CALL)]);
    /** The bar is fetched when it is first needed. */
    const shows = (label: string, name: string) =>
      vi.waitFor(() => {
        const field = box.querySelector<HTMLInputElement>(`form [aria-label="${label}"]`);
        expect(field?.value).toBe(name);
      });
    box.querySelector<HTMLElement>('[data-row="r2"]')?.focus();
    await press("s");
    expect(model.tab.value).toBe("breakpoints");
    await shows("Tool", "run_tests");
    model.tab.value = "timeline";
    box.querySelector<HTMLElement>('[aria-label="Add a breakpoint like event 1"]')?.click();
    expect(model.tab.value).toBe("breakpoints");
    await shows("Model", "gpt-5");
  });

  test("isn't offered of what is no halt point, nor to who may not control", async () => {
    const { model } = await view([aRow(1, { side: null }), pendingRow(2)], { control: false });
    expect(box.querySelector(".as-Row-act")).toBeNull();
    box.querySelector<HTMLElement>('[data-row="r2"]')?.focus();
    await press("s");
    expect(model.tab.value).toBe("timeline");
  });
});
