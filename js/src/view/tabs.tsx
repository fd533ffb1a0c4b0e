/** Parts of the view that have a chunk of their own: tabs, the comparison of two runs, the list of keys. */
import type { Debugger } from "../model/debugger";
import type { Comparison, Model } from "../model/model";
import { lazy, withStyles } from "./lazy";
import type { Place } from "./place";

export const CompareTab = lazy<{ model: Model; ids: Comparison }>(async () => {
  const { Compare, styles } = await import("../compare");
  return withStyles(Compare, "compare", styles);
});

export const RunsTab = lazy<{ model: Debugger }>(async () => {
  const { Runs, styles } = await import("../history");
  return withStyles(Runs, "history", styles);
});

export const StopsTab = lazy<{ model: Debugger }>(async () => {
  const { StopsView, styles } = await import("../stops");
  return withStyles(StopsView, "stops", styles);
});

export const Help = lazy<{ place: Place }>(async () => {
  const { Help, styles } = await import("./help");
  return withStyles(Help, "help", styles);
});

export const ChangesTab = lazy<{ model: Model }>(async () => {
  const { Changes, styles } = await import("../changes");
  return withStyles(Changes, "changes", styles);
});
