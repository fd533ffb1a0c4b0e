import { render } from "preact";
import { describe, expect, test } from "vitest";
import type { Commit, TimelineRow } from "../../src/model/model";
import { Timeline } from "../../src/view/timeline/timeline";
import { showing } from "../helpers/debugger";
import { box, drawn, press, SCROLLER_HEIGHT, useBox, useLayout } from "../helpers/dom";
import { aFile, aRow, aRun, aSnapshot, endedRun, rowsTo } from "../helpers/values";

useLayout();

useBox();

async function draw(rows: TimelineRow[], commits: Commit[], run = endedRun("a")) {
  const all = await showing(run, rows, commits);
  render(<Timeline model={all.model} />, box);
  await drawn();
  return all;
}

const lines = () => [...box.querySelectorAll<HTMLElement>(".as-Row")];
const texts = () => lines().map(({ textContent }) => textContent);
const line = (text: string) => {
  const found = lines().find(({ textContent }) => textContent?.includes(text));
  if (!found) throw new Error(`no ${text} in ${texts().join("\n")}`);
  return found;
};
const focused = () => document.activeElement?.textContent ?? "";
const scroller = () => box.querySelector<HTMLElement>(".as-Scroll") as HTMLElement;

/** A tool's two rows. */
const tool = (seq: number): TimelineRow[] =>
  [seq, seq + 1].map((one) =>
    aRow(one, { event: `t${seq}`, kind: "tool_invocation", side: one === seq ? "begin" : "end" }),
  );
const ROWS = [aRow(1), ...tool(2), aRow(4)];
const CHANGED = aSnapshot("s1", 2, {
  event: "t2",
  changes: [aFile("src/app.py"), aFile("src/new.py", { kind: "added", removed: 0 })],
});

describe("a step's files", () => {
  test("stand under the last row of their event, with what happened to each", async () => {
    await draw(ROWS, [CHANGED]);
    expect(texts()).toEqual([
      expect.stringContaining("event 1"),
      expect.stringContaining("event 2"),
      expect.stringContaining("event 3"),
      "Msrc/app.py+3−1",
      "Asrc/new.py+3",
      expect.stringContaining("event 4"),
    ]);
    const [file] = [line("src/app.py")];
    expect(file.getAttribute("aria-level")).toBe("2");
    expect(line("event 3").getAttribute("aria-expanded")).toBe("true");
    expect(line("event 4").hasAttribute("aria-expanded")).toBe(false);
    expect(box.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")).toBe("6");
  });

  test("stand under the begin while there is no end, and go down with it", async () => {
    const { peer, draw: frame } = await draw(ROWS.slice(0, 2), [CHANGED], aRun("a"));
    expect(texts().slice(1)).toEqual([
      expect.stringContaining("event 2"),
      expect.stringContaining("app.py"),
      expect.stringContaining("new.py"),
    ]);
    await peer.push("row", { run: "a", row: ROWS[2] as TimelineRow });
    await frame();
    await drawn();
    expect(texts()[2]).toContain("event 3");
    expect(texts()[3]).toContain("app.py");
  });

  test("are four at most; the rest is counted and leads to Changes", async () => {
    const changes = [1, 2, 3, 4, 5, 6].map((at) => aFile(`f${at}.py`));
    const { model } = await draw(ROWS, [{ ...CHANGED, changes }]);
    expect(texts().slice(3, 8).join()).toContain("f4.py");
    expect(texts()[7]).toBe("… 2 more files");
    line("more files").click();
    expect([model.tab.value, model.selectedCommit.value]).toEqual(["changes", "s1"]);
  });

  test("that a person named, not a tool's end, stand in Changes only", async () => {
    await draw(ROWS, [{ ...CHANGED, snapshot: false }]);
    expect(lines()).toHaveLength(4);
  });

  test("are text, whatever they are called", async () => {
    const evil = "<img src=x>\u202egpj.exe";
    await draw(ROWS, [{ ...CHANGED, changes: [aFile(evil)] }]);
    expect(box.querySelector("img")).toBeNull();
    expect(texts()[3]).toContain("⟨U+202E⟩");
  });

  test("make their row match the filter", async () => {
    const { model } = await draw(ROWS, [CHANGED]);
    model.filter.value = "NEW.py";
    await drawn();
    expect(texts()).toEqual([
      expect.stringContaining("event 3"),
      expect.stringContaining("app.py"),
      expect.stringContaining("new.py"),
    ]);
  });
});

describe("keys", () => {
  test("go from row to file and on; what is selected is the file", async () => {
    const { model } = await draw(ROWS, [CHANGED]);
    model.select("r3");
    await drawn();
    line("event 3").focus();
    await press("ArrowDown");
    expect(focused()).toContain("app.py");
    expect(model.selectedFile.value).toEqual({ commit: "s1", path: "src/app.py" });
    expect(line("src/app.py").getAttribute("aria-selected")).toBe("true");
    expect(line("event 3").getAttribute("aria-selected")).toBe("false");
    await press("End");
    expect([focused().includes("event 4"), model.selectedFile.value]).toEqual([true, null]);
    await press("ArrowUp");
    expect(focused()).toContain("new.py");
    expect(lines().filter(({ tabIndex }) => tabIndex === 0)).toHaveLength(1);
  });

  test("Left leads to the row and folds it, Right shows the files and goes in", async () => {
    const { model } = await draw(ROWS, [CHANGED]);
    line("new.py").click();
    await drawn();
    await press("ArrowLeft");
    expect(focused()).toContain("event 3");
    await press("ArrowLeft");
    expect(lines()).toHaveLength(4);
    expect(line("event 3").getAttribute("aria-expanded")).toBe("false");
    expect(line("event 3").textContent).toContain("2 files");
    expect(focused()).toContain("event 3");
    await press("ArrowRight");
    expect(lines()).toHaveLength(6);
    await press("ArrowRight");
    expect(focused()).toContain("app.py");
    await press("Enter");
    expect([model.tab.value, model.selectedPath.value]).toEqual(["changes", "src/app.py"]);
  });

  test("the mouse folds, too", async () => {
    await draw(ROWS, [CHANGED]);
    box.querySelector<HTMLElement>(".as-Twist")?.click();
    await drawn();
    expect(lines()).toHaveLength(4);
  });
});

describe("files that come late", () => {
  const rows = [...tool(1), ...rowsTo(200).slice(2)];
  const late = aSnapshot("late", 1, { event: "t1", changes: [aFile("late.py"), aFile("two.py")] });

  test("move nothing of what is read further down", async () => {
    const { model, peer, draw: frame } = await draw(rows, [], aRun("a"));
    model.setFollow(false);
    await drawn();
    scroller().scrollTop = 1300;
    scroller().dispatchEvent(new Event("scroll"));
    await drawn();
    const place = () =>
      Number(/\((\d+)px/.exec(line("event 60").style.transform)?.[1]) - scroller().scrollTop;
    const before = place();
    await peer.push("commit", { run: "a", commit: late });
    await frame();
    await drawn();
    expect(lines().some(({ textContent }) => textContent?.includes("event 60"))).toBe(true);
    expect(place()).toBe(before);
    expect(model.follow.value).toBe(false);
  });

  test("leave the selected row where it is, though they come in sight above it", async () => {
    const { model, peer, draw: frame } = await draw(rows, [], aRun("a"));
    model.setFollow(false);
    scroller().scrollTop = 0;
    scroller().dispatchEvent(new Event("scroll"));
    model.select("r5");
    await drawn();
    await peer.push("commit", { run: "a", commit: late });
    await frame();
    await drawn();
    expect(scroller().scrollTop).toBe(52);
  });

  test("keep the end in sight where the timeline follows", async () => {
    const { peer, draw: frame } = await draw(rows, [], aRun("a"));
    await peer.push("commit", { run: "a", commit: late });
    await frame();
    await drawn();
    const whole = Math.ceil((202 * 26 - SCROLLER_HEIGHT) / 26) * 26;
    expect(scroller().scrollTop).toBe(whole);
  });
});

test("however many files, few are in the document", async () => {
  const many = Array.from({ length: 5000 }, (_, at) => tool(2 * at + 1)).flat();
  const commits = many
    .filter(({ side }) => side === "end")
    .map(({ seq, event }) =>
      aSnapshot(`s${seq}`, seq, { event, changes: [aFile("a.py"), aFile("b.py")] }),
    );
  await draw(many, commits);
  expect(lines().length).toBeLessThan(200);
  // 4,000 rows are kept here, every other of them with two files.
  expect(box.querySelector("[role=treegrid]")?.getAttribute("aria-rowcount")).toBe("14000");
});
