/** The list of all keys, a chunk of its own. */
import { lazy, withStyles } from "./lazy";
import type { Place } from "./place";

export const Help = lazy<{ place: Place }>(async () => {
  const { Help, styles } = await import("./help");
  return withStyles(Help, "help", styles);
});
