/** The search for the event that decides: what is asked before, how far it is, what it found. */
import { render } from "preact";
import { expect, test } from "vitest";
import { DecidingEventSection } from "../../src/forks/deciding_event";
import type { BisectState, ForkTree } from "../../src/protocol/types.gen";
import { aModel } from "../helpers/debugger";
import { box, drawn, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { aSearch, endedRun, rowsTo } from "../helpers/values";

useBox();

const { all, button, click, pick, type } = queriesOf(() => box, drawn);
const press = (name: string) => click(button(name));

const RUNS = [
  { ...endedRun("other"), program: "another" },
  { ...endedRun("x"), name: "first" },
  { ...endedRun("y"), name: "second" },
  { ...endedRun("a"), name: "good" },
];
const TREE: ForkTree = { nodes: [], more: 0, restored: [] };
const QUESTION = aSearch({
  revision: 2,
  phase: "asking",
  check: "grep -q ok",
  repeat: 3,
  question: "It makes up to 12 LLM queries. Begin?",
  queries: 12,
});
const RUNNING = aSearch({
  ...QUESTION,
  revision: 3,
  phase: "running",
  question: "",
  probes: [
    { row: 9, votes: [true], runs: ["x"], queries: 0 },
    { row: 4, votes: [false, true], runs: ["y", "x"], queries: 5 },
  ],
  execution: "y",
});
const FOUND = aSearch({
  ...RUNNING,
  revision: 4,
  phase: "found",
  execution: null,
  message: "Row 4 decides.",
  row: 4,
});

/** The section by itself, whose search the Core says. */
async function shown(search: BisectState = aSearch(), control = true, run = RUNS[3]) {
  const made = aModel({ run: "a" });
  await made.peer.greet([...RUNS.slice(0, 3), run as (typeof RUNS)[0]], control);
  await made.opens(run as (typeof RUNS)[0], rowsTo(9));
  const draw = async (tree: ForkTree) => {
    render(<DecidingEventSection model={made.model} tree={tree} onChanged={() => {}} />, box);
    await drawn();
  };
  await draw(TREE);
  const says = async (state: BisectState) => {
    await made.peer.answer(made.peer.take("get_bisect"), "bisect", state);
    await drawn();
  };
  await says(search);
  return { ...made, says, redraw: draw };
}

const select = () => all("select")[0] as HTMLSelectElement;
const text = () => box.textContent ?? "";

test("the bad run is one of the same program, the newest first, or none", async () => {
  await shown();
  const [none, ...runs] = [...select().options].map(({ value }) => value);
  expect([none, ...runs]).toEqual(["", "y", "x"]);
});

test("the search asks before it begins, and is begun by a press", async () => {
  const { peer, says } = await shown();
  expect(button("Estimate…").title).toBe("Write a check");
  await type("input[type=text]", "grep -q ok");
  await pick(select(), "x");
  await press("Estimate…");
  const asked = peer.take("start_bisect");
  expect(asked.body).toEqual({ run: "a", bad: "x", check: "grep -q ok", repeat: 3 });
  await peer.answer(asked, "bisect", aSearch({ revision: 1, phase: "reading" }));
  await drawn();
  expect(text()).toContain("Reading the recording…");
  await says(QUESTION);
  expect(text()).toContain("It makes up to 12 LLM queries. Begin?");
  expect(text()).toContain("grep -q ok");
  const next = peer.take("get_bisect"); // which is answered once somebody does something
  expect(next.body).toEqual({ run: "a", seen: 2 });
  await press("Begin");
  const begun = peer.take("answer_bisect");
  expect(begun.body).toEqual({ run: "a", goes_on: true });
  await peer.answer(begun, "bisect", RUNNING);
  await drawn();
  expect(peer.take("get_bisect").body).toEqual({ run: "a", seen: 3 });
});

test("a view that comes later sees how far it is, and what was tried", async () => {
  const { model, peer } = await shown(RUNNING);
  expect(text()).toContain("served up to row 4: 3 of up to 3. 5 of at most 12 LLM queries");
  expect(() => button("Estimate…")).toThrow();
  const votes = all(".as-Bisect-vote").map((each) => each.getAttribute("aria-label"));
  expect(votes).toEqual(["Passed: show its run", "Failed: show its run", "Passed: show its run"]);
  peer.take("get_bisect");
  await press("Show its run");
  expect(peer.take("open_run").body).toEqual({ run: "y" });
  await press("row 9");
  expect(model.tab.value).toBe("timeline");
});

test("a search is cancelled, and says that it is being ended", async () => {
  const { peer } = await shown(RUNNING);
  peer.take("get_bisect");
  await press("Cancel the search");
  const sent = peer.take("cancel_bisect");
  expect(sent.body).toEqual({ run: "a" });
  await peer.answer(sent, "bisect", aSearch({ ...RUNNING, revision: 5, is_cancelling: true }));
  await drawn();
  expect(button("Cancelling…").getAttribute("aria-disabled")).toBe("true");
});

test("the result names the row and leads there", async () => {
  const { model } = await shown(FOUND);
  expect(box.querySelector("[role=status]")?.textContent).toBe("Row 4 decides. Go to row 4.");
  await press("row 4");
  expect(model.tab.value).toBe("timeline");
  expect(model.selectedRow.value).toBe(rowsTo(9)[3]?.id);
});

test("a failure and a refusal are told, and another search can be started", async () => {
  const { peer } = await shown(aSearch({ ...FOUND, phase: "failed", row: null, message: "No x" }));
  expect(box.querySelector("[role=alert]")?.textContent).toBe("No x");
  await type("input[type=text]", "true");
  await press("Estimate…");
  await peer.refuse(peer.take("start_bisect"), "cannot_bisect", "Use Python: f().");
  await drawn();
  const alerts = all("[role=alert]").map((each) => each.textContent);
  expect(alerts).toEqual(["No x", "Use Python: f()."]);
});

test("once the search has ended, it is asked for where runs have changed", async () => {
  const { peer, redraw, says } = await shown();
  await redraw({ ...TREE });
  expect(peer.inbox[0]?.body).toEqual({ run: "a" });
  await says(RUNNING); // somebody else has started one
  expect(text()).toContain("LLM queries were made");
});

test.each([
  [{ state: "running" }, true, "Wait until the run has ended"],
  [{}, false, "This login may watch, not control"],
] as const)("who can't search is told why: %o %o", async (fields, control, why) => {
  await shown(aSearch(), control, { ...RUNS[3], ...fields } as never);
  await type("input[type=text]", "true");
  expect(button("Estimate…").title).toBe(why);
});

test.each(["0", "26", "1.5", ""])("%o executions aren't possible", async (count) => {
  await shown();
  await type("input[type=text]", "true");
  await type("input[type=number]", count);
  expect(button("Estimate…").title).toBe("Write a number of executions from 1 to 25");
});
