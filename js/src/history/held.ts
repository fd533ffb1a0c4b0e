/** Why something about runs can't be done from here now. */
import type { Debugger } from "../model/debugger";

/** Why nothing can be asked of the Core; null where it can. */
export function heldReading(model: Debugger): string | null {
  return model.connection.value.kind === "open" ? null : "Not connected to the Core";
}

/** Why nothing can be changed; null where it can. */
export function heldWriting(model: Debugger): string | null {
  const away = heldReading(model);
  if (away) return away;
  return model.control.value ? null : "This login may watch, not control";
}
