import type { Signal } from "@preact/signals";
import { render } from "preact";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { hiddenChecks, markedCount, nth, repetitionText, showCheck } from "../../src/model/effects";
import { runStatus, type Status } from "../../src/model/status";
import { Overview } from "../../src/overview";
import { doubtStatus } from "../../src/overview/doubt";
import { EffectNotes } from "../../src/overview/effect_notes";
import { contentAsked } from "../../src/overview/file_at_row";
import { EffectBadge } from "../../src/overview/row_marks";
import { drawn } from "../helpers/dom";
import { anOverview, aRow, aRun, aSnapshot } from "../helpers/values";
import { fakeModel } from "../inspector/fake_model";

const MARK = { check: "no_effect", message: "It changed no file.", severity: "warning" } as const;
const AGAIN = { count: 3, first: 2, last: 7, is_unchanged: true };
const marked = () => aRow(9, { kind: "tool_invocation", side: "end", effects: { marks: [MARK] } });

let host: HTMLElement;
beforeEach(() => {
  host = document.body.appendChild(document.createElement("div"));
});
afterEach(() => {
  render(null, host);
  host.remove();
  for (const name of hiddenChecks.peek()) showCheck(name, true);
});

describe("marks", () => {
  it("stand on the row with what they say", () => {
    render(<EffectBadge row={marked()} />, host);
    const badge = host.querySelector('[role="img"]');
    expect(badge?.getAttribute("aria-label")).toBe("effect check: It changed no file.");
    expect(host.textContent).toContain("changed no file");
  });

  it("are gone where their check is hidden, and counted without it", () => {
    const row = marked();
    const model = fakeModel([[row, { data: "1" }]]);
    const run = aRun("r", { effects: { rows: 1, warnings: 1, first: 9 } });
    (model.run as unknown as { value: unknown }).value = run;
    expect(markedCount(model as never)).toBe(1);
    showCheck("no_effect", false);
    render(<EffectBadge row={row} />, host);
    expect(host.textContent).toBe("");
    expect(markedCount(model as never)).toBe(0);
    showCheck("no_effect", true);
    expect(markedCount(model as never)).toBe(1);
  });

  it("show repetitions with their count, and lead to the row before", () => {
    const row = aRow(9, { effects: { marks: [], repetition: AGAIN } });
    const before = aRow(7);
    const model = fakeModel([
      [before, { data: "1" }],
      [row, { data: "1" }],
    ]);
    render(<EffectNotes model={model} row={row} />, host);
    expect(host.textContent).toContain(
      "Same call and result as row 7, no file changed since: the 3rd time",
    );
    host.querySelector("button")?.click();
    expect(model.revealed).toEqual(["r7"]);
    expect(repetitionText({ ...AGAIN, cycle: 2 })).toBe("A cycle of 2 calls, for the 3rd time");
  });

  it("count in words", () => {
    expect([1, 2, 3, 4, 11, 12, 21, 112].map(nth).join(" ")).toBe(
      "1st 2nd 3rd 4th 11th 12th 21st 112th",
    );
  });
});

describe("a finished run", () => {
  const status: Status = { words: "Finished", detail: "", icon: "check", tone: "good" };
  it("is green only where nothing speaks against it", () => {
    const run = aRun("a", { ending: "finished" });
    const check = { command: "pytest", exit_code: 1, at: 1, line: "", rows: 3 };
    const effects = { rows: 1, warnings: 1, first: 2 };
    const ended = (fields: object) =>
      runStatus(aRun("a", { state: "idle", ending: "finished", ...fields }));
    expect(ended({}).tone).toBe("good");
    expect(ended({ checks: [check] }).tone).toBe("you");
    expect(ended({ effects }).icon).toBe("warn");
    expect(doubtStatus(status, run, null)).toBe(status);
    expect(doubtStatus(status, run, anOverview({ run: "a" }))).toBe(status);
    const contradictions = [{ text: "Its last tests failed.", row: 3 }];
    expect(doubtStatus(status, run, anOverview({ run: "a", contradictions })).icon).toBe("warn");
    // What is known of another run says nothing.
    expect(doubtStatus(status, run, anOverview({ run: "b", contradictions }))).toBe(status);
    const gaveUp = anOverview({ run: "a", outcome: "gave_up", reason: "By its own words" });
    expect(doubtStatus(status, run, gaveUp).words).toBe("Gave up");
  });
});

describe("what a call asked to write", () => {
  const call = (Argument: unknown) => JSON.stringify({ Tool: "write_file", Argument });
  it("is its content, where it names the file", () => {
    expect(contentAsked(call({ path: "a.py", content: "x" }), "a.py")).toBe("x");
    expect(contentAsked(call({ path: "/w/a.py", content: "x" }), "a.py")).toBe("x");
    expect(contentAsked(call({ path: "b.py", content: "x" }), "a.py")).toBeNull();
    expect(contentAsked(call({ path: "a.py", old: "x", text: "y" }), "a.py")).toBeNull();
    expect(contentAsked("{", "a.py")).toBeNull();
    expect(contentAsked("null", "a.py")).toBeNull();
  });
});

describe("the overview", () => {
  it("has each part, and says where there is nothing", async () => {
    const model = fakeModel();
    model.tab.value = "overview";
    (model.run as unknown as { value: unknown }).value = aRun("r", { ending: "finished" });
    render(<Overview model={model} />, host);
    await vi.waitFor(() => expect(host.textContent).toContain("Finished"));
    for (const words of [
      "No tool said one thing and did another",
      "No tool was called.",
      "No file was read or changed.",
      "No call came again with the same result.",
      "Nothing failed.",
    ])
      expect(host.textContent).toContain(words);
    const box = host.querySelector<HTMLInputElement>('input[type="checkbox"]');
    box?.click();
    expect(hiddenChecks.value.size).toBe(1);
  });
});

describe("a file at a row", () => {
  const all = () => [...host.querySelectorAll<HTMLElement>("button, input")];
  const named = (name: string) =>
    all().find((each) => (each.getAttribute("aria-label") ?? each.textContent) === name);

  async function show(listed = true) {
    const model = fakeModel();
    model.tab.value = "overview";
    model.run.value = aRun("r", { ending: "finished" });
    const allCommits = model.allCommits as Signal<boolean>;
    allCommits.value = listed;
    model.fileAtRow.value = { path: "a.py", row: 2 };
    if (listed) model.commits.value = [aSnapshot("one", 1), aSnapshot("two", 5)];
    for (const id of ["one", "two"])
      model.files.set(`${id} a.py`, { diff: "", content: `text of ${id}`, previous_content: "" });
    model.overview = async () => anOverview({ rows: 9 });
    render(<Overview model={model} />, host);
    await drawn();
    return { model, allCommits };
  }

  it("takes the focus as it opens, and leaves it where the person goes on", async () => {
    await show();
    expect(document.activeElement).toBe(named("Back to the overview"));
    expect(host.textContent).toContain("text of one");
    const version = named("6");
    version?.focus();
    version?.click();
    await drawn();
    expect(host.textContent).toContain("text of two");
    expect(document.activeElement).toBe(version);
    const field = host.querySelector<HTMLInputElement>(".as-AtRow input");
    if (!field) throw new Error("there is no field");
    field.focus();
    field.value = "3";
    field.dispatchEvent(new Event("change", { bubbles: true }));
    await drawn();
    expect(host.textContent).toContain("text of one");
    expect(document.activeElement).toBe(field);
  });

  it("isn't said to be missing before all commits are here", async () => {
    const { model, allCommits } = await show(false);
    expect(host.textContent).toContain("Fetching the file…");
    expect(host.textContent).not.toContain("isn’t stored");
    model.commits.value = [aSnapshot("one", 1)];
    await drawn();
    expect(host.textContent).toContain("text of one");
    model.commits.value = [];
    allCommits.value = true;
    await drawn();
    expect(host.textContent).toContain("isn’t stored");
  });
});
