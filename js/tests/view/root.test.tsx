import { describe, expect, test, vi } from "vitest";
import { aModel, showing } from "../helpers/debugger";
import { box, drawn, press, useBox, useLayout } from "../helpers/dom";
import { button, dialog, draw, focusRow, halted, state } from "../helpers/root_view";
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

  test("a crash shows its error, and the last event in a sentence of its own", async () => {
    const failure = { type: "KeyError", message: "'price'" };
    const last_event = "tool call x (row 2)";
    const run = { ...endedRun("a"), ending: "crashed" as const, failure, last_event };
    await draw(await showing(run, rowsTo(3)));
    expect(state()).toContain("Crashed");
    await vi.waitFor(() =>
      expect(box.querySelector(".as-Banner")?.textContent).toContain("KeyError: 'price'"),
    );
    expect(box.querySelector(".as-Banner-text .as-Small")?.textContent).toBe(
      "The agent’s own code raised this. All events before it are stored. Its last event: " +
        "tool call x (row 2).",
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
