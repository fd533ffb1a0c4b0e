import { describe, expect, test } from "vitest";
import { aModel, showing } from "../helpers/debugger";
import { aCommit, aRow, aRun, aSnapshot, endedRun, rowsTo } from "../helpers/values";

const ids = (commits: readonly { id: string }[]) => commits.map(({ id }) => id).join(" ");
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
    expect(ids(model.listedCommits.value)).toBe("e f");
    expect([model.allCommits.value, model.commitCount.value]).toEqual([false, 7]);
    const more = model.moreCommits();
    void model.moreCommits(); // once is enough
    const asked = peer.take("get_commits");
    expect(asked.body).toEqual({ run: "a", before: null });
    const page = ["c", "d"].map((id) => aCommit(id, { seq: 700 }));
    const commits = [...page, aCommit("e", { seq: 900 }), aCommit("f", { seq: 950 })];
    await peer.answer(asked, "commits", { run: "a", commits, before: 3 });
    expect(await more).toBe(true);
    expect(ids(model.listedCommits.value)).toBe("c d e f");
    void model.moreCommits();
    const next = peer.take("get_commits");
    expect(next.body).toEqual({ run: "a", before: 3 });
    const first = [aCommit("a", { seq: 1 }), aCommit("b", { seq: 700 })];
    await peer.answer(next, "commits", { run: "a", commits: first, before: null });
    expect(ids(model.listedCommits.value)).toBe("a b c d e f");
    expect([model.allCommits.value, model.commitCount.value]).toEqual([true, 6]);
    expect(peer.inbox).toEqual([]);
  });

  test("beside rows further back aren't listed before those in between", async () => {
    const { model, peer } = await long();
    model.window.see({ seqs: [10], dense: true });
    const beside = aSnapshot("b", 10, { event: "e10", changes: [] });
    const page = { run: "a", rows: rowsTo(100), commits: [beside] };
    await peer.answer(peer.take("get_rows"), "rows", page);
    expect(ids(model.commits.value)).toBe("b e f");
    expect(ids(model.listedCommits.value)).toBe("e f");
  });

  test("that are pushed are the newest, and where none was here the first", async () => {
    const { model, peer, draw } = await long([]);
    expect(ids(model.listedCommits.value)).toBe("");
    await peer.push("commit", { run: "a", commit: aCommit("x", { seq: 1001 }) });
    await peer.push("row", { run: "a", row: aRow(1001) });
    await draw();
    expect(ids(model.listedCommits.value)).toBe("x");
    void model.moreCommits();
    const commits = [aCommit("w", { seq: 2 })];
    await peer.answer(peer.take("get_commits"), "commits", { run: "a", commits, before: null });
    expect(ids(model.listedCommits.value)).toBe("w x");
  });

  test("that can't be had leave those that are here", async () => {
    const { model, peer } = await long();
    const more = model.moreCommits();
    await peer.refuse(peer.take("get_commits"), "damaged", "hurt");
    expect([await more, ids(model.listedCommits.value)]).toEqual([false, "e f"]);
    expect(model.problem.value?.message).toBe("hurt");
  });
});
