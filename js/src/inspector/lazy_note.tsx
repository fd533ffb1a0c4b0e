/** A person's note beside a row, fetched when there is one: most rows have none. */
import { Button } from "../view/button";
import { lazy, withStyles } from "../view/lazy";
import type { RowNoteProps } from "./row_note";

const Note = lazy<RowNoteProps>(async () => {
  const { RowNote, styles } = await import("./row_note");
  return withStyles(RowNote, "row_note", styles);
});

export function RowNote(props: RowNoteProps) {
  const { notes } = props.model;
  const there = notes.of(props.row.id)?.text || notes.writing.value === props.row.id;
  return there ? <Note {...props} /> : null;
}

/** The button that begins a note. */
export function NoteButton({ model, row }: RowNoteProps) {
  const there = model.notes.of(row.id)?.text;
  const hint = there ? "Change the note (n)" : "Write a note beside this event (n)";
  const { writing } = model.notes;
  return (
    <Button
      icon="note"
      name={there ? "Change the note" : "Write a note"}
      hint={hint}
      held={model.control.value ? null : "This login may watch, not write"}
      pressed={writing.value === row.id}
      onClick={() => {
        writing.value = row.id;
      }}
    />
  );
}
