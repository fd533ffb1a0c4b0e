/** The lists of the overview: marked rows, calls by tool, files, repetitions, errors, the checks. */

import { Diffstat } from "../changes/change_badges";
import { Icon } from "../icons/icon";
import { hiddenChecks, nth, showCheck, shownMarks } from "../model/effects";
import type { Model, RunOverview } from "../model/model";
import type { FileUse, RepeatedCall } from "../protocol/types.gen";
import { escapeInvisible, formatCount, formatDuration } from "../view/format";
import { FirstLast, RowLink, Section } from "./parts";

interface SectionsProps {
  model: Model;
  overview: RunOverview;
}

export function Marked({ model, overview }: SectionsProps) {
  const marked = overview.marked
    .map((one) => ({ ...one, marks: shownMarks(one.marks) }))
    .filter(({ marks }) => marks.length > 0);
  return (
    <Section
      title="Claim against effect"
      count={marked.length}
      none="No tool said one thing and did another, as far as the checks below can tell."
    >
      <ul class="as-OverviewList">
        {marked.map(({ row, tool, marks }) => (
          <li key={row}>
            <RowLink model={model} row={row} />
            <code class="as-Code as-Ellipsis">{escapeInvisible(tool)}</code>
            <span class="as-OverviewText">
              {marks.map(({ check, message, severity }) => (
                <span key={check} class={severity === "warning" ? "as-mod-warn" : "as-Muted"}>
                  <Icon name="warn" small />
                  {escapeInvisible(message)}
                </span>
              ))}
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** A bar a tool, as long as its share of the most called. */
export function Tools({ model, overview }: SectionsProps) {
  const { tools, queries, query_seconds } = overview;
  const most = Math.max(1, ...tools.map(({ calls }) => calls));
  return (
    <Section title="Calls by tool" count={tools.length} none="No tool was called.">
      <table class="as-OverviewTable">
        <thead>
          <tr>
            <th scope="col">Tool</th>
            <th scope="col">Calls</th>
            <th scope="col">Failed</th>
            <th scope="col">Time</th>
            <th scope="col">Rows</th>
          </tr>
        </thead>
        <tbody>
          {tools.map(({ name, calls, failures, marked, seconds, first, last }) => (
            <tr key={name}>
              <th scope="row" class="as-Ellipsis" title={escapeInvisible(name)}>
                <code class="as-Code">{escapeInvisible(name)}</code>
                {marked > 0 && (
                  <span class="as-mod-warn" title={formatCount(marked, "marked row")}>
                    <Icon name="warn" small />
                    <span class="as-Hidden">{formatCount(marked, "marked row")}</span>
                  </span>
                )}
              </th>
              <td>
                <span class="as-Bar" style={{ "--as-share": calls / most }} />
                {calls.toLocaleString("en-US")}
              </td>
              <td class={failures > 0 ? "as-Bad" : "as-Muted"}>{failures}</td>
              <td>{formatDuration(seconds)}</td>
              <td>
                <FirstLast model={model} first={first} last={last} />
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      {queries > 0 && (
        <p class="as-Muted as-Small">
          {`${formatCount(queries, "LLM query").replace("querys", "queries")}, ${formatDuration(query_seconds)}`}
        </p>
      )}
    </Section>
  );
}

export function Files({ model, overview }: SectionsProps) {
  const { files, more_files } = overview;
  return (
    <Section
      title="Files read and changed"
      count={files.length}
      none="No file was read or changed."
    >
      <ul class="as-OverviewList as-mod-files">
        {files.map((file) => (
          <FileLine key={file.path} model={model} file={file} />
        ))}
      </ul>
      {more_files > 0 && (
        <p class="as-Muted as-Small">{`and ${formatCount(more_files, "more file")}`}</p>
      )}
    </Section>
  );
}

function FileLine({ model, file }: { model: Model; file: FileUse }) {
  const { path, reads, changes, added, removed, kind, first, last } = file;
  const how = [
    changes > 0 && (kind === "deleted" ? "deleted" : `changed ${times(changes)}`),
    reads > 0 && `read ${times(reads)}`,
  ].filter(Boolean);
  const name = <bdi>{escapeInvisible(path)}</bdi>;
  return (
    <li>
      <Icon name="file" small />
      {changes > 0 ? (
        <button
          type="button"
          class="as-Link as-Ellipsis as-PathStart"
          title={`${escapeInvisible(path)} as it was at any row`}
          onClick={() => {
            model.fileAtRow.value = { path, row: last };
          }}
        >
          {name}
        </button>
      ) : (
        <span class="as-Ellipsis as-PathStart">{name}</span>
      )}
      {changes > 0 && <Diffstat added={added} removed={removed} />}
      <span class="as-Muted as-Small">{how.join(", ")}</span>
      <FirstLast model={model} first={first} last={last} />
    </li>
  );
}

const times = (n: number) => (n === 1 ? "once" : `${n.toLocaleString("en-US")} times`);

export function Repeated({ model, overview }: SectionsProps) {
  const { repeated } = overview;
  return (
    <Section
      title="Repeated calls"
      count={repeated.length}
      none="No call came again with the same result."
    >
      <ul class="as-OverviewList">
        {repeated.map((one) => (
          <RepeatedLine key={`${one.row} ${one.summary}`} model={model} one={one} />
        ))}
      </ul>
    </Section>
  );
}

function RepeatedLine({ model, one }: { model: Model; one: RepeatedCall }) {
  const { row, summary, repetition } = one;
  const { count, last, is_unchanged, cycle } = repetition;
  return (
    <li>
      <RowLink model={model} row={row} />
      <code class="as-Code as-Ellipsis" title={escapeInvisible(summary)}>
        {escapeInvisible(summary)}
      </code>
      <span class="as-OverviewText as-Small">
        {cycle === undefined ? (
          <span>
            {`${count}×: same as row `}
            <RowLink model={model} row={last} />
            {`, same result${is_unchanged ? ", no file changed" : ""}`}
          </span>
        ) : (
          <span>
            {`ends a cycle of ${cycle} calls, for the ${nth(count)} time, from row `}
            <RowLink model={model} row={repetition.first} />
          </span>
        )}
      </span>
    </li>
  );
}

export function Errors({ model, overview }: SectionsProps) {
  const { errors } = overview;
  return (
    <Section title="Errors" count={errors.length} none="Nothing failed.">
      <ul class="as-OverviewList">
        {errors.map(({ text, source, count, first, last }) => (
          <li key={`${source} ${text}`}>
            <b class="as-Bad">{`${count.toLocaleString("en-US")}×`}</b>
            <code class="as-Code as-Ellipsis">{escapeInvisible(source)}</code>
            <span class="as-OverviewText as-Small">{escapeInvisible(text)}</span>
            <FirstLast model={model} first={first} last={last} />
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Each check, with a box that hides its marks in this browser. */
export function Checks({ overview }: { overview: RunOverview }) {
  const { checks } = overview;
  return (
    <Section title="Effect checks" count={checks.length} none="This Core makes no effect checks.">
      <ul class="as-OverviewList as-mod-checks">
        {checks.map(({ name, title, enabled }) => (
          <li key={name}>
            <label title={enabled ? name : `${name}: switched off in this Core`}>
              <input
                type="checkbox"
                checked={enabled && !hiddenChecks.value.has(name)}
                disabled={!enabled}
                onChange={(event) => showCheck(name, event.currentTarget.checked)}
              />
              {escapeInvisible(title)}
              {!enabled && <span class="as-Muted">{" (off in this Core)"}</span>}
            </label>
          </li>
        ))}
      </ul>
    </Section>
  );
}
