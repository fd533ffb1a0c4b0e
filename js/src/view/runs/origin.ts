/** Where a run comes from that was started again. Pure. */
import type { Run } from "../../protocol/types.gen";

/** How a run was started again, in words; "" where it wasn't. */
export function originWords({ forked_from }: Run): string {
  if (!forked_from) return "";
  if (forked_from.row) return `fork at row ${forked_from.row}`;
  return forked_from.is_live ? "run again" : "replay";
}
