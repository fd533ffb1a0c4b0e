/** What a row's contents are, told by its kind and side. */
import type { Row } from "../model/model";

/** What a body is, before anyone looks inside. */
export type Shape = "prompt" | "answer" | "call" | "result" | "note";

export function shapeOf(row: Pick<Row, "kind" | "side">): Shape {
  if (row.kind === "llm_query") return row.side === "end" ? "answer" : "prompt";
  if (row.kind === "tool_invocation") return row.side === "end" ? "result" : "call";
  return "note";
}
