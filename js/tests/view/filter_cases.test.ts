/** One table of cases holds this filter and the Core's (agentstepper_nb/hub/finding.py) to the same. */
import { expect, test } from "vitest";
import { filesOfEvents } from "../../src/model/commits";
import type { Commit, FileChange, Row } from "../../src/protocol/types.gen";
import { filesOfRows, filterRows } from "../../src/view/timeline/lines";
import table from "../helpers/filter_cases.json";
import { aCommit, aFile, aRow } from "../helpers/values";

const rows = table.rows.map(({ seq, ...fields }) => aRow(seq, fields as Partial<Row>));
const commits = table.commits.map(({ changes, ...fields }, at) =>
  aCommit(`c${at}`, {
    ...(fields as Partial<Commit>),
    changes: changes.map(({ path, ...more }) => aFile(path, more as Partial<FileChange>)),
  }),
);
const files = filesOfRows(rows, filesOfEvents(commits));

test.each(table.cases)("%j", ({ filter, seqs }) => {
  expect(filterRows(rows, filter, files).map((row) => row.seq)).toEqual(seqs);
});
