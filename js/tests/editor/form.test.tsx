import { render } from "preact";
import { expect, test } from "vitest";
import { Form } from "../../src/editor/form";
import type { Schema } from "../../src/editor/schema";
import { EditSession } from "../../src/editor/session";
import { box, drawn, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";

useBox();

const { all, button, click, type } = queriesOf(() => box, drawn);

async function show(args: unknown, schema: Schema | null = null): Promise<EditSession> {
  const call = JSON.stringify({ Tool: "f", Argument: args });
  const session = new EditSession("call", call, call);
  session.schema.value = schema;
  render(<Form session={session} focus={false} showOriginal={false} />, box);
  await drawn();
  return session;
}
const field = (name: string) => {
  const [found] = all(`[aria-label="${name}"]`);
  if (!found) throw new Error(`no field ${name}`);
  return found as HTMLInputElement;
};
const shape = (name: string) => {
  const isShort = field(name).parentElement?.classList.contains("as-mod-short");
  return `${isShort ? "short " : ""}${field(name).localName}`;
};
const focused = () => document.activeElement?.getAttribute("aria-label");

test("a short value that grows as it is typed keeps its element, and so the focus", async () => {
  const session = await show({ sizes: null, other: 2 });
  expect(shape("sizes")).toBe("short input");
  const typedIn = field("sizes");
  const long = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]";
  for (const typed of [long.slice(0, -1), long]) {
    await type(typedIn, typed);
    expect(focused()).toBe("sizes");
  }
  expect(field("sizes")).toBe(typedIn);
  expect(shape("sizes")).toBe("input"); // as wide as a long one
  expect(JSON.parse(session.text).Argument.sizes).toHaveLength(10);
  field("other").focus();
  await drawn();
  expect(shape("sizes")).toBe("textarea");
});

test("a long value that shrinks as it is typed keeps its element", async () => {
  await show({ names: ["a long name", "another one"], other: 2 });
  expect(shape("names")).toBe("textarea");
  const typedIn = field("names");
  await type(typedIn, "[]");
  expect([field("names"), shape("names"), focused()]).toEqual([typedIn, "textarea", "names"]);
  field("other").focus();
  await drawn();
  expect(shape("names")).toBe("short input");
});

test("null that becomes a text as it is typed keeps its element", async () => {
  const mode: Schema = { anyOf: [{ enum: ["words", "regex"] }, { type: "null" }] };
  await show({ mode: null, note: null, other: 2 }, { properties: { mode } });
  for (const [name, typed] of [
    ["mode", '"words"'],
    ["note", '"a"'],
  ] as const) {
    const typedIn = field(name);
    expect(shape(name)).toBe("short input");
    await type(typedIn, typed);
    expect([field(name), focused()]).toEqual([typedIn, name]);
  }
  field("other").focus();
  await drawn();
  expect([shape("mode"), shape("note")]).toEqual(["select", "textarea"]);
});

test("a field whose window lost the focus has it again with the window", async () => {
  await show({ sizes: null });
  const typedIn = field("sizes");
  await type(typedIn, "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]");
  typedIn.dispatchEvent(new FocusEvent("blur")); // it is still the document's active element
  await drawn();
  expect([field("sizes"), focused()]).toEqual([typedIn, "sizes"]);
});

test("line breaks that come from another view aren't lost in a short field that has the focus", async () => {
  const session = await show({ note: null });
  field("note").focus();
  await drawn();
  const call = JSON.stringify({ Tool: "f", Argument: { note: "one\ntwo" } });
  session.applyDraft(call);
  await drawn();
  expect([shape("note"), field("note").value, focused()]).toEqual(["textarea", "one\ntwo", "note"]);
  expect(field("note").selectionStart).toBe(7);
});

const PATHS: Schema = {
  type: "object",
  properties: { path: { type: "string" }, limit: { type: "integer", default: 5 } },
};

test("an argument is added inside arguments that are the text of JSON", async () => {
  const session = await show('{"path": "a.py"}', PATHS);
  await click(button("Add limit"));
  expect(JSON.parse(session.text).Argument).toBe('{"path": "a.py", "limit": 5}');
  expect(() => button("Add")).toThrow();
});

test.each(["ls -l", "[1]", null])("arguments without names can't be added to: %j", async (args) => {
  await show(args, PATHS);
  expect(() => button("Add")).toThrow();
});
