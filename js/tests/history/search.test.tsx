import { describe, expect, test, vi } from "vitest";
import { historyOf } from "../../src/model/history";
import type { Run, SearchHit } from "../../src/protocol/types.gen";
import { drawn, press, useLayout } from "../helpers/dom";
import { aCommit, rowsTo } from "../helpers/values";
import { box, button, byLabel, click, focused, listed, RUNS, type } from "./render";

useLayout();

describe("a search", () => {
  const HITS: SearchHit[] = [
    { run: "c", place: "row", id: "r2", snippet: ["is ", "word", " wide"] },
    { run: "a", place: "commit", id: "x1", snippet: ["", "<b>word</b>", ""] },
    { run: "a", place: "run", id: null, snippet: ["", "word", "y"] },
  ];

  async function found() {
    const all = await listed();
    await type(byLabel("Search runs, prompts, files"), "word");
    await press("Enter");
    const asked = all.peer.take("search");
    await all.peer.answer(asked, "found", { hits: HITS, more: true });
    await drawn();
    return all;
  }

  const hits = () => [...box.querySelectorAll<HTMLElement>(".as-Hit")];

  test("shows places by run, what was found marked, as text", async () => {
    await found();
    expect(hits().map((each) => each.textContent)).toEqual([
      "Event 2is word wide",
      "Commit<b>word</b>",
      "Runwordy",
    ]);
    expect([...box.querySelectorAll("mark")].map((each) => each.textContent)).toEqual([
      "word",
      "<b>word</b>",
      "word",
    ]);
    expect([...box.querySelectorAll(".as-Hits-run")].map((each) => each.textContent?.slice(0, 6))) //
      .toEqual(["triage", "write-"]);
    expect(box.querySelector<HTMLElement>("[role=grid]")?.hidden).toBe(true);
  });

  test("is sent once the person pauses", async () => {
    const { peer } = await listed();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const field = byLabel("Search runs, prompts, files");
    await type(field, "wo");
    vi.advanceTimersByTime(299);
    await type(field, "word");
    vi.advanceTimersByTime(299);
    expect(peer.inbox).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(peer.take("search").body).toMatchObject({ query: "word" });
  });

  test("isn't sent by the Enter that ends a composition", async () => {
    const { peer } = await listed();
    await type(byLabel("Search runs, prompts, files"), "言葉");
    await press("Enter", { isComposing: true });
    expect(peer.inbox).toEqual([]);
  });

  test("leads to the row, also of a run that isn't shown yet", async () => {
    const { model, peer } = await found();
    await click(hits()[0] as HTMLElement);
    expect([model.tab.value, model.selectedRow.value]).toEqual(["timeline", "r2"]);
    model.tab.value = "runs";
    await click(hits()[1] as HTMLElement);
    await peer.answer(peer.take("open_run"), "run_opened", {
      run: RUNS[0] as Run,
      rows: rowsTo(1),
      commits: [aCommit("x1")],
      notes: [],
    });
    await drawn();
    expect([model.run.value?.id, model.tab.value, model.selectedCommit.value]).toEqual([
      "a",
      "changes",
      "x1",
    ]);
  });

  test("is moved through by keys; Esc goes back to the list", async () => {
    const { model } = await found();
    await press("ArrowDown");
    expect(document.activeElement).toBe(hits()[0]);
    await press("ArrowDown");
    expect(document.activeElement).toBe(hits()[1]);
    await press("Escape");
    expect(historyOf(model).searchState.value).toBeNull();
    expect(focused()).toBe("c");
    expect((byLabel("Search runs, prompts, files") as HTMLInputElement).value).toBe("");
  });

  test("asks for more where there is more", async () => {
    const { peer } = await found();
    await click(button("Show more places"));
    expect(peer.take("search").body).toEqual({ query: "word", limit: 500 });
  });

  test("a refusal stands in its place", async () => {
    const { peer } = await listed();
    await type(byLabel("Search runs, prompts, files"), '"wor');
    await press("Enter");
    await peer.refuse(peer.take("search"), "malformed", "Close the quotes.");
    await drawn();
    expect(box.querySelector(".as-Hits [role=alert]")?.textContent).toBe("Close the quotes.");
  });
});
