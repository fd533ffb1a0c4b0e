import { describe, expect, test } from "vitest";
import { type JsonNode, parse, sameJson, Value } from "../../src/inspector/json/parse";
import { pretty } from "../../src/inspector/json/print";
import { compact } from "./compact";
import { pick, randomJson, seeded } from "./random_json";

const random = seeded(20_260_101);
const TEXTS = Array.from({ length: 400 }, () => randomJson(random));

function rootOf(text: string): JsonNode {
  const parsed = parse(text);
  if ("problem" in parsed) throw new Error(parsed.problem.describe(text));
  return parsed.root;
}

/** Every scalar's literal, in order. */
function literals(text: string, node: JsonNode): string[] {
  if (node.kind === "object")
    return node.members.flatMap((one) => [one.key, ...literals(text, one.value)]);
  if (node.kind === "array") return node.items.flatMap((item) => literals(text, item));
  return [text.slice(node.start, node.end)];
}

describe("parse", () => {
  test("agrees with JSON.parse on random texts, and every node stands where it says", () => {
    for (const text of TEXTS) {
      const check = (node: JsonNode): void => {
        const slice = text.slice(node.start, node.end);
        expect(slice).toBe(slice.trim());
        JSON.parse(slice);
        if (node.kind === "array") node.items.forEach(check);
        if (node.kind === "object") for (const member of node.members) check(member.value);
      };
      const root = rootOf(text);
      check(root);
      expect(text.trim()).toBe(text.slice(root.start, root.end));
    }
  });

  test("refuses what JSON.parse refuses, for random damage", () => {
    for (const text of TEXTS) {
      const at = Math.floor(random() * text.length);
      const damaged =
        text.slice(0, at) +
        pick(random, ["", ",", "}", '"', "\\", "x", "]", ":", "1"]) +
        text.slice(at + 1);
      let valid = true;
      try {
        JSON.parse(damaged);
      } catch {
        valid = false;
      }
      expect([damaged, "root" in parse(damaged)]).toEqual([damaged, valid]);
    }
  });

  test("keeps both of a key that stands twice, and reads the last", () => {
    const text = '{"a": 1.0, "a": 12345678901234567890}';
    const value = new Value(text, rootOf(text));
    expect(value.members?.map(([key, one]) => [key, one.literal])).toEqual([
      ["a", "1.0"],
      ["a", "12345678901234567890"],
    ]);
    expect(value.get("a")?.literal).toBe("12345678901234567890");
  });

  test("stops at nesting that Python would refuse", () => {
    const parsed = parse("[".repeat(5000) + "]".repeat(5000));
    expect("problem" in parsed && parsed.problem.words).toBe("this is nested too deeply");
  });
});

describe("layout", () => {
  test("changes nothing but white space outside strings", () => {
    for (const text of TEXTS) {
      const laid = pretty(text);
      expect(literals(laid, rootOf(laid))).toEqual(literals(text, rootOf(text)));
      expect(compact(laid)).toBe(compact(text));
      expect(pretty(laid)).toBe(laid);
      expect(JSON.parse(laid)).toEqual(JSON.parse(text));
    }
  });

  test("looks like json.dumps(indent=2)", () => {
    expect(pretty('{"a":[1.0,{}],"a":[],"b":{"c":"x:,{"}}')).toBe(
      [
        "{",
        '  "a": [',
        "    1.0,",
        "    {}",
        "  ],",
        '  "a": [],',
        '  "b": {',
        '    "c": "x:,{"',
        "  }",
        "}",
      ].join("\n"),
    );
  });

  test("copies what is not strict JSON", () => {
    expect(pretty('{"a": NaN, "b": [-Infinity]}')).toBe(
      '{\n  "a": NaN,\n  "b": [\n    -Infinity\n  ]\n}',
    );
    for (const text of ['{"a": [1}', "]", '"open', "{", "a b", "", "\u000c"]) {
      expect(compact(pretty(text))).toBe(compact(text));
    }
  });

  test("does not grow with the square of the depth", () => {
    const text = "[".repeat(20_000) + "]".repeat(20_000);
    expect(pretty(text).length).toBeLessThan(200 * text.length);
  });
});

describe("sameJson", () => {
  test("white space and escapes are no difference", () => {
    for (const text of TEXTS) expect(sameJson(text, pretty(text))).toBe(true);
    expect(sameJson('["\\u00e9"]', '[ "é" ]')).toBe(true);
  });

  test("numbers' spelling, order and length are", () => {
    for (const [a, b] of [
      ["1", "1.0"],
      ["[1]", "[1,2]"],
      ['{"a":1,"b":2}', '{"b":2,"a":1}'],
      ['"a"', '"b"'],
      ['"\\ud800', '"\\ud801'],
    ] as const) {
      expect(sameJson(a, b)).toBe(false);
    }
  });
});
