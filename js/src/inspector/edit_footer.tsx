/** What is said of edits while reading: a draft that waits, one that came too late, one that was sent. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { MessageBody, Model, TimelineRow } from "../model/model";
import { Button, CopyButton } from "../view/button";
import { sameJson } from "./json/parse";
import { problemOf } from "./opaque_values";
import { shownText } from "./parsed/content";
import { type ContentShape, SHAPE_LABELS } from "./title";

export interface EditFooterProps {
  model: Model;
  row: TimelineRow;
  shape: ContentShape;
  body: MessageBody;
}

/** The foot of a row that has a draft, or whose edit is in force. */
export function EditFooter({ model, row, shape, body }: EditFooterProps) {
  const draft = model.draft(row.id).value;
  if (row.pending && draft)
    return <DraftFooter model={model} row={row} shape={shape} text={draft.text} sent={body.data} />;
  const { from } = shownText(body, undefined, model.showOriginal.value);
  const original = from === "original";
  return <EditedFooter model={model} row={row} shape={shape} body={body} original={original} />;
}

/** The button that sends a row's edit. */
const sender = ({ approval }: TimelineRow): string => (approval ? "Approve" : "Step");

interface DraftFooterProps {
  model: Model;
  row: TimelineRow;
  shape: ContentShape;
  /** The draft's. */
  text: string;
  /** What the agent sent. */
  sent: string;
}

/** While a draft waits to be sent. */
function DraftFooter({ model, row, shape, text, sent }: DraftFooterProps) {
  const problem = useMemo(() => problemOf(shape, sent, text), [shape, sent, text]);
  return (
    <div class="as-Foot">
      <div class="as-FootBar">
        <span class="as-Inline as-You">
          <Icon name="pencil" small />
          Draft
        </span>
        <span class="as-Muted as-Small as-Ellipsis">
          {problem ? "Can’t be sent yet: press Edit to see why" : `${sender(row)} sends it`}
        </span>
        <span class="as-Spring" />
        <Discard
          onDiscard={() => {
            model.draft(row.id).value = null;
            model.draftError.value = null;
          }}
        />
      </div>
    </div>
  );
}

const CONFIRM_MS = 4000;

/** The draft is gone after this: it asks first, in its own place. */
export function Discard({ onDiscard }: { onDiscard(): void }) {
  const [isConfirming, setConfirming] = useState(false);
  useEffect(() => {
    if (!isConfirming) return;
    const timer = setTimeout(() => setConfirming(false), CONFIRM_MS);
    return () => clearTimeout(timer);
  }, [isConfirming]);
  return (
    <Button
      icon="undo"
      hint={isConfirming ? "Press again to discard the draft" : "Back to the original; asks first"}
      class={isConfirming ? "as-Bad" : undefined}
      onClick={() => (isConfirming ? onDiscard() : setConfirming(true))}
    >
      {isConfirming ? "Really discard" : "Discard edit"}
    </Button>
  );
}

interface EditedFooterProps extends EditFooterProps {
  /** Whether the original is looked at. */
  original: boolean;
}

/** Once an edit is in force. */
function EditedFooter({ model, row, shape, body, original }: EditedFooterProps) {
  const noun = SHAPE_LABELS[shape];
  // At its first revision nobody has edited it: the agent has, by an earlier edit.
  const isAgain = body.sticky === true && body.revision === 1;
  const isByRule = body.edit_rules !== undefined;
  const words =
    isByRule && row.pending
      ? `An edit rule edited this ${noun}; ${sender(row)} sends the edit.`
      : isAgain && !original
        ? `An earlier edit is applied to this ${noun} again.`
        : row.pending
          ? `This ${noun} is edited; ${sender(row)} sends the edit.`
          : original
            ? `The agent never saw this original ${noun}: it went on with the edit.`
            : `The agent went on with the edited ${noun}. The run stores the original.`;
  return (
    <div class="as-Foot">
      <div class="as-FootBar">
        <p class="as-Muted as-Small as-Ellipsis">{words}</p>
        {row.pending && model.control.value && (
          <>
            <span class="as-Spring" />
            <Button
              icon="undo"
              hint="Take the edit back: the original goes on"
              onClick={() => void model.takeBack(row)}
            >
              Take back
            </Button>
          </>
        )}
      </div>
    </div>
  );
}

export interface ConflictProps {
  model: Model;
  row: TimelineRow;
  body: MessageBody;
  /** The draft is given up. */
  onResolved?(): void;
}

/** A draft that can't be sent as it is: somebody else was faster. Nothing of it is thrown away. */
export function Conflict({ model, row, body, onResolved }: ConflictProps) {
  const draft = model.draft(row.id);
  const kept = draft.value;
  const sent = kept !== null && !row.pending && body.edit != null && sameJson(kept.text, body.edit);
  useEffect(() => {
    if (sent) draft.value = null; // it is what the agent got
  }, [sent]);

  if (kept === null || sent) return null;
  if (row.pending && kept.revision === row.revision) return null;
  const words = row.pending ? MEANWHILE : ((row.answer && UNANSWERED[row.answer]) ?? TOO_LATE);
  return (
    <div class="as-Conflict" role="status">
      <Icon name="warn" />
      <div>
        <b>{words.title}</b>
        <span class="as-Small">{words.text}</span>
      </div>
      <div class="as-Conflict-acts">
        <CopyButton label="Copy the draft" text={() => kept.text} showLabel />
        {row.pending && (
          <Button
            hint="Send your draft instead of the other edit"
            onClick={() => {
              draft.value = { ...kept, revision: row.revision };
            }}
          >
            Keep mine
          </Button>
        )}
        <Button
          hint={words.hint}
          onClick={() => {
            draft.value = null;
            model.draftError.value = null;
            onResolved?.();
          }}
        >
          {words.drop}
        </Button>
      </div>
    </div>
  );
}

const MEANWHILE = {
  title: "Edited elsewhere meanwhile",
  text: "Another view edited this after you began. Your draft stays.",
  drop: "Take theirs",
  hint: "Discard your draft and continue from the other edit",
};
const TOO_LATE = {
  title: "Answered before your edit was sent",
  text: "The agent continued without your edit. Your draft stays here.",
  drop: "Discard",
  hint: "Discard the draft",
};
/** Where nobody answered. */
const UNANSWERED: Partial<Record<NonNullable<TimelineRow["answer"]>, typeof TOO_LATE>> = {
  withdrawn: {
    ...TOO_LATE,
    title: "The agent no longer waited",
    text: "The agent was interrupted or has ended. Your draft stays here.",
  },
  stop: {
    ...TOO_LATE,
    title: "Stopped before your edit was sent",
    text: "The agent never received your edit. Your draft stays here.",
  },
};
