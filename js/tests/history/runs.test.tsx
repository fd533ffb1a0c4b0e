import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, test, vi } from "vitest";
import type { Run } from "../../src/protocol/types.gen";
import { Root } from "../../src/view/root";
import { aModel } from "../helpers/debugger";
import { drawn, press, useLayout } from "../helpers/dom";
import { aRun, endedRun, rowsTo } from "../helpers/values";
import {
  aNumbered,
  box,
  button,
  byLabel,
  click,
  focused,
  listed,
  names,
  pick,
  RUNS,
  row,
  rows,
  type,
} from "./render";

useLayout();

describe("the list", () => {
  test("has the newest first, and marks the shown one", async () => {
    await listed();
    expect(names()).toEqual(["triage", "fix-tests", "write-docs"]);
    expect(row("c").getAttribute("aria-current")).toBe("true");
    expect(row("b").textContent).toContain("Crashed");
    expect(box.querySelector("[role=grid]")?.getAttribute("aria-rowcount")).toBe("4");
    expect(box.querySelector(".as-RunsFoot")?.textContent).toContain("3 runs");
  });

  test("is sorted by its heads, which say so", async () => {
    await listed();
    await click(button("Run"));
    expect(names()).toEqual(["fix-tests", "triage", "write-docs"]);
    const sorts = () =>
      [...box.querySelectorAll("[aria-sort]")].map((each) => [
        each.textContent,
        each.getAttribute("aria-sort"),
      ]);
    expect(sorts()).toEqual([["Run", "ascending"]]);
    await click(button("Run"));
    expect(sorts()).toEqual([["Run", "descending"]]);
  });

  test("keeps its order while figures grow, and takes in a run that begins", async () => {
    const { peer, draw } = await listed();
    await click(button("Events"));
    expect(names()).toEqual(["fix-tests", "write-docs", "triage"]);
    await peer.push("run", { run: { ...(RUNS[2] as Run), rows: 50 } });
    await draw();
    await drawn();
    expect(names()).toEqual(["fix-tests", "write-docs", "triage"]);
    expect(row("c").textContent).toContain("50");
    await peer.push("run", { run: aRun("d", { name: "new", rows: 4 }) });
    await draw();
    await drawn();
    expect(names()).toEqual(["triage", "fix-tests", "new", "write-docs"]);
  });

  test("is moved through by keys, and Enter shows the run", async () => {
    const { model, peer } = await listed();
    row("c").focus();
    await press("End");
    expect(focused()).toBe("a");
    await press("ArrowUp");
    expect(focused()).toBe("b");
    expect(rows().filter(({ tabIndex }) => tabIndex === 0)).toEqual([row("b")]);
    await press("Enter");
    await peer.answer(peer.take("open_run"), "run_opened", {
      run: RUNS[1] as Run,
      rows: rowsTo(1),
      commits: [],
      notes: [],
    });
    await drawn();
    expect([model.run.value?.id, model.tab.value]).toEqual(["b", "timeline"]);
  });

  test("stays where it is if the run can't be shown", async () => {
    const { model, peer } = await listed();
    await click(row("b"));
    await peer.refuse(peer.take("open_run"), "damaged_run", "Run the doctor.");
    await drawn();
    expect(model.tab.value).toBe("runs");
    expect(model.problem.value?.message).toBe("Run the doctor.");
  });

  test("of 10,000 runs has only those in sight in the document", async () => {
    const many = Array.from({ length: 10_000 }, (_, at) => aNumbered(at));
    await listed(many);
    expect(rows().length).toBeLessThan(60);
    expect(box.querySelector("[role=grid]")?.getAttribute("aria-rowcount")).toBe("10001");
    row("m9999").focus();
    await press("End");
    expect(focused()).toBe("m0");
  });

  test("what is new further up moves nothing in sight", async () => {
    const many = Array.from({ length: 200 }, (_, at) => aNumbered(at));
    const { peer, draw } = await listed(many);
    const grid = box.querySelector("[role=grid]") as HTMLElement;
    grid.scrollTop = 28 * 50;
    await peer.push("run", { run: aRun("new", { started_at: 900 }) });
    await draw();
    await drawn();
    expect(grid.scrollTop).toBe(28 * 51);
  });
});

describe("filters", () => {
  test("by words, outcome and tag, together; the foot says how many are left", async () => {
    await listed();
    await type(byLabel("Filter by name, program or tag"), "DOCS");
    expect(names()).toEqual(["triage", "write-docs"]);
    await pick(byLabel("Outcome"), "halted");
    expect(names()).toEqual(["triage"]);
    expect(box.querySelector(".as-RunsFoot")?.textContent).toContain("1 of 3 runs");
    await pick(byLabel("Tag"), "mail");
    expect(names()).toEqual(["triage"]);
  });

  test("that leave nothing say so, and are taken back", async () => {
    await listed();
    await type(byLabel("Filter by name, program or tag"), "nothing like it");
    expect(box.textContent).toContain("No run matches the filter");
    await click(button("Show all runs"));
    expect(names().length).toBe(3);
  });
});

describe("a run is", () => {
  test("named in its place", async () => {
    const { peer } = await listed();
    row("b").focus();
    await press("F2");
    const field = byLabel("A new name for fix-tests") as HTMLInputElement;
    expect(document.activeElement).toBe(field);
    field.value = "  rounding  ";
    await press("Enter");
    expect(peer.take("rename_run").body).toEqual({ run: "b", name: "rounding" });
    expect(focused()).toBe("b");
  });

  test("neither named nor tagged by keys of a composition", async () => {
    const { peer } = await listed();
    row("b").focus();
    await press("F2");
    (document.activeElement as HTMLInputElement).value = "丸め";
    await press("Enter", { isComposing: true });
    await press("Escape", { isComposing: true });
    expect(document.activeElement).toBe(byLabel("A new name for fix-tests"));
    await press("Escape");
    await press("t");
    await type(document.activeElement as HTMLElement, "丸め");
    await press("Enter", { isComposing: true });
    expect(peer.inbox).toEqual([]);
    await press("Enter");
    expect(peer.take("tag_run").body).toEqual({ run: "b", tags: ["丸め"] });
  });

  test("left as it was by Esc, which goes no further", async () => {
    const { peer } = await listed();
    row("b").focus();
    await press("F2");
    await press("Escape");
    expect(focused()).toBe("b");
    expect(peer.inbox).toEqual([]);
  });

  test("tagged one by one, with those of others on offer", async () => {
    const { peer } = await listed();
    row("a").focus();
    await press("t");
    expect(document.activeElement?.getAttribute("placeholder")).toBe("Add a tag");
    await click(button("Add mail"));
    expect(peer.take("tag_run").body).toEqual({ run: "a", tags: ["docs", "mail"] });
    await type(document.activeElement as HTMLElement, " new ");
    await press("Enter");
    expect(peer.take("tag_run").body).toEqual({ run: "a", tags: ["docs", "mail", "new"] });
    await press("Backspace");
    expect(peer.take("tag_run").body).toEqual({ run: "a", tags: ["docs", "mail"] });
    await click(byLabel("Remove the tag docs"));
    const last = peer.take("tag_run");
    expect(last.body).toEqual({ run: "a", tags: ["mail"] });
    await peer.refuse(last, "not_allowed", "You may watch only.");
    await drawn();
    expect(box.querySelector(".as-RunsEdit [role=alert]")?.textContent).toBe("You may watch only.");
    await click(button("Done"));
    expect(focused()).toBe("a");
  });

  test("deleted once that is confirmed; the next takes its place and the focus", async () => {
    const { peer, draw } = await listed();
    row("b").focus();
    await press("Delete");
    expect(box.querySelector(".as-RunsEdit")?.textContent).toContain("Delete fix-tests");
    expect(document.activeElement).toBe(button("Keep"));
    await click(button("Delete"));
    const asked = peer.take("delete_run");
    expect(asked.body).toEqual({ run: "b" });
    await peer.answer(asked, "ok", {});
    await peer.push("run_gone", { run: "b" });
    await draw();
    await drawn();
    expect(names()).toEqual(["triage", "write-docs"]);
    expect(rows().find(({ tabIndex }) => tabIndex === 0)).toBe(row("a"));
    peer.take("get_store");
  });

  test("not deleted while it lives: the button says why, and the key does nothing", async () => {
    await listed();
    row("c").focus();
    await press("Delete");
    expect(box.querySelector(".as-RunsEdit")).toBeNull();
    const trash = [...row("c").querySelectorAll("button")].at(-1);
    expect(trash?.getAttribute("aria-disabled")).toBe("true");
    expect(trash?.title).toBe("A run can be deleted once it has ended");
  });

  test("exported as a file with its name", async () => {
    const saved: { name: string; blob: Blob }[] = [];
    vi.spyOn(URL, "createObjectURL").mockImplementation((blob) => {
      saved.push({ name: "", blob: blob as Blob });
      return "blob:x";
    });
    vi.spyOn(HTMLAnchorElement.prototype, "click").mockImplementation(function (
      this: HTMLAnchorElement,
    ) {
      const last = saved.at(-1);
      if (last) last.name = this.download;
    });
    const { peer } = await listed();
    row("b").focus();
    await press("ArrowRight"); // into what can be done with it
    await press("ArrowRight");
    await press("ArrowRight");
    await click(document.activeElement as HTMLElement);
    await click(button("Archive (.zip)"));
    const asked = peer.take("export_run");
    expect(asked.body).toEqual({ run: "b", format: "archive" });
    const data = btoa("PK-bytes");
    await peer.answer(asked, "run_exported", { name: "fix-tests", data, format: "archive" });
    await drawn();
    expect(saved.map(({ name }) => name)).toEqual(["fix-tests.agentstepper.zip"]);
    expect(await saved[0]?.blob.text()).toBe("PK-bytes");
  });

  test("imported from a file, and then selected whatever the filter was", async () => {
    const { peer, draw } = await listed();
    await type(byLabel("Filter by name, program or tag"), "docs");
    const input = box.querySelector<HTMLInputElement>("input[type=file]") as HTMLInputElement;
    Object.defineProperty(input, "files", { value: [new File(["eJw="], "old.run")] });
    input.dispatchEvent(new Event("change", { bubbles: true }));
    await vi.waitFor(() => expect(peer.inbox.length).toBe(1));
    const run = { ...endedRun("n"), name: "imported", started_at: 10 };
    await peer.answer(peer.take("import_run"), "run_imported", { run });
    await peer.push("run", { run });
    await draw();
    await drawn();
    expect(names()).toContain("imported");
    expect(focused()).toBe("n");
    expect(box.querySelector(".as-RunsNews")?.textContent).toBe("Imported “imported”");
  });
});

describe("two runs", () => {
  test("are chosen by Space and by their boxes; the earlier is on the left", async () => {
    const { model } = await listed();
    expect(button("Compare").getAttribute("aria-disabled")).toBe("true");
    row("c").focus();
    await press(" ");
    await click(byLabel("Compare write-docs"));
    expect(row("c").getAttribute("aria-selected")).toBe("true");
    await click(button("Compare"));
    expect(model.compare.value).toEqual({ left: "a", right: "c" });
  });
});

describe("how runs are kept", () => {
  const foot = () => box.querySelector(".as-RunsFoot")?.textContent;

  test("is said at the foot", async () => {
    const { model } = await listed();
    const kept = { kind: "sqlite", durability: "durable", folder: "/data/runs" } as const;
    model.store.value = { ...kept, size: 14_200_000, trouble: null };
    await drawn();
    expect(foot()).toContain("Stored in /data/runs, 14 MB, durable");
    const memory = { kind: "memory", durability: null, folder: null, size: null, trouble: null };
    model.store.value = memory;
    await drawn();
    expect(foot()).toContain("Stored in memory only");
  });
});

describe("who may only watch", () => {
  test("can look, search and export; the rest says why not", async () => {
    await listed(RUNS, false);
    const held = (name: string) => button(name).getAttribute("aria-disabled");
    expect(button("Import").title).toBe("This login may watch, not control");
    expect([held("Rename fix-tests (F2)"), held("Tags of fix-tests (t)")]).toEqual([
      "true",
      "true",
    ]);
    expect(held("Export fix-tests")).toBeNull();
    row("b").focus();
    await press("F2");
    expect(box.querySelector(".as-RunsEdit")).toBeNull();
  });
});

describe("in the view", () => {
  async function viewed(runs = RUNS) {
    const all = aModel();
    await all.peer.greet(runs);
    const shown = runs.at(-1);
    if (shown) await all.opens(shown, rowsTo(2));
    render(
      <Root
        model={all.model}
        place={{ shell: "inline", resizable: true, overlay: signal(null) }}
      />,
      box,
    );
    await drawn();
    return all;
  }

  test("r leads to the shown run in the list, 3 to the tab, / to the search", async () => {
    const { model } = await viewed();
    box.querySelector<HTMLElement>('.as-Row[tabindex="0"]')?.focus();
    await press("r");
    await vi.waitFor(() => expect(focused()).toBe("c"));
    await press("/");
    expect(document.activeElement).toBe(byLabel("Search runs, prompts, files"));
    await press("Escape");
    await press("1");
    await press("4");
    expect(model.tab.value).toBe("runs");
  });

  test("without any run it says what this is, and takes one in", async () => {
    const { model } = await viewed([]);
    expect(box.textContent).toContain("%%step my-agent");
    box.querySelector<HTMLElement>(".as-View")?.focus();
    await press("4");
    await vi.waitFor(() => expect(box.textContent).toContain("No run is stored yet"));
    expect(button("Import").getAttribute("aria-disabled")).toBeNull();
    expect(model.tab.value).toBe("runs");
  });

  test("a store that can't keep anything says so on every tab", async () => {
    const { peer, model, draw } = await viewed();
    const store = { ...(model.store.value as never as object), trouble: "The disk is full." };
    await peer.push("store", { store: store as never });
    await draw();
    await drawn();
    expect(box.querySelector(".as-Banner[role=alert]")?.textContent).toContain("The disk is full.");
  });
});
