import { expect, test } from "vitest";
import { showing } from "../helpers/debugger";
import { aCommit, aNote, aRow, aRun, haltedRun, pendingRow, rowsTo } from "../helpers/values";

const noted = (...notes: Parameters<typeof aNote>[]) =>
  showing(
    aRun("a"),
    rowsTo(3),
    [],
    notes.map((each) => aNote(...each)),
  );

test("the notes of a run come with it, and change with pushes", async () => {
  const { model, peer, draw } = await noted(["r1", "one"], ["r2", "two"]);
  expect(model.notes.get("r1")).toMatchObject({ text: "one", at: 1000 });
  expect(model.notes.get("r3")).toBeNull();
  await peer.push("note", { note: aNote("r3", "three") });
  await peer.push("note", { note: aNote("r1", "") });
  await peer.push("note", { note: aNote("r2", "of another run", { run: "b" }) });
  await draw();
  const texts = ["r1", "r2", "r3"].map((row) => model.notes.get(row)?.text);
  expect(texts).toEqual([undefined, "two", "three"]);
});

test("what is written is shown at once, and as kept once the Core has it", async () => {
  const { model, peer } = await noted(["r1", "one"]);
  peer.inbox.length = 0;
  const written = model.notes.write("a", "r1", "  better \n");
  expect(model.notes.get("r1")).toEqual({ text: "better", at: null });
  const sent = peer.take("note");
  expect(sent.body).toEqual({ run: "a", message: "r1", text: "better" });
  await peer.answer(sent, "ok", {});
  await written;
  expect(model.notes.get("r1")).toMatchObject({ text: "better", at: expect.any(Number) });
});

test("a second text stays while the first is taken, and where the link is lost before its answer", async () => {
  const { model, peer } = await noted(["r1", "one"]);
  peer.inbox.length = 0;
  const first = model.notes.write("a", "r1", "two");
  const second = model.notes.write("a", "r1", "three");
  await peer.answer(peer.take("note"), "ok", {});
  await first;
  expect(model.notes.get("r1")).toEqual({ text: "three", at: null });
  await peer.drop();
  await second;
  expect(model.notes.get("r1")).toEqual({ text: "three", at: null });
});

test("a text that was written while a deletion is refused stays", async () => {
  const { model, peer } = await noted(["r1", "one"]);
  peer.inbox.length = 0;
  const deletion = model.notes.write("a", "r1", "");
  void model.notes.write("a", "r1", "two");
  await peer.refuse(peer.take("note"), "store_error");
  await deletion;
  expect(model.notes.get("r1")).toEqual({ text: "two", at: null });
});

test("a text that is taken back while another is on its way is sent, too", async () => {
  const { model, peer } = await noted(["r1", "one"]);
  peer.inbox.length = 0;
  void model.notes.write("a", "r1", "two");
  void model.notes.write("a", "r1", "one");
  await peer.answer(peer.take("note"), "ok", {});
  expect(model.notes.get("r1")).toEqual({ text: "one", at: null });
  expect(peer.take("note").body).toMatchObject({ text: "one" });
});

test("what is there already isn't sent", async () => {
  const { model, peer } = await noted(["r1", "one"]);
  peer.inbox.length = 0;
  await model.notes.write("a", "r1", " one ");
  await model.notes.write("a", "r2", "");
  expect(peer.inbox).toEqual([]);
  expect(model.notes.get("r2")).toBeNull();
});

test("nothing that is written is lost with the link, or with another run", async () => {
  const { model, peer, opens } = await noted(["r1", "one"]);
  peer.inbox.length = 0;
  const written = model.notes.write("a", "r1", "better");
  await peer.drop();
  await written;
  expect(model.notes.get("r1")).toEqual({ text: "better", at: null });
  model.retry();
  await peer.greet([aRun("a"), aRun("b")]);
  await opens(aRun("a"), rowsTo(3), [], [aNote("r1", "one")]);
  expect(model.notes.get("r1")?.text).toBe("better");
  void model.openRun("b");
  await opens(aRun("b"), rowsTo(3));
  expect(model.notes.get("r1")).toBeNull(); // another run's row of the same name
});

test("a note that couldn't be taken away is there again; a refusal says why", async () => {
  const { model, peer } = await noted(["r1", "one"]);
  peer.inbox.length = 0;
  const written = model.notes.write("a", "r1", "");
  expect(model.notes.get("r1")?.text).toBe("");
  await peer.refuse(peer.take("note"), "read_only");
  await written;
  expect(model.notes.get("r1")?.text).toBe("one");
  expect(model.problem.value?.code).toBe("read_only");
});

test("a halt doesn't take away from who writes; another row ends the writing", async () => {
  const { model, peer, draw } = await noted();
  model.select("r2");
  model.setFollow(true);
  model.notes.writing.value = "r2";
  model.select("r2");
  await peer.push("row", { run: "a", row: pendingRow(4) });
  await peer.push("run", { run: haltedRun("a", "r4") });
  await draw();
  expect([model.selectedRow.value, model.notes.writing.value]).toEqual(["r2", "r2"]);
  model.select("r1");
  expect(model.notes.writing.value).toBeNull();
});

test("a commit that a model put into a sentence changes where it stands", async () => {
  const { model, peer, draw } = await showing(aRun("a"), [aRow(1)], [aCommit("x"), aCommit("y")]);
  const commit = aCommit("x", { sentence: "It rounds once." });
  await peer.push("commit_changed", { run: "a", commit });
  await draw();
  expect(model.commits.value.map(({ id, sentence }) => [id, sentence])).toEqual([
    ["x", "It rounds once."],
    ["y", null],
  ]);
});
