/** The comparison of two runs, a chunk of its own. */
import type { Comparison, Model } from "../model/model";
import { lazy, withStyles } from "./lazy";

export const CompareTab = lazy<{ model: Model; ids: Comparison }>(async () => {
  const { Compare, styles } = await import("../compare");
  return withStyles(Compare, "compare", styles);
});
