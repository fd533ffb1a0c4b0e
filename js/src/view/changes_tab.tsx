/** The Changes tab, a chunk of its own. */
import type { Model } from "../model/model";
import { lazy } from "./lazy";

export const ChangesTab = lazy<{ model: Model }>(async () => (await import("../changes")).Changes);
