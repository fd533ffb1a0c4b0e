import type { Signal } from "@preact/signals";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { autosaveDraft } from "../../src/editor/editor";
import { EditSession } from "../../src/editor/session";
import { fakeModel, row } from "../inspector/fake_model";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function begin(original: string) {
  const pending = row({ id: "a", pending: true, revision: 3 });
  const model = fakeModel([[pending, { data: original }]]);
  const session = new EditSession("result", original, original);
  return {
    model,
    session,
    draft: model.draft("a"),
    keeping: autosaveDraft(model, pending, session),
  };
}

test("a small draft is kept at every key, with the revision it was begun at", () => {
  const { session, draft } = begin('"a"');
  session.setText('"ab"');
  expect(draft.value).toEqual({ text: '"ab"', revision: 3 });
  session.setText('"a"');
  expect(draft.value).toBeNull();
});

test("a large one after a moment, and before anybody can act on it", () => {
  const large = (end: string) => JSON.stringify("x".repeat(100_000) + end);
  const { session, draft, keeping } = begin(large(""));
  session.setText(large("1"));
  expect(draft.value).toBeNull();
  vi.advanceTimersByTime(150);
  expect(draft.value?.text).toBe(large("1"));
  session.setText(large("2"));
  window.dispatchEvent(new KeyboardEvent("keydown", { key: "F10" }));
  expect(draft.value?.text).toBe(large("2"));
  session.setText(large("3"));
  keeping.close();
  expect(draft.value?.text).toBe(large("3"));
});

test("what is wrong is told to the model, and told off again", () => {
  const { model, session } = begin('"a"');
  session.setText('"a');
  expect(model.draftError.value).toMatch(/^Line 1: /);
  session.setText('"b"');
  expect(model.draftError.value).toBeNull();
});

test("a draft that the model took away to send does not come back when the editor closes", () => {
  const { session, draft, keeping } = begin('"a"');
  session.setText('"b"');
  draft.value = null;
  keeping.close();
  expect(draft.value).toBeNull();
});

test("a draft that another view has changed is gone on from, and one that is sent stands until it is answered", () => {
  const { model, session, draft } = begin('"a"');
  draft.value = { text: '"other"', revision: 3 };
  expect(session.text).toBe('"other"');
  session.setText('"mine"');
  draft.value = null;
  expect(session.text).toBe('"a"');
  session.setText('"sent"');
  (model.sent as Signal<ReadonlySet<string>>).value = new Set(["a"]);
  draft.value = null;
  expect(session.text).toBe('"sent"');
});

test("a draft of a sticky edit is sticky, until the person says otherwise", () => {
  const pending = row({ id: "a", pending: true, revision: 1 });
  const model = fakeModel([[pending, { data: '"a"' }]]);
  const session = new EditSession("prompt", '"a"', '"b"');
  autosaveDraft(model, pending, session, true);
  const draft = model.draft("a");
  session.setText('"c"');
  expect(draft.value).toEqual({ text: '"c"', revision: 1, sticky: true });
  draft.value = { text: '"c"', revision: 1 };
  session.setText('"cd"');
  expect(draft.value).toEqual({ text: '"cd"', revision: 1 });
});
