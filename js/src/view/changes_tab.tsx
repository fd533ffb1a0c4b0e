/** The Changes tab, a chunk of its own. */
import type { Model } from "../model/model";
import { lazy, withStyles } from "./lazy";

export const ChangesTab = lazy<{ model: Model }>(async () => {
  const { Changes, styles } = await import("../changes");
  return withStyles(Changes, "changes", styles);
});
