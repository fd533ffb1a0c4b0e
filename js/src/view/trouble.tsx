/** That nothing, or not all, can be kept, and why. Below, as the end of a run is: nothing moves for it. */
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import { visible } from "./visible";

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
