/** The inspector's bar: what this is, its views, and what can be done with it. */
import { deniable } from "../model/controls";
import type { MessageBody, Model, Row } from "../model/model";
import { Button } from "../view/button";
import { CopyButton } from "./copy";
import { copiedText } from "./lazy";
import { NoteButton } from "./row_note";
import type { Wanted } from "./row_pane";
import { type Segment, Segments } from "./segments";
import type { Shape } from "./shape";
import { NOUNS, Title } from "./title";

interface PaneBarProps {
  model: Model;
  row: Row;
  shape: Shape;
  body: MessageBody | undefined;
  /** Whether there is something to compare. */
  differs: boolean;
  view: Wanted;
  onView(view: Wanted): void;
}

export function PaneBar({ model, row, shape, body, differs, view, onView }: PaneBarProps) {
  const draft = row.pending ? model.draft(row.id).value : null;
  const tag = draft ? "draft" : row.edited || body?.edit != null ? "edited" : undefined;
  const replaced = body && (body.edit != null || draft !== null);
  return (
    <div class="as-PaneBar">
      <Title row={row} tag={tag} />
      <span class="as-Spring" />
      {replaced && view !== "diff" && <OriginalButton model={model} />}
      <Segments
        label={`${NOUNS[shape]} view`}
        segments={segments(shape, differs)}
        selected={view}
        onSelect={onView}
      />
      <Button
        icon="pencil"
        class="as-EditButton"
        name={`Edit this ${NOUNS[shape]}`}
        hint={`Edit this ${NOUNS[shape]} (e)`}
        held={editHeld(model, row, body)}
        onClick={() => {
          model.editing.value = true;
        }}
      >
        <span class="as-x-pane">Edit</span>
      </Button>
      <Button
        icon="cross"
        class="as-x-pane"
        hint={`Deny this ${NOUNS[shape]}… (d)`}
        held={denyHeld(model, row)}
        onClick={() => {
          model.denying.value = row.id;
        }}
      />
      <NoteButton model={model} row={row} />
      <CopyButton
        label={copyLabel(shape, view)}
        held={body ? null : COMING}
        text={() => (body ? copiedText({ model, row, shape, body, view }) : "")}
      />
    </div>
  );
}

const COMING = "The contents are on their way";

const READ_LABELS: Record<Shape, string> = {
  prompt: "Messages",
  answer: "Answer",
  call: "Call",
  result: "Result",
  note: "Message",
};

/** All of them at each row, so that none moves from row to row. */
function segments(shape: Shape, differs: boolean): Segment<Wanted>[] {
  const held = differs ? null : "Nothing was edited here";
  return [
    { key: "read", label: READ_LABELS[shape] },
    { key: "diff", label: "Diff", title: "The original beside the edit", held },
    { key: "raw", label: "Raw", title: "The exact JSON text" },
  ];
}

function editHeld(model: Model, row: Row, body: MessageBody | undefined): string | null {
  if (!row.pending) return "Only what is halted can be edited";
  if (!model.control.value) return "This login may watch, not control";
  return body ? null : COMING;
}

function denyHeld(model: Model, row: Row): string | null {
  if (!deniable(row)) return "Only what has yet to happen can be denied";
  return model.control.value ? null : "This login may watch, not control";
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

function copyLabel(shape: Shape, view: Wanted): string {
  return view === "raw" ? "Copy the JSON text, exactly" : `Copy the ${NOUNS[shape]}`;
}
