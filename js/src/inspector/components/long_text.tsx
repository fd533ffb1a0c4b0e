/** Long texts and rows that fold, content as it came, and what is said beside it. */

import type { ComponentChildren } from "preact";
import { useId, useMemo, useState } from "preact/hooks";
import { Icon } from "../../icons/icon";
import type { TimelineRow } from "../../model/model";
import { Button } from "../../view/button";
import { escapeInvisible } from "../../view/format";
import { cx } from "../../view/hooks";
import {
  foldEnd,
  INITIAL_LIMIT,
  INITIAL_LIMIT_ALONE,
  moreText,
  SHOW_MORE_LIMIT,
  type TextLimit,
} from "../fold";
import { pretty } from "../json/print";

interface LongTextProps {
  text: string;
  /** As code: one width a character, white space kept. */
  code?: boolean | undefined;
  /** In a box of its own. */
  boxed?: boolean | undefined;
  limit?: TextLimit | undefined;
}

export function LongText({ text, code, boxed, limit = INITIAL_LIMIT }: LongTextProps) {
  const [shown, setShown] = useState<{ text: string; end: number } | null>(null);
  // Another text begins folded again.
  const end = shown?.text === text ? shown.end : foldEnd(text, 0, limit);
  const part = escapeInvisible(text.slice(0, end));
  return (
    <>
      {code ? (
        <pre class={cx("as-Text as-Code", boxed && "as-Pre")}>{part}</pre>
      ) : (
        <div class="as-Text">{part}</div>
      )}
      <ShowMore
        text={text}
        end={end}
        further={shown?.text === text}
        onEnd={(next) => setShown(next === null ? null : { text, end: next })}
      />
    </>
  );
}

interface ShowMoreProps {
  text: string;
  /** Up to where it is shown. */
  end: number;
  /** Whether more of it is shown than at first. */
  further: boolean;
  /** Show it up to there; null: as at first. */
  onEnd(end: number | null): void;
}

/** Links that show more of a text, and less. */
export function ShowMore({ text, end, further, onEnd }: ShowMoreProps) {
  const rest = end < text.length;
  if (!rest && !further) return null;
  return (
    <div class="as-More">
      {rest && (
        <button
          type="button"
          class="as-Link as-Small"
          onClick={() => onEnd(foldEnd(text, end, SHOW_MORE_LIMIT))}
        >
          {moreText(text, end)}
        </button>
      )}
      {further && (
        <button type="button" class="as-Link as-Small" onClick={() => onEnd(null)}>
          Fold
        </button>
      )}
    </div>
  );
}

// ---- A line that opens what stands under it.

interface FoldRowProps {
  /** What is folded away. */
  label: string;
  /** Said after it, and the first to be cut short. */
  note?: string | undefined;
  /** At the right edge. */
  figure?: string | undefined;
  open?: boolean;
  /** Made only once open. */
  children(): ComponentChildren;
}

export function FoldRow({ label, note, figure, open: first = false, children }: FoldRowProps) {
  const [open, setOpen] = useState(first);
  const id = useId();
  return (
    <>
      <button
        type="button"
        class="as-Fold"
        aria-expanded={open}
        aria-controls={id}
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? "down" : "right"} small />
        <span>{label}</span>
        <span class="as-Spring as-Ellipsis">{note}</span>
        {figure && <span>{figure}</span>}
      </button>
      <div id={id} hidden={!open}>
        {open && children()}
      </div>
    </>
  );
}

// ---- The exact JSON text: laid out on lines, or just as the agent sent it.

/** Larger texts are shown as sent at first, so that opening Raw stays quick. */
const LAID_OUT_AT_ONCE = 4_000_000;

export function RawText({ text, note }: { text: string; note: string }) {
  const [asSent, setAsSent] = useState(text.length > LAID_OUT_AT_ONCE);
  const laid = useMemo(() => (asSent ? text : pretty(text)), [text, asSent]);
  return (
    <div class="as-Alone">
      <div class="as-RawBar">
        <span class="as-Muted as-Small as-Ellipsis">{note}</span>
        <span class="as-Spring" />
        <button
          type="button"
          class="as-Link as-Small"
          aria-pressed={asSent}
          title="Only white space differs: no value is re-encoded"
          onClick={() => setAsSent(!asSent)}
        >
          {asSent ? "Lay out on lines" : "As sent"}
        </button>
      </div>
      <LongText text={laid} code limit={INITIAL_LIMIT_ALONE} />
    </div>
  );
}

// ---- What is said around a body: that it failed, was cut loose, or is edited.

interface FailureProps {
  failure: NonNullable<TimelineRow["failure"]>;
  /** The agent's frames that it passed; "" where they aren't known. */
  traceback?: string | undefined;
  /** Begins an edit that stands in its place; absent where none can. */
  onReplace?: (() => void) | undefined;
}

export function Failure({ failure, traceback, onReplace }: FailureProps) {
  return (
    <div class="as-Failure">
      <Icon name="crash" />
      <div>
        <b>{escapeInvisible(failure.type)}</b>
        {failure.message && <LongText text={failure.message} code />}
        {traceback && (
          <section class="as-Traceback" aria-label="Traceback">
            <p class="as-Muted as-Small">Traceback, the innermost call last</p>
            <LongText text={traceback} code />
          </section>
        )}
        {onReplace && (
          <Button
            outline
            icon="pencil"
            hint="Give the agent a result; the exception is not raised then (e)"
            onClick={onReplace}
          >
            Replace the exception
          </Button>
        )}
      </div>
    </div>
  );
}

const ANSWERS: Partial<Record<NonNullable<TimelineRow["answer"]>, string>> = {
  skip: "Skipped: the agent was given a result instead.",
  deny: "Denied: the agent received the refusal in place of a result.",
  raise: "A person raised an exception in the agent here.",
  stop: "The agent was stopped here.",
  withdrawn: "Withdrawn: the agent no longer waited for an answer.",
};

/** How a halt point was answered, where the agent did not simply go on. */
export function AnswerLine({ row }: { row: TimelineRow }) {
  const words = row.answer ? ANSWERS[row.answer] : undefined;
  return words ? <p class="as-Note">{words}</p> : null;
}
