import { signal } from "@preact/signals";
import { render } from "preact";
import { describe, expect, test, vi } from "vitest";
import type { ViewPlacement } from "../../src/view/hooks";
import { Root } from "../../src/view/root";
import { aModel, showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import {
  aBody,
  aCommit,
  aRow,
  aRun,
  aUsage,
  endedRun,
  haltedRun,
  pendingRow,
  rowsTo,
} from "../helpers/values";

useLayout();

useBox();

async function draw(all: Awaited<ReturnType<typeof showing>>) {
  const place: ViewPlacement = { shell: "inline", resizable: true, overlay: signal(null) };
  render(<Root model={all.model} place={place} />, box);
  await drawn();
  return { ...all, place };
}

const halted = () => showing(haltedRun("a", "r2"), [aRow(1), pendingRow(2)]);
const state = () => box.querySelector("[role=status]")?.textContent;
const { button } = queriesOf(() => box, drawn);

/** What lies over the view is fetched when it is first needed. */
async function dialog(): Promise<Element> {
  const found = await vi.waitFor(() => {
    const found = box.querySelector("[role=dialog]");
    if (!found) throw new Error("there is no dialog");
    return found;
  });
  await drawn();
  return found;
}

async function focusRow(id: string): Promise<void> {
  box.querySelector<HTMLElement>(`[data-row="${id}"]`)?.focus();
}

describe("keys", () => {
  test.each([
    ["F10", {}, "over"],
    ["F11", {}, "into"],
    ["F11", { shiftKey: true }, "out"],
  ])("%s %o steps %s", async (key, held, kind) => {
    const { peer } = await draw(await halted());
    await focusRow("r2");
    peer.inbox.length = 0;
    await press(key, held);
    const sent = peer.take("step");
    expect(sent.body).toMatchObject({ breakpoint: "r2", target: { kind } });
    await peer.answer(sent, "ok", {});
  });

  test("F9 continues, F6 halts, Shift+F9 stops", async () => {
    const { peer } = await draw(await halted());
    await focusRow("r2");
    peer.inbox.length = 0;
    await press("F9", { shiftKey: true });
    await peer.answer(peer.take("stop"), "ok", {});
    await press("F6");
    expect(peer.inbox).toEqual([]); // halted already
    await press("F9");
    peer.take("continue");
  });

  test("the keys that step are the browser's where the agent isn't halted and doesn't step", async () => {
    const { peer } = await draw(
      await showing(aRun("a", { mode: "continue", state: "continue" }), []),
    );
    const view = box.querySelector<HTMLElement>(".as-View");
    view?.focus();
    peer.inbox.length = 0;
    for (const [key, ours] of [
      ["F11", false],
      ["F10", false],
      ["F9", false],
      ["F6", true],
    ] as const) {
      const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
      document.activeElement?.dispatchEvent(event);
      expect([key, event.defaultPrevented]).toEqual([key, ours]);
    }
    peer.take("halt");
    expect(peer.inbox).toEqual([]);
  });

  test("t runs to the next event like the selected one", async () => {
    const { model, peer } = await draw(await halted());
    model.select("r1");
    await focusRow("r1");
    peer.inbox.length = 0;
    await press("t");
    const { kind, side, name } = aRow(1);
    expect(peer.take("step").body).toMatchObject({
      breakpoint: "r2",
      target: { kind: "to", scope: [], event_kind: kind, side, name },
    });
  });

  test("letters act, but not in a text field; F keys act there too", async () => {
    const { model, peer, place } = await draw(await halted());
    await focusRow("r2");
    await press("2");
    expect(model.tab.value).toBe("changes");
    await press("/");
    expect((document.activeElement as HTMLElement).className).toContain("as-Filter");
    await press("?");
    await press("1");
    expect(place.overlay.value).toBeNull();
    peer.inbox.length = 0;
    await press("F10");
    peer.take("step");
  });

  test("e edits what is halted, Esc goes back to reading", async () => {
    const { model } = await draw(await halted());
    model.select("r1");
    await drawn();
    await focusRow("r1");
    await press("e");
    expect([model.selectedRow.value, model.editing.value]).toEqual(["r2", true]);
    await press("Escape");
    expect(model.editing.value).toBe(false);
  });

  test("Esc closes what lies over the view first", async () => {
    const { model, place } = await draw(await halted());
    await focusRow("r2");
    await press("?");
    expect((await dialog()).textContent).toContain("Step");
    model.editing.value = true;
    await press("Escape");
    expect([place.overlay.value, model.editing.value]).toEqual([null, true]);
  });

  test("letters typed while the editor is on its way do nothing: they are meant for it", async () => {
    const { model, place, peer } = await draw(await halted());
    await focusRow("r2");
    await press("e");
    expect(model.editing.value).toBe(true);
    peer.inbox.length = 0;
    for (const key of ["d", "n", "s", "2", "r", "o", "?", "e"]) await press(key);
    expect([model.tab.value, model.denying.value, model.notes.writing.value]).toEqual([
      "timeline",
      null,
      null,
    ]);
    expect([place.overlay.value, model.showOriginal.value, peer.inbox]).toEqual([null, false, []]);
    await press("Escape");
    await press("2");
    expect(model.tab.value).toBe("changes");
  });

  test("the focus stays in the view when what had it goes", async () => {
    const { model } = await draw(await halted());
    await focusRow("r2");
    await press("2");
    expect(document.activeElement?.textContent).toContain("Changes");
    await press("1");
    model.onError("stale", "too late");
    await drawn();
    button("Dismiss").focus();
    button("Dismiss").click();
    await drawn();
    expect((document.activeElement as HTMLElement).dataset.row).toBe("r2");
  });

  test("the focus is not taken from who has gone elsewhere", async () => {
    const { model } = await draw(await halted());
    const cell = document.body.appendChild(document.createElement("input"));
    await focusRow("r2");
    cell.focus();
    model.tab.value = "changes";
    await drawn();
    expect(document.activeElement).toBe(cell);
  });

  test.each<[string, KeyboardEventInit, boolean]>([
    ["x", {}, false],
    ["Enter", {}, false],
    ["f", { ctrlKey: true }, false],
    ["s", { ctrlKey: true }, true],
    ["b", { metaKey: true }, true],
    ["C", { ctrlKey: true, shiftKey: true }, true],
    ["Enter", { shiftKey: true }, true],
  ])("JupyterLab's own stay out, but for its chords: %s %j", async (key, chord, jupyters) => {
    await draw(await halted());
    await focusRow("r2");
    // As JupyterLab looks at it, at the document, before the view has the key.
    let kept: boolean | undefined;
    const look = () => {
      kept = document.activeElement?.closest("[data-lm-suppress-shortcuts]") !== null;
    };
    document.addEventListener("keydown", look, { capture: true, once: true });
    const init = { key, ...chord, bubbles: true, cancelable: true };
    document.activeElement?.dispatchEvent(new KeyboardEvent("keydown", init));
    expect(kept).toBe(!jupyters);
  });

  test("a field keeps the chords that write in it", async () => {
    await draw(await halted());
    const field = box.querySelector<HTMLElement>(".as-Filter");
    field?.focus();
    const kept = (key: string) => {
      const init = { key, ctrlKey: true, bubbles: true, cancelable: true };
      field?.dispatchEvent(new KeyboardEvent("keydown", init));
      return field?.closest("[data-lm-suppress-shortcuts]") !== null;
    };
    expect(["z", "a", "Enter", "s"].map(kept)).toEqual([true, true, true, false]);
  });
});

describe("controls", () => {
  test("what is impossible keeps its place and says why", async () => {
    const { peer } = await draw(await halted());
    const halt = button("Halt");
    expect(halt.getAttribute("aria-disabled")).toBe("true");
    expect([halt.disabled, halt.title]).toEqual([false, "Already halted"]);
    peer.inbox.length = 0;
    halt.click();
    expect(peer.inbox).toEqual([]);
  });

  test("are one tab stop, with Left and Right between them", async () => {
    await draw(await halted());
    const bar = box.querySelector("[role=toolbar]") as HTMLElement;
    const stops = () =>
      [...bar.querySelectorAll("button")].filter(({ tabIndex }) => tabIndex === 0);
    expect(stops()).toEqual([button("Step")]);
    button("Step").focus();
    await press("ArrowRight");
    expect(document.activeElement).toBe(button("Step over"));
    expect(stops()).toEqual([button("Step over")]);
    await press("ArrowLeft");
    await press("ArrowLeft");
    expect(document.activeElement?.getAttribute("aria-label")).toBe("Keys (?)");
  });

  test("Step says that it sends an edit", async () => {
    const { model } = await draw(await halted());
    model.draft("r2").value = { text: "1", revision: 1 };
    await drawn();
    expect(button("Step with edit")).toBeDefined();
  });

  test("a refusal stands in place of the figures until it is dismissed", async () => {
    const { peer } = await draw(await halted());
    peer.inbox.length = 0;
    button("Step").click();
    await peer.refuse(peer.take("step"), "stale", "Another UI was faster.");
    await drawn();
    expect(box.querySelector("[role=alert]")?.textContent).toContain("Another UI was faster.");
    button("Dismiss").click();
    await drawn();
    expect(box.querySelector("[role=alert]")).toBeNull();
    expect(box.querySelector(".as-Figures")).not.toBeNull();
  });
});

describe("a quick step", () => {
  test("doesn't flicker, a slow one is told", async () => {
    const { peer, draw: frame } = await draw(await halted());
    const before = state();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const pass = async (ms: number) => {
      vi.advanceTimersByTime(ms);
      await drawn();
    };
    await peer.push("run", { run: aRun("a", { agent_state: "llm_thinking" }) });
    await frame();
    await drawn();
    await pass(0); // effects: the time runs from here
    await pass(119);
    expect(state()).toBe(before);
    await pass(1);
    expect(state()).toContain("LLM thinking…");
  });
});

describe("states", () => {
  test("no run yet: what to do, with the line to paste", async () => {
    const all = aModel();
    await all.peer.greet([]);
    await draw(all);
    expect(state()).toBe("No run yet");
    expect(box.textContent).toContain("%%step my-agent");
  });

  test("a lost connection says so, keeps all in sight and can be tried now", async () => {
    const { peer } = await draw(await halted());
    await peer.drop();
    await drawn();
    expect(state()).toBe("Connection lostretry in 1 s");
    expect(box.querySelectorAll(".as-Row").length).toBe(2);
    expect(button("Step").title).toBe("Not connected to the Core");
    button("Retry now").click();
    expect(peer.links).toBe(2);
  });

  test("a refusal says what to do", async () => {
    const { peer } = await draw(await halted());
    peer.explanation = "Install it.";
    await peer.drop({ opened: false });
    await drawn();
    expect(box.querySelector("[role=alert]")?.textContent).toContain("Install it.");
    expect(box.querySelectorAll(".as-Row").length).toBe(2);
    expect(button("Retry now")).toBeDefined();
  });

  test("a refusal from the start stands where the run would be", async () => {
    const all = aModel();
    all.peer.explanation = "Install it.";
    await all.peer.drop({ opened: false });
    await draw(all);
    expect(state()).toBe("Not connected");
    expect(box.querySelector(".as-Empty")?.textContent).toContain("Install it.");
  });

  test("a crash shows its error", async () => {
    const failure = { type: "KeyError", message: "'price'" };
    const run = { ...endedRun("a"), ending: "crashed" as const, failure };
    await draw(await showing(run, rowsTo(3)));
    expect(state()).toContain("Crashed");
    await vi.waitFor(() =>
      expect(box.querySelector(".as-Banner")?.textContent).toContain("KeyError: 'price'"),
    );
  });

  test("an end says what the run took, and leads to its changes", async () => {
    const usage = { ...aUsage(14_000, 600), cost: 0.018, estimated: true };
    const hits = [
      { stop: "s", count: 2, last: 3 },
      { stop: "t", count: 1, last: 2 },
    ];
    const run = { ...endedRun("a"), rows: 3, commits: 2, usage, hits };
    const rows = [aRow(1), aRow(2, { side: "end", event: "e1", usage }), aRow(3, { edited: true })];
    const commits = [aCommit("c1"), aCommit("c2")];
    const { model } = await draw(await showing(run, rows, commits));
    await vi.waitFor(() => {
      const text = box.querySelector(".as-Banner")?.textContent;
      expect(text).toContain("Finished after 0:41");
      expect(text).toContain(
        "14.6k tokens · ≈$0.018 · 2 commits · 1 message edited by a person · breakpoints hit 3 times",
      );
    });
    expect(box.querySelector(".as-Totals")?.textContent).toBe("14.6k tokens≈$0.018");
    const figures = [...box.querySelectorAll(".as-Row-fig")].map(({ firstChild }) => firstChild);
    expect(figures[0]?.textContent).toBe("14k"); // the prompt's, as its answer told it
    button("Review changes").click();
    expect(model.tab.value).toBe("changes");
  });

  test("an end tells the agent's time and the person's apart", async () => {
    await draw(await showing({ ...endedRun("a"), rows: 3, halted_s: 30 }, rowsTo(3)));
    await vi.waitFor(() =>
      expect(box.querySelector(".as-Banner")?.textContent).toContain("agent 0:11, you 0:30"),
    );
  });

  test("without a word on tokens they are estimated by length", async () => {
    const run = { ...endedRun("a"), ending: "stopped" as const, rows: 2, query_bytes: 4000 };
    await draw(await showing(run, [aRow(1), aRow(2, { kind: "debug_message" })]));
    await vi.waitFor(() =>
      expect(box.querySelector(".as-Banner")?.textContent).toContain("Stopped by a person"),
    );
    expect(box.querySelector(".as-Totals")?.textContent).toBe("≈1k tokens");
    expect(box.querySelector<HTMLElement>(".as-Totals")?.title).toContain("Estimated by length");
    expect(box.querySelector(".as-Banner")?.textContent).toContain("≈1k tokens");
  });
});

describe("the run switcher", () => {
  test("lists the newest first, is moved through by keys and closed by Esc", async () => {
    const all = await draw(await showing(endedRun("a"), rowsTo(1)));
    await all.peer.push("run", { run: endedRun("b") });
    await all.draw();
    all.model.openRun("a");
    await drawn();
    box.querySelector<HTMLElement>(".as-Run")?.click();
    await dialog();
    const names = () =>
      [...box.querySelectorAll(".as-RunItem-name")].map((each) => each.textContent);
    expect(names().map((name) => name?.slice(0, 5))).toEqual(["run b", "run a"]);
    expect(document.activeElement?.textContent).toContain("run a");
    await press("ArrowUp");
    expect(document.activeElement?.textContent).toContain("run b");
    await press("Escape");
    expect(box.querySelector(".as-Popover")).toBeNull();
    expect((document.activeElement as HTMLElement).className).toContain("as-Run");
  });

  test("says when another run waits for the person", async () => {
    const all = await draw(await halted());
    const name = () => box.querySelector(".as-Run")?.textContent;
    expect(name()).toBe("run a");
    for (const other of ["b", "c"]) {
      await all.peer.push("run", { run: haltedRun(other, "r1") });
      await all.draw();
      await drawn();
      const said = other === "b" ? "1 other run is halted" : "2 other runs are halted";
      expect(name()).toBe(`run a, ${said}`);
    }
    for (const other of ["b", "c"]) await all.peer.push("run", { run: endedRun(other) });
    await all.draw();
    await drawn();
    expect(name()).toBe("run a");
  });

  test("renames in place and deletes only after asking", async () => {
    const { peer, place } = await draw(await showing(endedRun("a"), rowsTo(1)));
    place.overlay.value = "runs";
    await dialog();
    await press("F2");
    const input = document.activeElement as HTMLInputElement;
    input.value = "better";
    peer.inbox.length = 0;
    await press("Enter");
    expect(peer.take("rename_run").body).toEqual({ run: "a", name: "better" });
    await press("Delete");
    expect(document.activeElement?.textContent).toBe("Keep");
    expect(peer.inbox).toEqual([]);
    button("Delete").click();
    expect(peer.take("delete_run").body).toEqual({ run: "a" });
  });
});

describe("a prompt's edit", () => {
  const prompt = () => pendingRow(1, { kind: "llm_query", side: "begin" });
  const sticky = () => box.querySelector<HTMLInputElement>(".as-Sticky input");

  async function edited(canStick: boolean) {
    const run = { ...haltedRun("a", "r1"), ...(canStick && { can_stick_edits: true }) };
    const all = await draw(await showing(run, [prompt()]));
    const body = aBody("r1", { data: '"hello"' });
    await all.peer.answer(all.peer.take("get_message"), "message", body);
    await focusRow("r1");
    await press("e");
    all.model.draft("r1").value = { text: '"good day"', revision: 1 };
    await vi.waitFor(() => expect(box.querySelector(".as-Edit")).not.toBeNull());
    await drawn();
    return all;
  }

  test("can be kept for later prompts, where the agent takes that", async () => {
    const { model } = await edited(true);
    sticky()?.click();
    await drawn();
    expect(model.draft("r1").value).toEqual({ text: '"good day"', revision: 1, sticky: true });
    sticky()?.click();
    await drawn();
    expect(model.draft("r1").value).toEqual({ text: '"good day"', revision: 1 });
  });

  test("can't where its agent doesn't", async () => {
    await edited(false);
    expect(sticky()).toBeNull();
  });
});
