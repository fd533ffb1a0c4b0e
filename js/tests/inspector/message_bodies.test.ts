/** Bodies that frameworks sent through a Core: what the inspector reads, and what the form edits. */
import { describe, expect, test } from "vitest";
import { fieldsOf, messagesOf, rolesOf } from "../../src/editor/fields";
import { EditSession } from "../../src/editor/session";
import { parse, Value } from "../../src/inspector/json/parse";
import { parseContent } from "../../src/inspector/parsed/content";
import type { Part } from "../../src/inspector/parsed/parts";
import type { ContentShape } from "../../src/inspector/title";
import bodies from "../helpers/message_bodies.json";
import { compact } from "./compact";

function documentOf(body: unknown): Value {
  const text = JSON.stringify(body);
  const parsed = parse(text);
  if ("problem" in parsed) throw new Error(parsed.problem.describe(text));
  return new Value(text, parsed.root);
}

/** Each message as its role, its name and its parts. */
function read(shape: ContentShape, body: unknown): string[] {
  const reading = parseContent(shape, documentOf(body));
  if (reading.kind !== "prompt" && reading.kind !== "answer") return [reading.kind];
  return reading.messages.map(({ role, name, parts }) =>
    [role, ...(name ? [`<${name}>`] : []), ...parts.map(brief)].join(" "),
  );
}

function brief(part: Part): string {
  switch (part.kind) {
    case "call": {
      const { args } = part;
      const values = args.kind === "entries" ? args.entries : [];
      return `${part.name}(${values.map((one) => `${one.name}=${one.value.literal}`)})`;
    }
    case "result":
      return `${part.failed ? "failed" : "result"} ${part.name}: ${part.parts.map(brief)}`;
    case "media":
      return `[${part.words}]`;
    case "data":
      return `data ${part.value.literal}`;
    default:
      return `${part.kind}: ${part.text}`;
  }
}

/** The fields of the form, as `group label=value`. */
function edited(shape: ContentShape, body: unknown): string[] {
  return fieldsOf(shape, documentOf(body)).map(({ group, label, value }) =>
    [group?.title, group?.name, `${label}=${value.string ?? value.literal}`]
      .filter(Boolean)
      .join(" "),
  );
}

const BOTH = [
  "user text: both",
  'assistant add(a=2,b=3) search(text="boats")',
  "tool <add> text: 5",
  "tool <search> text: found boats",
];
const BOTH_FIELDS = [
  "user content=both",
  "calls add a=2",
  "calls add b=3",
  "calls search text=boats",
  "tool content=5",
  "tool content=found boats",
];

describe("each API's bodies", () => {
  test("Chat Completions", () => {
    const { prompt, answer, last } = bodies.chat_completions;
    expect(read("prompt", prompt)).toEqual(BOTH);
    expect(read("answer", answer)).toEqual([BOTH[1]]);
    expect(read("answer", last)).toEqual(["assistant text: The tools say: 5, found boats"]);
    expect(edited("prompt", prompt)).toEqual([
      ...BOTH_FIELDS,
      "Settings model=m",
      "Settings stream=false",
    ]);
    expect(edited("answer", answer)).toEqual(BOTH_FIELDS.slice(1, 4));
  });

  test("Responses", () => {
    const { prompt, answer, last } = bodies.responses;
    expect(read("prompt", prompt)).toEqual([
      BOTH[0],
      "assistant add(a=2,b=3)",
      'assistant search(text="boats")',
      ...BOTH.slice(2),
    ]);
    expect(read("answer", answer)).toEqual([
      "assistant add(a=2,b=3)",
      'assistant search(text="boats")',
    ]);
    expect(read("answer", last)).toEqual(["assistant text: The tools say: 5, found boats"]);
    expect(edited("prompt", prompt)).toEqual([...BOTH_FIELDS, "Settings model=m"]);
    expect(edited("answer", last)).toEqual(["assistant text=The tools say: 5, found boats"]);
  });

  test("Messages: thoughts, images, calls and results", () => {
    const { prompt, answer } = bodies.messages;
    expect(read("prompt", prompt)).toEqual([
      "system text: Be brief.",
      "user [image/png, 72 B] text: What is 2+3, and where are boats?",
      'assistant thinking: I add first. text: I look. add(a=2,b=3) search(text="boats")',
      "tool result add: text: 5 failed search: text: No boats.",
    ]);
    expect(read("answer", answer)).toEqual([
      "assistant thinking: I add first. text: I look. add(a=2,b=3)",
    ]);
    expect(edited("prompt", prompt)).toEqual([
      "system text=Be brief.",
      "user text=What is 2+3, and where are boats?",
      "assistant text=I look.",
      ...BOTH_FIELDS.slice(1, 5),
      "tool text=No boats.",
      "Settings model=c",
      "Settings max_tokens=1000",
    ]);
    expect(edited("answer", answer)).toEqual([
      "assistant text=I look.",
      "calls add a=2",
      "calls add b=3",
    ]);
  });

  test("Gemini", () => {
    const { prompt, answer, last } = bodies.gemini;
    expect(read("prompt", prompt)).toEqual([
      'system text: You are an agent. Your internal name is "main".',
      "user text: please add",
      "model add(a=2,b=3)",
      "tool <add> data 5",
    ]);
    const reading = parseContent("prompt", documentOf(prompt));
    expect(reading.kind === "prompt" && reading.tools.map(({ name }) => name)).toEqual(["add"]);
    expect(read("answer", answer)).toEqual(["model add(a=2,b=3)"]);
    expect(read("answer", last)).toEqual(["model text: The tools say: 5"]);
    expect(edited("prompt", prompt)).toEqual([
      'system text=You are an agent. Your internal name is "main".',
      "user text=please add",
      "calls add a=2",
      "calls add b=3",
      "tool add content=5",
    ]);
    expect(edited("answer", last)).toEqual(["model text=The tools say: 5"]);
    expect(messagesOf("prompt", documentOf(prompt))?.list.items).toHaveLength(3);
  });

  test("ADK's answer is Gemini's, with what it doesn't say as null", () => {
    const part = { text: "Done", thought: null, function_call: null };
    expect(read("answer", { content: { role: "model", parts: [part] }, partial: null })).toEqual([
      "model text: Done",
    ]);
  });

  test("Gemini's tokens, and why it stopped", () => {
    const body = {
      ...bodies.gemini.last,
      usageMetadata: { promptTokenCount: 12, candidatesTokenCount: 3 },
    };
    expect(parseContent("answer", documentOf(body))).toMatchObject({
      tokens: { input: "12", output: "3" },
      ended: "STOP",
    });
  });
});

describe("edits of fields change their place in the JSON alone", () => {
  test.each([
    ["gemini", "prompt", bodies.gemini.prompt, "please add", "kindly add"],
    ["gemini", "answer", bodies.gemini.last, "The tools say: 5", "Edited."],
    ["messages", "prompt", bodies.messages.prompt, "No boats.", "Two boats."],
    ["dumped", "prompt", bodies.langchain.dumped, "It is 5.", "It is 6."],
    ["as_dicts", "prompt", bodies.langchain.as_dicts, "What is 2+3?", "What is 2+4?"],
    ["pydantic_ai", "prompt", bodies.pydantic_ai.messages, "a is missing", "b is missing"],
  ] as [string, ContentShape, unknown, string, string][])("%s, %s", (_, shape, body, from, to) => {
    const text = JSON.stringify(body);
    const session = new EditSession(shape, text, text);
    const field = session.fields.value.find(({ value }) => value.string === from);
    if (!field) throw new Error(`${from} has no field`);
    session.setField(field, to);
    expect(compact(session.text)).toBe(text.replace(JSON.stringify(from), JSON.stringify(to)));
    expect(session.error.value).toBeNull();
  });

  test("arguments that are the text of their JSON stay a text", () => {
    const text = JSON.stringify(bodies.pydantic_ai.messages);
    const session = new EditSession("prompt", text, text);
    const field = session.fields.value.findLast(({ label }) => label === "a");
    if (!field) throw new Error("a has no field");
    session.setField(field, "7");
    expect(JSON.parse(session.text)[1].parts[2].args).toBe('{"a":7}');
  });

  test("a message that is added to Gemini's has parts", () => {
    const text = JSON.stringify(bodies.gemini.prompt);
    const session = new EditSession("prompt", text, text);
    const messages = messagesOf("prompt", documentOf(bodies.gemini.prompt));
    expect(messages && rolesOf(messages)).toEqual(["user", "model"]);
    session.addMessage("model");
    const { contents } = JSON.parse(session.text);
    expect(contents.at(-1)).toEqual({ role: "model", parts: [{ text: "" }] });
    expect(edited("prompt", JSON.parse(session.text)).at(-1)).toBe("model text=");
  });
});

describe("frameworks' messages", () => {
  const spoken = [
    "system text: Be brief.",
    "user text: What is 2+3?",
    "assistant add(a=2,b=3)",
    "tool <add> text: 5",
    "assistant text: It is 5.",
  ];
  const { langchain } = bodies;

  test.each(["dumped", "messages", "as_dicts"] as const)("LangChain: %s", (form) => {
    const messages = langchain[form];
    expect(read("prompt", messages)).toEqual(spoken);
    expect(read("prompt", { messages, step: 1 })).toEqual(spoken);
    expect(read("answer", messages)).toEqual(spoken);
    expect(read("answer", messages[2])).toEqual([spoken[2]]);
    expect(read("result", messages[3])).toEqual([spoken[3]]);
    expect(read("result", messages)).toEqual(spoken);
    expect(edited("prompt", messages)).toEqual([
      "system content=Be brief.",
      "user content=What is 2+3?",
      "assistant content=",
      "calls add a=2",
      "calls add b=3",
      "tool add content=5",
      "assistant text=It is 5.",
    ]);
  });

  test("LangChain: a call that stands in the content, too, is shown once", () => {
    const message = {
      type: "AIMessageChunk",
      content: [{ type: "tool_use", id: "c", name: "ls", input: { path: "." } }],
      tool_calls: [{ type: "tool_call", id: "c", name: "ls", args: { path: "." } }],
      response_metadata: {},
    };
    expect(read("answer", message)).toEqual(['assistant ls(path=".")']);
    expect(edited("answer", message)).toEqual(["calls ls path=."]);
  });

  test("LangChain: a tool that failed", () => {
    const message = { ...langchain.messages[3], status: "error" };
    expect(read("prompt", [message])).toEqual(["tool <add> failed add: text: 5"]);
  });

  test("pydantic-ai's requests are shown by who says what", () => {
    const { messages } = bodies.pydantic_ai;
    expect(read("prompt", messages)).toEqual([
      "system text: Be brief.",
      "user text: What is 2+3?",
      "assistant thinking: Hm add(a=2,b=3) add(a=1)",
      "tool <add> data 5",
      "tool <add> failed add: text: a is missing",
      'tool <add> failed add: data [{"type":"missing","loc":["b"],"msg":"Field required","input":{}}]',
      "user text: Please return text.",
      "assistant text: 5",
      "user text: Look [image-url at http://x/a.png] [image/png]",
    ]);
    expect(read("answer", messages[1])).toEqual(["assistant thinking: Hm add(a=2,b=3) add(a=1)"]);
    expect(edited("prompt", messages).slice(0, 7)).toEqual([
      "system content=Be brief.",
      "user content=What is 2+3?",
      "calls add a=2",
      "calls add b=3",
      "calls add a=1",
      "tool add content=5",
      "tool add content=a is missing",
    ]);
  });

  test("a tool's own data are no message", () => {
    expect(read("result", { type: "human", content: "a row" })).toEqual(["entries"]);
    expect(read("result", { role: "user", content: "x" })).toEqual(["entries"]);
    expect(read("result", { messages: langchain.messages })).toEqual(["entries"]);
  });

  test("results of MCP: images, and a failure", () => {
    const text = { type: "text", text: "5" };
    const image = { type: "image", data: "AAAA", mimeType: "image/png" };
    expect(read("result", { content: [text, image], isError: false })).toEqual([
      "tool text: 5 [image/png, 3 B]",
    ]);
    expect(read("result", { content: [text], structuredContent: { result: 5 } })).toEqual(["text"]);
    expect(read("result", { content: [text], page: 2 })).toEqual(["entries"]);
    expect(read("result", { content: [text], isError: true })).toEqual([
      "tool failed undefined: text: 5",
    ]);
  });
});
