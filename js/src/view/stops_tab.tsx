/** The Stops tab, a chunk of its own. */
import type { Debugger } from "../model/debugger";
import { lazy, withStyles } from "./lazy";

export const StopsTab = lazy<{ model: Debugger }>(async () => {
  const { StopsView, styles } = await import("../stops");
  return withStyles(StopsView, "stops", styles);
});
