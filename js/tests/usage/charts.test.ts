import { describe, expect, test } from "vitest";
import { Lanes } from "../../src/model/lanes";
import type { ProfiledEvent, RunProfile } from "../../src/protocol/types.gen";
import { barText } from "../../src/usage/time_chart";
import { MAX_COLUMNS, tokenColumns } from "../../src/usage/token_columns";
import { columnText } from "../../src/usage/tokens_chart";
import { layOut, MAX_BARS } from "../../src/usage/waterfall";
import { aUsage } from "../helpers/values";

/** An event that begins at a second and lasts some. */
function event(
  seq: number,
  start: number,
  length: number | null,
  more: Partial<ProfiledEvent> = {},
) {
  return {
    seq,
    kind: "tool_invocation",
    name: "ls",
    scope: [],
    label: null,
    started_at: start,
    duration_s: length,
    outcome: length === null ? null : "ok",
    usage: null,
    prompt: null,
    ...more,
  } satisfies ProfiledEvent;
}

const profile = (...events: ProfiledEvent[]): RunProfile => ({ run: "r", events, first_row: 1 });

const NONE = Lanes.NONE;

/** Each lane's lines as the rows of their bars. */
const seqs = (run: RunProfile) =>
  layOut(run, NONE, 100).lanes.map(({ lines }) =>
    lines.map((line) => line.map((bar) => bar.event.seq)),
  );

describe("the waterfall", () => {
  test("puts events that follow each other on one line", () => {
    expect(seqs(profile(event(1, 0, 2), event(2, 2, 3)))).toEqual([[[1, 2]]]);
  });

  test("puts parallel and inner events below", () => {
    const run = profile(event(1, 0, 10), event(2, 1, 4), event(3, 2, 2), event(4, 6, 1));
    expect(seqs(run)).toEqual([[[1], [2, 4], [3]]]);
  });

  test("gives each agent a lane", () => {
    const inner = event(2, 1, 1, { scope: ["agent:a:1", "task:2"] });
    expect(seqs(profile(event(1, 0, 5), inner))).toEqual([[[1]], [[2]]]);
  });

  test("draws times in proportion, without gaps at its sides", () => {
    const { lanes, busy, shortened } = layOut(profile(event(1, 50, 1), event(2, 51, 3)), NONE, 100);
    const [first, second] = lanes[0]?.lines[0] ?? [];
    expect([first?.left, first?.width]).toEqual([0, 0.25]);
    expect([second?.left, second?.width]).toEqual([0.25, 0.75]);
    expect([busy, shortened]).toEqual([4, false]);
  });

  test("shortens the time in which a person thought", () => {
    const run = profile(event(1, 0, 50), event(2, 10_000, 50));
    const { lanes, busy, shortened } = layOut(run, NONE, 20_000);
    const [first, second] = lanes[0]?.lines[0] ?? [];
    expect([busy, shortened]).toEqual([100, true]);
    expect(first?.width).toBeCloseTo(50 / 104);
    expect(second?.left).toBeCloseTo(54 / 104);
  });

  test("draws what is under way until now, and only the last events", () => {
    const many = Array.from({ length: MAX_BARS + 5 }, (_, at) => event(at + 1, at, 1));
    const open = event(999, MAX_BARS + 5, null);
    const { lanes, omitted } = layOut(profile(...many, open), NONE, MAX_BARS + 8);
    const bars = lanes[0]?.lines[0] ?? [];
    expect([bars.length, omitted]).toEqual([MAX_BARS, 6]);
    expect(bars.at(-1)?.width).toBeCloseTo(3 / (MAX_BARS - 1 + 3));
  });

  test("says each bar in words", () => {
    expect(barText(event(3, 0, 1.5))).toBe("Row 3, tool ls: 1.50 s");
    expect(barText(event(3, 0, null, { kind: "custom", name: null }))).toBe(
      "Row 3, event: under way",
    );
    expect(barText(event(3, 0, 0.2, { kind: "llm_query", name: "m", outcome: "error" }))).toBe(
      "Row 3, LLM query m: 200 ms, failed",
    );
  });
});

const SIZES = { system: 100, tools: 300, history: 500, new: 100 };

const query = (seq: number, more: Partial<ProfiledEvent>) =>
  event(seq, 0, 1, { kind: "llm_query", name: "gpt-x", ...more });

describe("tokens by source", () => {
  test("are shares of what the provider counted", () => {
    const [column] = tokenColumns(profile(query(4, { usage: aUsage(2000, 50), prompt: SIZES })));
    expect(column?.tokens).toEqual({
      system: 200,
      tools: 600,
      history: 1000,
      new: 200,
      output: 50,
    });
    expect([column?.total, column?.estimated]).toEqual([2050, false]);
    expect(column && columnText(column)).toBe(
      "Row 4, gpt-x: 2.1k tokens: 200 system, 600 tool schemas, 1k history, 200 new, 50 answer",
    );
  });

  test("are estimated by length where nobody counted", () => {
    const [column] = tokenColumns(profile(query(4, { prompt: SIZES })));
    expect([column?.total, column?.estimated]).toEqual([250, true]);
    expect(column && columnText(column)).toContain("≈250 tokens");
  });

  test("of a prompt of another form are one share", () => {
    const [column] = tokenColumns(profile(query(4, { usage: aUsage(70, null) })));
    expect(column?.tokens).toMatchObject({ new: 70, output: 0 });
  });

  test("leave out tools and what used none, and keep the last", () => {
    const many = Array.from({ length: MAX_COLUMNS + 2 }, (_, at) =>
      query(at, { usage: aUsage(1, 1) }),
    );
    const columns = tokenColumns(profile(...many, event(500, 0, 1), query(501, {})));
    expect([columns.length, columns.at(-1)?.event.seq]).toEqual([MAX_COLUMNS, MAX_COLUMNS + 1]);
  });
});
