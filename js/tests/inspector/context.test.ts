import { expect, test } from "vitest";
import { sharesOf, sizesOf } from "../../src/inspector/context";
import { delta } from "../../src/inspector/delta";
import { parse, Value } from "../../src/inspector/json/parse";
import { read } from "../../src/inspector/read/reading";
import { seeded } from "./random_json";

function prompt(body: object) {
  const text = JSON.stringify(body);
  const parsed = parse(text);
  if (!("root" in parsed)) throw new Error("no JSON");
  const reading = read("prompt", new Value(text, parsed.root));
  if (reading.kind !== "prompt") throw new Error("no prompt");
  return reading;
}

const said = (content: string) => ({ role: "user", content });
const bytes = (value: unknown) => JSON.stringify(value).length;

test("what a prompt is made of", () => {
  const tool = { type: "function", function: { name: "ls" } };
  const before = [{ role: "system", content: "s" }, said("one")];
  const now = prompt({ messages: [...before, said("two")], tools: [tool] });
  const groups = delta(now.messages, prompt({ messages: before }).messages);
  const sizes = { system: bytes(before[0]), tools: bytes(tool), history: bytes(said("one")) };
  expect(sizesOf(now, { groups, seq: 1 })).toEqual({ ...sizes, new: bytes(said("two")) });
  expect(sizesOf(now, undefined)).toEqual({ ...sizes, history: 2 * sizes.history, new: 0 });
});

test("the shares are a hundred percent together, and none that isn't there is told", () => {
  const shares = (system: number, tools: number, history: number, fresh: number) =>
    sharesOf({ system, tools, history, new: fresh }).map(
      ({ kind, percent }) => `${kind} ${percent}`,
    );
  expect(shares(1, 1, 1, 0)).toEqual(["system 34", "tools 33", "history 33"]);
  expect(shares(0, 0, 999, 1)).toEqual(["history 100", "new 0"]);
  expect(shares(0, 0, 0, 0)).toEqual([]);
  const random = seeded(3);
  for (let round = 0; round < 500; round += 1) {
    const size = () => Math.floor(random() * 1000);
    const told = sharesOf({ system: size() + 1, tools: size(), history: size(), new: size() });
    expect(told.reduce((sum, { percent }) => sum + percent, 0)).toBe(100);
  }
});
