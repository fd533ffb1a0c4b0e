/** What effect checks say of a row in the timeline: a badge, and what the model said beside its calls. */
import { Icon } from "../icons/icon";
import { marksOf, repetitionText } from "../model/effects";
import type { TimelineRow } from "../model/model";
import { escapeInvisible } from "../view/format";
import { cx } from "../view/hooks";

/** What stands on a row beside its icon, by the check that marked it. */
const LABELS: Record<string, string> = {
  dropped_edit: "edit dropped?",
  no_effect: "changed no file",
  same_content: "changed no file",
  named_files: "other files",
  failed_effect: "did happen",
  already_done: "already there",
  exit_code: "exit code?",
};

export const repetitionOf = ({ effects }: TimelineRow) => effects?.repetition;

export const hasEffectBadge = (row: TimelineRow): boolean =>
  row.effects !== undefined && (marksOf(row).length > 0 || repetitionOf(row) !== undefined);

export function EffectBadge({ row }: { row: TimelineRow }) {
  if (!hasEffectBadge(row)) return null;
  const marks = marksOf(row);
  const repetition = repetitionOf(row);
  const [first] = marks;
  const said = marks.map(({ message }) => escapeInvisible(message)).join("\n");
  return (
    <>
      {first && (
        <span
          class={cx("as-Effect", first.severity === "warning" ? "as-mod-warn" : "as-Muted")}
          role="img"
          aria-label={`effect check: ${said}`}
          title={said}
        >
          <Icon name="warn" small />
          <span class="as-x-medium">{LABELS[first.check] ?? first.check.replaceAll("_", " ")}</span>
        </span>
      )}
      {repetition && (
        <span
          class="as-Effect as-Muted"
          role="img"
          aria-label={repetitionText(repetition)}
          title={repetitionText(repetition)}
        >
          <Icon name="retry" small />
          {`${repetition.count}×`}
        </span>
      )}
    </>
  );
}

/** What the model said beside its calls. */
export function Said({ row }: { row: TimelineRow }) {
  if (!row.said) return null;
  return <bdi class="as-Said">{`“${escapeInvisible(row.said)}”`}</bdi>;
}
