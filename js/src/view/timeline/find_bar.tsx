/** The search in a run, a chunk of its own. */
import type { Debugger } from "../../model/debugger";
import { lazy, withStyles } from "../lazy";

/** Something has the place and the focus at once: what is below moves once, and no key acts as another's. */
export const FindBar = lazy<{ model: Debugger }>(
  async () => {
    const { Find, styles } = await import("../../find");
    return withStyles(Find, "find", styles);
  },
  <div class="as-PaneBar">
    <input
      ref={(input) => input?.focus()}
      class="as-Input"
      readOnly
      aria-label="Find in this run"
      placeholder="Find in this run"
    />
  </div>,
);
