/** How many tokens each prompt was, as its answer told. Pure. */
import type { Row } from "../../model/model";

/** Tokens by the event that they were sent in, as far as its answer is here and tells them. */
export function askedTokens(rows: readonly Row[]): ReadonlyMap<string, number> {
  const asked = new Map<string, number>();
  for (const { event, usage } of rows) {
    if (usage?.input_tokens != null) asked.set(event, usage.input_tokens);
  }
  return asked;
}
