/** The original beside the edit that stands in its place, as a person reads both. */
import { useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import type { ContentShape } from "../inspector/title";
import { type Sides, useSides } from "./table";
import { type DiffLabels, TextsDiff } from "./texts_diff";

export { default as styles } from "../styles/diff.css";

export interface EditDiffProps {
  shape: ContentShape;
  original: string;
  edited: string;
  /** Said beside "Original" and "Edited". */
  originalNote: string;
  editedTitle: string;
  editedNote: string;
  /** Whether it is the person's own draft: an edit may be another person's, or an edit rule's. */
  isDraft?: boolean;
}

const WORDS: DiffLabels = {
  label: "Original and edit",
  added: " added",
  removed: " removed",
  same: "The edit says the same as the original; only its spelling differs.",
};

const DRAFT_WORDS: DiffLabels = { ...WORDS, added: " added by you", removed: " removed by you" };

export function EditDiff(props: EditDiffProps) {
  const { shape, original, edited, isDraft } = props;
  const pane = useRef<HTMLDivElement>(null);
  const sides = useSides(pane);
  return (
    <div ref={pane}>
      <SideHeadings {...props} sides={sides} />
      <TextsDiff
        key={isDraft} // its blocks keep the words
        shape={shape}
        before={original}
        after={edited}
        words={isDraft ? DRAFT_WORDS : WORDS}
        sides={sides}
      />
    </div>
  );
}

function SideHeadings({
  originalNote,
  editedTitle,
  editedNote,
  sides,
}: EditDiffProps & { sides: Sides }) {
  return (
    <div class={`as-Sides as-mod-${sides}`}>
      <div>
        <span class="as-Actor as-mod-system">
          <span class="as-Diff-sign as-Bad">−</span>
          <b>Original</b>
        </span>
        <span class="as-Muted as-Ellipsis">{originalNote}</span>
      </div>
      <div>
        <span class="as-Actor as-mod-you">
          <Icon name="user" small />
          <b>{editedTitle}</b>
        </span>
        <span class="as-Muted as-Ellipsis">{editedNote}</span>
      </div>
    </div>
  );
}
