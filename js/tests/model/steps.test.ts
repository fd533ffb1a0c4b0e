import { describe, expect, test } from "vitest";
import { runControl } from "../../src/model/controls";
import { runStatus } from "../../src/model/status";
import { goalLike, goalWords, stepTarget, stepWords, TO_QUERY } from "../../src/model/steps";
import type { StepTarget } from "../../src/protocol/types.gen";
import { showing } from "../helpers/debugger";
import { aRow, aRun, haltedRun, pendingRow } from "../helpers/values";

const target = (fields: Partial<StepTarget>): StepTarget => ({
  ...stepTarget({ kind: "into" }, false),
  scope: [],
  ...fields,
});

describe("what is said of a step", () => {
  test.each<[Partial<StepTarget>, string]>([
    [{ kind: "over", event: "e", name: "run_tests" }, "Stepping over run_tests…"],
    [{ kind: "over", event: "e", event_kind: "llm_query" }, "Stepping over LLM query…"],
    [{ kind: "over", depth: 1 }, ""],
    [{ kind: "out", event: "e", event_kind: "tool_invocation" }, "Stepping out of tool call…"],
    [{ kind: "out" }, "Stepping out to the end…"],
    [{ kind: "to", event_kind: "llm_query", side: "begin" }, "Running to the next LLM query…"],
    [{ kind: "to", name: "ls", side: "end" }, "Running to the next end of ls…"],
    [{ kind: "into", scope: ["task:1"] }, ""],
  ])("%o", (fields, words) => {
    expect(stepWords(aRun("a", { step: target(fields) }))).toBe(words);
    const status = runStatus(aRun("a", { step: target(fields), agent_state: "tool_executing" }));
    expect(status.words).toBe(words || "Tool executing…");
    expect(status.detail).toBe(words ? "tool executing" : "the agent waits for it");
  });

  test("nothing once it halts", () => {
    const step = target({ kind: "over", event: "e", name: "run_tests" });
    expect(stepWords({ ...haltedRun("a", "r1"), step })).toBe("");
  });
});

test("a step to a row goes to the next of its kind, side and name, in any agent", () => {
  const row = aRow(3, { kind: "tool_invocation", side: "end", name: "ls" });
  const goal = goalLike(row);
  expect(goal && goalWords(goal)).toBe("end of ls");
  expect(goal && stepTarget(goal, true)).toEqual(
    target({
      kind: "to",
      event_kind: "tool_invocation",
      side: "end",
      name: "ls",
      freeze_others: true,
    }),
  );
  expect(goalLike(null)).toBeNull();
  expect(goalLike(aRow(1, { kind: "program_started" }))).toBeNull();
  expect(goalLike(aRow(1, { kind: "debug_message", side: null }))).toBeNull();
});

test("a run that goes on can be told to halt at a kind of event, and not to step", async () => {
  const { model, peer } = await showing(aRun("a", { mode: "continue", state: "continue" }), []);
  const control = runControl(model);
  control.step();
  expect(peer.inbox).toEqual([]);
  control.step(TO_QUERY);
  expect(peer.take("step").body).toEqual({ run: "a", target: stepTarget(TO_QUERY, false) });
});

test("the others wait where they are frozen", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
  model.freezesOthers.value = true;
  void model.step({ kind: "over" });
  expect(peer.take("step").body).toMatchObject({ target: { kind: "over", freeze_others: true } });
});

test("a run that steps far can be halted", async () => {
  const step = target({ kind: "over", event: "e", name: "run_tests" });
  const { model } = await showing(aRun("a", { step }), []);
  expect(model.controlStates.value.halt).toEqual({ disabledReason: null, primary: true });
  expect(model.controlStates.value.step.disabledReason).toContain("hasn’t reached");
});
