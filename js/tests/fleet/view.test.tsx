/** The view of all agents as a person and a screen reader find it. */
import { afterAll, expect, test, vi } from "vitest";
import { mountFleet } from "../../src/fleet/mount";
import { onOpenRun } from "../../src/shells/server";
import { drawn, press, useLayout } from "../helpers/dom";
import {
  aFailedAction,
  aFleetSession,
  aHaltedRun,
  FakeFleet,
  type FleetKept,
} from "../helpers/fleet";
import { queriesOf } from "../helpers/queries";

useLayout();

async function shown(kept: FleetKept = {}, options: Parameters<typeof mountFleet>[2] = {}) {
  const core = new FakeFleet(kept);
  const host = document.body.appendChild(document.createElement("div"));
  const leave = mountFleet(host, core, options);
  await drawn();
  const queries = queriesOf(host, drawn);
  const { all, one } = queries;
  const run = (id: string) => one(`[data-run="${id}"]`);
  const rows = () => all(".as-SessRow").map(({ dataset }) => dataset.session);
  return { core, host, leave, run, rows, ...queries };
}

const SEVERAL = [
  aFleetSession("a", { agent_id: "ant" }),
  aFleetSession("b", { agent_id: "bee", status: "halted" }),
  aFleetSession("c", {
    agent_id: "cat",
    status: "quarantined",
    moniker: "chat",
    last_error: "Step 3 was begun 3 times and never ended.",
    attempt: 3,
    losses: [
      { worker: "w-1", at: 1_700_000_000, ending: "was killed by signal 9", is_shared: false },
      { worker: "w-2", at: 1_700_000_009, ending: null, is_shared: true },
    ],
  }),
];
const HALTED = [
  aHaltedRun("one", { agent_id: "bee", session_id: "b" }),
  aHaltedRun("two", { name: "Run #2 of fix-tests", is_approval: true }),
  aHaltedRun("three"),
];

const opened: string[] = [];
afterAll(onOpenRun((run) => opened.push(run)));

test("a session that is paused after its step says so, unless it halted", async () => {
  const sessions = [
    aFleetSession("a", { is_pausing: true }),
    aFleetSession("b", { is_pausing: true, status: "halted" }),
  ];
  const { all } = await shown({ sessions });
  expect(all(".as-SessRow .as-SessState").map(({ textContent }) => textContent)).toEqual([
    "Pausing",
    "Halted",
  ]);
});

test("it says who waits, how many stand how, and what all of them cost", async () => {
  const { one, all } = await shown({ sessions: SEVERAL, halted: HALTED });
  expect(one(".as-State").textContent).toBe("3 runs wait for you3 sessions");
  expect(all(".as-FleetCount").map(({ textContent }) => textContent)).toEqual([
    "1 Halted",
    "1 Quarantined",
    "1 Running",
  ]);
  expect(one(".as-Figures").textContent).toBe("1,240 steps/min8.5M tokens · $12.304 workers");
});

test("one click leads from the inbox to the debugger, and so does Enter", async () => {
  opened.length = 0;
  const { run, click } = await shown({ halted: HALTED }, { pageUrl: () => "#" });
  expect(run("one").textContent).toContain("bee");
  expect(run("one").textContent).toContain("tool call run_tests (row 12)");
  expect(run("two").textContent).toContain("Run #2 of fix-testsApproval");
  await click(run("one"));
  run("one").focus();
  await press("ArrowDown");
  await press("Enter");
  expect(opened).toEqual(["one", "two"]);
});

test("where no page shows a run, the command does", async () => {
  const { run, click, host } = await shown(
    { halted: HALTED },
    { command: (id) => `agentstepper step --run ${id}` },
  );
  await click(run("one"));
  expect(host.querySelector(".as-SessNews")?.textContent).toContain("agentstepper step --run one");
});

test("all but the chosen ones go on; approvals stay", async () => {
  const { core, run, button, click, one, all } = await shown({ halted: HALTED });
  run("three").focus();
  await press(" ");
  expect(run("three").getAttribute("aria-selected")).toBe("true");
  await click(button("Continue all but 1"));
  expect(core.done).toEqual([["continue_runs", { halted_until: core.at, but: ["three"] }]]);
  await vi.waitFor(() => expect(all("[data-run]")).toHaveLength(2));
  expect(one(".as-SessNews").textContent).toContain("1 run goes on. 1 run waits for an approval.");
  run("three").focus();
  await press("Escape");
  await click(button("Continue all"));
  expect(core.done.at(-1)).toEqual(["continue_runs", { halted_until: core.at }]);
});

test("halt all is sent once, and can't be where nothing continues", async () => {
  const { core, button, click } = await shown({ sessions: SEVERAL, going: 5 });
  await click(button("Halt all"));
  expect(core.done).toEqual([["halt_runs", {}]]);
  core.going = 0;
  const other = await shown({ sessions: SEVERAL, going: 0 });
  expect(other.button("Halt all").getAttribute("aria-disabled")).toBe("true");
});

test("who may only watch is told why nothing can be pressed", async () => {
  const { button, run, click, core } = await shown({ halted: HALTED, control: false });
  expect(button("Continue all").title).toContain("watch");
  await click(button("Continue all"));
  await click(button("Halt all"));
  expect(core.done).toEqual([]);
  expect(run("one")).toBeTruthy();
});

test("a state, a moniker and a text narrow the list", async () => {
  const { all, rows, click, pick, type } = await shown({ sessions: SEVERAL });
  const [halted] = all(".as-FleetCount");
  await click(halted as HTMLElement);
  await vi.waitFor(() => expect(rows()).toEqual(["b"]));
  expect(all(".as-FleetCount")[0]?.getAttribute("aria-pressed")).toBe("true");
  await click(all(".as-FleetCount")[0] as HTMLElement);
  const selects = all(".as-SessBar select");
  await pick(selects[1] as HTMLElement, "chat");
  await vi.waitFor(() => expect(rows()).toEqual(["c"]));
  await pick(selects[1] as HTMLElement, "");
  await type(".as-SessSearch", "BEE");
  await vi.waitFor(() => expect(rows()).toEqual(["b"]));
  await type(".as-SessSearch", "nobody");
  await vi.waitFor(() =>
    expect(document.body.textContent).toContain("No session matches the filter"),
  );
});

test("a session's story names each worker that its step ended; retry is one click", async () => {
  const { core, one, click, button, host } = await shown({ sessions: SEVERAL });
  await click(one('[data-session="c"]'));
  const story = one(".as-FleetStory");
  expect(story.textContent).toContain("never ended");
  expect(story.textContent).toContain("w-1 was killed by signal 9");
  expect(story.textContent).toContain("w-2 was lost: nothing is known of its end");
  await click(button("Retry"));
  expect(core.done).toEqual([["retry", { session_id: "c" }]]);
  await click(one('[data-session="a"]'));
  expect(button("Retry").getAttribute("aria-disabled")).toBe("true");
  one('[data-session="a"]').focus();
  await press("Escape");
  expect(host.querySelector(".as-FleetStory")).toBeNull();
});

test("o opens the session from its story, and Esc closes it and leads back to the list", async () => {
  opened.length = 0;
  const { host, one, click, button } = await shown({ sessions: SEVERAL }, { pageUrl: () => "#" });
  await click(one('[data-session="c"]'));
  one(".as-FleetStory-body").focus();
  await press("o", { ctrlKey: true });
  expect(opened).toEqual([]);
  await press("o");
  expect(opened).toEqual(["run-c"]);
  await press("Escape");
  expect(host.querySelector(".as-FleetStory")).toBeNull();
  expect(document.activeElement).toBe(one('[data-session="c"]'));
  await click(one('[data-session="a"]'));
  await click(button("Close"));
  expect(document.activeElement).toBe(one('[data-session="a"]'));
});

test("errors that are alike are one line; a click lists their sessions", async () => {
  const failed = [1, 2].map((at) =>
    aFleetSession(`f${at}`, { status: "error", last_error: `Boom ${at}` }),
  );
  const { one, rows, click, button } = await shown({ sessions: [...SEVERAL, ...failed] });
  await click(button("Errors"));
  const [message] = [one(".as-FleetError-message")];
  expect(message.textContent).toBe("2Boom 1");
  await click(message);
  await vi.waitFor(() => expect(rows()).toEqual(["f1", "f2"]));
  expect(message.getAttribute("aria-pressed")).toBe("true");
  await click(button("One error"));
  await vi.waitFor(() => expect(rows()).toHaveLength(5));
});

test("dead letters are listed, retried and discarded, one or all", async () => {
  const actions = [aFailedAction("x"), aFailedAction("y", { agent_id: "bee" }), aFailedAction("z")];
  const { core, one, all, click, button } = await shown({ sessions: SEVERAL, actions });
  await click(button("Errors"));
  const groups = all(".as-FleetError");
  expect(groups).toHaveLength(2);
  await click(one('[aria-label="Errors of actions"] .as-FleetError-message'));
  await vi.waitFor(() => expect(all(".as-FleetAction")).toHaveLength(3));
  await click(button("Discard Input of bee"));
  expect(core.done).toEqual([["discard_action", { id: "y" }]]);
  await vi.waitFor(() => expect(all(".as-FleetAction")).toHaveLength(2));
  await click(button("Retry all 2 actions"));
  await vi.waitFor(() =>
    expect(core.done.slice(1).map(([method]) => method)).toEqual(["retry_action", "retry_action"]),
  );
  await vi.waitFor(() => expect(all(".as-FleetAction")).toHaveLength(0));
});

test("what agents say is text, with what hides made visible", async () => {
  const hostile = "<img src=x onerror=alert(1)> \u202etxt";
  const { host, button, click } = await shown({
    sessions: [
      aFleetSession("a", { agent_id: hostile, moniker: hostile, words: hostile }),
      aFleetSession("b", { status: "error", last_error: hostile }),
    ],
    halted: [aHaltedRun("r", { name: hostile, where: hostile, summary: hostile })],
    actions: [aFailedAction("x", { error: hostile, agent_id: hostile })],
  });
  await click(button("Errors"));
  await click(host.querySelectorAll<HTMLElement>(".as-FleetError-message")[1] as HTMLElement);
  await click(host.querySelector<HTMLElement>('[data-session="b"]') as HTMLElement);
  expect(host.querySelector("img")).toBeNull();
  expect(host.textContent).toContain("<img src=x onerror=alert(1)> ⟨U+202E⟩txt");
  expect(host.textContent).not.toContain("\u202e");
});

test("of ten thousand sessions and all halted runs only those in sight are in the document", async () => {
  const sessions = Array.from({ length: 10_000 }, (_, at) => aFleetSession(`s${at}`));
  const halted = Array.from({ length: 500 }, (_, at) => aHaltedRun(`r${at}`));
  const { all, one, rows, host } = await shown({ sessions, halted });
  expect(all('[role="row"]').length).toBeLessThan(120);
  const grid = one('[aria-label="Sessions"][role="grid"]');
  expect(grid.getAttribute("aria-rowcount")).toBe("10001");
  expect(host.textContent).toContain("The 200 that wait longest are listed; 300 runs more wait.");
  (all('.as-SessRow[tabindex="0"]')[0] as HTMLElement).focus();
  await press("End");
  await vi.waitFor(() => expect(rows()).toContain("s9999"));
  expect((document.activeElement as HTMLElement).dataset.session).toBe("s9999");
  expect(all('[role="row"]').length).toBeLessThan(130);
});

test("without an agent it says how to make one; without a Core, what to do", async () => {
  const none = await shown();
  expect(none.host.textContent).toContain("No background agent yet");
  none.leave();
  const refused = await shown({ link: "refused" });
  await vi.waitFor(() => expect(refused.host.textContent).toContain("Log in to Jupyter"));
});

test("a count that changes moves no row and takes no focus", async () => {
  const { core, one, run } = await shown({ sessions: SEVERAL, halted: HALTED });
  run("two").focus();
  const before = run("two");
  core.sessions = core.sessions.map((each) => ({ ...each, iteration: each.iteration + 1 }));
  core.halted = [...core.halted, aHaltedRun("four")];
  await vi.waitFor(() => expect(one(".as-State").textContent).toContain("4 runs wait"), 3000);
  expect(run("two")).toBe(before);
  expect(document.activeElement).toBe(before);
});
