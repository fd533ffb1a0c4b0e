/** Whose a row is: its lane as a bar beside the number, its agent in words, and the filter by agents. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../icons/icon";
import type { Debugger } from "../../model/debugger";
import { type Lane, laneText, MAIN_LANE } from "../../model/lanes";
import { Button } from "../button";
import { escapeInvisible } from "../format";
import { cx, useOutsidePress } from "../hooks";

/** Rows of one lane have it in one place, so that those of two that run together can be followed. */
export function LaneBar({ hue }: { hue: number }) {
  return <i class={`as-LaneBar as-mod-hue${hue}`} />;
}

interface LabelProps {
  /** Null: the main one. */
  lane: Lane | null;
  /** The step of a graph that the agent is at. */
  node: string | null;
}

/** The agent's name as a chip, and beside it the node; nothing where a row has neither. */
export function AgentLabel({ lane, node }: LabelProps) {
  return (
    <>
      {lane && <Chip lane={lane} node={node} />}
      {lane && " "}
      {node && (
        <span
          class={cx("as-LaneNode", lane && "as-x-narrow")}
          title={`At node ${escapeInvisible(node)}`}
        >
          {escapeInvisible(node)}{" "}
        </span>
      )}
    </>
  );
}

function Chip({ lane, node }: LabelProps & { lane: Lane }) {
  const words = [laneText(lane), node && `at node ${node}`].filter(Boolean).join(", ");
  return (
    <span class={`as-Lane as-mod-hue${lane.hue}`} title={escapeInvisible(words)}>
      <Title {...lane} />
    </span>
  );
}

/** Where there is little room for a name, the number stays. */
function Title({ name, number }: Pick<Lane, "name" | "number">) {
  return (
    <>
      <span class="as-Ellipsis">{escapeInvisible(name)}</span>
      {number > 1 && <span class="as-Lane-number"> {number}</span>}
    </>
  );
}

// ---- Which agents are shown: a button, and under it a list to choose from.

export function LaneFilter({ model }: { model: Debugger }) {
  const [open, setOpen] = useState(false);
  const box = useRef<HTMLSpanElement>(null);
  useOutsidePress(box, open, () => setOpen(false));
  const lanes = model.lanes.value.all;
  if (lanes.length === 0) return null;
  const chosen = model.shownLanes.value;
  const one = chosen.length === 1 ? model.lanes.value.get(chosen[0] ?? MAIN_LANE) : null;
  const words = one ? escapeInvisible(one.title) : chosenText(chosen);
  const close = () => {
    setOpen(false);
    box.current?.querySelector("button")?.focus();
  };
  return (
    <span ref={box} class="as-LaneFilter">
      <button
        type="button"
        class={cx("as-Button", chosen.length === 0 ? "as-mod-icon" : "as-mod-chosen")}
        title={chosen.length === 0 ? "Filter by agent" : `Shows only ${words}`}
        aria-label={chosen.length === 0 ? "Filter by agent" : `Filter by agent: ${words}`}
        aria-haspopup="dialog"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
      >
        <Icon name="agent" />
        {chosen.length > 0 && (
          <span class="as-LaneFilter-words">
            {one ? <Title {...one} /> : <span class="as-Ellipsis">{words}</span>}
          </span>
        )}
      </button>
      {open && <LaneList model={model} lanes={lanes} onClose={close} />}
    </span>
  );
}

const MAIN_TEXT = "main program";

const chosenText = (chosen: readonly string[]): string =>
  chosen.length === 1 ? MAIN_TEXT : `${chosen.length} agents`;

interface ListProps {
  model: Debugger;
  lanes: readonly Lane[];
  onClose(): void;
}

function LaneList({ model, lanes, onClose }: ListProps) {
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
          <Title {...lane} />
        </span>{" "}
        {parent && (
          <span class="as-Muted as-Small as-Ellipsis">{`in ${escapeInvisible(parent)}`}</span>
        )}
      </label>
    </li>
  );
}
