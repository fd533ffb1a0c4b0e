import { describe, expect, test } from "vitest";
import { filesOfEvents, type StepFile } from "../../src/model/commits";
import { Rows } from "../../src/model/rows";
import type { Commit, FileChange, TimelineRow } from "../../src/protocol/types.gen";
import { filesOfRows, filterRows, Lines } from "../../src/view/timeline/lines";
import table from "../helpers/filter_cases.json";
import { aCommit, aFile, aRow } from "../helpers/values";
import { seeded } from "../inspector/random_json";

const LENGTH = 60;

/** A timeline by chance: rows of which some aren't here, some changed files, some are folded or left out. */
function anyTimeline(seed: number) {
  const random = seeded(seed);
  const some = (part: number) => random() < part;
  const numbers = Array.from({ length: LENGTH }, (_, at) => at + 1);
  const rows = Rows.NONE.merge(
    numbers.filter(() => some(0.7)).map((seq) => aRow(seq)),
    LENGTH,
  );
  const files = new Map<TimelineRow, StepFile[]>();
  for (const row of rows.all.filter(() => some(0.3))) {
    const changes = Array.from({ length: 1 + Math.floor(random() * 6) }, (_, at) => at);
    files.set(
      row,
      changes.map((at) => ({ commit: `c${row.seq}`, change: aFile(`f${at}.py`) })),
    );
  }
  const folded = new Set(rows.all.filter(() => some(0.1)).map(({ id }) => id));
  const seqs = some(0.5) ? numbers.filter(() => some(0.4)) : null;
  return { rows, files, folded, seqs };
}

/** The same lines, one after the other. */
function written({ rows, files, folded, seqs }: ReturnType<typeof anyTimeline>): string[] {
  const numbers = seqs ?? Array.from({ length: LENGTH }, (_, at) => at + 1);
  return numbers.flatMap((seq) => {
    const row = rows.at(seq);
    if (!row) return [`#${seq}`];
    const those = folded.has(row.id) ? [] : (files.get(row) ?? []);
    const lines = those.slice(0, 4).map(({ change }) => `${row.id} ${change.path}`);
    const rest = those.length > 4 ? [`${row.id} and ${those.length - 4}`] : [];
    return [row.id, ...lines, ...rest];
  });
}

describe("lines", () => {
  test.each(Array.from({ length: 60 }, (_, at) => at))("chance %i", (seed) => {
    const made = anyTimeline(seed);
    const lines = new Lines(made);
    const expected = written(made);
    expect(lines.count).toBe(expected.length);
    const all = expected.map((_, at) => lines.at(at));
    const words = all.map((line) => {
      if (line?.kind === "file") return `${line.row.id} ${line.file.change.path}`;
      return line?.kind === "more" ? `${line.row.id} and ${line.count}` : line?.id;
    });
    expect(words).toEqual(expected);
    expect(all.map((line) => line && lines.indexOf(line))).toEqual(expected.map((_, at) => at));
    expect([lines.at(-1), lines.at(lines.count)]).toEqual([undefined, undefined]);
  });

  test("what is selected is found by its file, else by its row", () => {
    const rows = Rows.NONE.merge([aRow(1), aRow(2), aRow(3)]);
    const file = { commit: "c", change: aFile("a.py") };
    const lines = new Lines({ rows, files: new Map([[rows.at(2) as TimelineRow, [file]]]) });
    expect(lines.selected("r2", { commit: "c", path: "a.py" })).toBe(2);
    expect(lines.selected("r2", { commit: "c", path: "gone.py" })).toBe(1);
    expect(lines.selected("r3", null)).toBe(3);
    expect([lines.selected("nowhere", null), lines.selected(null, null)]).toEqual([-1, -1]);
  });

  test("the lines of an earlier timeline are found by their numbers", () => {
    const before = new Lines({ rows: Rows.NONE.merge([], 10) });
    const rows = Rows.NONE.merge([aRow(3), aRow(5)], 10);
    const file = { commit: "c", change: aFile("a.py") };
    const after = new Lines({ rows, files: new Map([[rows.at(3) as TimelineRow, [file]]]) });
    const line = before.at(4);
    expect(line?.id).toBe("#5");
    expect(line && after.indexOf(line)).toBe(5);
    expect(line && new Lines({ rows, seqs: [1, 9] }).indexOf(line)).toBe(-1);
  });
});

// ---- One table of cases holds this filter and the Core's (agentstepper_nb/hub/finding.py) to the same.

const rows = table.rows.map(({ seq, ...fields }) => aRow(seq, fields as Partial<TimelineRow>));
const commits = table.commits.map(({ changes, ...fields }, at) =>
  aCommit(`c${at}`, {
    ...(fields as Partial<Commit>),
    changes: changes.map(({ path, ...more }) => aFile(path, more as Partial<FileChange>)),
  }),
);
const files = filesOfRows(rows, filesOfEvents(commits));

test.each(table.cases)("%j", ({ filter, lanes = [], seqs }) => {
  const keys = lanes.map((path) => JSON.stringify(path));
  const left = filterRows(rows, { text: filter, lanes: keys }, files);
  expect(left.map((row) => row.seq)).toEqual(seqs);
});
