import { describe, expect, test } from "vitest";
import { commitLines } from "../../src/changes/commits";
import {
  type Entry,
  type FileChange,
  fileTree,
  firstFile,
  totals,
  treeLines,
} from "../../src/changes/tree";
import type { Commit, TimelineRow } from "../../src/model/model";
import { nextItemIndex } from "../../src/view/focus";

const change = (path: string, more: Partial<FileChange> = {}): FileChange => ({
  path,
  kind: "changed",
  previous_path: null,
  added: 0,
  removed: 0,
  binary: false,
  size: null,
  digest: null,
  body: null,
  ...more,
});
const drawn = (entries: readonly Entry[], folded: string[] = []) =>
  treeLines(entries, new Set(folded)).map(
    (line) =>
      `${"  ".repeat(line.level - 1)}${line.open === undefined ? "" : line.open ? "v " : "> "}${line.entry.name}`,
  );

describe("the tree of files", () => {
  const entries = fileTree(
    [
      "tests/test_b.py",
      "src/cart.py",
      "README.md",
      "src/pkg/deep/a10.py",
      "src/pkg/deep/a9.py",
      "docs/x/y/z.md",
    ].map((path) => change(path)),
  );

  test("folders first, by name; a chain of folders is one line", () => {
    expect(drawn(entries)).toEqual([
      "v docs/x/y",
      "  z.md",
      "v src",
      "  v pkg/deep",
      "    a9.py",
      "    a10.py",
      "  cart.py",
      "v tests",
      "  test_b.py",
      "README.md",
    ]);
  });

  test("a folded folder hides what is in it, by its whole path", () => {
    expect(drawn(entries, ["src/pkg/deep", "tests", "docs/x/y"])).toEqual([
      "> docs/x/y",
      "v src",
      "  > pkg/deep",
      "  cart.py",
      "> tests",
      "README.md",
    ]);
  });

  test("each line knows its folder", () => {
    const lines = treeLines(entries, new Set());
    expect(
      lines.map((line) => (line.parent === undefined ? "" : lines[line.parent]?.entry.name)),
    ).toEqual(["", "docs/x/y", "", "src", "pkg/deep", "pkg/deep", "src", "", "tests", ""]);
  });

  test("the first file is the first to be seen; odd paths are files too", () => {
    expect(firstFile(entries)?.path).toBe("docs/x/y/z.md");
    expect(firstFile([])).toBeUndefined();
    expect(drawn(fileTree([change("/abs"), change("a//b"), change("")]))).toHaveLength(5);
  });

  test("what a commit changed in all", () => {
    expect(totals([change("a", { added: 2, removed: 1 }), change("b", { added: 3 })])).toEqual({
      added: 5,
      removed: 1,
    });
  });
});

test("a commit leads to the row of its event, else to the last row before it", () => {
  const rows = [
    { id: "a", event: "e1", seq: 1 },
    { id: "b", event: "e2", seq: 2 },
    { id: "c", event: "e2", seq: 3 },
  ] as TimelineRow[];
  const rowOf = (event: string | null, seq: number) =>
    commitLines([{ commit: { event, seq } as Commit, snapshots: [] }], rows)[0]?.row?.id;
  expect([rowOf("e2", 3), rowOf(null, 3), rowOf("gone", 1), rowOf("gone", 9)]).toEqual([
    "c",
    "c",
    "a",
    undefined,
  ]);
});

test("keys of lists stay inside", () => {
  expect([
    nextItemIndex("ArrowDown", 2, 3),
    nextItemIndex("ArrowUp", 0, 3),
    nextItemIndex("Home", 2, 3),
    nextItemIndex("End", 0, 3),
  ]).toEqual([2, 0, 0, 2]);
  expect([nextItemIndex("ArrowDown", 0, 0), nextItemIndex("x", 0, 3)]).toEqual([
    undefined,
    undefined,
  ]);
});
