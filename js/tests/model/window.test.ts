import { describe, expect, test } from "vitest";
import type { Run, TimelineRow } from "../../src/protocol/types.gen";
import { aModel } from "../helpers/debugger";
import { settled } from "../helpers/peer";
import { aCommit, aRow, aRun, endedRun, haltedRun, opened, rowsTo } from "../helpers/values";

const ALL = rowsTo(1000);
const long = (fields: Partial<Run> = {}) => ({ ...endedRun("a"), rows: 1000, ...fields });
const range = (first: number, last: number): number[] =>
  Array.from({ length: last - first + 1 }, (_, at) => first + at);

/** A model that shows a long run's last rows. */
async function opening(run = long(), last = ALL.slice(-150)) {
  const all = aModel();
  await all.peer.greet([run]);
  await all.opens(run, last);
  const { model, peer } = all;
  const see = async (first: number, to: number, dense = true) => {
    model.window.setVisible({ seqs: range(first, to), dense });
    await settled();
  };
  /** Answer the next `get_rows` from what the run holds. */
  const answer = async (rows: readonly TimelineRow[] = ALL, most = 500) => {
    const asked = peer.take("get_rows");
    const { first = 1, last = 200 } = asked.body;
    const page = rows.filter(({ seq }) => seq >= first && seq <= last).slice(0, most);
    await peer.answer(asked, "rows", { run: run.id, rows: page, commits: [] });
    return asked.body;
  };
  return { ...all, see, answer };
}

describe("pages", () => {
  test("are asked for when they come into sight, once each", async () => {
    const { model, peer, see, answer } = await opening();
    expect([model.window.rows.value.length, model.rows.value.length]).toEqual([1000, 150]);
    await see(960, 1000);
    expect(peer.inbox).toEqual([]);
    await see(430, 470);
    await see(431, 471);
    expect(await answer()).toMatchObject({ run: "a", first: 400, last: 500 });
    expect(peer.inbox).toEqual([]);
    expect(model.window.rows.value.at(437)?.id).toBe("r437");
  });

  test("of which a part is here are asked for the rest", async () => {
    const { answer, see } = await opening();
    await see(840, 860);
    expect(await answer()).toMatchObject({ first: 800, last: 850 });
  });

  test("that a filter leaves a few rows of are asked for these", async () => {
    const { model, answer } = await opening();
    model.window.setVisible({ seqs: [10, 12, 300, 990], dense: false });
    expect([await answer(), await answer()]).toEqual([
      { run: "a", first: 9, last: 12 },
      { run: "a", first: 299, last: 300 },
    ]);
  });

  test("are few at once: who drags the scrollbar gets what is in sight then", async () => {
    const { peer, see, answer } = await opening();
    for (const first of [1, 101, 201, 301, 401]) await see(first, first + 30);
    expect(peer.inbox).toHaveLength(3);
    await answer();
    expect(peer.inbox.at(-1)?.body).toMatchObject({ first: 400, last: 500 });
    await answer();
    await answer();
    await answer();
    expect(peer.inbox).toEqual([]);
  });

  test("that come in parts are asked for until they are whole", async () => {
    const { model, see, answer, peer } = await opening();
    await see(110, 190);
    await answer(ALL, 40);
    expect(await answer()).toMatchObject({ first: 139, last: 200 });
    expect(peer.inbox).toEqual([]);
    expect(model.window.rows.value.at(190)).not.toBeNull();
  });

  test("that came twice are asked for again once they were let go", async () => {
    const rows = rowsTo(10_000);
    const { model, peer, see, answer } = await opening(long({ rows: 10_000 }), rows.slice(-150));
    model.reveal("r370");
    const around = peer.take("get_rows");
    const page = { run: "a", rows: rows.slice(320, 420), commits: [] };
    await peer.answer(around, "rows", page);
    await see(430, 460);
    model.reveal(450); // all of the page, of which a part is on its way
    expect([(await answer(rows)).first, (await answer(rows)).first]).toEqual([420, 400]);
    model.select("r10000");
    for (let first = 1001; first < 9000; first += 100) {
      await see(first, first + 30);
      await answer(rows);
    }
    expect(model.window.rows.value.at(450)).toBeNull();
    await see(430, 460);
    expect(peer.take("get_rows").body).toMatchObject({ first: 400, last: 500 });
  });

  test("that don't come aren't asked for again and again", async () => {
    const { peer, see, answer } = await opening();
    await see(1, 30);
    await answer([]);
    await see(2, 31);
    expect(peer.inbox).toEqual([]);
    await see(101, 130);
    await peer.refuse(peer.take("get_rows"), "damaged");
    await see(102, 131);
    expect(peer.inbox).toEqual([]);
  });

  test("of a run that isn't shown any more are dropped", async () => {
    const { model, peer, opens, see } = await opening();
    await see(1, 30);
    const asked = peer.take("get_rows");
    void model.openRun("b");
    await opens(aRun("b"), rowsTo(2));
    peer.take("close_run");
    await peer.answer(asked, "rows", { run: "a", rows: ALL.slice(0, 100), commits: [] });
    expect(model.rows.value.map(({ seq }) => seq)).toEqual([1, 2]);
  });

  test("bring the commits that stand beside them", async () => {
    const { model, peer, see } = await opening();
    const file = aCommit("x", { snapshot: true, seq: 20, event: "e20" });
    await see(1, 30);
    await peer.answer(peer.take("get_rows"), "rows", {
      run: "a",
      rows: ALL.slice(0, 100),
      commits: [file],
    });
    expect(model.commits.value).toEqual([file]);
    expect(model.listedCommits.value).toEqual([]); // there may be others in between
  });

  test("are let go when they are many; what is selected, waits or is in sight stays", async () => {
    const run = { ...haltedRun("a", "r5"), rows: 10_000 };
    const rows = rowsTo(10_000);
    const { model, peer, see, answer } = await opening(run, rows.slice(-150));
    const pending = peer.take("get_rows");
    expect(pending.body).toMatchObject({ around: "r5" });
    await peer.answer(pending, "rows", { run: "a", rows: rows.slice(0, 100), commits: [] });
    model.setFollow(false);
    await see(301, 330);
    await answer(rows);
    model.select("r310");
    for (let first = 1001; first < 9000; first += 100) {
      await see(first, first + 30);
      await answer(rows);
    }
    const here = model.window.rows.value;
    expect(here.pages.length).toBeLessThanOrEqual(44);
    for (const seq of [5, 310, 8930, 10_000]) expect(here.at(seq)?.seq).toBe(seq);
    expect(here.at(1001)).toBeNull();
    expect(model.pending.value.map(({ seq }) => seq)).toEqual([5]);
  });
});

describe("a live run's end", () => {
  test("grows by what is pushed; what is skipped is asked for when it is seen", async () => {
    const { model, peer, draw, see } = await opening(aRun("a", { rows: 1000 }));
    await see(970, 1000);
    for (const seq of range(1301, 1400)) await peer.push("row", { run: "a", row: aRow(seq) });
    await peer.push("run", { run: aRun("a", { rows: 1400 }) });
    await draw();
    expect(model.window.rows.value.length).toBe(1400);
    await see(1390, 1400);
    expect(peer.inbox).toEqual([]);
    await see(1290, 1310);
    expect(peer.take("get_rows").body).toMatchObject({ first: 1200, last: 1300 });
  });

  test("what was pushed since a page was asked for is newer than the page", async () => {
    const { model, peer, see } = await opening(aRun("a", { rows: 1000 }));
    await see(1, 30);
    const asked = peer.take("get_rows");
    await peer.push("row", { run: "a", row: aRow(7, { edited: true }) });
    await peer.answer(asked, "rows", { run: "a", rows: ALL.slice(0, 100), commits: [] });
    expect(model.window.rows.value.at(7)?.edited).toBe(true);
    expect(model.window.rows.value.at(8)?.edited).toBe(false);
  });
});

describe("after a lost link", () => {
  test("what is here stays to be read, and is asked for anew where it is seen", async () => {
    const { model, peer, see, answer } = await opening();
    await see(401, 430);
    await answer();
    model.select("r410");
    await peer.drop();
    model.retry();
    await peer.greet([long({ rows: 1001 })]);
    const last = [...ALL.slice(-100), aRow(1001)];
    await peer.answer(
      peer.take("open_run"),
      "run_opened",
      opened(long({ rows: 1001 }), { rows: last }),
    );
    expect(model.selectedRow.value).toBe("r410");
    expect(model.window.rows.value.at(410)?.edited).toBe(false);
    const newer = ALL.map((row) => ({ ...row, edited: row.seq === 410 }));
    expect(await answer(newer)).toMatchObject({ first: 400, last: 500 });
    expect(model.window.rows.value.at(410)?.edited).toBe(true);
    expect(peer.inbox).toEqual([]);
  });

  test("nothing is asked for while there is none", async () => {
    const { peer, see } = await opening();
    await peer.drop();
    await see(1, 30);
    await see(2, 31);
    expect(peer.inbox).toEqual([]);
  });
});

describe("going to a row that isn't here", () => {
  test("brings what is around it, by id or number", async () => {
    const { model, peer, answer } = await opening();
    model.reveal("r300");
    const asked = peer.take("get_rows");
    expect(asked.body).toMatchObject({ run: "a", around: "r300" });
    await peer.answer(asked, "rows", { run: "a", rows: ALL.slice(250, 350), commits: [] });
    expect([model.selectedRow.value, model.revealedRow.value]).toEqual(["r300", { row: "r300" }]);
    model.reveal(70);
    expect(model.selectedRow.value).toBe("r300");
    await answer();
    expect([model.selectedRow.value, model.revealedRow.value]).toEqual(["r70", { row: "r70" }]);
  });

  test("is quiet about one that waits and will be pushed", async () => {
    const { model, peer, draw } = await opening(haltedRun("a", "new"), ALL.slice(-150));
    await peer.refuse(peer.take("get_rows"), "unknown_content", "no such row");
    expect([model.problem.value, model.target.value]).toEqual([null, null]);
    await peer.push("row", { run: "a", row: aRow(1001, { id: "new", pending: true }) });
    await draw();
    expect([model.target.value?.seq, model.selectedRow.value]).toEqual([1001, "new"]);
    expect(peer.inbox).toEqual([]);
  });

  test("happens by Step where what waits isn't here, and tells where it can't be had", async () => {
    const { model, peer } = await opening({ ...haltedRun("a", "r5"), rows: 1000 });
    await peer.refuse(peer.take("get_rows"), "damaged", "It is hurt");
    expect(model.problem.value).toBeNull();
    void model.step();
    await peer.refuse(peer.take("get_rows"), "damaged", "It is hurt");
    expect(model.problem.value?.message).toBe("It is hurt");
    void model.step();
    const page = { run: "a", rows: [aRow(5, { pending: true })], commits: [] };
    await peer.answer(peer.take("get_rows"), "rows", page);
    expect([model.target.value?.id, peer.inbox]).toEqual(["r5", []]);
  });

  test("gives way to what is wanted since", async () => {
    const { model, answer } = await opening();
    model.reveal(70);
    model.select("r999");
    await answer();
    expect(model.selectedRow.value).toBe("r999");
  });

  test("that the run doesn't have changes nothing", async () => {
    const { model, peer } = await opening();
    model.reveal("nowhere");
    await peer.refuse(peer.take("get_rows"), "unknown_content", "no such row");
    expect(model.selectedRow.value).toBe("r1000");
    expect(model.problem.value?.message).toBe("no such row");
  });
});

test("the rows before one are looked for a few pages back", async () => {
  const { model, peer, answer } = await opening();
  const row = ALL[860] as TimelineRow;
  const found = model.rowsBefore(row, (rows) => rows.some(({ seq }) => seq === 760));
  expect(await answer()).toMatchObject({ first: 750, last: 850 });
  expect((await found).map(({ seq }) => seq)).toEqual(range(750, 860));
  const none = model.rowsBefore(row, () => false);
  await answer();
  await answer();
  expect((await none)[0]?.seq).toBe(548);
  expect(peer.inbox).toEqual([]);
});
