/** One row: its title, the views of its contents, and its editor while it waits. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { MessageBody, Model, Row } from "../model/model";
import { size } from "../view/words";
import { HaltReason } from "./halt_reason";
import { Approval, Conflict, Contents, EditFoot, LazyEditor } from "./lazy";
import { PaneBar } from "./pane_bar";
import { RowNote } from "./row_note";
import { type Shape, shapeOf } from "./shape";

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
  useEffect(Contents.fetch, []); // while the contents themselves are on their way
  // What may be edited brings its editor: who types after `e` would lose the first letters.
  useEffect(() => {
    if (row.pending) LazyEditor.fetch();
  }, [row.pending]);
  const asked = useRef(false);
  const shape = shapeOf(row);
  const body = loading.kind === "ready" ? loading.body : undefined;
  const edits = body && row.pending && model.editing.value && model.control.value;
  // From here on, editing begins because the person asks for it.
  if (!model.editing.value) asked.current = true;
  return (
    <>
      {edits ? (
        <LazyEditor model={model} row={row} body={body} shape={shape} focus={asked.current} />
      ) : (
        <Reading
          model={model}
          row={row}
          shape={shape}
          loading={loading}
          wanted={wanted}
          onWanted={onWanted}
        />
      )}
      {decides(model, row) && <Approval model={model} row={row} body={body} />}
    </>
  );
}

/** Whether something is asked here, was denied, or is about to be. */
function decides(model: Model, row: Row): boolean {
  const denies = row.pending && model.denying.value === row.id;
  return row.approval || row.answer === "deny" || denies;
}

interface ReadingProps extends RowPaneProps {
  shape: Shape;
  loading: Loading;
}

function Reading({ model, row, shape, loading, wanted, onWanted }: ReadingProps) {
  const body = loading.kind === "ready" ? loading.body : undefined;
  const draft = model.draft(row.id).value;
  const compared = body !== undefined && (body.edit != null || (row.pending && draft !== null));
  const late = draft !== null && !(row.pending && draft.revision === row.revision);
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
      <HaltReason model={model} row={row} />
      <RowNote model={model} row={row} />
      {body && late && <Conflict model={model} row={row} body={body} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div key={view} class="as-Scroll" role="tabpanel" tabIndex={0} aria-label={NAMES[view]}>
        {body ? (
          <Contents model={model} row={row} shape={shape} body={body} view={view} />
        ) : (
          <NotYet row={row} loading={loading} />
        )}
      </div>
      {body && compared && <EditFoot model={model} row={row} shape={shape} body={body} />}
    </>
  );
}

const NAMES: Record<Wanted, string> = {
  read: "Contents",
  diff: "Original and edit",
  raw: "Raw JSON",
};

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

// ---- The contents of the selected row: asked for, kept while they are on their way, tried
// again.

export type Loading =
  | { readonly kind: "loading" }
  | { readonly kind: "ready"; readonly body: MessageBody }
  | { readonly kind: "failed"; readonly message: string; again(): void };

/** A row's body; the last known one stays while a newer revision is on its way. */
function useBody(model: Model, row: Row | undefined): Loading {
  const [found, setFound] = useState<{ id: string; state: Loading } | null>(null);
  const [tries, setTries] = useState(0);
  // A link that comes back is a reason to ask again.
  const open = model.connection.value.kind === "open";

  useEffect(() => {
    if (!row) return;
    let wanted = true;
    const take = (state: Loading) => wanted && setFound({ id: row.id, state });
    model.body(row).then(
      (body) => take({ kind: "ready", body }),
      (error: unknown) => {
        const message = error instanceof Error ? error.message : String(error);
        take({ kind: "failed", message, again: () => setTries(tries + 1) });
      },
    );
    return () => {
      wanted = false;
    };
  }, [model, row?.id, row?.revision, row?.approval && row.answer, tries, open]);

  return found && found.id === row?.id ? found.state : { kind: "loading" };
}
