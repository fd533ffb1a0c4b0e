/** The marks of a row: what breakpoints, a person, an edit rule, a replay and its outcome made of it. */
import { Icon, type IconName } from "../../icons/icon";
import type { Breakpoints } from "../../model/breakpoints";
import type { TimelineRow } from "../../model/model";
import { escapeInvisible } from "../format";

interface MarksProps {
  row: TimelineRow;
  breakpoints: Breakpoints;
}

// ---- What breakpoints made of a row: that one halted there, that it was only logged, or that its
// condition failed.

export const hasBreakpointMark = ({ stops: breakpoints, stop_error }: TimelineRow): boolean =>
  breakpoints.length > 0 || stop_error !== null;

export function BreakpointMarks({ row, breakpoints }: MarksProps) {
  const failed = `A breakpoint’s condition failed here: ${escapeInvisible(row.stop_error ?? "")}`;
  return (
    <>
      {row.stops.length > 0 && <HitMark ids={row.stops} breakpoints={breakpoints} />}
      {row.stop_error !== null && (
        <Mark tone="Bad" icon="warn" label="a breakpoint’s condition failed" title={failed} />
      )}
    </>
  );
}

function HitMark({ ids, breakpoints }: { ids: readonly string[]; breakpoints: Breakpoints }) {
  const noun = ids.length === 1 ? "breakpoint" : "breakpoints";
  const which = `the ${noun} ${breakpoints.describe(ids)}`;
  return breakpoints.areLogOnly(ids) ? (
    <Mark tone="Muted" icon="system" label="logged by a breakpoint" title={`Logged by ${which}`} />
  ) : (
    <Mark tone="You" icon="halted" label="hit by a breakpoint" title={`Hit by ${which}`} />
  );
}

interface MarkProps {
  tone: "You" | "Bad" | "Muted";
  icon: IconName;
  /** What is read out to who can't see it. */
  label: string;
  title: string;
  /** A word beside the icon, where the view is wide. */
  word?: string;
}

function Mark({ tone, icon, label, title, word }: MarkProps) {
  return (
    <span class={`as-${tone}`} role="img" aria-label={label} title={title}>
      <Icon name={icon} small />
      {word && <span class="as-x-wide">{word}</span>}
    </span>
  );
}

export function Marks({ row, breakpoints }: MarksProps) {
  return (
    <>
      <ReplayMark row={row} />
      <EditMarks row={row} breakpoints={breakpoints} />
      {(row.approval || row.answer === "deny") && <Decision row={row} />}
      {row.answer === "stop" && (
        <Mark tone="Muted" icon="stop" label="stopped" title="Stopped here" />
      )}
      {row.outcome === "error" && (
        <Mark tone="Bad" icon="cross" label="failed" title={failure(row)} />
      )}
    </>
  );
}

/** What is asked of a person here, or what they said. */
function Decision({ row: { pending, answer, reason } }: { row: TimelineRow }) {
  if (pending) {
    const asks = { label: "asks for approval", title: "Asks for approval", word: "Approval" };
    return <Mark tone="You" icon="shield" {...asks} />;
  }
  if (answer === "deny") {
    const words = `denied${reason ? `: ${escapeInvisible(reason)}` : ""}`;
    return <Mark tone="Bad" icon="cross" label={words} title={words} />;
  }
  if (answer !== "resume") return null;
  return <Mark tone="Muted" icon="check" label="approved" title="approved" />;
}

function failure({ failure }: TimelineRow): string {
  return failure ? `${failure.type}: ${failure.message}` : "Failed";
}

/** Whether a row was answered by a result or an exception in its call's place. */
export const isAnsweredOtherwise = ({ answer }: TimelineRow): boolean =>
  answer === "skip" || answer === "raise";

/** What a person or their edit rule made of a row. */
function EditMarks({ row, breakpoints }: MarksProps) {
  const rules = row.edit_rules ?? [];
  const marks: Omit<MarkProps, "tone">[] = [];
  if (row.edited && !row.guided && rules.length === 0) {
    marks.push({ icon: "pencil", label: "edited", title: "Edited by a person" });
  }
  if (row.guided) {
    marks.push({
      icon: "note",
      label: "guided",
      title: "A person added a message",
      word: "Guided",
    });
  }
  if (rules.length > 0) {
    const title = `Edited by the edit rule ${breakpoints.editRules.describe(rules)}`;
    marks.push({ icon: "pencil", label: "edited by rule", title, word: "Rule" });
  }
  if (row.answer === "skip") {
    const title = "The call wasn’t made: a person gave its result";
    marks.push({ icon: "undo", label: "skipped", title, word: "Skipped" });
  }
  if (row.answer === "raise") {
    const title = "A person raised an exception";
    marks.push({ icon: "warn", label: "let fail", title, word: "Raised" });
  }
  return (
    <>
      {marks.map((mark) => (
        <Mark key={mark.label} tone="You" {...mark} />
      ))}
    </>
  );
}

const REPLAYED: Record<NonNullable<TimelineRow["replay"]>["role"], [string, string]> = {
  served: ["Recorded", "The recorded outcome: no call was made"],
  entered: ["Entered", "The call was made, what is inside of it served"],
  forked: ["Forked", "The run was forked here"],
  live: ["Live", "The call was made: no outcome is recorded"],
  diverged: ["Diverged", "Not what was recorded"],
};

/** How a row of a run that is executed again relates to its recording. */
function ReplayMark({ row: { replay } }: { row: TimelineRow }) {
  if (!replay) return null;
  const { role, note } = replay;
  const [label, words] = REPLAYED[role];
  const tone = role === "diverged" ? "as-Bad" : role === "forked" ? "as-You" : "as-Muted";
  return (
    <span class={tone} title={note ? `${words}. ${escapeInvisible(note)}` : words}>
      {label}
    </span>
  );
}
