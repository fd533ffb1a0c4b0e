/** What the conversation is called: a click lets it be written anew. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { ChatModel } from "./model";
import { titleOf } from "./status";

/** Letters that a title has at most. */
const LONGEST = 200;

export function Title({ model }: { model: ChatModel }) {
  const info = model.info.value;
  const [writing, setWriting] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  if (!info) return <span />;
  if (writing) {
    const done = (title: string | null) => {
      setWriting(false);
      if (title !== null && title.trim() !== info.title) void model.set({ title: title.trim() });
      requestAnimationFrame(() => button.current?.focus());
    };
    return <Field title={info.title} onDone={done} />;
  }
  const name = titleOf(info);
  const held = model.barred.value;
  return (
    <button
      ref={button}
      type="button"
      class="as-ChatTitle"
      title={`${name}\n${held ?? "Click to change the title"}`}
      aria-disabled={held !== null ? true : undefined}
      onClick={() => setWriting(held === null)}
    >
      <b class="as-Ellipsis">{name}</b>
    </button>
  );
}

interface FieldProps {
  title: string;
  /** Null: it stays as it is. */
  onDone(title: string | null): void;
}

function Field({ title, onDone }: FieldProps) {
  const field = useRef<HTMLInputElement>(null);
  const over = useRef(false);
  useEffect(() => field.current?.select(), []);
  const end = (value: string | null) => {
    if (over.current) return; // what goes also loses the focus
    over.current = true;
    onDone(value);
  };
  return (
    <input
      ref={field}
      class="as-Input as-ChatTitle-field"
      aria-label="Title of the conversation"
      maxLength={LONGEST}
      defaultValue={title}
      onBlur={({ currentTarget }) => end(currentTarget.value)}
      onKeyDown={(event) => {
        if (event.isComposing || (event.key !== "Enter" && event.key !== "Escape")) return;
        event.preventDefault();
        event.stopPropagation();
        end(event.key === "Enter" ? event.currentTarget.value : null);
      }}
    />
  );
}
