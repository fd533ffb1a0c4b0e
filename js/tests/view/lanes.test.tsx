/** Whose a row is, and the filter by agents. */
import { render } from "preact";
import { describe, expect, test, vi } from "vitest";
import type { Run, TimelineRow } from "../../src/model/model";
import { Timeline } from "../../src/view/timeline/timeline";
import { aModel, showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { aLabel, aRow, aRun, endedRun, haltedRun, pendingRow, rowsTo } from "../helpers/values";

useLayout();

useBox();

const FIRST = JSON.stringify(["task:1", "agent:researcher:1"]);

const researcher = (seq: number, task: number, fields: Partial<TimelineRow> = {}) =>
  aRow(seq, {
    scope: [`task:${task}`, "agent:researcher:1", "tool:search"],
    label: aLabel("researcher", { parent: "planner" }),
    ...fields,
  });
const ROWS = [
  aRow(1),
  researcher(2, 1),
  researcher(3, 2, { label: aLabel("researcher", { parent: "planner", node: "look up" }) }),
  researcher(4, 1),
  aRow(5, { scope: ["task:3"], label: aLabel("", { node: "draft" }) }),
];

async function draw(rows: TimelineRow[], run: Run = endedRun("a")) {
  const all = await showing(run, rows);
  render(<Timeline model={all.model} />, box);
  await drawn();
  return all;
}

const shown = () =>
  [...box.querySelectorAll<HTMLElement>(".as-Row")].map(({ dataset }) => dataset.row);
const what = (id: string) => box.querySelector(`[data-row="${id}"] .as-Row-what`)?.textContent;
const filterButton = () => box.querySelector<HTMLElement>(".as-LaneFilter > button");
const item = (title: string) =>
  [...box.querySelectorAll<HTMLElement>(".as-LaneItem")]
    .find((each) => each.querySelector(".as-LaneItem-title")?.textContent === title)
    ?.querySelector("input");
const open = async () => {
  filterButton()?.click();
  await vi.waitFor(() => expect(box.querySelector(".as-LaneList")).not.toBeNull());
};
const choose = async (title: string) => {
  item(title)?.click();
  await drawn();
};

describe("a row", () => {
  test("says its agent in words, and has its lane's hue", async () => {
    await draw(ROWS);
    expect(["r1", "r2", "r3", "r4", "r5"].map(what)).toEqual([
      "event 1",
      "researcher event 2",
      "researcher 2 look up event 3",
      "researcher event 4",
      "draft event 5",
    ]);
    const chip = box.querySelector<HTMLElement>('[data-row="r3"] .as-Lane');
    expect(chip?.title).toBe("Agent researcher 2, in planner, at node look up");
    const bars = [...box.querySelectorAll(".as-LaneBar")].map((bar) => [
      bar.closest<HTMLElement>(".as-Row")?.dataset.row,
      bar.className,
    ]);
    expect(bars).toEqual([
      ["r2", "as-LaneBar as-mod-hue0"],
      ["r3", "as-LaneBar as-mod-hue1"],
      ["r4", "as-LaneBar as-mod-hue0"],
    ]);
  });

  test("of a run without agents is as it was, and nothing is to be chosen", async () => {
    await draw(rowsTo(3));
    expect(box.querySelector(".as-Lane, .as-LaneNode, .as-LaneBar, .as-LaneFilter")).toBeNull();
  });

  test("shows what hides in an agent's name", async () => {
    await draw([aRow(1, { scope: ["agent:x"], label: aLabel("a\u202eb", { node: "\u202e" }) })]);
    expect(what("r1")).toContain("a⟨U+202E⟩b");
    expect(box.querySelector(".as-LaneNode")?.textContent).toBe("⟨U+202E⟩ ");
  });
});

describe("the filter by agents", () => {
  test("leaves the events of those that are chosen", async () => {
    const { model } = await draw(ROWS);
    await open();
    const items = [...box.querySelectorAll(".as-LaneItem")].map((each) => each.textContent);
    expect(items).toEqual(["main program ", "researcher in planner", "researcher 2 in planner"]);
    await choose("researcher 2");
    expect(shown()).toEqual(["r3"]);
    expect(filterButton()?.textContent).toBe("researcher 2");
    await choose("main program");
    expect(shown()).toEqual(["r1", "r3", "r5"]);
    expect(filterButton()?.getAttribute("aria-label")).toBe("Filter by agent: 2 agents");
    expect(box.querySelector(".as-Filter-count")?.textContent).toBe("3");
    model.filter.value = "look";
    await drawn();
    expect(shown()).toEqual(["r3"]);
    box.querySelector<HTMLElement>(".as-LaneList-end button")?.click();
    model.filter.value = "";
    await drawn();
    expect(shown()).toEqual(["r1", "r2", "r3", "r4", "r5"]);
  });

  test("is used by keys, and gives the focus back", async () => {
    const { model } = await draw(ROWS);
    await open();
    expect(document.activeElement).toBe(item("main program"));
    await press("ArrowDown");
    expect(document.activeElement).toBe(item("researcher"));
    await press("ArrowUp");
    await press("ArrowUp");
    expect(document.activeElement).toBe(item("researcher 2"));
    await press("Escape");
    expect(box.querySelector(".as-LaneList")).toBeNull();
    expect(document.activeElement).toBe(filterButton());
    expect(model.shownLanes.value).toEqual([]);
  });

  test("leaves what waits for a person, whoever's it is, until it is answered", async () => {
    const rows = [...ROWS.slice(0, 3), pendingRow(4, { scope: ["task:2", "agent:researcher:1"] })];
    const { model, peer, draw: frame } = await draw(rows, haltedRun("a", "r4"));
    model.toggleLane(FIRST);
    await drawn();
    expect(shown()).toEqual(["r2", "r4"]);
    await peer.push("row", { run: "a", row: researcher(4, 2) });
    await peer.push("run", { run: aRun("a") });
    await frame();
    await drawn();
    expect(shown()).toEqual(["r2"]);
  });

  test("stays while the run goes on, and is given up for another run or what is led to", async () => {
    const { model, peer, draw: frame } = await draw(ROWS, aRun("a"));
    model.toggleLane(FIRST);
    await peer.push("row", { run: "a", row: researcher(6, 1) });
    await peer.push("row", { run: "a", row: researcher(7, 2) });
    await frame();
    await drawn();
    expect(shown()).toEqual(["r2", "r4", "r6"]);
    model.reveal("r3");
    await drawn();
    expect([model.shownLanes.value, shown().length]).toEqual([[], 7]);
  });

  test("says so where nothing is left, and shows all again", async () => {
    const { model } = await draw(ROWS);
    model.toggleLane(FIRST);
    model.filter.value = "nowhere";
    await drawn();
    expect(box.querySelector("h3")?.textContent).toBe(
      "No event matches “nowhere” of the agents chosen",
    );
    box.querySelector<HTMLElement>(".as-Empty-actions .as-Button")?.click();
    await drawn();
    expect(shown()).toHaveLength(5);
  });
});

describe("of a long run", () => {
  /** The last rows of one that has more of an agent before these. */
  async function drawLong() {
    const run = { ...endedRun("a"), rows: 1000 };
    const all = aModel();
    await all.peer.greet([run]);
    const last = Array.from({ length: 100 }, (_, at) => researcher(901 + at, 2));
    await all.opens(run, last);
    render(<Timeline model={all.model} />, box);
    await drawn();
    all.timers.pass(200);
    await drawn();
    return all;
  }
  const start = (seq: number, task: number) => ({
    path: [`task:${task}`, "agent:researcher:1"],
    seq,
    label: aLabel("researcher"),
  });

  test("the Core tells all agents, once", async () => {
    const { peer, timers } = await drawLong();
    expect(what("r1000")).toBe("researcher event 1000");
    const asked = peer.take("find_rows");
    expect(asked.body).toEqual({ run: "a", text: "" });
    const lanes = [start(2, 1), start(500, 2)];
    await peer.answer(asked, "rows_found", { run: "a", seqs: [], total: 1000, lanes });
    await drawn();
    expect(what("r1000")).toBe("researcher 2 event 1000");
    timers.pass(10_000);
    expect(peer.inbox).toEqual([]);
    expect(box.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")).toBe("1000");
  });

  test("the Core finds the rows of those that are chosen", async () => {
    const { model, peer, timers } = await drawLong();
    const lanes = [start(2, 1), start(500, 2)];
    await peer.answer(peer.take("find_rows"), "rows_found", {
      run: "a",
      seqs: [],
      total: 1000,
      lanes,
    });
    model.toggleLane(FIRST);
    await drawn();
    timers.pass(200);
    const asked = peer.take("find_rows");
    expect(asked.body).toEqual({ run: "a", text: "", lanes: [["task:1", "agent:researcher:1"]] });
    await peer.answer(asked, "rows_found", { run: "a", seqs: [2, 7], total: 2, lanes });
    await drawn();
    expect(shown()).toEqual(["#2", "#7"]);
  });
});
