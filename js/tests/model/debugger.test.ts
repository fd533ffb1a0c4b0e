import { describe, expect, test } from "vitest";
import { INTO, stepTarget } from "../../src/model/steps";
import { aModel, showing } from "../helpers/debugger";
import { settled } from "../helpers/peer";
import {
  aBody,
  aCommit,
  aRow,
  aRun,
  endedRun,
  haltedRun,
  opened,
  pendingRow,
  rowsTo,
} from "../helpers/values";

const seqs = (rows: readonly { seq: number }[]) => rows.map(({ seq }) => seq);

describe("which run is shown", () => {
  test("the newest, where none is named", async () => {
    const { model, peer, opens } = aModel();
    await peer.greet([endedRun("a"), aRun("b")]);
    await opens(aRun("b"), rowsTo(2), [aCommit("x")]);
    expect(model.run.value?.id).toBe("b");
    expect([model.rows.value.length, model.commits.value.length]).toEqual([2, 1]);
  });

  test("a named one that is there is never taken for one that isn't", async () => {
    const { model, peer, opens } = aModel({ run: "a" });
    const absent: boolean[] = [];
    model.isAbsent.subscribe((now) => absent.push(now));
    await peer.greet([aRun("a")]);
    await opens(aRun("a"));
    expect(absent).toEqual([false]);
  });

  test("a newer one as soon as it begins, but never away from one that lives", async () => {
    const { model, peer, opens, draw } = aModel();
    await peer.greet([aRun("a")]);
    await opens(aRun("a"));
    await peer.push("run", { run: aRun("b") });
    await draw();
    expect(model.run.value?.id).toBe("a");
    await peer.push("run", { run: endedRun("a") });
    await draw();
    await opens(aRun("b"));
    expect(model.run.value?.id).toBe("b");
    expect(peer.take("close_run").body).toEqual({ run: "a" });
  });

  test("the named one, as soon as it begins", async () => {
    const { model, peer, opens, draw } = aModel({ run: "b" });
    const absent: boolean[] = [];
    model.isAbsent.subscribe((now) => absent.push(now));
    await peer.greet([aRun("a")]);
    expect(model.run.value).toBeNull();
    expect(absent).toEqual([false, true]);
    await peer.push("run", { run: aRun("b") });
    await draw();
    await opens(aRun("b"));
    expect(model.run.value?.id).toBe("b");
  });

  test("the one that the person chose stays, whatever begins", async () => {
    const { model, peer, opens, draw } = aModel();
    await peer.greet([endedRun("a"), endedRun("b")]);
    await opens(endedRun("b"), rowsTo(3));
    model.openRun("a");
    expect(model.run.value?.id).toBe("b"); // until the other is here: nothing blinks
    await opens(endedRun("a"), rowsTo(1));
    expect(model.run.value?.id).toBe("a");
    peer.take("close_run");
    await peer.push("run", { run: aRun("c") });
    await draw();
    expect(peer.inbox).toEqual([]);
  });

  test("a run that begins after the named one ended, where it may go on", async () => {
    const { model, peer, opens, draw } = aModel({ run: "a", followsNewRuns: true });
    await peer.greet([aRun("a"), endedRun("z")]);
    await opens(aRun("a"));
    await peer.push("run", { run: aRun("b") });
    await draw();
    expect(model.run.value?.id).toBe("a"); // it still lives
    await peer.push("run", { run: endedRun("a") });
    await draw();
    expect(peer.inbox).toEqual([]); // nothing begins
    await peer.push("run", { run: aRun("c") });
    await draw();
    await opens(aRun("c"));
    expect(model.run.value?.id).toBe("c");
  });

  test("the choice made last wins", async () => {
    const { model, peer } = aModel();
    await peer.greet([endedRun("a"), endedRun("b")]);
    const first = peer.take("open_run");
    model.openRun("a");
    const second = peer.take("open_run");
    await peer.answer(second, "run_opened", opened(endedRun("a")));
    await peer.answer(first, "run_opened", opened(endedRun("b")));
    expect(model.run.value?.id).toBe("a");
  });

  test("another one, when it is deleted", async () => {
    const { model, peer, opens, draw } = aModel();
    await peer.greet([endedRun("a"), endedRun("b")]);
    await opens(endedRun("b"), rowsTo(3));
    await peer.push("run_gone", { run: "b" });
    await draw();
    await opens(endedRun("a"));
    expect(model.run.value?.id).toBe("a");
    expect(model.rows.value).toEqual([]);
  });
});

describe("pushes", () => {
  test("are seen together, at the next frame", async () => {
    const { model, peer, draw } = await showing(aRun("a"), rowsTo(1));
    await peer.push("row", { run: "a", row: pendingRow(2) });
    await peer.push("run", { run: haltedRun("a", "r2") });
    await peer.push("commit", { run: "a", commit: aCommit("x") });
    expect(model.rows.value.length).toBe(1);
    await draw();
    expect(seqs(model.rows.value)).toEqual([1, 2]);
    expect(model.run.value?.state).toBe("halted");
    expect(model.commits.value.length).toBe(1);
    expect(model.selectedRow.value).toBe("r2");
  });

  test("of other runs change no rows", async () => {
    const { model, peer, draw } = await showing(aRun("a"), rowsTo(1));
    await peer.push("row", { run: "b", row: aRow(7) });
    await draw();
    expect(seqs(model.rows.value)).toEqual([1]);
  });

  test("that are older than a snapshot don't undo it", async () => {
    const { model, peer, opens, draw } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
    await peer.push("row", { run: "a", row: pendingRow(1) });
    await peer.drop();
    model.retry();
    await peer.greet([aRun("a")]);
    await opens(aRun("a"), rowsTo(4));
    await draw();
    expect(seqs(model.rows.value)).toEqual([1, 2, 3, 4]);
    expect(model.rows.value[0]?.pending).toBe(false);
  });

  // A transport may bring many messages at once: as the kernel's does, which gathers them.
  test("that come at once with the run they are about come after it", async () => {
    const { model, peer, draw } = aModel();
    await peer.greet([aRun("a")]);
    const contents = opened(aRun("a"), { rows: rowsTo(1) });
    void peer.answer(peer.take("open_run"), "run_opened", contents);
    void peer.push("row", { run: "a", row: pendingRow(2) });
    void peer.push("commit", { run: "a", commit: aCommit("x") });
    await peer.push("run", { run: haltedRun("a", "r2") });
    await draw();
    expect(seqs(model.rows.value)).toEqual([1, 2]);
    expect(model.commits.value.length).toBe(1);
    expect(model.run.value?.state).toBe("halted");
    expect(model.target.value?.id).toBe("r2");
  });

  test("that come at once with the list of runs come after it", async () => {
    const { model, peer, draw } = aModel();
    void peer.greet([aRun("a"), aRun("b")]);
    await peer.push("run", { run: endedRun("a") });
    await draw();
    expect(model.runs.value.map(({ state }) => state)).toEqual(["idle", "step"]);
  });
});

describe("a lost connection", () => {
  test("leaves all to be read, and the snapshot brings the rest", async () => {
    const { model, peer, opens } = await showing(haltedRun("a", "r3"), [
      ...rowsTo(2),
      pendingRow(3),
    ]);
    model.select("r1");
    model.draft("r3").value = { text: "1", revision: 1 };
    await peer.drop();
    expect(model.control.value).toBe(false);
    expect(seqs(model.rows.value)).toEqual([1, 2, 3]);
    model.retry();
    await peer.greet([aRun("a")]);
    await opens(aRun("a"), rowsTo(5));
    expect(seqs(model.rows.value)).toEqual([1, 2, 3, 4, 5]);
    expect(model.selectedRow.value).toBe("r1");
    expect(model.draft("r3").value).not.toBeNull();
  });
});

describe("step", () => {
  test("answers the oldest that waits, by name and revision", async () => {
    const { model, peer } = await showing(haltedRun("a", "r1", "r2"), [
      pendingRow(1, { revision: 3 }),
      pendingRow(2),
    ]);
    void model.step();
    expect(peer.take("step").body).toEqual({
      run: "a",
      breakpoint: "r1",
      revision: 3,
      edit: null,
      target: stepTarget(INTO, false),
    });
  });

  test("answers the selected one, where that waits", async () => {
    const { model, peer } = await showing(haltedRun("a", "r1", "r2"), [
      pendingRow(1),
      pendingRow(2),
    ]);
    model.select("r2");
    void model.step();
    expect(peer.take("step").body).toMatchObject({ breakpoint: "r2" });
  });

  test("is sent once, however often the key is pressed", async () => {
    const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
    void model.step();
    const sent = peer.take("step");
    void model.step();
    await peer.answer(sent, "ok", {});
    void model.step();
    expect(peer.inbox).toEqual([]);
  });

  test("carries the draft with the revision it was begun at, and drops it when taken", async () => {
    const { model, peer, memory } = await showing(haltedRun("a", "r1"), [
      pendingRow(1, { revision: 5 }),
    ]);
    model.draft("r1").value = { text: '{"big": 12345678901234567890}', revision: 4 };
    expect(model.hasDraft.value).toBe(true);
    void model.step();
    const sent = peer.take("step");
    expect(sent.body).toMatchObject({ revision: 4, edit: '{"big": 12345678901234567890}' });
    await peer.answer(sent, "ok", {});
    expect(model.draft("r1").value).toBeNull();
    expect(memory.kept.size).toBe(0);
  });

  test("that is refused says why, keeps the draft and may be tried again", async () => {
    const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
    model.draft("r1").value = { text: "1", revision: 1 };
    void model.step();
    await peer.refuse(peer.take("step"), "stale", "another was faster");
    expect(model.problem.value).toEqual({ code: "stale", message: "another was faster" });
    expect(model.draft("r1").value).not.toBeNull();
    void model.step();
    await peer.answer(peer.take("step"), "ok", {});
    expect(model.problem.value).toBeNull();
  });

  test("never sends what isn't JSON, but shows it", async () => {
    const { model, peer } = await showing(haltedRun("a", "r2"), [aRow(1), pendingRow(2)]);
    model.draft("r2").value = { text: '{"a": }', revision: 1 };
    model.select("r1");
    await model.step();
    expect(peer.inbox).toEqual([]);
    expect(model.problem.value?.code).toBe("invalid_edit");
    expect([model.selectedRow.value, model.editing.value]).toEqual(["r2", true]);
  });

  test("does nothing for who may only watch", async () => {
    const { model, peer, opens } = aModel();
    await peer.greet([haltedRun("a", "r1")], false);
    await opens(haltedRun("a", "r1"), [pendingRow(1)]);
    await model.step();
    expect(peer.inbox).toEqual([]);
  });
});

test("continue sends every draft: the others' first, the target's with it", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1", "r2"), [pendingRow(1), pendingRow(2)]);
  model.draft("r1").value = { text: "1", revision: 1 };
  model.draft("r2").value = { text: "2", revision: 1 };
  void model.resume();
  const edit = peer.take("edit");
  expect(edit.body).toMatchObject({ breakpoint: "r2", edit: "2" });
  await peer.answer(edit, "ok", {});
  expect(peer.take("continue").body).toMatchObject({ breakpoint: "r1", edit: "1" });
});

test("a sticky draft goes before what answers its row, which then names the newer revision", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
  model.draft("r1").value = { text: "1", revision: 1, sticky: true };
  void model.step();
  const edit = peer.take("edit");
  expect(edit.body).toEqual({ run: "a", breakpoint: "r1", revision: 1, edit: "1", sticky: true });
  await peer.answer(edit, "ok", {});
  expect(peer.take("step").body).toEqual({
    run: "a",
    breakpoint: "r1",
    revision: 2,
    edit: null,
    target: stepTarget(INTO, false),
  });
});

test("continue goes also where nothing waits yet", async () => {
  const { model, peer } = await showing(aRun("a"), rowsTo(1));
  void model.resume();
  expect(peer.take("continue").body).toMatchObject({ run: "a", breakpoint: null, edit: null });
});

test("one's own step leads along, also with Follow off", async () => {
  const { model, peer, draw } = await showing(haltedRun("a", "r2"), [aRow(1), pendingRow(2)]);
  model.setFollow(false);
  model.select("r1");
  void model.step();
  await peer.answer(peer.take("step"), "ok", {});
  await peer.push("row", { run: "a", row: aRow(2) });
  await peer.push("row", { run: "a", row: pendingRow(3) });
  await peer.push("run", { run: haltedRun("a", "r3") });
  await draw();
  expect(model.selectedRow.value).toBe("r3");
});

test("another's step leads nobody away from what was picked with Follow off", async () => {
  const { model, peer, draw } = await showing(haltedRun("a", "r2"), [aRow(1), pendingRow(2)]);
  model.setFollow(false);
  model.select("r1");
  await peer.push("row", { run: "a", row: pendingRow(3) });
  await peer.push("run", { run: haltedRun("a", "r3") });
  await draw();
  expect(model.selectedRow.value).toBe("r1");
});

describe("contents", () => {
  test("are asked for once a revision", async () => {
    const { model, peer } = await showing(aRun("a"), rowsTo(1));
    const body = aBody("r1", { data: "1.0" });
    const both = [model.body(aRow(1)), model.body(aRow(1))];
    await peer.answer(peer.take("get_message"), "message", body);
    expect(await Promise.all(both)).toEqual([body, body]);
    expect(peer.inbox).toEqual([]);
    void model.body(aRow(1, { revision: 2 }));
    peer.take("get_message");
  });

  test("that failed to come are asked for again", async () => {
    const { model, peer } = await showing(aRun("a"), rowsTo(1));
    const failed = expect(model.change("c", "app.py")).rejects.toThrow("gone");
    await peer.refuse(peer.take("get_change"), "unknown_content", "gone");
    await failed;
    const change = model.change("c", "app.py");
    const answer = { run: "a", commit: "c", path: "app.py", body: null };
    await peer.answer(peer.take("get_change"), "change", answer);
    expect(await change).toBeNull();
  });
});

test("rename and delete name the run they mean", async () => {
  const { model, peer } = await showing(aRun("a"), []);
  void model.rename("better");
  expect(peer.take("rename_run").body).toEqual({ run: "a", name: "better" });
  void model.remove("b");
  expect(peer.take("delete_run").body).toEqual({ run: "b" });
  await settled();
});
