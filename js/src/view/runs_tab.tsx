/** The Runs tab, a chunk of its own. */
import type { Debugger } from "../model/debugger";
import { lazy, withStyles } from "./lazy";

export const RunsTab = lazy<{ model: Debugger }>(async () => {
  const { Runs, styles } = await import("../history");
  return withStyles(Runs, "history", styles);
});
