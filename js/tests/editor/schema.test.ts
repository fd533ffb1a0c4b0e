import { describe, expect, test } from "vitest";
import { fieldsOf, inputText } from "../../src/editor/fields";
import { initialLiteral, misfitsOf, type Schema, schemaOf, textOf } from "../../src/editor/schema";
import { choiceTexts, schemaOfField } from "../../src/editor/schema_parts";
import { EditSession } from "../../src/editor/session";
import { documentOf } from "../../src/inspector/parsed/content";
import { SCHEMA_MISFIT } from "../../src/model/controls";

const SCHEMA: Schema = {
  type: "object",
  properties: {
    text: { type: "string" },
    mode: { enum: ["words", "regex"] },
    limit: { type: "integer", minimum: 1, default: 10 },
    where: { type: "array", items: { $ref: "#/$defs/Place" } },
    hidden: { type: "boolean" },
  },
  required: ["text"],
  additionalProperties: false,
  $defs: { Place: { type: "object", properties: { path: { type: "string" } } } },
};

describe("where a tool's schema stands", () => {
  const offered = { name: "search", description: "d" };
  test.each<[string, unknown]>([
    [
      "chat completions",
      { tools: [{ type: "function", function: { ...offered, parameters: SCHEMA } }] },
    ],
    ["responses", { tools: [{ type: "function", ...offered, parameters: SCHEMA }] }],
    ["messages", { tools: [{ ...offered, input_schema: SCHEMA }] }],
    ["gemini", { tools: [{ functionDeclarations: [{ ...offered, parameters: SCHEMA }] }] }],
    [
      "converse",
      { toolConfig: { tools: [{ toolSpec: { ...offered, inputSchema: { json: SCHEMA } } }] } },
    ],
  ])("%s", (_, prompt) => {
    expect(schemaOf(prompt, "search")).toEqual(SCHEMA);
    expect(schemaOf(prompt, "other")).toBeNull();
  });

  test("types in capitals are Gemini's", () => {
    const parameters = { type: "OBJECT", properties: { a: { type: "STRING" } } };
    const prompt = { tools: [{ functionDeclarations: [{ name: "f", parameters }] }] };
    expect(misfitsOf(schemaOf(prompt, "f") ?? {}, { a: 1 })).toHaveLength(1);
  });

  test.each([null, "text", [1], { tools: "x" }, { tools: [null] }])("%j offers none", (prompt) => {
    expect(schemaOf(prompt, "search")).toBeNull();
  });
});

test("what doesn't fit is said by its place", () => {
  const misfits = misfitsOf(SCHEMA, {
    mode: "glob",
    limit: 0,
    where: [{}, { path: 7 }],
    more: 1,
  }).map(textOf);
  expect(misfits).toContain("where.1.path: must be string, not number");
  expect(misfits.some((each) => each.startsWith("mode: "))).toBe(true);
  expect(misfits.some((each) => each.startsWith("limit: "))).toBe(true);
  expect(misfits).toContain('The call lacks "text"');
  expect(misfits.some((each) => each.includes("isn’t one of the tool’s arguments"))).toBe(true);
  expect(misfitsOf(SCHEMA, { text: "a" })).toEqual([]);
});

test("a schema that can't be read checks nothing", () => {
  expect(misfitsOf({ properties: { a: { $ref: "#/nowhere" } } } as never, { a: 1 })).toEqual([]);
});

test("few values are a choice, as the input shows them", () => {
  const call = '{"Tool": "s", "Argument": {"mode": "words", "hidden": true, "limit": 3}}';
  const root = documentOf(call);
  const [mode, hidden, limit] = root ? fieldsOf("call", root) : [];
  const choices = (one: typeof mode) => one && choiceTexts(schemaOfField(SCHEMA, one), one);
  expect(choices(mode)).toEqual(["words", "regex"]);
  expect(choices(hidden)).toEqual(["true", "false"]);
  expect(choices(limit)).toEqual([]);
  expect(initialLiteral(SCHEMA.properties?.limit as Schema)).toBe("10");
});

describe("a session", () => {
  const CALL = '{"Tool": "s", "Argument": {"text": "a"}}';
  const begin = () => {
    const session = new EditSession("call", CALL, CALL);
    session.schema.value = SCHEMA;
    return session;
  };

  test("an edit that doesn't fit is held until the person sends it all the same", () => {
    const session = begin();
    session.addArgument("limit", '"many"');
    expect(session.hold.value).toBe(`${SCHEMA_MISFIT}limit: must be integer, not string`);
    session.allowsMisfits.value = true;
    expect(session.hold.value).toBeNull();
  });

  test("a call that the agent made so itself isn't held", () => {
    const original = '{"Tool": "s", "Argument": {"limit": "many"}}';
    const session = new EditSession("call", original, original);
    session.schema.value = SCHEMA;
    expect(session.misfits.value.length).toBeGreaterThan(0);
    expect(session.hold.value).toBeNull();
  });

  test("changes are undone and redone: what is typed in a field is one", () => {
    const session = begin();
    const type = (text: string) => {
      const [field] = session.fields.value;
      if (field) session.setField(field, text);
    };
    for (const text of ["ab", "abc"]) type(text);
    session.addArgument("limit", "5");
    const whole = session.text;
    session.undo();
    expect(session.fields.value.map(inputText)).toEqual(["abc"]);
    session.undo();
    expect(session.fields.value.map(inputText)).toEqual(["a"]);
    expect(session.draft.value).toBeNull();
    expect(session.canUndo.value).toBe(false);
    session.redo();
    session.redo();
    expect(session.text).toBe(whole);
    session.undo();
    type("x");
    expect(session.canRedo.value).toBe(false);
  });

  test("arguments that are the text of JSON are checked, and put in, inside it", () => {
    const call = (args: object) => JSON.stringify({ Tool: "s", Argument: JSON.stringify(args) });
    const session = new EditSession("call", call({ text: "a" }), call({ text: "a" }));
    session.schema.value = SCHEMA;
    expect(session.misfits.value).toEqual([]);
    session.addArgument("limit", "5");
    expect(JSON.parse(JSON.parse(session.text).Argument)).toEqual({ text: "a", limit: 5 });
    expect(session.hold.value).toBeNull();
    const [, limit] = session.fields.value;
    if (limit) session.setField(limit, '"many"');
    expect(session.hold.value).toBe(`${SCHEMA_MISFIT}limit: must be integer, not string`);
    session.undo();
    session.undo();
    expect(session.draft.value).toBeNull();
  });

  test.each(["ls -l", "[1]", [1], null])("arguments that aren't named stay: %j", (args) => {
    const call = JSON.stringify({ Tool: "s", Argument: args });
    const session = new EditSession("call", call, call);
    session.schema.value = SCHEMA;
    // A text may be a call of another kind; a list or null is none that fits.
    expect(session.misfits.value).toHaveLength(typeof args === "string" ? 0 : 1);
    session.addArgument("limit", "5");
    expect(session.draft.value).toBeNull();
  });

  test("an argument is put in as the others are laid out", () => {
    const session = begin();
    session.addArgument("limit", "5");
    expect(JSON.parse(session.text)).toEqual({ Tool: "s", Argument: { text: "a", limit: 5 } });
    expect(session.text).toMatch(/\n\s+"limit": 5\n/);
    const empty = '{"Tool": "s", "Argument": {}}';
    const none = new EditSession("call", empty, empty);
    none.addArgument("text", '""');
    expect(JSON.parse(none.text).Argument).toEqual({ text: "" });
  });
});
