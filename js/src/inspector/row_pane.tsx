/** What the selected row holds: its bar, and its content, which is loaded later. */

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { ForkHere } from "../again/lazy";
import type { RowAnswersProps } from "../answers";
import type { ApprovalProps } from "../approval";
import type { EditorProps } from "../editor/editor";
import { Icon } from "../icons/icon";
import { canDeny, readOnlyReason } from "../model/controls";
import type { MessageBody, Model, TimelineRow } from "../model/model";
import type { EffectNotesProps } from "../overview/effect_notes";
import type { StackProps } from "../stack";
import { Button, CopyButton, type Segment, Segments } from "../view/button";
import { escapeInvisible, formatSize } from "../view/format";
import { type LoadState, lazy, useLoaded, withStyles } from "../view/lazy";
import { LocationLink } from "../view/location_link";
import { NotFetched } from "../view/notices";
import type { ContentsProps } from "./contents";
import type { ConflictProps, EditFooterProps } from "./edit_footer";
import { NoteButton, RowNote } from "./row_note";
import { type ContentShape, SHAPE_LABELS, shapeOf, Title } from "./title";

/** The view that the person asked for; shown where the row has it. */
export type RowView = "read" | "diff" | "raw" | "stack";

interface RowPaneProps {
  model: Model;
  row: TimelineRow;
  rowView: RowView;
  onRowView(rowView: RowView): void;
}

export function RowPane({ model, row, rowView, onRowView }: RowPaneProps) {
  // The last known body stays while a newer revision is on its way.
  const loading = useLoaded(model, row.id, () => model.body(row), {
    version: `${row.revision} ${row.approval && row.answer}`,
  });
  useEffect(Contents.fetch, []); // while the contents themselves are on their way
  // What may be edited brings its editor: who types after `e` would lose the first letters.
  useEffect(() => {
    if (row.pending) LazyEditor.fetch();
  }, [row.pending]);
  const asked = useRef(false);
  const shape = shapeOf(row);
  const body = loading.kind === "ready" ? loading.value : undefined;
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
          body={body}
          loading={loading}
          rowView={rowView}
          onRowView={onRowView}
        />
      )}
      {hasAnswers(model, row) && (
        <RowAnswers model={model} row={row} body={body} edits={edits === true} />
      )}
      {decides(model, row) && <Approval model={model} row={row} body={body} />}
    </>
  );
}

/** Whether a row can be answered otherwise than by going on, or was. */
function hasAnswers(model: Model, row: TimelineRow): boolean {
  const said = row.answer === "skip" || row.answer === "raise" || row.guided || row.edit_rules;
  return (row.pending && model.control.value) || Boolean(said);
}

/** Whether something is asked here, was denied, or is about to be. */
function decides(model: Model, row: TimelineRow): boolean {
  const denies = row.pending && model.denying.value === row.id;
  return row.approval || row.answer === "deny" || denies;
}

interface ReadingProps extends RowPaneProps {
  shape: ContentShape;
  body: MessageBody | undefined;
  loading: LoadState<MessageBody>;
}

function Reading({ model, row, shape, body, loading, rowView, onRowView }: ReadingProps) {
  const draft = model.draft(row.id).value;
  const compared = body !== undefined && (body.edit != null || (row.pending && draft !== null));
  const late = draft !== null && !(row.pending && draft.revision === row.revision);
  // A lost link closes no stack: its console holds what a person wrote.
  const mayInspect = model.control.value || model.connection.value.kind !== "open";
  const view = shownView(rowView, compared, mayInspect && hasStack(row));
  return (
    <>
      <PaneBar
        model={model}
        row={row}
        shape={shape}
        body={body}
        differs={compared}
        view={view}
        onView={onRowView}
      />
      <HaltReason model={model} row={row} />
      {row.effects && <EffectNotes model={model} row={row} />}
      <RowNote model={model} row={row} />
      {body && late && <Conflict model={model} row={row} body={body} />}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div key={view} class="as-Scroll" role="tabpanel" tabIndex={0} aria-label={NAMES[view]}>
        {view === "stack" ? (
          <Stack model={model} row={row} />
        ) : body ? (
          <Contents model={model} row={row} shape={shape} body={body} view={view} />
        ) : (
          <NotYet row={row} loading={loading} />
        )}
      </div>
      {body && compared && <EditFooter model={model} row={row} shape={shape} body={body} />}
    </>
  );
}

const NAMES: Record<RowView, string> = {
  read: "Contents",
  diff: "Original and edit",
  raw: "Raw JSON",
  stack: "Stack and locals",
};

/** What can be shown of what the person asked for last. */
function shownView(asked: RowView, compared: boolean, hasStack: boolean): RowView {
  if (asked === "diff" && !compared) return "read";
  return asked === "stack" && !hasStack ? "read" : asked;
}

function NotYet({ row, loading }: { row: TimelineRow; loading: LoadState<MessageBody> }) {
  if (loading.kind !== "failed") {
    return <p class="as-Note as-Late">{`Fetching ${formatSize(row.size)}…`}</p>;
  }
  return (
    <NotFetched
      title="The contents could not be fetched"
      why={loading.message}
      hint="Ask for the contents again"
      onRetry={loading.retry}
    />
  );
}

// ---- The inspector's bar: what this is, its views, and what can be done with it.

interface PaneBarProps {
  model: Model;
  row: TimelineRow;
  shape: ContentShape;
  body: MessageBody | undefined;
  /** Whether there is something to compare. */
  differs: boolean;
  view: RowView;
  onView(view: RowView): void;
}

export function PaneBar({ model, row, shape, body, differs, view, onView }: PaneBarProps) {
  const draft = row.pending ? model.draft(row.id).value : null;
  const tag = draft ? "draft" : row.edited || body?.edit != null ? "edited" : undefined;
  return (
    <div class="as-PaneBar">
      <Title row={row} tag={tag} />
      {row.location && <LocationLink location={row.location} />}
      <span class="as-Spring" />
      {differs && view !== "diff" && <OriginalButton model={model} />}
      <Segments
        label={`${SHAPE_LABELS[shape]} view`}
        segments={[
          ...segments(shape, differs),
          {
            key: "stack",
            label: "Stack",
            title: "The Python stack and the locals of the agent that waits here",
            disabledReason: stackDisabledReason(model, row),
          },
        ]}
        selected={view}
        onSelect={onView}
      />
      <Button
        icon="pencil"
        class="as-EditButton"
        name={`Edit this ${SHAPE_LABELS[shape]}`}
        hint={`Edit this ${SHAPE_LABELS[shape]} (e)`}
        disabledReason={editDisabledReason(model, row, body)}
        onClick={() => {
          model.editing.value = true;
        }}
      >
        <span class="as-x-pane">Edit</span>
      </Button>
      <Button
        icon="cross"
        class="as-x-pane"
        hint={`Deny this ${SHAPE_LABELS[shape]}… (d)`}
        disabledReason={denyDisabledReason(model, row)}
        onClick={() => {
          model.denying.value = row.id;
        }}
      />
      <ForkHere model={model} row={row} />
      <NoteButton model={model} row={row} />
      <CopyButton
        label={copyLabel(shape, view)}
        disabledReason={body ? null : COMING}
        text={() => (body ? copiedText({ model, row, shape, body, view }) : "")}
      />
    </div>
  );
}

const COMING = "The contents are on their way";

const READ_LABELS: Record<ContentShape, string> = {
  prompt: "Messages",
  answer: "Answer",
  call: "Call",
  result: "Result",
  note: "Message",
};

/** All of them at each row, so that none moves from row to row. */
function segments(shape: ContentShape, differs: boolean): Segment<RowView>[] {
  const disabledReason = differs ? null : "Nothing was edited here";
  return [
    { key: "read", label: READ_LABELS[shape] },
    {
      key: "diff",
      label: "Diff",
      title: "The original beside the edit",
      disabledReason: disabledReason,
    },
    { key: "raw", label: "Raw", title: "The exact JSON text" },
  ];
}

function editDisabledReason(
  model: Model,
  row: TimelineRow,
  body: MessageBody | undefined,
): string | null {
  if (!row.pending) return "Only what is halted can be edited";
  return readOnlyReason(model) ?? (body ? null : COMING);
}

const hasStack = ({ pending, side }: TimelineRow): boolean => pending && side !== null;

function stackDisabledReason(model: Model, row: TimelineRow): string | null {
  if (!hasStack(row)) return "Only an agent that waits has a stack";
  return readOnlyReason(model);
}

function denyDisabledReason(model: Model, row: TimelineRow): string | null {
  if (!canDeny(row)) return "Only what has yet to happen can be denied";
  return readOnlyReason(model);
}

export function OriginalButton({ model }: { model: Model }) {
  const pressed = model.showOriginal.value;
  return (
    <button
      type="button"
      class="as-Button as-x-original"
      title="Show the original instead of the edit (o)"
      aria-pressed={pressed}
      onClick={() => {
        model.showOriginal.value = !pressed;
      }}
    >
      <span class="as-x-long">Show original</span>
      <span class="as-x-short">Original</span>
    </button>
  );
}

function copyLabel(shape: ContentShape, view: RowView): string {
  return view === "raw" ? "Copy the JSON text, exactly" : `Copy the ${SHAPE_LABELS[shape]}`;
}

// ---- Which breakpoints the agent is halted at: in narrow views, whose header has no room to say it.

export function HaltReason({ model, row }: { model: Model; row: TimelineRow }) {
  if (!row.pending || row.stops.length === 0) return null;
  return (
    <p class="as-HaltReason as-Small">
      <Icon name="halted" small />
      <span>{`Halted at the breakpoint ${escapeInvisible(model.breakpoints.describe(row.stops))}`}</span>
    </p>
  );
}

// ---- Parts of the inspector that are fetched when they are first needed.

/** What a row asks a person, and the field of a denial. */
export const Approval = lazy<ApprovalProps>(
  async () => {
    const { Approval, styles } = await import("../approval");
    return withStyles(Approval, "approval", styles);
  },
  <div class="as-Foot" />,
);

/** What answers a row beyond going on, and what was said so. */
export const RowAnswers = lazy<RowAnswersProps>(
  async () => {
    const { RowAnswers, styles } = await import("../answers");
    return withStyles(RowAnswers, "answers", styles);
  },
  <div class="as-Foot" />,
);

/** What is said of edits: most rows are never edited. */
export const Conflict = lazy<ConflictProps>(async () => (await import("./edit_footer")).Conflict);

/** Its line is kept free until it is here. */
export const EditFooter = lazy<EditFooterProps>(
  async () => (await import("./edit_footer")).EditFooter,
  <div class="as-Foot">
    <p class="as-Small">…</p>
  </div>,
);

/** A row’s contents as a person reads them. */
export const Contents = lazy<ContentsProps>(async () => {
  const { Contents, styles } = await import("./contents");
  return withStyles(Contents, "contents", styles);
});

/** The stack and the locals of the agent that waits at the row. */
export const EffectNotes = lazy<EffectNotesProps>(
  async () => (await import("../overview/effect_notes")).EffectNotes,
);

export const Stack = lazy<StackProps>(async () => {
  const { Stack, styles } = await import("../stack");
  return withStyles(Stack, "stack", styles);
});

/** What is copied of the contents that are shown. */
export async function copiedText(shown: ContentsProps): Promise<string> {
  return (await import("./contents")).copiedText(shown);
}

/** CodeMirror is larger than all the rest. */
export const LazyEditor = lazy<EditorProps>(
  async () => {
    const { Editor, styles } = await import("../editor/editor");
    return withStyles(Editor, "editor", styles);
  },
  <p class="as-Note as-Late">Loading the editor…</p>,
  Frame,
);

/** The bar in the editor's place, so that a person can go on reading without it. */
function Frame({ row, model, children }: EditorProps & { children: ComponentChildren }) {
  return (
    <>
      <div class="as-PaneBar">
        <Title row={row} editing />
        <span class="as-Spring" />
        <Button
          outline
          hint="Go on reading (Esc)"
          onClick={() => {
            model.editing.value = false;
          }}
        >
          Close
        </Button>
      </div>
      {children}
    </>
  );
}
