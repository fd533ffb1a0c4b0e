import { render } from "preact";
import { describe, expect, test } from "vitest";
import type { Debugger } from "../../src/model/debugger";
import type { TimelineRow } from "../../src/model/model";
import { Timeline } from "../../src/view/timeline/timeline";
import { showing } from "../helpers/debugger";
import { box, drawn, press, SCROLLER_HEIGHT, useBox, useLayout } from "../helpers/dom";
import { aRow, aRun, endedRun, haltedRun, pendingRow, rowsTo } from "../helpers/values";

useLayout();

useBox();

async function draw(rows: TimelineRow[], run = endedRun("a")) {
  const all = await showing(run, rows);
  render(<Timeline model={all.model} />, box);
  await drawn();
  return all;
}

const lines = () => [...box.querySelectorAll<HTMLElement>(".as-Row")];
const line = (id: string) => box.querySelector<HTMLElement>(`[data-row="${id}"]`);
const focused = () => (document.activeElement as HTMLElement | null)?.dataset.row;
const scroller = () => box.querySelector<HTMLElement>(".as-Scroll") as HTMLElement;
const tabStops = () => lines().filter(({ tabIndex }) => tabIndex === 0);

async function focusRow(model: Debugger, id: string): Promise<void> {
  model.select(id);
  await drawn();
  line(id)?.focus();
}

describe("keys", () => {
  test("Up, Down, Home and End move selection and focus together", async () => {
    const { model } = await draw(rowsTo(5));
    await focusRow(model, "r3");
    await press("ArrowDown");
    expect([model.selectedRow.value, focused()]).toEqual(["r4", "r4"]);
    await press("ArrowUp");
    await press("ArrowUp");
    expect(focused()).toBe("r2");
    await press("End");
    expect(focused()).toBe("r5");
    await press("ArrowDown");
    expect(focused()).toBe("r5");
    await press("Home");
    expect(focused()).toBe("r1");
  });

  test("a page is what fits, and a far row comes into the document with the focus", async () => {
    const { model } = await draw(rowsTo(1000));
    await focusRow(model, "r1000");
    await press("Home");
    expect(focused()).toBe("r1");
    expect(scroller().scrollTop).toBe(0);
    await press("PageDown");
    expect(focused()).toBe(`r${Math.floor(SCROLLER_HEIGHT / 26)}`);
    await press("PageUp");
    expect(focused()).toBe("r1");
  });

  test("there is one tab stop, and it is never out of the document", async () => {
    const { model } = await draw(rowsTo(1000));
    model.setFollow(false);
    model.select("r2");
    await drawn();
    scroller().scrollTop = 15_000;
    scroller().dispatchEvent(new Event("scroll"));
    await drawn();
    expect(tabStops().map((row) => row.dataset.row)).toEqual(["r2"]);
    expect(lines().length).toBeLessThan(60);
  });

  test("from a row the focus goes along to where a run halts, from elsewhere it doesn't", async () => {
    const halt = async (seq: number) => {
      await peer.push("row", { run: "a", row: pendingRow(seq) });
      await peer.push("run", { run: haltedRun("a", `r${seq}`) });
      await frame();
      await drawn();
    };
    const { model, peer, draw: frame } = await draw(rowsTo(3), aRun("a"));
    await focusRow(model, "r3");
    await halt(4);
    expect(focused()).toBe("r4");
    box.querySelector<HTMLElement>(".as-Filter")?.focus();
    await peer.push("row", { run: "a", row: aRow(4) });
    await halt(5);
    expect(model.selectedRow.value).toBe("r5");
    expect((document.activeElement as HTMLElement).className).toContain("as-Filter");
  });

  test("with Alt, Ctrl or Meta they are someone else's", async () => {
    const { model } = await draw(rowsTo(3));
    await focusRow(model, "r2");
    await press("ArrowDown", { ctrlKey: true });
    expect(model.selectedRow.value).toBe("r2");
  });
});

test("however many rows, few are in the document", async () => {
  await draw(rowsTo(100_000));
  expect(lines().length).toBeLessThan(200);
  expect(box.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")).toBe("100000");
});

describe("scrolling", () => {
  test("sticks to the end, whole rows, while it follows", async () => {
    const { peer, draw: frame } = await draw(rowsTo(100), aRun("a"));
    expect(scroller().scrollTop).toBe(Math.ceil((2600 - SCROLLER_HEIGHT) / 26) * 26);
    await peer.push("row", { run: "a", row: aRow(101) });
    await frame();
    await drawn();
    expect(scroller().scrollTop).toBe(Math.ceil((2626 - SCROLLER_HEIGHT) / 26) * 26);
  });

  test("stays where a person scrolled back to, and Follow is off", async () => {
    const { model, peer, draw: frame } = await draw(rowsTo(100), aRun("a"));
    scroller().scrollTop = 520;
    scroller().dispatchEvent(new Event("scroll"));
    expect(model.follow.value).toBe(false);
    await peer.push("row", { run: "a", row: aRow(101) });
    await frame();
    await drawn();
    expect(scroller().scrollTop).toBe(520);
  });

  test("stays while a person reads an earlier row", async () => {
    const { model, peer, draw: frame } = await draw(rowsTo(100), aRun("a"));
    scroller().dispatchEvent(new Event("scroll"));
    await drawn();
    line("r95")?.click();
    const before = scroller().scrollTop;
    await peer.push("row", { run: "a", row: aRow(101) });
    await frame();
    await drawn();
    expect(scroller().scrollTop).toBe(before);
    expect(model.follow.value).toBe(true);
  });

  test("goes to the row that was asked for from elsewhere", async () => {
    const { model } = await draw(rowsTo(100));
    model.filter.value = "event 77";
    model.reveal("r30");
    await drawn();
    expect(model.filter.value).toBe("");
    expect(scroller().scrollTop).toBe((29 - Math.floor(SCROLLER_HEIGHT / 26 / 2)) * 26); // amid others
    model.reveal("r32");
    model.reveal("r3");
    await drawn();
    expect(scroller().scrollTop).toBe(0);
  });
});

test("the filter takes words in any order, from summary, tool, actor and marks", async () => {
  const rows = [
    aRow(1, { summary: "Reads the file" }),
    aRow(2, {
      summary: "2 failed",
      source: "tools",
      target: "agent",
      name: "run_tests",
      outcome: "error",
    }),
    aRow(3, { summary: "All passed", source: "tools", target: "agent", name: "run_tests" }),
  ];
  const { model } = await draw(rows);
  const shown = async (filter: string) => {
    model.filter.value = filter;
    await drawn();
    return lines().map((row) => row.dataset.row);
  };
  expect(await shown("FILE reads")).toEqual(["r1"]);
  expect(await shown("run_tests")).toEqual(["r2", "r3"]);
  expect(await shown("tools failed")).toEqual(["r2"]);
  expect(await shown("nothing like it")).toEqual([]);
  expect(box.textContent).toContain("No event matches “nothing like it”");
});

test("what came of a call names its tool, and the other side of the selected event is marked", async () => {
  const call = { kind: "tool_invocation", event: "e", name: "run_tests" } as const;
  const rows = [
    aRow(1, { ...call, side: "begin", summary: "run_tests(tests/)" }),
    aRow(2, { ...call, event: "f", side: "begin", summary: "run_tests(src/)" }),
    aRow(3, { ...call, side: "end", summary: "1 failed" }),
    aRow(4, { ...call, event: "f", side: "end", summary: "run_tests passed" }),
  ];
  const { model } = await draw(rows, haltedRun("a"));
  const marked = () =>
    [...box.querySelectorAll(".as-mod-paired")].map((each) => each.getAttribute("data-row"));
  expect(line("r3")?.querySelector(".as-Row-what")?.textContent).toBe("run_tests 1 failed");
  expect(line("r4")?.querySelector("code")).toBeNull();
  model.select("r1");
  await drawn();
  expect(marked()).toEqual(["r3"]);
  expect(line("r3")?.getAttribute("aria-description")).toBe("End of the selected event");
  model.select("r4");
  await drawn();
  expect(marked()).toEqual(["r2"]);
});

test("a row says all that it knows, as text", async () => {
  const evil = "<img src=x onerror=alert(1)>";
  const failed = { type: "ValueError", message: evil };
  const rows = [
    aRow(1, { summary: evil }),
    aRow(2, { summary: "run_tests(tests/)", name: "run_tests", edited: true, depth: 1 }),
    aRow(3, { outcome: "error", failure: failed, duration: 1.84 }),
    pendingRow(4),
  ];
  await draw(rows, haltedRun("a", "r4"));
  expect(box.querySelector("img")).toBeNull();
  expect(line("r1")?.textContent).toContain(evil);
  expect(line("r2")?.querySelector("code")?.textContent).toBe("run_tests");
  expect(line("r2")?.querySelector('[aria-label="edited"]')).not.toBeNull();
  expect(line("r2")?.getAttribute("aria-level")).toBe("2");
  expect(line("r3")?.querySelector('[aria-label="failed"]')?.getAttribute("title")).toContain(
    "ValueError",
  );
  expect(line("r3")?.textContent).toContain("1.84 s");
  expect(line("r4")?.getAttribute("aria-current")).toBe("step");
  expect(line("r4")?.getAttribute("aria-selected")).toBe("true");
});
