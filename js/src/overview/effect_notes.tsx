/** What effect checks say of a row, in sentences above its contents: a chunk of its own. */
import { Icon } from "../icons/icon";
import { marksOf, repetitionText } from "../model/effects";
import type { Model, TimelineRow } from "../model/model";
import { escapeInvisible } from "../view/format";
import { repetitionOf } from "./row_marks";

export interface EffectNotesProps {
  model: Model;
  row: TimelineRow;
}

/** All that is said of a row, above its contents. */
export function EffectNotes({ model, row }: EffectNotesProps) {
  const marks = marksOf(row);
  const repetition = repetitionOf(row);
  if (marks.length === 0 && !repetition) return null;
  // Nothing moves where a file comes later: of other rows the overview has it.
  const path = marks.length > 0 ? writtenPath(model, row) : null;
  return (
    <ul class="as-Effects as-Small" aria-label="What effect checks say">
      {marks.map(({ check, message, severity }) => (
        <li key={check} class={severity === "warning" ? "as-mod-warn" : undefined}>
          <Icon name="warn" small />
          <span>{escapeInvisible(message)}</span>
        </li>
      ))}
      {repetition && (
        <li>
          <Icon name="retry" small />
          <span>
            {`${repetitionText(repetition)}. `}
            <button type="button" class="as-Link" onClick={() => model.reveal(repetition.last)}>
              {`Go to row ${repetition.last}`}
            </button>
          </span>
        </li>
      )}
      {path && (
        <li>
          <Icon name="file" small />
          <button
            type="button"
            class="as-Link as-Ellipsis"
            title="The file as it was after this row, beside what the call asked to write"
            onClick={() => {
              model.fileAtRow.value = { path, row: endOf(model, row) };
              model.tab.value = "overview";
            }}
          >
            {`${escapeInvisible(path)} as it was after this`}
          </button>
        </li>
      )}
    </ul>
  );
}

/** The file that a call was to write, where its summary names one that the run has changed. */
function writtenPath(model: Model, row: TimelineRow): string | null {
  if (row.kind !== "tool_invocation" || row.side === null) return null;
  if (!/write|edit|create|save|append|patch|replace|insert|update|apply|fix/i.test(row.name ?? ""))
    return null;
  const rows = model.rows.value.filter(({ event }) => event === row.event);
  const said = rows
    .flatMap(({ summary, effects }) => [summary, ...(effects?.marks ?? []).map((m) => m.message)])
    .join("\n");
  const own = model.commits.value.find(({ event }) => event === row.event)?.changes[0]?.path;
  const paths = model.commits.value.flatMap(({ changes }) => changes.map((one) => one.path));
  return own ?? paths.find((path) => said.includes(path)) ?? null;
}

const endOf = (model: Model, row: TimelineRow): number =>
  model.rows.peek().find(({ event, side }) => event === row.event && side === "end")?.seq ??
  row.seq;
