/** One stop of the list: a line of cells, or two lines where there is no room for them. */

import { useLayoutEffect, useRef } from "preact/hooks";
import { Icon } from "../icons/icon";
import { barred } from "../model/controls";
import type { Debugger } from "../model/debugger";
import type { Run } from "../model/model";
import {
  aroundName,
  literalOf,
  oftenWords,
  placeIcon,
  placeWords,
  stopWords,
  watchWords,
} from "../model/stops";
import type { BreakpointRule } from "../protocol/types.gen";
import { Button } from "../view/button";
import { cx } from "../view/hooks";
import { visible } from "../view/words";
import { goTo } from "./draft";

// ---- Where a stop has hit: in the shown run, else in the newest other one. Pure.

export interface Hits {
  /** In the shown run. */
  count: number;
  /** The last one of all; null where there is none. */
  last: { run: Run; seq: number; here: boolean } | null;
}

function hitsOf(stop: string, shown: Run | null, runs: readonly Run[]): Hits {
  const here = shown && hitsIn(stop, shown);
  if (here) return { count: here.count, last: { run: shown, seq: here.last, here: true } };
  const run = runs.findLast((each) => hitsIn(stop, each));
  const hit = run && hitsIn(stop, run);
  return { count: 0, last: hit ? { run, seq: hit.last, here: false } : null };
}

const hitsIn = (stop: string, { hits }: Run) => hits.find((each) => each.stop === stop);

export interface RowProps {
  model: Debugger;
  stop: BreakpointRule;
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

export function StopRow(props: RowProps) {
  const { model, stop, index, active, edited, narrow } = props;
  const row = useRef<HTMLDivElement>(null);
  // Reached from the row by Left and Right: a list is one tab stop.
  useLayoutEffect(() => {
    for (const button of row.current?.querySelectorAll("button") ?? []) button.tabIndex = -1;
  });
  return (
    <div
      ref={row}
      class={cx("as-StopRow", !(stop.enabled && model.stops.isFor(stop)) && "as-mod-off")}
      role="row"
      data-stop={stop.id}
      aria-rowindex={index}
      aria-selected={edited}
      tabIndex={active ? 0 : -1}
      onDblClick={props.onEdit}
    >
      <span role="gridcell">
        <Switch {...props} />
      </span>
      {narrow ? <TwoLines model={model} stop={stop} /> : <Cells model={model} stop={stop} />}
      <Acts {...props} />
    </div>
  );
}

function Switch({ model, stop, onSwitch }: RowProps) {
  const held = barred(model);
  return (
    <button
      type="button"
      class="as-Switch"
      role="switch"
      aria-checked={stop.enabled}
      aria-disabled={held ? true : undefined}
      aria-label={stopWords(stop)}
      title={held ?? `${stop.enabled ? "On: switch it off" : "Off: switch it on"} (Space)`}
      onClick={() => held === null && onSwitch()}
    />
  );
}

interface PartProps {
  model: Debugger;
  stop: BreakpointRule;
}

function Cells({ model, stop }: PartProps) {
  return (
    <>
      <span class="as-StopRow-where" role="gridcell" title={titleOf(stop)}>
        <Where stop={stop} />
        <span class="as-Muted as-Small as-Ellipsis as-x-wide"> for {forWhom(stop)}</span>
      </span>
      <span class="as-Ellipsis" role="gridcell" title={visible(stop.condition ?? "")}>
        <Condition stop={stop} />
      </span>
      <span class="as-StopRow-then" role="gridcell">
        <Then stop={stop} />
      </span>
      <span class="as-StopRow-figure" role="gridcell" title="In the shown run">
        {hitsOf(stop.id, model.run.value, []).count.toLocaleString("en-US")}
      </span>
      <span class="as-Ellipsis" role="gridcell">
        <LastHit model={model} stop={stop} />
      </span>
    </>
  );
}

function TwoLines({ model, stop }: PartProps) {
  const { count } = hitsOf(stop.id, model.run.value, []);
  return (
    <span class="as-StopRow-two" role="gridcell">
      <span class="as-StopRow-line" title={titleOf(stop)}>
        <span class="as-StopRow-where as-Spring">
          <Where stop={stop} />
        </span>
        <span class="as-StopRow-then">
          <Then stop={stop} />
        </span>
      </span>
      <span class="as-StopRow-line as-Small">
        <span class="as-Ellipsis as-Spring" title={visible(stop.condition ?? "")}>
          <Condition stop={stop} />
        </span>
        <span class="as-Muted">{count === 1 ? "1 hit" : `${count} hits`}</span>
        <LastHit model={model} stop={stop} />
      </span>
    </span>
  );
}

function Where({ stop }: { stop: BreakpointRule }) {
  const { icon, actor } = placeIcon(stop);
  const { name } = stop;
  const [before, after] = name === null ? [placeWords(stop), ""] : aroundName(stop);
  return (
    <>
      <span class={`as-Actor as-mod-${actor}`}>
        <Icon name={icon} small />
      </span>
      <span class="as-Ellipsis">
        {before}
        {name !== null && <code class="as-Code">{visible(name)}</code>}
        {after}
      </span>
    </>
  );
}

function Condition({ stop }: { stop: BreakpointRule }) {
  const { condition, watch } = stop;
  const rest = [watch && watchWords(watch), oftenWords(stop)].filter(Boolean).join(", ");
  if (condition === null) return rest === "" ? <span class="as-Muted">always</span> : rest;
  return (
    <>
      <code class="as-Code">{visible(condition)}</code>
      {rest && `, ${rest}`}
    </>
  );
}

const titleOf = (stop: BreakpointRule): string => `${stopWords(stop)}\nfor ${forWhom(stop)}`;

/** Whose agents a stop is for. */
function forWhom({ program }: BreakpointRule): string {
  if (program === "*") return "all agents";
  return visible(literalOf(program) ?? program);
}

function Then({ stop }: { stop: BreakpointRule }) {
  const halts = stop.then === "halt";
  return (
    <>
      <Icon name={halts ? "halted" : "system"} small />
      {halts ? "Halt" : "Log"}
    </>
  );
}

function LastHit({ model, stop }: PartProps) {
  const { last } = hitsOf(stop.id, model.run.value, model.runs.value);
  if (!last) return <span class="as-Muted">never</span>;
  const { run, seq, here } = last;
  const name = visible(run.name);
  return (
    <button
      type="button"
      class="as-Link as-Ellipsis"
      title={here ? `Show event ${seq}` : `Open ${name} at event ${seq}`}
      onClick={() => void goTo(model, run.id, seq)}
    >
      {here ? `event ${seq}` : `${name}, event ${seq}`}
    </button>
  );
}

function Acts({ model, stop, onEdit, onCopy, onDelete }: RowProps) {
  const words = stopWords(stop);
  const held = barred(model);
  return (
    <span class="as-StopRow-acts" role="gridcell">
      <Button icon="pencil" hint={`Edit ${words} (Enter)`} held={held} onClick={onEdit} />
      <Button icon="copy" hint={`Make another like ${words}`} held={held} onClick={onCopy} />
      <Button icon="trash" hint={`Delete ${words} (Delete)`} held={held} onClick={onDelete} />
    </span>
  );
}
