/** What happened to a file, as one letter. */
import type { FileChange } from "../protocol/types.gen";
import { cx } from "../view/classes";

const KINDS: Record<FileChange["kind"], { letter: string; look: string }> = {
  added: { letter: "A", look: "as-Good" },
  changed: { letter: "M", look: "as-Changed" },
  deleted: { letter: "D", look: "as-Bad" },
  renamed: { letter: "R", look: "as-Changed" },
};

export function Letter({ kind }: { kind: FileChange["kind"] }) {
  const { letter, look } = KINDS[kind];
  return (
    <span class={cx("as-Letter", look)} title={kind} role="img" aria-label={kind}>
      {letter}
    </span>
  );
}
