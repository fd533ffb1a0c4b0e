/** The list of agents to choose from: whose events the timeline shows. A chunk of its own. */

import { useLayoutEffect, useRef } from "preact/hooks";
import type { Debugger } from "../../model/debugger";
import { type Lane, MAIN_LANE } from "../../model/lanes";
import { Button } from "../button";
import { escapeInvisible } from "../format";
import { cx } from "../hooks";
import { LaneTitle, MAIN_TEXT } from "./lane";

export interface LaneListProps {
  model: Debugger;
  lanes: readonly Lane[];
  onClose(): void;
}

export function LaneList({ model, lanes, onClose }: LaneListProps) {
  const box = useRef<HTMLDivElement>(null);
  const fields = () => [...(box.current?.querySelectorAll<HTMLElement>("input") ?? [])];
  useLayoutEffect(() => {
    fields().at(0)?.focus();
  }, []);
  const onKeyDown = (event: KeyboardEvent) => {
    const step = STEPS[event.key];
    const all = fields();
    const at = all.indexOf(document.activeElement as HTMLElement);
    if (event.key === "Escape" || (event.key === "Enter" && at >= 0)) onClose();
    else if (step !== undefined) all[(at + step + all.length) % all.length]?.focus();
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <div
      ref={box}
      class="as-LaneList"
      role="dialog"
      aria-label="Agents shown"
      onKeyDown={onKeyDown}
    >
      <ul class="as-Scroll">
        <LaneItem model={model} lane={{ key: MAIN_LANE, name: MAIN_TEXT, number: 1 }} />
        {lanes.map((lane) => (
          <LaneItem key={lane.key} model={model} lane={lane} />
        ))}
      </ul>
      <p class="as-LaneList-end">
        <span class="as-Muted">Halts are always shown.</span>
        <Button
          hint="Show the events of all agents"
          disabledReason={model.shownLanes.value.length === 0 ? "All agents are shown" : null}
          onClick={() => {
            model.shownLanes.value = [];
          }}
        >
          Show all
        </Button>
      </p>
    </div>
  );
}

const STEPS: Record<string, number> = { ArrowUp: -1, ArrowDown: 1 };

interface ItemProps {
  model: Debugger;
  lane: Pick<Lane, "key" | "name" | "number"> & Partial<Lane>;
}

function LaneItem({ model, lane }: ItemProps) {
  const { key, parent, hue } = lane;
  return (
    <li>
      <label class="as-LaneItem">
        <input
          type="checkbox"
          checked={model.shownLanes.value.includes(key)}
          onChange={() => model.toggleLane(key)}
        />
        <i class={cx("as-LaneSwatch", hue !== undefined && `as-mod-hue${hue}`)} />
        <span class="as-LaneItem-title">
          <LaneTitle {...lane} />
        </span>{" "}
        {parent && (
          <span class="as-Muted as-Small as-Ellipsis">{`in ${escapeInvisible(parent)}`}</span>
        )}
      </label>
    </li>
  );
}
