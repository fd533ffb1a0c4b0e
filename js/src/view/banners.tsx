/** What is told below the view, so that nothing moves for it. */
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { EndedProps } from "./ended";
import { lazy } from "./lazy";
import { visible } from "./visible";

/** How the run ended. */
export function Banner({ model }: { model: Debugger }) {
  const run = model.run.value;
  return run?.ending ? <Ended key={run.id} model={model} run={run} /> : null;
}

/** Its two lines are kept free until it is here. */
const Ended = lazy<EndedProps>(
  async () => (await import("./ended")).Ended,
  <div class="as-Banner">
    <div class="as-Banner-text">
      <b>Ended</b>
      <span class="as-Small">…</span>
    </div>
  </div>,
);

/** That nothing, or not all, can be kept, and why. */
export function StoreTrouble({ model }: { model: Debugger }) {
  const why = model.store.value?.trouble;
  if (!why) return null;
  return (
    <div class="as-Banner as-mod-bad" role="alert">
      <Icon name="warn" />
      <div class="as-Banner-text" title={visible(why)}>
        <b>Runs can’t be kept</b>
        <span class="as-Muted as-Small">{visible(why)}</span>
      </div>
    </div>
  );
}

/** That a stop’s condition failed where the run is halted, and what to do. */
export function StopTrouble({ model }: { model: Debugger }) {
  const why = model.target.value?.stop_error;
  if (!why || model.tab.value === "stops") return null;
  const text = `${visible(why).replace(/\.?$/, ".")} It halts where it can’t tell: correct the condition, or switch it off.`;
  return (
    <div class="as-Banner as-mod-bad" role="alert">
      <Icon name="warn" />
      <div class="as-Banner-text" title={text}>
        <b>A stop’s condition failed here</b>
        <span class="as-Muted as-Small">{text}</span>
      </div>
      <button
        type="button"
        class="as-Link"
        onClick={() => {
          model.tab.value = "stops";
        }}
      >
        Look at the stops
      </button>
    </div>
  );
}
