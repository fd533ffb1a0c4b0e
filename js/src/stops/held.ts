/** Why stops can't be changed from here now. */
import type { Debugger } from "../model/debugger";

export function heldSetting(model: Debugger): string | null {
  if (model.connection.value.kind !== "open") return "Not connected to the Core";
  return model.control.value ? null : "This login may watch, not control";
}
