/** One row: its title, the views of its contents, and its editor while it waits. */
import { useRef } from "preact/hooks";
import type { MessageBody, Model, Row } from "../model/model";
import { size } from "../view/words";
import { type Loading, shownText, useBody } from "./body";
import { Contents } from "./contents";
import { Conflict, DraftFoot, EditedFoot } from "./drafted";
import { LazyEditor } from "./lazy_editor";
import { PaneBar } from "./pane_bar";
import { type Shape, shapeOf } from "./read/reading";
import { RowNote } from "./row_note";

/** The view that the person asked for; shown where the row has it. */
export type Wanted = "read" | "diff" | "raw";

interface RowPaneProps {
  model: Model;
  row: Row;
  wanted: Wanted;
  onWanted(wanted: Wanted): void;
}

export function RowPane({ model, row, wanted, onWanted }: RowPaneProps) {
  const loading = useBody(model, row);
  const asked = useRef(false);
  const shape = shapeOf(row);
  const body = loading.kind === "ready" ? loading.body : undefined;

  if (body && row.pending && model.editing.value && model.control.value) {
    return <LazyEditor model={model} row={row} body={body} shape={shape} focus={asked.current} />;
  }
  // From here on, editing begins because the person asks for it.
  if (!model.editing.value) asked.current = true;
  const compared = body !== undefined && differs(model, row, body);
  const view = wanted === "diff" && !compared ? "read" : wanted;
  return (
    <>
      <PaneBar
        model={model}
        row={row}
        shape={shape}
        body={body}
        differs={compared}
        view={view}
        onView={onWanted}
      />
      <RowNote model={model} row={row} />
      {body && <Conflict model={model} row={row} body={body} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div key={view} class="as-Scroll" role="tabpanel" tabIndex={0} aria-label={NAMES[view]}>
        {body ? (
          <Contents model={model} row={row} shape={shape} body={body} view={view} />
        ) : (
          <NotYet row={row} loading={loading} />
        )}
      </div>
      {body && <Foot model={model} row={row} shape={shape} body={body} />}
    </>
  );
}

const NAMES: Record<Wanted, string> = {
  read: "Contents",
  diff: "Original and edit",
  raw: "Raw JSON",
};

/** Whether there is an edit to compare with the original. */
function differs(model: Model, row: Row, body: MessageBody): boolean {
  return body.edit != null || (row.pending && model.draft(row.id).value !== null);
}

function Foot({
  model,
  row,
  shape,
  body,
}: {
  model: Model;
  row: Row;
  shape: Shape;
  body: MessageBody;
}) {
  const draft = model.draft(row.id).value;
  if (row.pending && draft)
    return <DraftFoot model={model} row={row} shape={shape} text={draft.text} />;
  const shown = shownText(body, undefined, model.showOriginal.value);
  return body.edit == null ? null : (
    <EditedFoot row={row} shape={shape} original={shown.from === "original"} />
  );
}

function NotYet({ row, loading }: { row: Row; loading: Loading }) {
  if (loading.kind !== "failed") {
    return <p class="as-Note as-Late">{`Fetching ${size(row.size)}…`}</p>;
  }
  return (
    <div class="as-Empty">
      <h3>The contents could not be fetched</h3>
      <p>{loading.message}</p>
      <div class="as-Empty-actions">
        <button type="button" class="as-Button as-mod-outline" onClick={loading.again}>
          Try again
        </button>
      </div>
    </div>
  );
}
