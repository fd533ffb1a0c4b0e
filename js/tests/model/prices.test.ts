import { expect, test } from "vitest";
import { contextWindow } from "../../src/model/prices";
import { priceOf, withPrices } from "../../src/usage/price_list";

const price = (model: string, input = 1, more = {}) => ({ model, input, output: 2, ...more });

test("the first price whose pattern fits is the model's", () => {
  const prices = [price("gpt-5", 1), price("gpt-*", 2)];
  expect(priceOf(prices, "gpt-5")?.input).toBe(1);
  expect(priceOf(prices, "gpt-5-mini")?.input).toBe(2);
  expect(priceOf(prices, "claude")).toBe(null);
  expect(priceOf(prices, null)).toBe(null);
});

test("the window is the first that fits and is known", () => {
  const prices = [price("gpt-5"), price("gpt-*", 2, { context_window: 128_000 })];
  expect(contextWindow(prices, "gpt-5")).toBe(128_000);
  expect(contextWindow(prices, "claude")).toBe(null);
});

test("whole names come before patterns, longer ones before shorter ones", () => {
  const set = withPrices([price("*"), price("gpt-5")], [price("gpt-*", 3), price("gpt-5", 4)]);
  expect(set.map(({ model, input }) => [model, input])).toEqual([
    ["gpt-5", 4],
    ["gpt-*", 3],
    ["*", 1],
  ]);
});
