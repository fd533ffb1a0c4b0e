/** That a stop's condition failed where the run is halted, and what to do. Below: nothing moves for it. */
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import { visible } from "./visible";

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
