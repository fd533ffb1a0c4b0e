import { afterEach, expect, test, vi } from "vitest";
import { CommandTarget, LIVE_CLASS, STEPPING_CLASS } from "../../src/lab/commands";
import type { RunControl } from "../../src/model/controls";
import { announceView, shownViews } from "../../src/shells/views";
import { ENDED, type FakeView, fakeApp, HALTED, RUNNING } from "../helpers/fake_app";

const leave: (() => void)[] = [];
afterEach(() => {
  for (const each of leave.splice(0)) each();
  expect(shownViews().size).toBe(0);
  document.body.replaceChildren();
  document.body.className = "";
});

const live = () => document.body.classList.contains(LIVE_CLASS);

/** A view under a cell that is seen, or not. */
function inline(run: string, seen = true): FakeView {
  const element = document.body.appendChild(document.createElement("div"));
  vi.spyOn(element, "getClientRects").mockImplementation(
    () => ({ length: seen ? 1 : 0 }) as DOMRectList,
  );
  const { app, views } = fakeApp();
  app.mount(element, run, {});
  const view = views[0] as FakeView;
  leave.push(announceView({ element, control: view.control }));
  return view;
}

test("a run that is halted under a cell is the one, while the panel has none that lives", () => {
  const panel = { control: null as RunControl | null };
  const changed = vi.fn();
  const run = new CommandTarget(panel, changed);
  run.start();
  expect([run.control, live()]).toEqual([null, false]);
  const view = inline("r1");
  expect([run.control, live()]).toEqual([null, false]);
  view.becomes(HALTED);
  expect([run.control, live()]).toEqual([view.control, true]);
  expect(changed).toHaveBeenCalled();
  const beside = inline("r2");
  panel.control = beside.control;
  expect(run.control).toBe(view.control);
  beside.becomes(HALTED);
  expect(run.control).toBe(beside.control);
  panel.control = null;
  beside.becomes(ENDED);
  expect(run.control).toBe(view.control);
  view.becomes(ENDED);
  expect([run.control, live()]).toEqual([null, false]);
});

test("the keys that step are ours only while the run is halted or steps", () => {
  new CommandTarget({ control: null }, () => {}).start();
  const view = inline("r1");
  const stepping = () => document.body.classList.contains(STEPPING_CLASS);
  view.becomes(HALTED);
  expect([live(), stepping()]).toEqual([true, true]);
  view.becomes(RUNNING);
  expect([live(), stepping()]).toEqual([true, false]);
  view.becomes(ENDED);
  expect([live(), stepping()]).toEqual([false, false]);
});

test("a view in a hidden tab has no keys, and one that is gone none either", () => {
  const run = new CommandTarget({ control: null }, () => {});
  run.start();
  inline("r1", false).becomes(HALTED);
  expect([run.control, live()]).toEqual([null, false]);
  inline("r2").becomes(HALTED);
  expect(run.control?.run()).toBe("r2");
  leave.pop()?.();
  expect([run.control, live()]).toEqual([null, false]);
});
