import { describe, expect, test } from "vitest";
import { LANE_HUES, Lanes, laneKey, laneText, MAIN_LANE } from "../../src/model/lanes";
import type { TimelineRow } from "../../src/protocol/types.gen";
import { aLabel, aRow } from "../helpers/values";

const row = (seq: number, scope: string[], fields: Partial<TimelineRow> = {}) =>
  aRow(seq, { scope, ...fields });
const researcher = (seq: number, task: number) =>
  row(seq, [`task:${task}`, "agent:researcher:1"], { label: aLabel("researcher") });
const titles = (lanes: Lanes) => lanes.all.map(({ title }) => title);

// As tests/unit/protocol/test_lanes.py has it.
test.each([
  [undefined, []],
  [[], []],
  [["task:1", "tool:agent:x"], []],
  [["agent:a:1"], ["agent:a:1"]],
  [
    ["task:1", "agent:a:1", "tool:c"],
    ["task:1", "agent:a:1"],
  ],
  [
    ["agent:a:1", "task:2", "agent:b:1", "pool:1"],
    ["agent:a:1", "task:2", "agent:b:1"],
  ],
])("the lane of %j is %j", (scope, path) => {
  expect(laneKey(aRow(1, scope ? { scope } : {}))).toBe(JSON.stringify(path));
});

describe("lanes", () => {
  test("of one name have numbers, in the order in which they begin", () => {
    const rows = [aRow(1), researcher(2, 2), researcher(3, 1), researcher(4, 2)];
    const lanes = Lanes.NONE.merge("a", rows, true, null);
    expect(titles(lanes)).toEqual(["researcher", "researcher 2"]);
    expect(rows.map((each) => lanes.laneOfRow(each)?.title ?? null)).toEqual([
      null,
      "researcher",
      "researcher 2",
      "researcher",
    ]);
    expect(lanes.get(MAIN_LANE)).toBeNull();
  });

  test("are named by their path where no label names them", () => {
    const scopes = [["agent:a:b:2"], ["agent:c"], ["task:1", "agent:d:1"]];
    const rows = scopes.map((scope, at) => row(at + 1, scope));
    const nameless = row(4, ["agent:e:1"], { label: aLabel("", { node: "look up" }) });
    const lanes = Lanes.NONE.merge("a", [...rows, nameless], true, null);
    expect(titles(lanes)).toEqual(["a:b", "c", "d", "e"]);
  });

  test("say what they are in", () => {
    const rows = [researcher(1, 1), row(2, ["agent:x"], { label: aLabel("x", { parent: "y" }) })];
    const { all } = Lanes.NONE.merge("a", rows, true, null);
    expect(all.map(laneText)).toEqual(["Agent researcher", "Agent x, in y"]);
  });

  test("that are many have each hue in turn", () => {
    const rows = Array.from({ length: LANE_HUES + 1 }, (_, at) => researcher(at + 1, at));
    const hues = Lanes.NONE.merge("a", rows, true, null).all.map(({ hue }) => hue);
    expect(hues).toEqual([...Array.from({ length: LANE_HUES }, (_, at) => at), 0]);
  });

  test("stay known while their rows go, and are the same while none is new", () => {
    const before = Lanes.NONE.merge("a", [researcher(8, 2)], false, null);
    expect([titles(before), before.complete]).toEqual([["researcher"], false]);
    const after = before.merge("a", [researcher(9, 2), researcher(12, 3)], false, null);
    expect(titles(after)).toEqual(["researcher", "researcher 2"]);
    expect(after.merge("a", [researcher(9, 2)], false, null)).toBe(after);
  });

  test("come in their order once the Core has told all, wherever the view began to read", () => {
    const last = Lanes.NONE.merge("a", [researcher(8, 2)], false, null);
    const start = (seq: number, task: number) => ({
      path: [`task:${task}`, "agent:researcher:1"],
      seq,
      label: aLabel("researcher"),
    });
    const all = last.merge("a", [researcher(8, 2)], false, [start(2, 1), start(3, 2)]);
    expect(all.complete).toBe(true);
    expect(all.laneOfRow(researcher(8, 2))?.title).toBe("researcher 2");
    // The run goes on: its rows are pushed.
    expect(all.merge("a", [researcher(9, 3)], false, null).complete).toBe(true);
  });

  test("of another run begin anew", () => {
    const before = Lanes.NONE.merge("a", [researcher(1, 1)], true, null);
    const after = before.merge("b", [researcher(1, 2)], false, null);
    expect([titles(after), after.complete]).toEqual([["researcher"], false]);
    expect(after.get(laneKey(researcher(1, 1)))).toBeNull();
  });
});
