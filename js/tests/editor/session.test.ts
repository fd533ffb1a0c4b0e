import { describe, expect, test } from "vitest";
import { type Field, fieldsOf, inputText } from "../../src/editor/fields";
import { smallestReplacement } from "../../src/editor/json_pane";
import { EditSession } from "../../src/editor/session";
import { parse, Value } from "../../src/inspector/json/parse";
import type { ContentShape } from "../../src/inspector/title";
import { compact } from "../inspector/compact";
import { pick, randomJson, seeded } from "../inspector/random_json";

const CALL =
  '{"Tool": "edit_file", "Argument": {"path": "a.py", "n": 1.0, "id": 12345678901234567890, "n": 2}}';

function begin(shape: ContentShape, original: string, draft?: string, standing = original) {
  return new EditSession(shape, original, standing, draft);
}
function field(session: EditSession, id: string): Field {
  const found = session.fields.value.find((one) => one.id === id);
  if (!found) throw new Error(`${id} is none of ${session.fields.value.map((one) => one.id)}`);
  return found;
}
const ids = (shape: ContentShape, body: unknown) =>
  begin(shape, JSON.stringify(body)).fields.value.map((one) => `${one.id}=${inputText(one)}`);

describe("fields", () => {
  test("a call's arguments by name, a key that stands twice by its place", () => {
    const session = begin("call", CALL);
    expect(session.fields.value.map((one) => [one.id, one.kind, inputText(one)])).toEqual([
      ["Argument.path", "text", "a.py"],
      ["Argument.n", "json", "1.0"],
      ["Argument.id", "json", "12345678901234567890"],
      ["Argument.n#2", "json", "2"],
    ]);
  });

  test("a call whose argument is no object", () => {
    expect(ids("call", { Tool: "f", Argument: "ls" })).toEqual(["Argument=ls"]);
    expect(ids("call", { Tool: "f", Argument: [1] })).toEqual(["Argument=[\n  1\n]"]);
    expect(ids("call", { Tool: "f", Argument: {} })).toEqual(["Tool=f", "Argument={}"]);
  });

  test("a prompt's texts, of every API", () => {
    expect(ids("prompt", "Hello")).toEqual(["text=Hello"]);
    expect(ids("prompt", [{ role: "user", content: "Hi" }])).toEqual(["0.content=Hi"]);
    expect(
      ids("prompt", {
        model: "m",
        temperature: 0,
        messages: [
          { role: "system", content: "Be brief." },
          {
            role: "user",
            content: [
              { type: "text", text: "Look." },
              { type: "image_url", image_url: {} },
            ],
          },
          {
            role: "assistant",
            content: null,
            tool_calls: [{ id: "c", function: { name: "f", arguments: '{"a":1.0}' } }],
          },
          { role: "tool", content: "def f()" },
        ],
      }),
    ).toEqual([
      "messages.0.content=Be brief.",
      "messages.1.content.0.text=Look.",
      "messages.2.tool_calls.0.arguments.a=1.0",
      "messages.3.content=def f()",
      "model=m",
      "temperature=0",
    ]);
    expect(
      ids("prompt", {
        system: "Be brief.",
        messages: [
          {
            role: "user",
            content: [{ type: "tool_result", content: [{ type: "text", text: "gone" }] }],
          },
        ],
      }),
    ).toEqual(["system=Be brief.", "messages.0.content.0.content.0.text=gone"]);
    expect(ids("prompt", { instructions: "Be brief.", input: "Hi" })).toEqual([
      "instructions=Be brief.",
      "input=Hi",
    ]);
  });

  test("an answer's text and the arguments of its calls", () => {
    const call = { id: "c", function: { name: "f", arguments: '{"path": "a.py"}' } };
    const message = { role: "assistant", content: "I look.", tool_calls: [call] };
    const names = ["message.content=I look.", "message.tool_calls.0.arguments.path=a.py"];
    expect(ids("answer", message)).toEqual(names);
    expect(ids("answer", { choices: [{ message }] })).toEqual(
      names.map((one) => `choices.0.${one}`),
    );
    expect(
      ids("answer", [
        { type: "text", text: "I look." },
        { type: "tool_use", name: "f", input: { path: "a.py" } },
      ]),
    ).toEqual(["content.0.text=I look.", "content.1.arguments.path=a.py"]);
    const broken = { ...call, function: { name: "f", arguments: '{"path"' } };
    expect(ids("answer", { role: "assistant", tool_calls: [broken] })).toEqual([
      'message.tool_calls.0.arguments={"path"',
    ]);
  });

  test("a result: its text, or its named values", () => {
    expect(ids("result", "done")).toEqual(["text=done"]);
    expect(ids("result", { ok: true })).toEqual(["ok=true"]);
    expect(ids("result", [1])).toEqual([]);
  });
});

describe("editing", () => {
  test("a field's change leaves every other token alone", () => {
    const session = begin("call", CALL);
    session.setField(field(session, "Argument.path"), 'b "é".py\n');
    expect(compact(session.draft.value ?? "")).toBe(
      compact(CALL.replace("a.py", 'b \\"é\\".py\\n')),
    );
    expect(session.changed.value.map((one) => one.id)).toEqual(["Argument.path"]);
    session.setField(field(session, "Argument.n"), "3.50");
    expect(compact(session.draft.value ?? "")).toContain(
      '"n":3.50,"id":12345678901234567890,"n":2',
    );
  });

  test("keys that come before the field is drawn again go on from the text, not from what was drawn", () => {
    const session = begin("call", CALL);
    const drawn = field(session, "Argument.path");
    for (const typed of ["b", "be", "bee.py"]) session.setField(drawn, typed);
    expect(compact(session.draft.value ?? "")).toBe(compact(CALL.replace("a.py", "bee.py")));
    session.restore(drawn);
    expect(session.draft.value).toBeNull();
  });

  test("line ends of a laid out body are those of the code editor", () => {
    expect(begin("result", '{\r\n  "a": "b\\r\\n",\r  "c": 1\r\n}').text).toBe(
      '{\n  "a": "b\\r\\n",\n  "c": 1\n}',
    );
  });

  test("random bodies, random fields: only that value differs, and Restore brings back all of it", () => {
    const random = seeded(99);
    for (let round = 0; round < 300; round += 1) {
      const text = `{"Tool": "f", "Argument": {"a": ${randomJson(random, 2)}, "b": ${randomJson(random, 3)}}}`;
      const session = begin("call", text);
      const fields = session.fields.value;
      if (fields.length === 0) continue;
      const one = pick(random, fields);
      const before = fields
        .filter((other) => other.id !== one.id)
        .map((other) => other.value.literal);
      session.setField(one, one.kind === "text" ? "changed" : '["changed"]');
      const after = session.fields.value
        .filter((other) => other.id !== one.id)
        .map((other) => other.value.literal);
      expect(after).toEqual(before);
      expect(JSON.parse(session.text)).not.toEqual(JSON.parse(text));
      session.restore(field(session, one.id));
      expect(compact(session.text)).toBe(compact(text));
      expect(session.draft.value).toBeNull();
    }
  });

  test("arguments that are JSON inside a string are edited inside it", () => {
    const inner = '{"path": "a.py", "n": 1.0}';
    const body = JSON.stringify({
      role: "assistant",
      tool_calls: [{ function: { name: "f", arguments: inner } }],
    });
    const session = begin("answer", body);
    const id = "message.tool_calls.0.arguments.path";
    session.setField(field(session, id), "b.py");
    expect(JSON.parse(session.text).tool_calls[0].function.arguments).toBe(
      '{"path": "b.py", "n": 1.0}',
    );
    session.restore(field(session, id));
    expect(session.draft.value).toBeNull();
  });

  test("typing the original again leaves no draft", () => {
    const session = begin("result", '"caf\\u00e9"');
    session.setField(field(session, "text"), "x");
    expect(session.draft.value).toBe('"x"');
    session.setField(field(session, "text"), "café");
    expect(session.draft.value).toBeNull();
  });

  test("a field that isn't JSON yet is said, kept in the draft, and never sent in part", () => {
    const session = begin("call", '{"Tool": "f", "Argument": {"a": 1, "b": 2}}');
    session.setField(field(session, "Argument.a"), "tru");
    expect(session.error.value).toBe("a: “tru” needs double quotes to be text.");
    expect(compact(session.draft.value ?? "")).toBe('{"Tool":"f","Argument":{"a":tru,"b":2}}');
    session.setField(field(session, "Argument.b"), "3");
    expect(compact(session.text)).toContain('"b":2');
    session.setField(field(session, "Argument.a"), '1, "c": 3');
    expect(session.error.value).not.toBeNull();
    session.setField(field(session, "Argument.a"), "true");
    expect(session.error.value).toBeNull();
    expect(compact(session.draft.value ?? "")).toBe('{"Tool":"f","Argument":{"a":true,"b":2}}');
  });

  test("while the JSON is invalid the fields keep the last valid one and can't be changed", () => {
    const session = begin("call", '{"Tool": "f", "Argument": {"a": 1}}');
    const valid = session.text;
    session.setText(valid.replace('"a": 1', '"a": 2'));
    session.setText('{"Tool": "f", "Argument": {"a": 3');
    expect(session.error.value).toBe("Line 1: the { of line 1 is never closed with }.");
    expect(inputText(field(session, "Argument.a"))).toBe("2");
    session.setField(field(session, "Argument.a"), "9");
    expect(session.text).toBe('{"Tool": "f", "Argument": {"a": 3');
  });

  test("an edit that is already set is where editing begins, and no draft", () => {
    const session = begin("result", '"a"', undefined, '"b"');
    expect([session.text, session.draft.value, session.changed.value.length]).toEqual([
      '"b"',
      null,
      1,
    ]);
    session.restore(field(session, "text"));
    expect(session.draft.value).toBe('"a"');
    session.discard();
    expect(session.text).toBe('"b"');
  });

  test("a draft that was left invalid comes back as it was", () => {
    const session = begin("result", '"a"', '"b');
    expect(session.text).toBe('"b');
    expect(session.error.value).toMatch(/never closed/);
    expect(inputText(field(session, "text"))).toBe("a");
  });

  test("a body with NaN can be mended", () => {
    const session = begin("result", '{"a": NaN}');
    expect(session.error.value).toBe(
      "Line 2: JSON has no NaN; write null, or text in double quotes.",
    );
    session.setText('{"a": null}');
    expect([session.error.value, session.draft.value]).toEqual([null, '{"a": null}']);
  });
});

test.each([
  ["[]", 'Line 1: a tool call must stay {"Tool": …, "Argument": …}.'],
  ['{"Argument": 1}', "Line 1: “Tool” is missing: a tool call names its tool."],
  ['{\n"Tool": 1,\n"Argument": 1}', "Line 2: the value of “Tool” must be text, the tool's name."],
  ['{"Tool": "f"}', "Line 1: “Argument” is missing: a tool call has one, be it null."],
  [
    '{"Tool": "f", "Argument": 1,\n"x": 1}',
    "Line 2: a tool call holds only “Tool” and “Argument”.",
  ],
  ['{"Tool": "g", "Argument": null}', null],
])("a tool call stays a tool call: %s", (text, error) => {
  const session = begin("call", '{"Tool": "f", "Argument": {}}');
  session.setText(text);
  expect(session.error.value).toBe(error);
});

test("fields are found in any body without a throw", () => {
  const random = seeded(3);
  for (let round = 0; round < 300; round += 1) {
    const text = randomJson(random);
    const parsed = parse(text);
    if ("problem" in parsed) throw new Error(text);
    for (const shape of ["prompt", "answer", "call", "result", "note"] as const) {
      for (const one of fieldsOf(shape, new Value(text, parsed.root))) inputText(one);
    }
  }
});

test("the smallest replacement between two texts", () => {
  expect(smallestReplacement("abc", "abc")).toBeNull();
  expect(smallestReplacement("abc", "axc")).toEqual({ from: 1, to: 2, insert: "x" });
  expect(smallestReplacement("aa", "aaa")).toEqual({ from: 2, to: 2, insert: "a" });
  expect(smallestReplacement("abab", "ab")).toEqual({ from: 2, to: 4, insert: "" });
});

describe("a value that is shown by its repr", () => {
  const mark = (text = "<a socket>", number = 1) => ({
    $repr: text,
    $ref: number,
    $why: "its type, socket, has no fields",
  });
  const call = (argument: unknown) => JSON.stringify({ Tool: "send", Argument: argument });
  const SENT = call({ to: mark(), more: [mark("<b>", 2), 1], text: "hello" });

  test("is a field that can be read only", () => {
    const session = begin("call", SENT);
    const to = field(session, "Argument.to");
    expect(inputText(to)).toBe("<a socket>");
    expect(session.canEdit(to)).toBe(false);
    session.setField(to, '"me"');
    expect(session.draft.value).toBeNull();
    session.setField(field(session, "Argument.text"), "bye");
    expect(session.draft.value).toContain('"bye"');
    expect(session.error.value).toBeNull();
  });

  test("is one field where it is all there is", () => {
    expect(ids("result", mark())).toEqual(["value=<a socket>"]);
    expect(ids("call", { Tool: "f", Argument: mark() })).toEqual(["Argument=<a socket>"]);
  });

  const READ_ONLY =
    "this is read-only, since its type, socket, has no fields. Restore its original value.";

  test.each([
    ["its text", { to: mark("<another>"), more: [mark("<b>", 2), 1], text: "hello" }],
    ["its number", { to: mark("<a socket>", 2), more: [mark("<b>", 2), 1], text: "hello" }],
    ["its place", { to: "me", more: [mark("<b>", 2), 1], text: "hello" }],
    ["its place in a list", { to: mark(), more: ["b", 1], text: "hello" }],
    ["a new one", { to: mark(), more: [mark("<b>", 2), mark("<c>", 3)], text: "hello" }],
  ])("can't be edited: %s", (_, argument) => {
    const session = begin("call", SENT);
    session.setText(call(argument));
    expect(session.error.value).toBe(`Line 1: ${READ_ONLY}`);
  });

  test.each([
    ["moved", { text: "hello", to: { inside: mark() }, more: [1, mark("<b>", 2)] }],
    ["removed", { more: [1], text: "hello" }],
    ["left", { to: mark(), more: [mark("<b>", 2), 1], text: "bye" }],
  ])("may be %s", (_, argument) => {
    const session = begin("call", SENT);
    session.setText(call(argument));
    expect(session.error.value).toBeNull();
  });

  test("of an older agent says no reason", () => {
    const session = begin("result", '{"$repr": "<x>", "$ref": 1}');
    session.setText("1");
    expect(session.error.value).toContain("read-only, since JSON can’t carry it");
  });
});
