import { expect, test, vi } from "vitest";
import { runControl } from "../../src/model/controls";
import { aModel, showing } from "../helpers/debugger";
import { haltedRun, pendingRow } from "../helpers/values";

test("without a run nothing is possible, and it is said why", async () => {
  const { model, peer } = aModel();
  const control = runControl(model);
  expect(control.possible().step.held).toBe("Not connected to the Core");
  await peer.greet([]);
  expect(control.run()).toBe("");
  expect(control.possible().step.held).toBe("There is no run yet");
});

test("orders reach the Core where they are possible, and only there", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
  const control = runControl(model);
  expect(control.run()).toBe("a");
  control.halt();
  expect(peer.inbox).toEqual([]);
  control.step();
  expect(peer.take("step").body).toMatchObject({ run: "a", breakpoint: "r1" });
});

test("each change of what is possible is told, until it isn't wanted any more", async () => {
  const { model, peer } = await showing(haltedRun("a", "r1"), [pendingRow(1)]);
  const changed = vi.fn();
  const end = runControl(model).watch(changed);
  expect(changed.mock.lastCall?.[0].step.held).toBeNull();
  await peer.drop();
  expect(changed.mock.lastCall?.[0].step.held).toBe("Not connected to the Core");
  end();
  changed.mockClear();
  model.retry();
  await peer.greet([]);
  expect(changed).not.toHaveBeenCalled();
});
