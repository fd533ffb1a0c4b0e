/** Whose a row is: its lane as a bar beside the number, its agent in words, and the filter by agents. */

import { useRef, useState } from "preact/hooks";
import { Icon } from "../../icons/icon";
import type { Debugger } from "../../model/debugger";
import { type Lane, laneText, MAIN_LANE } from "../../model/lanes";
import { escapeInvisible } from "../format";
import { cx, useOutsidePress } from "../hooks";
import { lazy } from "../lazy";
import type { LaneListProps } from "./lane_list";

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
      <LaneTitle {...lane} />
    </span>
  );
}

/** Where there is little room for a name, the number stays. */
export function LaneTitle({ name, number }: Pick<Lane, "name" | "number">) {
  return (
    <>
      <span class="as-Ellipsis">{escapeInvisible(name)}</span>
      {number > 1 && <span class="as-Lane-number"> {number}</span>}
    </>
  );
}

export const LaneList = lazy<LaneListProps>(async () => (await import("./lane_list")).LaneList);

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
            {one ? <LaneTitle {...one} /> : <span class="as-Ellipsis">{words}</span>}
          </span>
        )}
      </button>
      {open && <LaneList model={model} lanes={lanes} onClose={close} />}
    </span>
  );
}

export const MAIN_TEXT = "main program";

const chosenText = (chosen: readonly string[]): string =>
  chosen.length === 1 ? MAIN_TEXT : `${chosen.length} agents`;
