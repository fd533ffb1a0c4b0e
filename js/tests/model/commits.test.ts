import { describe, expect, test } from "vitest";
import {
  displayedCommitOf,
  eventOf,
  filesOfEvents,
  groupCommits,
  snapshotsBelow,
  titleOf,
} from "../../src/model/commits";
import { aModel, showing } from "../helpers/debugger";
import { aCommit, aFile, aRow, aRun, aSnapshot, endedRun, rowsTo } from "../helpers/values";

const named = (id: string, seq: number) => ({ ...aCommit(id), seq });
const ids = (commits: readonly { id: string }[]) => commits.map(({ id }) => id);

describe("the list of commits", () => {
  test("snapshots stand beneath the named commit that follows them, open ones on their own", () => {
    const entries = groupCommits([
      named("first", 0),
      aSnapshot("s1", 2),
      aSnapshot("s2", 4),
      named("n1", 4),
      aSnapshot("s3", 6),
      aSnapshot("s4", 8),
    ]);
    expect(entries.map(({ commit, snapshots }) => [commit.id, ids(snapshots)])).toEqual([
      ["first", []],
      ["n1", ["s1", "s2"]],
      ["s3", []],
      ["s4", []],
    ]);
    expect(entries.map((entry) => ids(snapshotsBelow(entry)))).toEqual([[], ["s1", "s2"], [], []]);
  });

  test("goes by seq, and by arrival where that is the same", () => {
    const entries = groupCommits([
      named("n2", 9),
      named("n1", 4),
      aSnapshot("s1", 4),
      named("n3", 9),
    ]);
    expect(ids(entries.map(({ commit }) => commit))).toEqual(["n1", "n2", "n3"]);
    expect(ids(entries[1]?.snapshots ?? [])).toEqual(["s1"]);
  });

  test("a named commit and the only snapshot it covers are one", () => {
    const entries = groupCommits([aSnapshot("s1", 2, { event: "e1" }), named("n1", 2)]);
    const [only] = entries;
    expect(entries.length).toBe(1);
    expect(only && snapshotsBelow(only)).toEqual([]);
    expect(only && eventOf(only)).toBe("e1");
    expect(displayedCommitOf(entries, "s1")?.id).toBe("n1");
  });

  test("a step of several is shown as itself, an unknown commit not at all", () => {
    const entries = groupCommits([aSnapshot("s1", 2), aSnapshot("s2", 4), named("n1", 4)]);
    expect(displayedCommitOf(entries, "s1")?.id).toBe("s1");
    expect(displayedCommitOf(entries, "n1")?.id).toBe("n1");
    expect(displayedCommitOf(entries, "gone")).toBeUndefined();
    expect(entries[0] && eventOf(entries[0])).toBeNull();
  });
});

test("what an event changed is what its snapshots say, not what was named", () => {
  const files = filesOfEvents([
    aSnapshot("s1", 2, { event: "e1", changes: [aFile("a.py")] }),
    aSnapshot("s2", 3, { event: "e1", changes: [aFile("b.py")] }),
    aSnapshot("s3", 4, { event: "e2", changes: [] }),
    { ...named("n1", 4), event: "e3", changes: [aFile("c.py")] },
    aSnapshot("s4", 5, { event: null, changes: [aFile("d.py")] }),
  ]);
  expect([...files.keys()]).toEqual(["e1"]);
  expect(files.get("e1")?.map(({ commit, change }) => [commit, change.path])).toEqual([
    ["s1", "a.py"],
    ["s2", "b.py"],
  ]);
});

test("a model's sentence stands in place of a title made by rule, never of the agent's own", () => {
  const made = { title: "2 files", sentence: "It rounds once." };
  expect(titleOf(aCommit("x", { ...made, ruled: true }))).toBe("It rounds once.");
  expect(titleOf(aCommit("x", { ...made, ruled: false }))).toBe("2 files");
  expect(titleOf(aCommit("x", { title: "2 files", ruled: true }))).toBe("2 files");
});

// ---- commit pages

const idsOf = (commits: readonly { id: string }[]) => commits.map(({ id }) => id).join(" ");
const LONG = { ...endedRun("a"), rows: 1000, commits: 7 };

async function long(last = [aCommit("e", { seq: 900 }), aCommit("f", { seq: 950 })]) {
  const all = aModel();
  await all.peer.greet([LONG]);
  await all.opens(LONG, rowsTo(1000).slice(-200), last);
  return all;
}

describe("commits", () => {
  test("of a run that is all here are all", async () => {
    const { model, peer } = await showing(aRun("a"), rowsTo(3), [aCommit("x", { seq: 1 })]);
    expect([model.allCommits.value, model.commitCount.value]).toEqual([true, 1]);
    expect(await model.moreCommits()).toBe(false);
    expect(peer.inbox).toEqual([]);
  });

  test("of a long run come page by page, from the newest on", async () => {
    const { model, peer } = await long();
    expect(idsOf(model.listedCommits.value)).toBe("e f");
    expect([model.allCommits.value, model.commitCount.value]).toEqual([false, 7]);
    const more = model.moreCommits();
    void model.moreCommits(); // once is enough
    const asked = peer.take("get_commits");
    expect(asked.body).toEqual({ run: "a", before: null });
    const page = ["c", "d"].map((id) => aCommit(id, { seq: 700 }));
    const commits = [...page, aCommit("e", { seq: 900 }), aCommit("f", { seq: 950 })];
    await peer.answer(asked, "commits", { run: "a", commits, before: 3 });
    expect(await more).toBe(true);
    expect(idsOf(model.listedCommits.value)).toBe("c d e f");
    void model.moreCommits();
    const next = peer.take("get_commits");
    expect(next.body).toEqual({ run: "a", before: 3 });
    const first = [aCommit("a", { seq: 1 }), aCommit("b", { seq: 700 })];
    await peer.answer(next, "commits", { run: "a", commits: first, before: null });
    expect(idsOf(model.listedCommits.value)).toBe("a b c d e f");
    expect([model.allCommits.value, model.commitCount.value]).toEqual([true, 6]);
    expect(peer.inbox).toEqual([]);
  });

  test("beside rows further back aren't listed before those in between", async () => {
    const { model, peer } = await long();
    model.window.setVisible({ seqs: [10], dense: true });
    const beside = aSnapshot("b", 10, { event: "e10", changes: [] });
    const page = { run: "a", rows: rowsTo(100), commits: [beside] };
    await peer.answer(peer.take("get_rows"), "rows", page);
    expect(idsOf(model.commits.value)).toBe("b e f");
    expect(idsOf(model.listedCommits.value)).toBe("e f");
  });

  test("that are pushed are the newest, and where none was here the first", async () => {
    const { model, peer, draw } = await long([]);
    expect(idsOf(model.listedCommits.value)).toBe("");
    await peer.push("commit", { run: "a", commit: aCommit("x", { seq: 1001 }) });
    await peer.push("row", { run: "a", row: aRow(1001) });
    await draw();
    expect(idsOf(model.listedCommits.value)).toBe("x");
    void model.moreCommits();
    const commits = [aCommit("w", { seq: 2 })];
    await peer.answer(peer.take("get_commits"), "commits", { run: "a", commits, before: null });
    expect(idsOf(model.listedCommits.value)).toBe("w x");
  });

  test("that can't be had leave those that are here", async () => {
    const { model, peer } = await long();
    const more = model.moreCommits();
    await peer.refuse(peer.take("get_commits"), "damaged", "hurt");
    expect([await more, idsOf(model.listedCommits.value)]).toEqual([false, "e f"]);
    expect(model.problem.value?.message).toBe("hurt");
  });
});
