/** The contents in the view that is wanted: a chunk of its own. */
import { useLayoutEffect, useMemo, useState } from "preact/hooks";
import type { EditDiffProps } from "../diff/edit_diff";
import type { MessageBody, Model, TimelineRow } from "../model/model";
import styles from "../styles/contents.css";
import { escapeInvisible, formatDuration, formatSize } from "../view/format";
import { lazy, withStyles } from "../view/lazy";
import { ContentView, type PreviousPrompts } from "./components/content";
import { AnswerLine, Failure, LongText, RawText } from "./components/long_text";
import type { ContextProps } from "./context";
import { INITIAL_LIMIT_ALONE, textBytes } from "./fold";
import { documentOf, parseContent, type ShownText, shownText } from "./parsed/content";
import type { Message, ParsedContent } from "./parsed/parts";
import { type Group, promptDelta, promptsBefore } from "./prompt_delta";
import type { RowView } from "./row_pane";
import type { ContentShape } from "./title";

export { styles };

export interface ContentsProps {
  model: Model;
  row: TimelineRow;
  shape: ContentShape;
  body: MessageBody;
  view: RowView;
}

export function Contents({ model, row, shape, body, view }: ContentsProps) {
  const draft = row.pending ? model.draft(row.id).value?.text : undefined;
  const shown = shownText(body, draft, model.showOriginal.value);
  if (view === "diff") return <Compared row={row} shape={shape} body={body} draft={draft} />;
  if (view === "raw") return <RawText text={shown.text} note={rawNote(shown, body)} />;
  const nothing = shown.text.trim() === "null";
  const failure = shown.from === "original" || row.outcome !== "ok" ? failureOf(row) : null;
  const said = nothing && (isProgram(row) || row.outcome === "stopped");
  return (
    <>
      {failure && (
        <Failure
          failure={failure}
          traceback={body.traceback}
          onReplace={row.pending && model.control.value ? () => replace(model) : undefined}
        />
      )}
      <AnswerLine row={row} />
      {draft !== undefined && shown.from !== "draft" && !model.showOriginal.value && (
        <p class="as-Note as-You">Your draft isn't valid JSON yet: this is what it replaces.</p>
      )}
      {said && !failure && <p class="as-Note">{escapeInvisible(row.summary)}</p>}
      {!said && !(nothing && failure) && (
        <Read
          model={model}
          row={row}
          shape={shape}
          text={shown.text}
          strict={body.strict || shown.from !== "original"}
        />
      )}
    </>
  );
}

function replace(model: Model): void {
  model.editing.value = true;
}

/** What went wrong: an order to end is no failure. */
function failureOf({ failure, outcome }: TimelineRow): TimelineRow["failure"] {
  return outcome === "stopped" ? null : failure;
}

/** Whether a row only says that the program began or ended. */
function isProgram({ kind }: TimelineRow): boolean {
  return kind === "program_started" || kind === "program_finished";
}

const EditDiff = lazy<EditDiffProps>(async () => {
  const { EditDiff, styles } = await import("../diff/edit_diff");
  return withStyles(EditDiff, "diff", styles);
});

function rawNote({ text, from }: ShownText, body: MessageBody): string {
  const whose = {
    original: "JSON as the agent sent it",
    edit: "JSON of the edit",
    draft: "JSON of the draft",
  };
  return `${whose[from]}${body.strict || from !== "original" ? "" : ", not strict"} · ${formatSize(textBytes(text))}`;
}

function Compared({
  row,
  shape,
  body,
  draft,
}: Pick<ContentsProps, "row" | "shape" | "body"> & { draft: string | undefined }) {
  const edited = draft ?? body.edit ?? body.data;
  const cost = [
    row.name,
    row.duration != null && formatDuration(row.duration),
    formatSize(textBytes(body.data)),
  ];
  return (
    <EditDiff
      isDraft={draft !== undefined}
      shape={shape}
      original={body.data}
      edited={edited}
      originalNote={cost.filter(Boolean).join(", ")}
      editedTitle={draft === undefined ? "Edited" : "Your draft"}
      editedNote={editedNote(row, draft)}
    />
  );
}

function editedNote(row: TimelineRow, draft: string | undefined): string {
  if (draft !== undefined) return "not sent yet";
  return row.pending ? "not sent yet: Step sends it" : "sent to the agent";
}

/** A text is copied as the text it is; anything else as its JSON, exactly. */
export function copiedText({ model, row, shape, body, view }: ContentsProps): string {
  const draft = row.pending ? model.draft(row.id).value?.text : undefined;
  const { text } = shownText(body, draft, model.showOriginal.value);
  const value = view === "raw" || !body.strict ? undefined : documentOf(text);
  const reading = value && parseContent(shape, value);
  return reading?.kind === "text" ? reading.text : text;
}

// ---- reading ----------------------------------------------------------------------------------------

/** Larger bodies are read on demand: taking them apart takes seconds. */
const READ_AT_ONCE = 8_000_000;

interface ReadProps {
  model: Model;
  row: TimelineRow;
  shape: ContentShape;
  text: string;
  strict: boolean;
}

function Read({ model, row, shape, text, strict }: ReadProps) {
  const [anyway, setAnyway] = useState(false);
  const wait = text.length > READ_AT_ONCE && !anyway;
  const reading = useMemo(
    () => (wait || !strict ? undefined : readText(shape, text)),
    [shape, text, wait, strict],
  );
  const [known, looking] = useKnown(model, row, reading);
  if (looking) return null;
  if (reading) {
    return (
      <>
        <ContentView row={row} shape={shape} reading={reading} known={known} />
        {reading.kind === "prompt" && (
          <Context
            prompt={reading}
            known={known}
            tokens={tokensOf(model, row)}
            window={model.contextWindow(row.name)}
          />
        )}
      </>
    );
  }
  return (
    <>
      <p class="as-Note">
        {wait
          ? `These are ${formatSize(text.length)}, shown as text. `
          : "This is not strict JSON (it may hold NaN), so it is shown as the text it is."}
        {wait && (
          <button type="button" class="as-Link" onClick={() => setAnyway(true)}>
            Read them all the same
          </button>
        )}
      </p>
      <div class="as-Alone">
        <LongText text={text} code limit={INITIAL_LIMIT_ALONE} />
      </div>
    </>
  );
}

const Context = lazy<ContextProps>(async () => {
  const { Context, styles } = await import("./context");
  return withStyles(Context, "context", styles);
});

/** What a prompt's answer told of the prompt. */
function tokensOf(model: Model, { event }: TimelineRow): number | null {
  const answer = model.rows.value.find((row) => row.event === event && row.side === "end");
  return answer?.usage?.input_tokens ?? null;
}

function readText(shape: ContentShape, text: string): ParsedContent | undefined {
  const value = documentOf(text);
  return value && parseContent(shape, value);
}

/** A prompt waits so long to be told from the one before: shown at once, it would fold under the eye. */
const LOOK_MS = 150;

/** How much of a prompt stood in one before, and whether that is still being found out. */
function useKnown(
  model: Model,
  row: TimelineRow,
  reading: ParsedContent | undefined,
): [known: PreviousPrompts | undefined, looking: boolean] {
  const [found, setFound] = useState<{
    reading: ParsedContent;
    known?: PreviousPrompts | undefined;
  }>();
  // What is kept here already is found before anything is drawn.
  useLayoutEffect(() => {
    if (reading?.kind !== "prompt") return;
    let wanted = true;
    const take = (known?: PreviousPrompts) => wanted && setFound({ reading, known });
    const timer = setTimeout(take, LOOK_MS);
    findKnown(model, row, reading.messages)
      .then(take, () => take()) // not to be had: the prompt is shown whole
      .finally(() => clearTimeout(timer));
    return () => {
      wanted = false;
      clearTimeout(timer);
    };
  }, [model, row.id, reading]);
  if (reading?.kind !== "prompt") return [undefined, false];
  return found?.reading === reading ? [found.known, false] : [undefined, true];
}

/** Told by the latest prompt that this one only goes on from, else by the one it has the most of. */
async function findKnown(
  model: Model,
  row: TimelineRow,
  messages: readonly Message[],
): Promise<PreviousPrompts | undefined> {
  let best: PreviousPrompts | undefined;
  const rows = await model.rowsBefore(row, (some) => promptsBefore(some, row).length > 0);
  for (const before of promptsBefore(rows, row)) {
    const body = await model.body(before);
    const texts = body.edit == null ? [body.data] : [body.data, body.edit];
    for (const groups of texts.map((text) => promptDelta(messages, messagesOf(text)))) {
      if (kept(groups) > kept(best?.groups ?? [])) best = { groups, seq: before.seq };
    }
    if (best?.groups.every(({ removedCount }) => removedCount === 0)) break;
  }
  return best;
}

/** How many messages stand as they did. */
function kept(groups: readonly Group[]): number {
  return groups.reduce((sum, one) => sum + (one.change === "same" ? one.messages.length : 0), 0);
}

function messagesOf(text: string): readonly Message[] {
  const reading = readText("prompt", text);
  return reading?.kind === "prompt" ? reading.messages : [];
}
