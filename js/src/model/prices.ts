/** What is known of a model's context window. Pure. */
import type { Price } from "../protocol/types.gen";
import { matchesGlob } from "./breakpoints";

/** Tokens that a model's prompt and answer may have together; null where nobody said so. */
export function contextWindow(prices: readonly Price[], model: string | null): number | null {
  return (
    prices.find((each) => matchesGlob(each.model, model ?? "") && each.context_window)
      ?.context_window ?? null
  );
}
