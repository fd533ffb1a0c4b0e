/** One run of the list: a line of cells, or two lines where there is no room for them. */

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Run } from "../model/model";
import { runStatus } from "../model/status";
import { Button } from "../view/button";
import { formatRunTokens, runTokens, tokensTitle } from "../view/figures";
import {
  escapeInvisible,
  formatClock,
  formatCount,
  formatDate,
  formatElapsed,
} from "../view/format";
import { useNow } from "../view/hooks";
import { StateMark } from "../view/notices";
import { type EditKind, exportDisabledReason } from "./edit";
import { durationOf } from "./sorting";

export interface RowProps {
  model: Debugger;
  run: Run;
  /** Its number in the list, from 1, the head being the first. */
  index: number;
  top: number;
  active: boolean;
  chosen: boolean;
  narrow: boolean;
  onOpen(): void;
  onChoose(): void;
  onEdit(kind: EditKind): void;
}

export function RunRow(props: RowProps) {
  const { model, run, index, top, active, chosen, narrow } = props;
  const { onOpen, onChoose } = props;
  const current = model.run.value?.id === run.id;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      class="as-RunRow"
      role="row"
      data-run={run.id}
      aria-rowindex={index}
      aria-selected={chosen}
      aria-current={current ? "true" : undefined}
      tabIndex={active ? 0 : -1}
      style={{ top: `${top}px` }}
      onClick={(event) => (event.ctrlKey || event.metaKey ? onChoose() : onOpen())}
    >
      <span class="as-RunRow-pick" role="gridcell">
        <input
          type="checkbox"
          tabIndex={-1}
          checked={chosen}
          aria-label={`Compare ${escapeInvisible(run.name)}`}
          title="Choose two runs to compare (Space)"
          onClick={(event) => event.stopPropagation()}
          onChange={onChoose}
        />
      </span>
      {narrow ? <TwoLines run={run} /> : <Cells run={run} />}
      <RowActions {...props} />
    </div>
  );
}

function Cells({ run }: { run: Run }) {
  return (
    <>
      <span class="as-RunRow-name as-Ellipsis" role="gridcell" title={nameTitle(run)}>
        <Name run={run} />
        <span class="as-Muted as-Small as-x-wide">{escapeInvisible(run.program)}</span>
      </span>
      <span class="as-RunRow-state" role="gridcell" title={stateTitle(run)}>
        <State run={run} />
      </span>
      <span class="as-RunRow-tags" role="gridcell" title={run.tags.map(escapeInvisible).join(", ")}>
        <Tags run={run} />
      </span>
      <span
        class="as-RunRow-figure as-mod-when"
        role="gridcell"
        title={formatClock(run.started_at)}
      >
        {formatDate(run.started_at)}
      </span>
      <span class="as-RunRow-figure" role="gridcell">
        {run.rows.toLocaleString("en-US")}
      </span>
      <span class="as-RunRow-figure" role="gridcell" title={tokensTitle(run)}>
        {formatRunTokens(runTokens(run))}
      </span>
      <span class="as-RunRow-figure" role="gridcell">
        <Duration run={run} />
      </span>
    </>
  );
}

function TwoLines({ run }: { run: Run }) {
  const tokens = runTokens(run);
  return (
    <span class="as-RunRow-two" role="gridcell">
      <span class="as-RunRow-line" title={nameTitle(run)}>
        <Name run={run} />
        <span class="as-Spring" />
        <span class="as-Muted as-Small as-RunRow-when">{formatDate(run.started_at)}</span>
      </span>
      <span class="as-RunRow-line as-Small as-Muted">
        <span class="as-RunRow-state" title={stateTitle(run)}>
          <State run={run} />
        </span>
        <span class="as-RunRow-tags as-Spring">
          <Tags run={run} />
        </span>
        <span>{run.rows.toLocaleString("en-US")} ev.</span>
        {tokens && <span>{formatRunTokens(tokens)} tok.</span>}
        <Duration run={run} />
      </span>
    </span>
  );
}

function nameTitle({ name, program }: Run): string {
  return [...new Set([escapeInvisible(name), escapeInvisible(program)])].join("\n");
}

function stateTitle(run: Run): string {
  const { words, detail } = runStatus(run);
  return [words, escapeInvisible(detail)].filter(Boolean).join(": ");
}

function Name({ run }: { run: Run }) {
  return <span class="as-RunRow-title as-Ellipsis">{escapeInvisible(run.name)}</span>;
}

function State({ run }: { run: Run }) {
  const status = runStatus(run);
  const { words, detail } = status;
  return (
    <>
      <StateMark status={status} />
      <span class="as-Ellipsis">
        {words.replace("…", "")}
        {detail && <span class="as-RunRow-detail as-Muted">{` ${escapeInvisible(detail)}`}</span>}
      </span>
    </>
  );
}

function Tags({ run }: { run: Run }): ComponentChildren {
  return run.tags.map((tag) => (
    <span key={tag} class="as-Tag as-RunTag">
      <span class="as-Ellipsis">{escapeInvisible(tag)}</span>
    </span>
  ));
}

function Duration({ run }: { run: Run }) {
  const now = useNow(run.state !== "idle");
  return <span>{formatElapsed(durationOf(run, now))}</span>;
}

/** What can be done with a run, over its figures: they push nothing. */
function RowActions({ model, run, onEdit }: RowProps) {
  const box = useRef<HTMLSpanElement>(null);
  const name = escapeInvisible(run.name);
  const disabledReason = readOnlyReason(model);
  // Reached from the row by Right: a list is one tab stop.
  useLayoutEffect(() => {
    for (const button of box.current?.querySelectorAll("button") ?? []) button.tabIndex = -1;
  });
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: a click on a button isn't one on the row
    <span
      ref={box}
      class="as-RunRow-acts"
      role="gridcell"
      onClick={(event) => event.stopPropagation()}
    >
      <Button
        icon="pencil"
        hint={`Rename ${name} (F2)`}
        disabledReason={disabledReason}
        onClick={() => onEdit("rename")}
      />
      <Button
        icon="tag"
        hint={`Tags of ${name} (t)`}
        disabledReason={disabledReason}
        onClick={() => onEdit("tags")}
      />
      <Button
        icon="save"
        hint={`Export ${name}`}
        disabledReason={exportDisabledReason(model)}
        onClick={() => onEdit("export")}
      />
      <Button
        icon="trash"
        hint={`Delete ${name} and its ${formatCount(run.rows, "event")} (Delete)`}
        disabledReason={deleteDisabledReason(model, run)}
        onClick={() => onEdit("delete")}
      />
    </span>
  );
}

/** Why a run can't be deleted now. */
export function deleteDisabledReason(model: Debugger, run: Run): string | null {
  return (
    readOnlyReason(model) ??
    (run.state === "idle" ? null : "A run can be deleted once it has ended")
  );
}
