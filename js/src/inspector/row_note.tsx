/** A person's note beside a row: read above its contents, written in place, kept when it is left. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { Model, TimelineRow } from "../model/model";
import { MAX_NOTE_CHARS, type NoteText } from "../model/notes";
import { Button } from "../view/button";
import { escapeInvisible, formatDate } from "../view/format";

export interface RowNoteProps {
  model: Model;
  row: TimelineRow;
}

/** What is written beside a row, or being written. */
export function RowNote({ model, row }: RowNoteProps) {
  const writing = model.notes.writing.value === row.id && model.control.value;
  if (writing) return <Writing model={model} row={row} />;
  const note = model.notes.get(row.id);
  return note?.text ? <Shown model={model} row={row} note={note} /> : null;
}

/** The button that begins a note. */
export function NoteButton({ model, row }: RowNoteProps) {
  const there = model.notes.get(row.id)?.text;
  const hint = there ? "Change the note (n)" : "Write a note beside this event (n)";
  const { writing } = model.notes;
  return (
    <Button
      icon="note"
      name={there ? "Change the note" : "Write a note"}
      hint={hint}
      disabledReason={model.control.value ? null : "This login may watch, not write"}
      pressed={writing.value === row.id}
      onClick={() => {
        writing.value = row.id;
      }}
    />
  );
}

function Shown({ model, row, note }: RowNoteProps & { note: NoteText }) {
  const open = note.at === null;
  const title = note.at === null ? "" : `Written ${formatDate(note.at)}`;
  return (
    <div class="as-RowNote" role="note" aria-label={`Note on event ${row.seq}`}>
      <Icon name="note" />
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <p class="as-Text" tabIndex={0} title={title}>
        {escapeInvisible(note.text)}
      </p>
      {open && (
        <span class="as-Late">
          <Button
            outline
            icon="retry"
            hint="The note isn’t stored yet: try again"
            disabledReason={model.control.value ? null : "Not connected to the Core"}
            onClick={() => void save(model, row, note.text)}
          >
            Not stored
          </Button>
        </span>
      )}
    </div>
  );
}

function Writing({ model, row }: RowNoteProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  const dropped = useRef(false);
  const run = model.run.peek()?.id;
  const text = model.notes.get(row.id)?.text ?? "";
  useLayoutEffect(() => {
    const element = area.current;
    element?.focus({ preventScroll: true });
    element?.setSelectionRange(element.value.length, element.value.length);
    // However it is left, what was written is kept: by another row, another run, or the view's end.
    return () => {
      if (element && !dropped.current && run) void model.notes.write(run, row.id, element.value);
    };
  }, []);
  const leave = () => {
    if (model.notes.writing.peek() === row.id) model.notes.writing.value = null;
  };
  useEffect(() => grow(area.current), []);
  const onKeyDown = (event: KeyboardEvent) => {
    const done = event.key === "Enter" && (event.ctrlKey || event.metaKey);
    if (event.isComposing || !(done || event.key === "Escape")) return;
    dropped.current = !done;
    leave();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div class="as-RowNote as-mod-writing">
      <Icon name="note" />
      <div>
        <textarea
          ref={area}
          class="as-Input"
          rows={2}
          maxLength={MAX_NOTE_CHARS}
          aria-label={`Note on event ${row.seq}`}
          placeholder="Your note on this event"
          defaultValue={text}
          onInput={(event) => grow(event.currentTarget)}
          onBlur={leave}
          onKeyDown={onKeyDown}
        />
        <span class="as-Muted as-Small">
          Ctrl+Enter or leaving stores the note, Esc discards it
        </span>
      </div>
    </div>
  );
}

/** As high as its text; the stylesheet says how high at most. */
function grow(area: HTMLTextAreaElement | null): void {
  if (!area) return;
  area.style.height = "auto";
  area.style.height = `${area.scrollHeight + 2}px`;
}

function save(model: Model, row: TimelineRow, text: string): Promise<void> {
  const run = model.run.peek()?.id;
  return run ? model.notes.write(run, row.id, text) : Promise.resolve();
}
