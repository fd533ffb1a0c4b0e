import { beforeEach, expect, test } from "vitest";
import { CommandError } from "../../src/client/core_client";
import { RowFinder } from "../../src/model/rows";
import type { FindRows, RowsFound } from "../../src/protocol/types.gen";
import { settled, TestTimers } from "../helpers/peer";

interface PendingRequest extends FindRows {
  answer(seqs: number[]): Promise<void>;
  refuse(code: string): Promise<void>;
}

let asked: PendingRequest[];
let troubles: string[];
let timers: TestTimers;
let finder: RowFinder;
beforeEach(() => {
  asked = [];
  troubles = [];
  timers = new TestTimers();
  finder = new RowFinder({
    request: (wanted) =>
      new Promise<RowsFound>((resolve, reject) => {
        asked.push({
          ...wanted,
          answer: (seqs) => {
            resolve({ run: wanted.run, seqs, total: seqs.length });
            return settled();
          },
          refuse: (code) => {
            reject(new CommandError(code, code));
            return settled();
          },
        });
      }),
    timers,
    onError: ({ code }) => troubles.push(code),
  });
});

const look = (text: string, length = 1000) => finder.find({ run: "a", text, lanes: [], length });
const found = () => finder.found.value?.seqs;
const next = (): PendingRequest => {
  const one = asked.shift();
  if (!one) throw new Error("nothing was asked");
  return one;
};

test("asks once the person pauses, for the last words", async () => {
  for (const text of ["f", "fa", "fai"]) {
    look(text);
    timers.pass(150);
  }
  expect(asked).toEqual([]);
  timers.pass(50);
  expect(asked.map(({ text }) => text)).toEqual(["fai"]);
  await next().answer([3]);
  expect(finder.found.value).toEqual({
    run: "a",
    text: "fai",
    lanes: [],
    seqs: [3],
    total: 1,
    rowCount: 1000,
    laneStarts: [],
  });
});

test("keeps what was found until the next is, and never shows an older answer", async () => {
  look("a");
  timers.pass(200);
  const first = next();
  look("ab");
  timers.pass(200);
  const second = next();
  await second.answer([2]);
  await first.answer([1]);
  expect(found()).toEqual([2]);
  look("abc");
  expect(found()).toEqual([2]);
  finder.find(null);
  expect(found()).toBeUndefined();
});

test("looks again where the run grows, but never while it looks", async () => {
  look("a", 10);
  timers.pass(200);
  look("a", 20);
  timers.pass(5000);
  expect(asked).toHaveLength(1); // to ask anew would end it
  await next().answer([1]);
  expect(finder.found.value?.rowCount).toBe(10);
  timers.pass(999);
  expect(asked).toEqual([]);
  look("a", 30);
  timers.pass(1);
  await next().answer([1, 25]);
  expect([found(), finder.found.value?.rowCount]).toEqual([[1, 25], 30]);
  timers.pass(5000);
  expect(asked).toEqual([]);
});

test("looks again where rows have changed, as often as where the run grows", async () => {
  finder.changed();
  look("a");
  finder.changed();
  timers.pass(200);
  finder.changed();
  expect(asked).toHaveLength(1);
  await next().answer([1]);
  timers.pass(999);
  expect(asked).toEqual([]);
  timers.pass(1);
  await next().answer([]);
  expect(found()).toEqual([]);
  timers.pass(5000);
  expect(asked).toEqual([]);
  finder.find(null);
  finder.changed();
  timers.pass(5000);
  expect(asked).toEqual([]);
});

test("says what went wrong, unless other words are looked for by now", async () => {
  look("a");
  timers.pass(200);
  const first = next();
  look("b");
  timers.pass(200);
  await first.refuse("superseded");
  expect(troubles).toEqual([]);
  await next().refuse("damaged");
  expect(troubles).toEqual(["damaged"]);
});
