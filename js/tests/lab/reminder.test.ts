import { expect, test, vi } from "vitest";
import { makeReminder } from "../../src/lab/extension";
import { Widget } from "../helpers/lumino";

function aReminder() {
  const panel = new Widget();
  const show = vi.fn();
  const notifications = { emit: vi.fn(() => "n1"), dismiss: vi.fn() };
  const reminder = makeReminder({ Base: Widget, panel, notifications, show });
  return { panel, show, notifications, reminder, button: reminder.item.node };
}

test("a halted agent that isn't seen is told once, and taken back when it goes on", () => {
  const { panel, notifications, reminder, button } = aReminder();
  reminder.tell("r1", true);
  expect([button.hidden, panel.title.className]).toEqual([false, "as-mod-halted"]);
  expect(notifications.emit).not.toHaveBeenCalled();
  reminder.tell("r1", false);
  reminder.tell("r1", false);
  expect(notifications.emit).toHaveBeenCalledTimes(1);
  reminder.tell(null, false);
  expect(notifications.dismiss).toHaveBeenCalledExactlyOnceWith("n1");
  expect([button.hidden, panel.title.className]).toEqual([true, ""]);
});
