/** A line that opens what stands under it. */
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { Icon } from "../../icons/icon";

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
