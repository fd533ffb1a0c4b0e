/** Prices of models: which one is in force, and a list with some changed. Pure. */
import { globLiteral, matchesGlob } from "../model/breakpoints";
import type { Price } from "../protocol/types.gen";

/** The price of a model: the first whose pattern fits; null where none does. */
export function priceOf(prices: readonly Price[], model: string | null): Price | null {
  return prices.find(({ model: pattern }) => matchesGlob(pattern, model ?? "")) ?? null;
}

/** All prices with some set: whole names before patterns, longer patterns before shorter ones. */
export function withPrices(prices: readonly Price[], changed: readonly Price[]): Price[] {
  const names = new Set(changed.map(({ model }) => model));
  const others = prices.filter(({ model }) => !names.has(model));
  return [...others, ...changed].toSorted(
    (a, b) =>
      Number(isPattern(a.model)) - Number(isPattern(b.model)) || b.model.length - a.model.length,
  );
}

const isPattern = (model: string): boolean => globLiteral(model) === null;
