import { describe, expect, test } from "vitest";
import {
  entriesOf,
  eventOf,
  filesOfEvents,
  shownAs,
  stepsOf,
  titleOf,
} from "../../src/model/commits";
import { aCommit, aFile, aSnapshot } from "../helpers/values";

const named = (id: string, seq: number) => ({ ...aCommit(id), seq });
const ids = (commits: readonly { id: string }[]) => commits.map(({ id }) => id);

describe("the list of commits", () => {
  test("snapshots stand beneath the named commit that follows them, open ones on their own", () => {
    const entries = entriesOf([
      named("first", 0),
      aSnapshot("s1", 2),
      aSnapshot("s2", 4),
      named("n1", 4),
      aSnapshot("s3", 6),
      aSnapshot("s4", 8),
    ]);
    expect(entries.map(({ commit, covers }) => [commit.id, ids(covers)])).toEqual([
      ["first", []],
      ["n1", ["s1", "s2"]],
      ["s3", []],
      ["s4", []],
    ]);
    expect(entries.map((entry) => ids(stepsOf(entry)))).toEqual([[], ["s1", "s2"], [], []]);
  });

  test("goes by seq, and by arrival where that is the same", () => {
    const entries = entriesOf([named("n2", 9), named("n1", 4), aSnapshot("s1", 4), named("n3", 9)]);
    expect(ids(entries.map(({ commit }) => commit))).toEqual(["n1", "n2", "n3"]);
    expect(ids(entries[1]?.covers ?? [])).toEqual(["s1"]);
  });

  test("a named commit and the only snapshot it covers are one", () => {
    const entries = entriesOf([aSnapshot("s1", 2, { event: "e1" }), named("n1", 2)]);
    const [only] = entries;
    expect(entries.length).toBe(1);
    expect(only && stepsOf(only)).toEqual([]);
    expect(only && eventOf(only)).toBe("e1");
    expect(shownAs(entries, "s1")?.id).toBe("n1");
  });

  test("a step of several is shown as itself, an unknown commit not at all", () => {
    const entries = entriesOf([aSnapshot("s1", 2), aSnapshot("s2", 4), named("n1", 4)]);
    expect(shownAs(entries, "s1")?.id).toBe("s1");
    expect(shownAs(entries, "n1")?.id).toBe("n1");
    expect(shownAs(entries, "gone")).toBeUndefined();
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
