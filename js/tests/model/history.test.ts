import { describe, expect, test } from "vitest";
import { historyOf } from "../../src/model/history";
import type { SearchHit } from "../../src/protocol/types.gen";
import { aModel } from "../helpers/debugger";
import { settled } from "../helpers/peer";
import { aRun, endedRun, testMemory } from "../helpers/values";

const hit = (run: string): SearchHit => ({ run, place: "row", id: "r1", snippet: ["a ", "word"] });

async function begun(runs = [aRun("a"), endedRun("b"), endedRun("c")], memory = testMemory()) {
  const all = aModel({ memory });
  await all.peer.greet(runs);
  await all.opens(runs.at(-1) ?? aRun("a"));
  return { ...all, history: historyOf(all.model) };
}

describe("a search", () => {
  test("asks for the words, and shows what is found", async () => {
    const { history, peer } = await begun();
    void history.search("  two words ");
    const asked = peer.take("search");
    expect(asked.body).toEqual({ query: "two words", limit: 100 });
    expect(history.searchState.value).toMatchObject({ query: "two words", hits: null, busy: true });
    await peer.answer(asked, "found", { hits: [hit("b")], more: true });
    expect(history.searchState.value).toMatchObject({ hits: [hit("b")], more: true, busy: false });
  });

  test("whose answer comes after another was begun changes nothing", async () => {
    const { history, peer } = await begun();
    void history.search("first");
    void history.search("second");
    const [first, second] = [peer.take("search"), peer.take("search")];
    await peer.answer(second, "found", { hits: [hit("b")], more: false });
    await peer.answer(first, "found", { hits: [], more: false });
    expect(history.searchState.value).toMatchObject({ query: "second", hits: [hit("b")] });
  });

  test("that was ended stays ended", async () => {
    const { history, peer } = await begun();
    void history.search("word");
    void history.search(" ");
    await peer.answer(peer.take("search"), "found", { hits: [hit("b")], more: false });
    expect(history.searchState.value).toBeNull();
  });

  test("keeps what was found until the next answer, and says what was refused", async () => {
    const { history, peer } = await begun();
    void history.search("word");
    await peer.answer(peer.take("search"), "found", { hits: [hit("b")], more: false });
    void history.search("words");
    expect(history.searchState.value).toMatchObject({ hits: [hit("b")], busy: true });
    await peer.refuse(peer.take("search"), "malformed", "Close the quotes.");
    expect(history.searchState.value).toMatchObject({ hits: null, problem: "Close the quotes." });
  });
});

describe("the order", () => {
  test("is the newest first; the same column again turns it around; it is kept", async () => {
    const { history, memory } = await begun();
    expect(history.order.value).toEqual({ by: "started", down: true });
    history.sort("name");
    expect(history.order.value).toEqual({ by: "name", down: false });
    history.sort("name");
    expect(history.order.value).toEqual({ by: "name", down: true });
    history.sort("tokens");
    const { history: next } = await begun(undefined, memory);
    expect(next.order.value).toEqual({ by: "tokens", down: true });
  });

  test.each(["{", '{"by":"colour","down":true}', '{"by":"name"}', "3"])(
    "that is kept as %s is no order",
    async (kept) => {
      const { history } = await begun(undefined, testMemory(new Map([["runs:order", kept]])));
      expect(history.order.value).toEqual({ by: "started", down: true });
    },
  );
});

describe("what is chosen to be compared", () => {
  test("are two at most; a third takes the place of the first", async () => {
    const { history } = await begun();
    for (const run of ["a", "b", "c"]) history.choose(run);
    expect(history.chosen.value).toEqual(["b", "c"]);
    history.choose("b");
    expect(history.chosen.value).toEqual(["c"]);
  });

  test("goes with a run that is deleted", async () => {
    const { history, peer, draw } = await begun();
    history.choose("b");
    await peer.push("run_gone", { run: "b" });
    await draw();
    expect(history.chosen.value).toEqual([]);
  });
});

describe("files", () => {
  test("a run is exported in the format that was asked for", async () => {
    const { history, model, peer } = await begun();
    const run = model.runs.value[1] ?? aRun("b");
    const exported = history.exportRun(run, "archive");
    const asked = peer.take("export_run");
    expect(asked.body).toEqual({ run: "b", format: "archive" });
    expect(history.fileNotice.value?.tone).toBe("busy");
    await peer.answer(asked, "run_exported", { name: "b", data: "UEs=", format: "archive" });
    expect(await exported).toMatchObject({ data: "UEs=" });
    expect(history.fileNotice.value).toBeNull();
  });

  test("what can't be exported is told", async () => {
    const { history, peer } = await begun();
    const exported = history.exportRun(endedRun("b"), "run");
    await peer.refuse(peer.take("export_run"), "damaged_run", "Run the doctor.");
    expect(await exported).toBeNull();
    expect(history.fileNotice.value).toEqual({
      text: "“run b” isn’t exported: Run the doctor.",
      tone: "bad",
    });
  });

  test("an imported run is told, and the store asked how large it is now", async () => {
    const { history, model, peer } = await begun();
    const imported = history.importRun("old.run", async () => "eJw=");
    await settled();
    const asked = peer.take("import_run");
    expect(asked.body).toEqual({ data: "eJw=" });
    await peer.answer(asked, "run_imported", { run: endedRun("n") });
    expect(history.imported.value).toEqual({ run: "n" });
    expect(history.fileNotice.value).toEqual({ text: "Imported “run n”", tone: "good" });
    const store = { ...(model.store.value ?? {}), kind: "sqlite", size: 5 } as never;
    await peer.answer(peer.take("get_store"), "store", { store });
    await imported;
    expect(model.store.value?.size).toBe(5);
  });

  test("a file that isn't a run, can't be read or is too large is told", async () => {
    const { history, peer } = await begun();
    const told = async (read: () => Promise<string>) => {
      const imported = history.importRun("x", read);
      await settled();
      if (peer.inbox.length > 0) await peer.refuse(peer.take("import_run"), "bad", "It is no run.");
      await imported;
      return history.fileNotice.value;
    };
    expect(await told(async () => "hello")).toEqual({
      text: "x isn’t imported: It is no run.",
      tone: "bad",
    });
    expect((await told(async () => "x".repeat(64 * 1024 * 1024)))?.text).toContain("too large");
    const gone = () => Promise.reject(new DOMException("It was moved.", "NotFoundError"));
    expect((await told(gone))?.text).toBe("x isn’t imported: It was moved.");
  });
});

test("tags replace those there are; a refusal is given back", async () => {
  const { history, peer } = await begun();
  const taken = history.tag("b", ["keep"]);
  const asked = peer.take("tag_run");
  expect(asked.body).toEqual({ run: "b", tags: ["keep"] });
  await peer.answer(asked, "ok", {});
  expect(await taken).toBeNull();
  const refused = history.tag("b", ["x"]);
  await peer.refuse(peer.take("tag_run"), "not_allowed", "You may watch only.");
  expect(await refused).toBe("You may watch only.");
});

test("a Core that doesn't tell how it keeps runs is left alone", async () => {
  const { history, model, peer } = await begun();
  const before = model.store.value;
  const asked = history.requestStoreInfo();
  await peer.refuse(peer.take("get_store"), "unknown_command");
  await asked;
  expect(model.store.value).toBe(before);
});
