/** The inspector: the selected row's contents, to read, compare and edit. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { FileViewProps } from "../changes/file_view";
import type { Model } from "../model/model";
import { rowOf } from "../model/rows";
import { lazy, withStyles } from "../view/lazy";
import { Empty } from "../view/notices";
import { RowPane, type RowView } from "./row_pane";

// ---- A file that stands under the selected row, in the inspector's place.

/** The bar is there at once, so that nothing moves when the file comes. */
const FileView = lazy<FileViewProps>(
  async () => {
    const { FileView, styles } = await import("../changes");
    return withStyles(FileView, "changes", styles);
  },
  <div class="as-PaneBar" />,
);

/** Nothing where no file is selected, or its commit isn't known. */
function filePane(model: Model) {
  const selected = model.selectedFile.value;
  if (!selected) return null;
  const commit = model.commits.value.find(({ id }) => id === selected.commit);
  const change = commit?.changes.find(({ path }) => path === selected.path);
  if (!commit || !change) return null;
  return (
    <FileView
      key={`${commit.id} ${change.path}`}
      model={model}
      commit={commit}
      change={change}
      link={{
        prefix: "show in ",
        text: "Changes",
        hint: "Show this file among all that the agent changed",
        onClick: () => model.openCommit(commit.id, change.path),
      }}
    />
  );
}

export function Inspector({ model }: { model: Model }) {
  // Which view is wanted stays when the row changes: who reads Raw goes on reading Raw.
  const [rowView, setRowView] = useState<RowView>("read");
  const row = rowOf(model.rows.value, model.selectedRow.value);

  // A row that was answered is read again.
  const answered = row !== null && !row.pending;
  useEffect(() => {
    if (answered) model.editing.value = false;
  }, [row?.id, answered]);

  // The same element where the row is the same: other rows' news must not lay a large body out again.
  const pane = useMemo(
    () =>
      row && (
        <RowPane key={row.id} model={model} row={row} rowView={rowView} onRowView={setRowView} />
      ),
    [model, row, rowView],
  );
  return (
    <section class="as-Pane as-Inspector" aria-label="Inspector">
      {filePane(model) ?? pane ?? <Nothing model={model} />}
    </section>
  );
}

function Nothing({ model }: { model: Model }) {
  const waiting = model.rows.value.length === 0 && model.run.value?.state !== "idle";
  return (
    <Empty title={waiting ? "Nothing has happened yet" : "No event is selected"}>
      <p>
        {waiting
          ? "The agent's first event will be shown here."
          : "Select an event in the timeline to read its message."}
      </p>
    </Empty>
  );
}
