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
}

const WORDS: DiffLabels = {
  label: "Original and edit",
  added: " added by you",
  removed: " removed by you",
  same: "The edit says the same as the original; only its spelling differs.",
};

export function EditDiff(props: EditDiffProps) {
  const { shape, original, edited } = props;
  const pane = useRef<HTMLDivElement>(null);
  const sides = useSides(pane);
  return (
    <div ref={pane}>
      <SideHeadings {...props} sides={sides} />
      <TextsDiff shape={shape} before={original} after={edited} words={WORDS} sides={sides} />
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
