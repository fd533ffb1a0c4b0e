/** What is said of edits, fetched when there is one: most rows are never edited. */
import { lazy } from "../view/lazy";
import type { ConflictProps, EditFootProps } from "./drafted";

export const Conflict = lazy<ConflictProps>(async () => (await import("./drafted")).Conflict);

/** Its line is kept free until it is here. */
export const EditFoot = lazy<EditFootProps>(
  async () => (await import("./drafted")).EditFoot,
  <div class="as-Foot">
    <p class="as-Small">…</p>
  </div>,
);
