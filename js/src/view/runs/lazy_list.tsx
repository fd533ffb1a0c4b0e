/** The list of runs under its button, a chunk of its own. */
import { lazy, withStyles } from "../lazy";
import type { ListProps } from "./list";

export const RunList = lazy<ListProps>(async () => {
  const { RunList, styles } = await import("./list");
  return withStyles(RunList, "picker", styles);
});
