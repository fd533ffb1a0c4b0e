/** The tab Forks: the tree, what a person does from it, and putting files back. */
import { render } from "preact";
import { expect, test } from "vitest";
import { Forks } from "../../src/forks";
import { depthsOf } from "../../src/forks/tree";
import type { ForkNode, ForkTree, RestoredFolder, Run } from "../../src/protocol/types.gen";
import { aModel } from "../helpers/debugger";
import { box, drawn, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { aSearch, endedRun, rowsTo } from "../helpers/values";

useBox();

const { button, click } = queriesOf(() => box, drawn);
const press = (name: string) => click(button(name));

const fork = (id: string, parent: string, row: number | null, more: Partial<Run> = {}): Run => ({
  ...endedRun(id),
  forked_from: { run: parent, is_live: false, ...(row !== null && { row }) },
  ...more,
});

const RUNS = [
  { ...endedRun("a"), name: "agent" },
  fork("b", "a", 3, { name: "first fork", usage: aUsage(0.25) }),
  fork("c", "b", 5, { name: "fork of the fork" }),
  fork("d", "a", null, { name: "replayed" }),
];

function aUsage(cost: number): Run["usage"] {
  return { input_tokens: 1, output_tokens: 1, cost, estimated: false };
}

const node = (run: Run, more: Partial<ForkNode> = {}): ForkNode => ({
  run,
  point: "",
  edit: "",
  outcome: "finished",
  reason: "",
  changed_files: 0,
  ...more,
});

const [A, B, C, D] = RUNS as [Run, Run, Run, Run];
const TREE: ForkTree = {
  nodes: [
    node(A),
    node(B, { point: "tool call look_up", edit: "word: “a” → “b”", changed_files: 2 }),
    node(C, { point: "LLM answer", outcome: "gave_up", reason: "It reached a limit" }),
    node(D, { outcome: "crashed" }),
  ],
  more: 0,
  restored: [],
};

const RESTORED: RestoredFolder = {
  folder: "/home/me/project",
  restore: "j1",
  run: "b",
  recorded_run: "a",
  row: 3,
  is_done: true,
};

/** The tab by itself, with a tree; the newest run is the shown one. */
async function shown(tree: ForkTree, control = true) {
  const all = aModel({ run: "b" });
  await all.peer.greet(RUNS, control);
  await all.opens(B, rowsTo(2));
  all.model.tab.value = "forks";
  render(<Forks model={all.model} />, box);
  await drawn();
  await all.peer.answer(all.peer.take("list_forks"), "forks", tree);
  await drawn();
  await all.peer.answer(all.peer.take("get_bisect"), "bisect", aSearch({ run: "b" }));
  await drawn();
  return all;
}

const items = () => [...box.querySelectorAll<HTMLElement>(".as-ForkNode")];
const item = (name: string) =>
  items().find((each) => each.querySelector(".as-ForkNode-name")?.textContent === name);

test("each run stands below its parent, with its place, edit, outcome, cost and files", async () => {
  await shown(TREE);
  const depths = items().map((each) => each.style.getPropertyValue("--as-depth"));
  expect(depths).toEqual(["0", "1", "2", "1"]);
  const first = item("first fork")?.textContent;
  for (const words of [
    "tool call look_up, row 3",
    "word: “a” → “b”",
    "Finished",
    "$0.25",
    "2 files changed",
  ])
    expect(first).toContain(words);
  expect(item("fork of the fork")?.textContent).toContain("Gave up");
  expect(item("replayed")?.textContent).toContain("replay");
  expect(item("replayed")?.textContent).toContain("Crashed");
  expect(item("replayed")?.textContent).toContain("no file changed");
  expect(items().map((each) => each.getAttribute("aria-current"))).toEqual([
    "false",
    "true",
    "false",
    "false",
  ]);
});

test("a name leads to the run's timeline", async () => {
  const { model, peer } = await shown(TREE);
  await press("fork of the fork");
  expect(model.tab.value).toBe("timeline");
  expect(peer.take("open_run").body).toEqual({ run: "c" });
});

test("a fork is compared with its parent; the root has none", async () => {
  const { model } = await shown(TREE);
  expect(() => button("Compare agent with its parent")).toThrow();
  await press("Compare fork of the fork with its parent");
  expect(model.compare.value).toEqual({ left: "b", right: "c" });
  expect(model.tab.value).toBe("runs");
});

test("what isn't here can't be compared", async () => {
  const orphan = fork("e", "gone", 2, { name: "orphan" });
  await shown({ ...TREE, nodes: [node(orphan)] });
  const compare = button("Compare orphan with its parent");
  expect(compare.getAttribute("aria-disabled")).toBe("true");
});

test("a run that is alone, and a tree with more runs, say so", async () => {
  await shown({ nodes: [node(A)], more: 0, restored: [] });
  expect(box.textContent).toContain("No other run was started from this one");
  render(null, box);
  await shown({ ...TREE, more: 12 });
  expect(box.textContent).toContain("and 12 more runs");
});

test("the tree is asked for again where a run of it ends", async () => {
  const { peer, draw } = await shown(TREE);
  await peer.push("run", { run: { ...C, ending: "crashed" } });
  await draw();
  await drawn();
  expect(peer.take("list_forks").body).toEqual({ run: "b" });
});

test("a tree that can't be read says why, and is asked for again", async () => {
  const all = aModel({ run: "b" });
  await all.peer.greet(RUNS);
  await all.opens(B, rowsTo(2));
  all.model.tab.value = "forks";
  render(<Forks model={all.model} />, box);
  await drawn();
  await all.peer.refuse(all.peer.take("list_forks"), "unknown_run", "It was deleted.");
  await drawn();
  expect(box.textContent).toContain("The forks could not be fetched");
  expect(box.textContent).toContain("It was deleted.");
});

test("files are put back once that is confirmed, and the report is shown", async () => {
  const { peer } = await shown({ ...TREE, restored: [RESTORED] });
  expect(box.textContent).toContain(
    "Files of row 3 of agent were restored in place in /home/me/project.",
  );
  await press("Put back…");
  expect(peer.inbox).toEqual([]);
  expect(box.textContent).toContain("The folder becomes what it was before the fork.");
  expect(document.activeElement?.textContent).toBe("Keep");
  await press("Put back");
  const sent = peer.take("put_back");
  expect(sent.body).toEqual({ run: "b", restore: "j1" });
  expect(button("Putting back…").getAttribute("aria-disabled")).toBe("true");
  await peer.answer(sent, "files_put_back", { report: "2 files written, in /home/me/project." });
  await drawn();
  await peer.answer(peer.take("list_forks"), "forks", TREE);
  await drawn();
  const report = box.querySelector("[role=status]")?.textContent;
  expect(report).toBe("Put back: 2 files written, in /home/me/project.");
  expect(box.textContent).not.toContain("were restored in place");
});

test("a refusal is told, and the files can be put back later", async () => {
  const { model, peer } = await shown({ ...TREE, restored: [{ ...RESTORED, is_done: false }] });
  expect(box.textContent).toContain("its files are of two states");
  await press("Put back…");
  await press("Keep");
  await press("Put back…");
  await press("Put back");
  await peer.refuse(peer.take("put_back"), "cannot_put_back", "Run b still works there.");
  await drawn();
  expect(model.problem.value).toEqual({
    code: "cannot_put_back",
    message: "Run b still works there.",
  });
  expect(button("Put back…").getAttribute("aria-disabled")).toBeNull();
});

test("who may only watch can't put files back", async () => {
  await shown({ ...TREE, restored: [RESTORED] }, false);
  expect(button("Put back…").title).toBe("This login may watch, not control");
});

test("deep trees go no further to the right, and a parent that isn't listed counts as none", () => {
  const chain = Array.from({ length: 12 }, (_, at) => node(fork(`n${at}`, `n${at - 1}`, 2)));
  const depths = [...depthsOf(chain).values()];
  expect(depths.slice(0, 3)).toEqual([0, 1, 2]);
  expect(Math.max(...depths)).toBe(6);
});

test("a lost link leaves what was begun in the tab, and the tree is asked for again", async () => {
  const { model, peer, opens } = await shown({ ...TREE, restored: [RESTORED] });
  const form = box.querySelector<HTMLInputElement>('input:not([type="checkbox"])');
  if (!form) throw new Error("there is no field");
  form.value = "half of a comm";
  form.dispatchEvent(new Event("input", { bubbles: true }));
  await press("Put back…");
  await peer.drop();
  await drawn();
  expect(box.querySelector("input")).toBe(form);
  expect(button("Keep")).toBeDefined();
  model.retry();
  await peer.greet(RUNS);
  await opens(B, rowsTo(2));
  await drawn();
  expect(peer.inbox.map(({ type }) => type)).toContain("list_forks");
  const asked = peer.inbox.find(({ type }) => type === "list_forks");
  if (asked) await peer.answer(asked, "forks", { ...TREE, more: 12, restored: [RESTORED] });
  await drawn();
  expect(box.textContent).toContain("and 12 more runs");
  expect([box.contains(form), form.value]).toEqual([true, "half of a comm"]);
  expect(button("Keep")).toBeDefined();
});
