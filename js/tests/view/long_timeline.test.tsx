/** A timeline of which only a part is here. */
import { render } from "preact";
import { describe, expect, test } from "vitest";
import type { Run, TimelineRow } from "../../src/model/model";
import { Timeline } from "../../src/view/timeline/timeline";
import { aModel } from "../helpers/debugger";
import { box, drawn, press, SCROLLER_HEIGHT, useBox, useLayout } from "../helpers/dom";
import { aFile, aRow, aRun, aSnapshot, endedRun, rowsTo } from "../helpers/values";

useLayout();

const LENGTH = 100_000;
const ROW = 26;
useBox();

const at = (seq: number): TimelineRow => aRow(seq);

async function draw(run: Run = { ...endedRun("a"), rows: LENGTH }) {
  const all = aModel();
  await all.peer.greet([run]);
  const last = Array.from({ length: 200 }, (_, n) => at(run.rows - 199 + n));
  await all.opens(run, last);
  render(<Timeline model={all.model} />, box);
  await drawn();
  /** Answer every page that is asked for; gives back what was. */
  const serve = async (commits: Parameters<typeof aSnapshot>[2][] = []) => {
    const asked: number[][] = [];
    for (let one = all.peer.inbox[0]; one?.type === "get_rows"; one = all.peer.inbox[0]) {
      const { body } = all.peer.take("get_rows");
      const { first = 1, last: to = 1 } = body;
      asked.push([first, to]);
      const rows = Array.from({ length: to - first + 1 }, (_, n) => at(first + n));
      const beside = commits.map((fields, n) => aSnapshot(`s${n}`, first, fields));
      await all.peer.answer(one, "rows", { run: "a", rows, commits: beside });
      await drawn();
    }
    return asked;
  };
  return { ...all, serve };
}

const lines = () => [...box.querySelectorAll<HTMLElement>(".as-Row")];
const line = (id: string) => box.querySelector<HTMLElement>(`[data-row="${id}"]`);
const focused = () => (document.activeElement as HTMLElement | null)?.dataset.row;
const scroller = () => box.querySelector<HTMLElement>(".as-Scroll") as HTMLElement;
const scrollTo = async (top: number) => {
  scroller().scrollTop = top;
  scroller().dispatchEvent(new Event("scroll"));
  await drawn();
};

describe("of a long run", () => {
  test("the end is shown at once, and nothing else is asked for", async () => {
    const { peer } = await draw();
    expect(scroller().scrollTop).toBe(Math.ceil((LENGTH * ROW - SCROLLER_HEIGHT) / ROW) * ROW);
    expect(line("r100000")?.getAttribute("aria-rowindex")).toBe("100000");
    expect(box.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")).toBe("100000");
    expect(lines().length).toBeLessThan(200);
    expect(box.querySelector(".as-mod-blank")).toBeNull();
    expect(peer.inbox).toEqual([]);
  });

  test("what is scrolled to has its place before it is here, and keeps it", async () => {
    const { serve, model } = await draw();
    await scrollTo(50_000 * ROW);
    expect(model.follow.value).toBe(false);
    const blank = line("#50001");
    expect(blank?.textContent).toBe("50001");
    const place = blank?.style.transform;
    expect(await serve()).toEqual([
      [49_900, 50_000],
      [50_000, 50_100],
    ]);
    expect(line("r50001")?.style.transform).toBe(place);
    expect(line("r50001")?.textContent).toContain("event 50001");
    expect(lines().length).toBeLessThan(200);
  });

  test("files that come with rows further up move nothing of what is seen", async () => {
    const { serve } = await draw();
    await scrollTo(50_050 * ROW);
    const files = { event: "e50020", changes: [aFile("a.py"), aFile("b.py")] };
    const before = line("#50060");
    const offset = (of: HTMLElement | null) =>
      Number(/\((\d+)px/.exec(of?.style.transform ?? "")?.[1]) - scroller().scrollTop;
    const seen = offset(before);
    await serve([files]);
    expect(scroller().scrollTop).toBe(50_052 * ROW);
    expect(offset(line("r50060"))).toBe(seen);
    expect(line("r50060")?.getAttribute("aria-rowindex")).toBe("50062");
  });

  test("Home leads to the first row though it isn't here, and keys go on from there", async () => {
    const { serve, model } = await draw();
    line("r100000")?.focus();
    await press("Home");
    expect(scroller().scrollTop).toBe(0);
    expect(model.selectedRow.value).toBe("r100000");
    expect(focused()).toBe("#1");
    await press("ArrowDown");
    expect(focused()).toBe("#2");
    expect(await serve()).toEqual([[1, 100]]);
    expect([model.selectedRow.value, focused()]).toEqual(["r2", "r2"]);
    await press("End");
    expect([model.selectedRow.value, focused()]).toEqual(["r100000", "r100000"]);
  });

  test("a page up from the end of what is here is what fits", async () => {
    const { serve, model } = await draw();
    line("r100000")?.focus();
    const page = Math.floor(SCROLLER_HEIGHT / ROW) - 1;
    for (let n = 0; n < 20; n += 1) await press("PageUp");
    await serve();
    expect(model.selectedRow.value).toBe(`r${LENGTH - 20 * page}`);
    expect(focused()).toBe(model.selectedRow.value);
  });

  test("a row that another part leads to is fetched, selected and in sight", async () => {
    const { peer, model } = await draw();
    model.reveal("r70000");
    const asked = peer.take("get_rows");
    expect(asked.body).toMatchObject({ around: "r70000" });
    const rows = Array.from({ length: 100 }, (_, n) => at(69_950 + n));
    await peer.answer(asked, "rows", { run: "a", rows, commits: [] });
    await drawn();
    expect(line("r70000")?.getAttribute("aria-selected")).toBe("true");
    const top = scroller().scrollTop;
    expect(top).toBeLessThanOrEqual(69_999 * ROW);
    expect(top + SCROLLER_HEIGHT).toBeGreaterThanOrEqual(70_000 * ROW);
  });

  test("a reader keeps their place while the run goes on", async () => {
    const { serve, peer, draw: frame } = await draw(aRun("a", { rows: LENGTH }));
    await scrollTo(500 * ROW);
    await serve();
    for (let n = 1; n <= 50; n += 1)
      await peer.push("row", { run: "a", row: at(LENGTH + 500 + n) });
    await frame();
    await drawn();
    expect(scroller().scrollTop).toBe(500 * ROW);
    expect(box.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")).toBe("100550");
  });
});

describe("the filter of a long run", () => {
  async function filtered(text: string) {
    const all = await draw();
    all.model.filter.value = text;
    await drawn();
    all.timers.pass(199);
    expect(all.peer.inbox).toEqual([]); // until the person pauses
    all.timers.pass(1);
    await drawn();
    return all;
  }
  const told = () => box.querySelector(".as-Filter-count")?.textContent;

  test("is the Core's to find, and its rows are fetched as they are seen", async () => {
    const { peer, serve } = await filtered("failed");
    const asked = peer.take("find_rows");
    expect(asked.body).toEqual({ run: "a", text: "failed" });
    expect(told()).toBe("…");
    const seqs = [7, 9, 4000, 99_990];
    await peer.answer(asked, "rows_found", { run: "a", seqs, total: 4 });
    await drawn();
    expect(told()).toBe("4");
    expect(lines().map(({ dataset }) => dataset.row)).toEqual(["#7", "#9", "#4000", "r99990"]);
    expect(await serve()).toEqual([
      [6, 9],
      [3999, 4000],
    ]);
    expect(lines().map(({ dataset }) => dataset.row)).toEqual(["r7", "r9", "r4000", "r99990"]);
  });

  test("takes the last words, whatever is answered when", async () => {
    const { model, peer, timers } = await filtered("fail");
    const first = peer.take("find_rows");
    model.filter.value = "failed";
    await drawn();
    timers.pass(200);
    const second = peer.take("find_rows");
    await peer.answer(second, "rows_found", { run: "a", seqs: [99_999], total: 1 });
    await peer.answer(first, "rows_found", { run: "a", seqs: [1, 2, 3], total: 3 });
    await drawn();
    expect(lines().map(({ dataset }) => dataset.row)).toEqual(["r99999"]);
  });

  test("says so where nothing matches, and the way back shows all again", async () => {
    const { peer } = await filtered("nothing like it");
    const none = { run: "a", seqs: [], total: 0 };
    await peer.answer(peer.take("find_rows"), "rows_found", none);
    await drawn();
    expect(box.textContent).toContain("No event matches “nothing like it”");
    expect(box.textContent).toContain("100,000 events filtered out");
    box.querySelector<HTMLElement>(".as-Empty-actions .as-Button")?.click();
    await drawn();
    expect(box.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")).toBe("100000");
  });

  test("looks through what comes, and now and then through what was skipped", async () => {
    const run = aRun("a", { rows: LENGTH });
    const all = await draw(run);
    const { model, peer, timers } = all;
    model.filter.value = "event 10000";
    await drawn();
    timers.pass(200);
    const found = { run: "a", seqs: [10_000, 100_000], total: 2 };
    await peer.answer(peer.take("find_rows"), "rows_found", found);
    await peer.push("row", { run: "a", row: at(100_001) });
    await peer.push("row", { run: "a", row: at(100_002) });
    await all.draw();
    await drawn();
    expect(told()).toBe("4");
    expect(peer.inbox.filter(({ type }) => type === "find_rows")).toEqual([]);
    timers.pass(1000);
    expect(peer.inbox.filter(({ type }) => type === "find_rows")).toHaveLength(1);
  });
});

test("a run that is all here is filtered here at once, and by whole results once the Core told", async () => {
  const all = aModel();
  await all.peer.greet([endedRun("a")]);
  await all.opens(endedRun("a"), rowsTo(300));
  render(<Timeline model={all.model} />, box);
  all.model.filter.value = "event 29";
  await drawn();
  expect(all.peer.inbox).toEqual([]);
  expect(box.querySelector(".as-Filter-count")?.textContent).toBe("13");
  all.timers.pass(200);
  const sent = all.peer.take("find_rows");
  expect(sent.body).toEqual({ run: "a", text: "event 29" });
  await all.peer.answer(sent, "rows_found", { run: "a", seqs: [7, 29], total: 2 });
  await drawn();
  expect(box.querySelector(".as-Filter-count")?.textContent).toBe("14");
});
