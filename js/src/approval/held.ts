/** Why a row can't be answered from here now. */
import type { Model, Row } from "../model/model";

export function heldAnswering(model: Model, row: Row): string | null {
  if (model.connection.value.kind !== "open") return "Not connected to the Core";
  if (!model.control.value) return "This login may watch, not control";
  return model.sent.value.has(row.id) ? "Your answer is on its way" : null;
}
