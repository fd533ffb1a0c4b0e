/** Small marks of changed files: the letter of what happened, and how many lines came and went. */
import type { FileChange } from "../protocol/types.gen";
import { cx } from "../view/hooks";

const KINDS: Record<FileChange["kind"], { letter: string; look: string }> = {
  added: { letter: "A", look: "as-Good" },
  changed: { letter: "M", look: "as-Changed" },
  deleted: { letter: "D", look: "as-Bad" },
  renamed: { letter: "R", look: "as-Changed" },
};

export function ChangeLetter({ kind }: { kind: FileChange["kind"] }) {
  const { letter, look } = KINDS[kind];
  return (
    <span class={cx("as-Letter", look)} title={kind} role="img" aria-label={kind}>
      {letter}
    </span>
  );
}

/** "+22 −3" */
export function Diffstat({ added, removed }: { added: number; removed: number }) {
  if (added === 0 && removed === 0) return null;
  return (
    <span class="as-Diffstat">
      {added > 0 && <span class="as-Good">{`+${added.toLocaleString("en")}`}</span>}
      {removed > 0 && <span class="as-Bad">{`−${removed.toLocaleString("en")}`}</span>}
    </span>
  );
}
