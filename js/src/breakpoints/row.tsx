/** One breakpoint of the list: a line of cells, or two lines where there is no room for them. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import {
  agentText,
  breakpointText,
  globLiteral,
  hitCountText,
  locationIcon,
  locationParts,
  locationText,
  watchText,
} from "../model/breakpoints";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Run } from "../model/model";
import type { BreakpointRule } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { cx } from "../view/hooks";
import { revealRow } from "./draft";

// ---- Where a breakpoint has hit: in the shown run, else in the newest other one. Pure.

export interface Hits {
  /** In the shown run. */
  count: number;
  /** The last one of all; null where there is none. */
  last: { run: Run; seq: number; here: boolean } | null;
}

function hitsOf(breakpoint: string, shown: Run | null, runs: readonly Run[]): Hits {
  const here = shown && hitsIn(breakpoint, shown);
  if (here) return { count: here.count, last: { run: shown, seq: here.last, here: true } };
  const run = runs.findLast((each) => hitsIn(breakpoint, each));
  const hit = run && hitsIn(breakpoint, run);
  return { count: 0, last: hit ? { run, seq: hit.last, here: false } : null };
}

const hitsIn = (breakpoint: string, { hits }: Run) => hits.find((each) => each.stop === breakpoint);

export interface RowProps {
  model: Debugger;
  breakpoint: BreakpointRule;
  /** Its number in the list, from 1, the head being the first. */
  index: number;
  /** Whether Tab leads to it. */
  active: boolean;
  /** Whether it stands in the bar. */
  edited: boolean;
  narrow: boolean;
  onSwitch(): void;
  onEdit(): void;
  onCopy(): void;
  onDelete(): void;
}

export function BreakpointRow(props: RowProps) {
  const { model, breakpoint, index, active, edited, narrow } = props;
  const row = useRef<HTMLDivElement>(null);
  // Reached from the row by Left and Right: a list is one tab stop.
  useLayoutEffect(() => {
    for (const button of row.current?.querySelectorAll("button") ?? []) button.tabIndex = -1;
  });
  return (
    <div
      ref={row}
      class={cx(
        "as-BreakpointRow",
        !(breakpoint.enabled && model.breakpoints.appliesToRun(breakpoint)) && "as-mod-off",
      )}
      role="row"
      data-breakpoint={breakpoint.id}
      aria-rowindex={index}
      aria-selected={edited}
      tabIndex={active ? 0 : -1}
      onDblClick={props.onEdit}
    >
      <span role="gridcell">
        <Switch {...props} />
      </span>
      {narrow ? (
        <TwoLines model={model} breakpoint={breakpoint} />
      ) : (
        <Cells model={model} breakpoint={breakpoint} />
      )}
      <RowActions {...props} />
    </div>
  );
}

function Switch({ model, breakpoint, onSwitch }: RowProps) {
  const disabledReason = readOnlyReason(model);
  return (
    <button
      type="button"
      class="as-Switch"
      role="switch"
      aria-checked={breakpoint.enabled}
      aria-disabled={disabledReason ? true : undefined}
      aria-label={breakpointText(breakpoint)}
      title={
        disabledReason ?? `${breakpoint.enabled ? "Disable" : "Enable"} the breakpoint (Space)`
      }
      onClick={() => disabledReason === null && onSwitch()}
    />
  );
}

interface PartProps {
  model: Debugger;
  breakpoint: BreakpointRule;
}

function Cells({ model, breakpoint }: PartProps) {
  return (
    <>
      <span class="as-BreakpointRow-where" role="gridcell" title={titleOf(breakpoint)}>
        <Where breakpoint={breakpoint} />
        <span class="as-Muted as-Small as-Ellipsis as-x-wide"> for {programText(breakpoint)}</span>
      </span>
      <span class="as-Ellipsis" role="gridcell" title={escapeInvisible(breakpoint.condition ?? "")}>
        <Condition breakpoint={breakpoint} />
      </span>
      <span class="as-BreakpointRow-then" role="gridcell" title={REACTIONS[breakpoint.then]}>
        <Then breakpoint={breakpoint} />
      </span>
      <span class="as-BreakpointRow-figure" role="gridcell" title="In the shown run">
        {hitsOf(breakpoint.id, model.run.value, []).count.toLocaleString("en-US")}
      </span>
      <span class="as-Ellipsis" role="gridcell">
        <LastHit model={model} breakpoint={breakpoint} />
      </span>
    </>
  );
}

function TwoLines({ model, breakpoint }: PartProps) {
  const { count } = hitsOf(breakpoint.id, model.run.value, []);
  return (
    <span class="as-BreakpointRow-two" role="gridcell">
      <span class="as-BreakpointRow-line" title={titleOf(breakpoint)}>
        <span class="as-BreakpointRow-where as-Spring">
          <Where breakpoint={breakpoint} />
        </span>
        <span class="as-BreakpointRow-then">
          <Then breakpoint={breakpoint} />
        </span>
      </span>
      <span class="as-BreakpointRow-line as-Small">
        <span class="as-Ellipsis as-Spring" title={escapeInvisible(breakpoint.condition ?? "")}>
          <Condition breakpoint={breakpoint} />
        </span>
        <span class="as-Muted">{count === 1 ? "1 hit" : `${count} hits`}</span>
        <LastHit model={model} breakpoint={breakpoint} />
      </span>
    </span>
  );
}

function Where({ breakpoint }: { breakpoint: BreakpointRule }) {
  const { icon, actor } = locationIcon(breakpoint);
  const { name } = breakpoint;
  const [before, after] =
    name === null ? [locationText(breakpoint), ""] : locationParts(breakpoint);
  return (
    <>
      <span class={`as-Actor as-mod-${actor}`}>
        <Icon name={icon} small />
      </span>
      <span class="as-Ellipsis">
        {before}
        {name !== null && <code class="as-Code">{escapeInvisible(name)}</code>}
        {after}
      </span>
    </>
  );
}

function Condition({ breakpoint }: { breakpoint: BreakpointRule }) {
  const { condition, watch } = breakpoint;
  const agent = agentText(breakpoint).trim();
  const rest = [watch && watchText(watch), hitCountText(breakpoint)].filter(Boolean).join(", ");
  if (condition === null) {
    const words = [agent, rest].filter(Boolean).join(", ");
    return words === "" ? <span class="as-Muted">always</span> : words;
  }
  return (
    <>
      {agent && `${agent} where `}
      <code class="as-Code">{escapeInvisible(condition)}</code>
      {rest && `, ${rest}`}
    </>
  );
}

const titleOf = (breakpoint: BreakpointRule): string =>
  `${breakpointText(breakpoint)}\nfor ${programText(breakpoint)}`;

/** Whose agents a breakpoint is for. */
function programText({ program }: BreakpointRule): string {
  if (program === "*") return "all agents";
  return escapeInvisible(globLiteral(program) ?? program);
}

const REACTIONS: Record<BreakpointRule["then"], string> = {
  halt: "Halt the run",
  log: "Log message: mark the event, and continue",
};

function Then({ breakpoint }: { breakpoint: BreakpointRule }) {
  const halts = breakpoint.then === "halt";
  return (
    <>
      <Icon name={halts ? "halted" : "system"} small />
      {halts ? "Halt" : "Log"}
    </>
  );
}

function LastHit({ model, breakpoint }: PartProps) {
  const { last } = hitsOf(breakpoint.id, model.run.value, model.runs.value);
  if (!last) return <span class="as-Muted">never</span>;
  const { run, seq, here } = last;
  const name = escapeInvisible(run.name);
  return (
    <button
      type="button"
      class="as-Link as-Ellipsis"
      title={here ? `Show event ${seq}` : `Open ${name} at event ${seq}`}
      onClick={() => void revealRow(model, run.id, seq)}
    >
      {here ? `event ${seq}` : `${name}, event ${seq}`}
    </button>
  );
}

function RowActions({ model, breakpoint, onEdit, onCopy, onDelete }: RowProps) {
  const words = breakpointText(breakpoint);
  const disabledReason = readOnlyReason(model);
  return (
    <span class="as-BreakpointRow-acts" role="gridcell">
      <Button
        icon="pencil"
        hint={`Edit ${words} (Enter)`}
        disabledReason={disabledReason}
        onClick={onEdit}
      />
      <Button
        icon="copy"
        hint={`Make another like ${words}`}
        disabledReason={disabledReason}
        onClick={onCopy}
      />
      <Button
        icon="trash"
        hint={`Delete ${words} (Delete)`}
        disabledReason={disabledReason}
        onClick={onDelete}
      />
    </span>
  );
}
