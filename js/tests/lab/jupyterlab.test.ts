import { expect, test, vi } from "vitest";
import { makeHaltNotifier } from "../../src/lab/extension";
import { findModule, type ShareScope } from "../../src/lab/jupyterlab";
import { readViewData, sameView } from "../../src/lab/mime";
import { Widget } from "../helpers/lumino";

const WIDGETS = "@lumino/widgets";

const offer = (what: string, loaded?: boolean) => ({
  get: async () => () => what,
  ...(loaded !== undefined && { loaded }),
});

const scope = (offers: ShareScope[string]): ShareScope => ({ [WIDGETS]: offers });

test("the newest version is taken, by number", async () => {
  const shared = scope({
    "2.9.0": offer("old"),
    "2.10.0": offer("new"),
    "2.10.0-rc.1": offer("rc"),
  });
  expect(await findModule(shared, WIDGETS)).toBe("new");
});

test("a version that the page has loaded goes before a newer one", async () => {
  const shared = scope({ "2.9.0": offer("loaded", true), "2.10.0": offer("new", false) });
  expect(await findModule(shared, WIDGETS)).toBe("loaded");
});

test("a package may be given at once", async () => {
  const shared = scope({ "2.9.0": { get: () => () => "here" } });
  expect(await findModule(shared, WIDGETS)).toBe("here");
});

test.each([{}, scope(undefined), scope({})])(
  "a page without the package is named",
  async (shared) => {
    await expect(findModule(shared, WIDGETS)).rejects.toThrow("this page has no @lumino/widgets");
  },
);

// ---- view data

test("a view is read", () => {
  expect(readViewData({ run: "r1", follow: true, height: 400 })).toEqual({
    run: "r1",
    follow: true,
    height: 400,
    kept: false,
  });
});

test("the newest run, at the usual height; what a later version adds is left alone", () => {
  expect(readViewData({ run: "", colour: "green" })).toEqual({
    run: "",
    follow: false,
    kept: false,
  });
});

test.each([
  [null, "not an object"],
  [undefined, "not an object"],
  ["r1", "not an object"],
  [[], "not an object"],
  [{}, "“run”"],
  [{ run: 1 }, "“run”"],
  [{ run: "x".repeat(201) }, "“run”"],
  [{ run: "r1", follow: "yes" }, "“follow”"],
  [{ run: "r1", kept: 1 }, "“kept”"],
  [{ run: "r1", height: "520" }, "“height”"],
  [{ run: "r1", height: Number.NaN }, "“height”"],
])("%j is refused with a sentence", (data, words) => {
  expect(readViewData(data)).toContain(words);
});

test("the same view is told from another", () => {
  const view = readViewData({ run: "r1", height: 400 });
  expect(sameView(view, readViewData({ height: 400, follow: false, run: "r1" }))).toBe(true);
  expect(sameView(view, readViewData({ run: "r1", height: 400, kept: true }))).toBe(true);
  expect(sameView(view, readViewData({ run: "r2", height: 400 }))).toBe(false);
  expect(sameView(view, null)).toBe(false);
});

// ---- reminder

function aReminder() {
  const panel = new Widget();
  const show = vi.fn();
  let n = 0;
  const notifications = { emit: vi.fn(() => `n${++n}`), dismiss: vi.fn() };
  const reminder = makeHaltNotifier({ Base: Widget, panel, notifications, show });
  return { panel, show, notifications, reminder, button: reminder.item.node };
}

test("a halted agent that isn't seen is told once, and taken back when it goes on", () => {
  const { panel, notifications, reminder, button } = aReminder();
  reminder.notify("r1", true);
  expect([button.hidden, panel.title.className]).toEqual([false, "as-mod-halted"]);
  expect(notifications.emit).not.toHaveBeenCalled();
  reminder.notify("r1", false);
  reminder.notify("r1", false);
  expect(notifications.emit).toHaveBeenCalledTimes(1);
  reminder.notify(null, false);
  expect(notifications.dismiss).toHaveBeenCalledExactlyOnceWith("n1");
  expect([button.hidden, panel.title.className]).toEqual([true, ""]);
});

test("another agent that halts takes the place of the one before, and nothing is left behind", () => {
  const { notifications, reminder } = aReminder();
  reminder.notify("r1", false);
  reminder.notify("r2", false);
  expect(notifications.emit).toHaveBeenCalledTimes(2);
  expect(notifications.dismiss).toHaveBeenCalledExactlyOnceWith("n1");
  reminder.notify("r2", true);
  expect(notifications.dismiss).toHaveBeenCalledTimes(1);
  reminder.notify("r3", true); // seen: nothing is said of it
  reminder.notify(null, false);
  expect(notifications.dismiss.mock.calls.flat()).toEqual(["n1", "n2"]);
});
