import { describe, expect, it, vi } from "vitest";
import { groupAnswers, QuerySamples, sumUsage } from "../../src/answers/query_samples";
import type { Inspection } from "../../src/model/inspection";
import type { SampledAnswer } from "../../src/protocol/types.gen";

const answer = (action: string, cost: number | null = null, left = 10): SampledAnswer => ({
  data: `"${action}"`,
  action,
  summary: action,
  left,
  usage: { input_tokens: 3, output_tokens: null, cost, estimated: false },
  failure: null,
});

/** An agent that answers one after the other, and then refuses. */
function answering(...answers: SampledAnswer[]) {
  const left = [...answers];
  const sample = vi.fn(async () => {
    const next = left.shift();
    if (!next) throw new Error("no more");
    return next;
  });
  return { sample, inspection: { sample } as unknown as Inspection };
}

describe("answers of a query that is asked again", () => {
  it("are grouped by what the agent does next, the most frequent first", () => {
    const groups = groupAnswers(["a", "b", "c", "b"].map((action) => answer(action)));
    expect(groups.map(({ action, answers }) => [action, answers.length])).toEqual([
      ["b", 2],
      ["a", 1],
      ["c", 1],
    ]);
  });

  it("have a cost together, where one is known", () => {
    expect(sumUsage([answer("a", 0.5), answer("b")])).toEqual({
      input_tokens: 6,
      output_tokens: null,
      cost: 0.5,
      estimated: false,
    });
    expect(sumUsage([])).toBeNull();
  });

  it("are asked for one after the other", async () => {
    const { sample, inspection } = answering(answer("a"), answer("b"));
    const samples = new QuerySamples();
    const asking = samples.ask(inspection, "row", 2);
    expect(samples.asking.value).toEqual({ done: 0, of: 2, ends: false });
    await samples.ask(inspection, "row", 7); // already asked: nothing is begun
    await asking;
    expect(sample.mock.calls).toEqual([["row"], ["row"]]);
    expect(samples.answers.value.map(({ action }) => action)).toEqual(["a", "b"]);
    expect(samples.asking.value).toBeNull();
  });

  it("end where the person wants no more, with the one that was on its way", async () => {
    const { sample, inspection } = answering(answer("a"), answer("b"));
    const samples = new QuerySamples();
    const asking = samples.ask(inspection, "row", 2);
    samples.cancel();
    await asking;
    expect(sample).toHaveBeenCalledTimes(1);
    expect(samples.answers.value).toHaveLength(1);
  });

  it("end with what the agent refuses, and stay", async () => {
    const { inspection } = answering(answer("a"));
    const samples = new QuerySamples();
    await samples.ask(inspection, "row", 3);
    expect(samples.problem.value).toBe("no more");
    expect(samples.answers.value).toHaveLength(1);
  });
});
