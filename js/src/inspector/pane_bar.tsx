/** The inspector's bar: what this is, its views, and what can be done with it. */
import { Icon } from "../icons/icon";
import type { MessageBody, Model, Row } from "../model/model";
import { documentOf, shownText } from "./body";
import { CopyButton } from "./copy";
import { read, type Shape } from "./read/reading";
import type { Wanted } from "./row_pane";
import { type Segment, Segments } from "./segments";
import { NOUNS, Title } from "./title";

interface PaneBarProps {
  model: Model;
  row: Row;
  shape: Shape;
  body: MessageBody | undefined;
  views: readonly Wanted[];
  view: Wanted;
  onView(view: Wanted): void;
}

export function PaneBar({ model, row, shape, body, views, view, onView }: PaneBarProps) {
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
        segments={views.map((key) => segment(key, shape))}
        selected={view}
        onSelect={onView}
      />
      {body && row.pending && model.control.value && (
        <button
          type="button"
          class="as-Button as-EditButton"
          title={`Edit this ${NOUNS[shape]} (e)`}
          aria-label={`Edit this ${NOUNS[shape]}`}
          onClick={() => {
            model.editing.value = true;
          }}
        >
          <Icon name="pencil" />
          <span class="as-x-pane">Edit</span>
        </button>
      )}
      {body && (
        <CopyButton
          label={copyLabel(shape, view)}
          text={() => copied(model, row, shape, body, view)}
        />
      )}
    </div>
  );
}

const READ_LABELS: Record<Shape, string> = {
  prompt: "Messages",
  answer: "Answer",
  call: "Call",
  result: "Result",
  note: "Message",
};

function segment(key: Wanted, shape: Shape): Segment<Wanted> {
  if (key === "diff") return { key, label: "Diff", title: "The original beside the edit" };
  if (key === "raw") return { key, label: "Raw", title: "The exact JSON text" };
  return { key, label: READ_LABELS[shape] };
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

/** A text is copied as the text it is; anything else as its JSON, exactly. */
function copied(model: Model, row: Row, shape: Shape, body: MessageBody, view: Wanted): string {
  const draft = row.pending ? model.draft(row.id).value?.text : undefined;
  const { text } = shownText(body, draft, model.showOriginal.value);
  const value = view === "raw" || !body.strict ? undefined : documentOf(text);
  const reading = value && read(shape, value);
  return reading?.kind === "text" ? reading.text : text;
}
