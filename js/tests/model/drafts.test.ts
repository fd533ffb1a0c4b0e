/** What a person has written and not sent: where it stays, and when it goes. */
import { describe, expect, test } from "vitest";
import { browserStorage } from "../../src/model/storage";
import { aModel, showing } from "../helpers/debugger";
import { endedRun, haltedRun, pendingRow, rowsTo, testMemory } from "../helpers/values";

describe("drafts", () => {
  test("survive a reload, and the editor opens where it was left", async () => {
    const memory = testMemory();
    const run = haltedRun("a", "r1");
    const before = aModel({ memory });
    await before.peer.greet([run]);
    await before.opens(run, [pendingRow(1)]);
    before.model.draft("r1").value = { text: "[1.0]", revision: 2 };
    before.model.close();
    const after = aModel({ memory });
    await after.peer.greet([run]);
    await after.opens(run, [pendingRow(1)]);
    expect(after.model.draft("r1").value).toEqual({ text: "[1.0]", revision: 2 });
    expect(after.model.editing.value).toBe(true);
  });

  test("are the same in all views of a browser", async () => {
    const memory = testMemory();
    const run = haltedRun("a", "r1");
    const [one, other] = [aModel({ memory }), aModel({ memory })];
    for (const each of [one, other]) {
      await each.peer.greet([run]);
      await each.opens(run, [pendingRow(1)]);
    }
    one.model.draft("r1").value = { text: "[1.0]", revision: 2 };
    expect(other.model.draft("r1").value).toEqual({ text: "[1.0]", revision: 2 });
    expect(other.model.hasDraft.value).toBe(true);
    other.model.draft("r1").value = null;
    expect(one.model.draft("r1").value).toBeNull();
    one.model.close();
    other.model.draft("r1").value = { text: "[2]", revision: 2 };
    expect(one.model.draft("r1").value).toBeNull();
  });

  test("stay where the browser keeps nothing", async () => {
    const shut = browserStorage(() => {
      throw new DOMException("shut");
    });
    const { model, peer, opens } = aModel({ memory: { ...shut } as ReturnType<typeof testMemory> });
    await peer.greet([haltedRun("a", "r1")]);
    await opens(haltedRun("a", "r1"), [pendingRow(1)]);
    model.draft("r1").value = { text: "1", revision: 1 };
    expect(model.draft("r1").value).toEqual({ text: "1", revision: 1 });
  });

  test("are told by Continue where it sends them: not that of what asks for an approval", async () => {
    const run = { ...haltedRun("a", "r1"), pending: ["r1", "r2"] };
    const asking = { ...pendingRow(2), approval: true };
    const { model } = await showing(run, [pendingRow(1), asking]);
    model.draft("r2").value = { text: "1", revision: 1 };
    expect(model.resumesWithDrafts.value).toBe(false);
    model.draft("r1").value = { text: "1", revision: 1 };
    expect(model.resumesWithDrafts.value).toBe(true);
  });

  test("of another run with the same row id are its own", async () => {
    const { model, peer, opens } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
    model.draft("r1").value = { text: "1", revision: 1 };
    model.openRun("b");
    await opens(haltedRun("b", "r1"), [pendingRow(1)]);
    expect(model.draft("r1").value).toBeNull();
    peer.take("close_run");
  });

  test("go with their run, and when they are old", async () => {
    const old = JSON.stringify({ text: "1", revision: 1, at: 0 });
    const memory = testMemory(new Map([["draft:z:r1", old]]));
    const { model, peer, opens, draw } = aModel({ memory });
    expect(memory.kept.size).toBe(0);
    await peer.greet([endedRun("a")]);
    await opens(endedRun("a"), rowsTo(1));
    model.draft("r1").value = { text: "1", revision: 1 };
    expect(memory.kept.size).toBe(1);
    await peer.push("run_gone", { run: "a" });
    await draw();
    expect(memory.kept.size).toBe(0);
  });
});
