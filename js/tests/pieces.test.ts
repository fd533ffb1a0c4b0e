import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { ContentDecoder } from "../src/client/core_client";
import type { EncodedContent } from "../src/protocol/types.gen";

interface Line {
  pieces: EncodedContent;
  length: number;
  hash: string;
}

/** As the Core sends them; tests/unit/protocol/test_delta_encoding.py makes the file. */
const WIRE = fileURLToPath(import.meta.resolve("../../tests/wire/pieces.jsonl"));

const encoded = (
  number: number,
  then: (number | string)[],
  like = 0,
  keep = 0,
): EncodedContent => ({
  number,
  like,
  keep,
  then,
});

test("what the Core sends comes out as it was, also where both sides have forgotten", () => {
  const decoder = new ContentDecoder();
  const lines = readFileSync(WIRE, "utf8").trimEnd().split("\n");
  expect(lines.length).toBeGreaterThan(500);
  for (const line of lines) {
    const { pieces, length, hash } = JSON.parse(line) as Line;
    const text = Buffer.from(decoder.decode(pieces));
    expect(text.length).toBe(length);
    expect(createHash("sha256").update(text).digest("hex").slice(0, 16)).toBe(hash);
  }
});

test.each([
  ["a content left out", encoded(3, [1])],
  ["more pieces than a content has", encoded(2, [], 1, 3)],
  ["an unknown content", encoded(2, [], 2, 1)],
  ["an unknown piece", encoded(2, [3])],
])("%s can't be joined", (_, wrong) => {
  const decoder = new ContentDecoder();
  expect(decoder.decode(encoded(1, ["one", "two"]))).toBe("onetwo");
  expect(() => decoder.decode(wrong)).toThrow("unknown_content");
});

test("what was forgotten is unknown", () => {
  const decoder = new ContentDecoder();
  decoder.decode(encoded(1, ["a", "b", 1]));
  for (let number = 2; number <= 257; number += 1) {
    decoder.decode(encoded(number, [`${number}`], number - 1, 1));
  }
  expect(decoder.decode(encoded(258, [1, 3]))).toBe("a2");
  expect(() => decoder.decode(encoded(259, [2]))).toThrow("unknown_content");
});
