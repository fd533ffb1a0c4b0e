import { describe, expect, test } from "vitest";
import { parse, Value } from "../../src/inspector/json/parse";
import { parseContent } from "../../src/inspector/parsed/content";
import type { Arguments, Part } from "../../src/inspector/parsed/parts";
import { type ContentShape, shapeOf } from "../../src/inspector/title";

function readText(shape: ContentShape, text: string) {
  const parsed = parse(text);
  if ("problem" in parsed) throw new Error(parsed.problem.describe(text));
  return parseContent(shape, new Value(text, parsed.root));
}
const readJson = (shape: ContentShape, body: unknown) => readText(shape, JSON.stringify(body));

/** A reading in a few words, so that a whole one fits an assertion. */
function brief(shape: ContentShape, body: unknown): unknown {
  const reading = readJson(shape, body);
  switch (reading.kind) {
    case "prompt":
    case "answer":
      return reading.messages.map((one) =>
        [one.role, ...(one.name ? [`<${one.name}>`] : []), ...one.parts.map(briefPart)].join(" "),
      );
    case "call":
      return `${reading.name}(${briefArgs(reading.args)})`;
    case "text":
      return `text ${reading.text}`;
    case "entries":
      return reading.entries.map((one) => `${one.name}=${one.value.literal}`);
    case "data":
      return `data ${reading.value.literal}`;
  }
}

function briefPart(part: Part): string {
  switch (part.kind) {
    case "call":
      return `${part.name}(${briefArgs(part.args)})`;
    case "result":
      return `${part.failed ? "failed" : "result"} of ${part.name}: ${part.parts.map(briefPart).join(" ")}`;
    case "media":
      return `[${part.words}]`;
    case "data":
      return `data:${part.value.literal}`;
    default:
      return `${part.kind}:${part.text}`;
  }
}

function briefArgs(args: Arguments): string {
  if (args.kind === "entries")
    return args.entries.map((one) => `${one.name}=${one.value.literal}`).join(", ");
  return args.kind === "value" ? args.value.literal : `broken ${args.text}`;
}

const CALL = {
  id: "c1",
  type: "function",
  function: { name: "read_file", arguments: '{"path": "a.py"}' },
};

describe("prompts", () => {
  const chat = [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        { type: "text", text: "Look." },
        { type: "image_url", image_url: { url: "https://x.test/a.png" } },
      ],
    },
    { role: "assistant", content: null, tool_calls: [CALL] },
    { role: "tool", tool_call_id: "c1", content: "def f(): ..." },
  ];
  const read = [
    "system text:Be brief.",
    "user text:Look. [image_url at https://x.test/a.png]",
    'assistant read_file(path="a.py")',
    "tool <read_file> text:def f(): ...",
  ];

  test("OpenAI chat: an object with messages, or the bare list", () => {
    expect(brief("prompt", { model: "m", messages: chat })).toEqual(read);
    expect(brief("prompt", chat)).toEqual(read);
  });

  test("other keys are settings as they stand; tools are counted by name", () => {
    const text =
      '{"model": "m", "temperature": 1.0, "seed": 12345678901234567890, "messages": [], ' +
      '"tools": [{"type": "function", "function": {"name": "f", "description": "Does."}}, {"name": "g", "input_schema": {}}]}';
    const reading = readText("prompt", text);
    if (reading.kind !== "prompt") throw new Error(reading.kind);
    expect(reading.settings.map((one) => [one.name, one.value.literal])).toEqual([
      ["model", '"m"'],
      ["temperature", "1.0"],
      ["seed", "12345678901234567890"],
    ]);
    expect(reading.tools.map((one) => [one.name, one.description])).toEqual([
      ["f", "Does."],
      ["g", undefined],
    ]);
  });

  test("Anthropic: system beside blocks, results handed over by the user", () => {
    const body = {
      model: "c",
      system: [{ type: "text", text: "Be brief." }],
      messages: [
        { role: "user", content: "Look." },
        {
          role: "assistant",
          content: [
            { type: "thinking", thinking: "Hm." },
            { type: "text", text: "I look." },
            { type: "tool_use", id: "t1", name: "read_file", input: { path: "a.py", limit: 1.0 } },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "t1",
              content: [{ type: "text", text: "def f()" }],
            },
          ],
        },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "t1", is_error: true, content: "gone" }],
        },
        {
          role: "user",
          content: [
            {
              type: "image",
              source: { type: "base64", media_type: "image/png", data: "A".repeat(4000) },
            },
          ],
        },
      ],
    };
    expect(brief("prompt", body)).toEqual([
      "system text:Be brief.",
      "user text:Look.",
      'assistant thinking:Hm. text:I look. read_file(path="a.py", limit=1)',
      "tool <read_file> text:def f()",
      "tool <read_file> failed of read_file: text:gone",
      "user [image/png, 3.0 KB]",
    ]);
  });

  test("OpenAI responses: input as text or items", () => {
    expect(brief("prompt", { instructions: "Be brief.", input: "Hello" })).toEqual([
      "system text:Be brief.",
      "user text:Hello",
    ]);
    const items = [
      { role: "user", content: [{ type: "input_text", text: "Look." }] },
      { type: "reasoning", summary: [{ type: "summary_text", text: "Hm." }] },
      { type: "function_call", call_id: "c1", name: "read_file", arguments: '{"path":"a.py"}' },
      { type: "function_call_output", call_id: "c1", output: "def f()" },
    ];
    expect(brief("prompt", { input: items })).toEqual([
      "user text:Look.",
      "assistant thinking:Hm.",
      'assistant read_file(path="a.py")',
      "tool <read_file> text:def f()",
    ]);
  });

  test("LangChain's types are roles", () => {
    const list = [
      { type: "human", content: "Hi" },
      { type: "ai", content: "Hello" },
    ];
    expect(brief("prompt", list)).toEqual(["user text:Hi", "assistant text:Hello"]);
  });

  test("a plain string is a text; anything else is what it is", () => {
    expect(brief("prompt", "Hello")).toBe("text Hello");
    expect(brief("prompt", { prompt: "Hello", n: 2 })).toEqual(['prompt="Hello"', "n=2"]);
    expect(brief("prompt", [1, 2])).toBe("data [1,2]");
    expect(brief("prompt", { messages: [1] })).toEqual(["messages=[1]"]);
    expect(brief("prompt", {})).toBe("data {}");
    expect(brief("prompt", null)).toBe("data null");
  });

  test("unknown blocks are shown as data, not dropped", () => {
    expect(brief("prompt", [{ role: "user", content: [{ type: "novel", x: 1 }] }])).toEqual([
      'user data:{"type":"novel","x":1}',
    ]);
  });
});

describe("answers", () => {
  const message = { role: "assistant", content: "I look.", tool_calls: [CALL] };
  const read = ['assistant text:I look. read_file(path="a.py")'];

  test("OpenAI: the message, or the completion around it", () => {
    expect(brief("answer", message)).toEqual(read);
    const reading = readJson("answer", {
      choices: [{ index: 0, finish_reason: "tool_calls", message }],
      usage: { prompt_tokens: 812, completion_tokens: 41 },
    });
    expect(brief("answer", { choices: [{ message }] })).toEqual(read);
    expect(reading).toMatchObject({ tokens: { input: "812", output: "41" }, ended: "tool_calls" });
  });

  test("arguments that aren't JSON are shown as the text they are", () => {
    const call = { id: "c", function: { name: "f", arguments: '{"path": ' } };
    expect(brief("answer", { role: "assistant", tool_calls: [call] })).toEqual([
      'assistant f(broken {"path": )',
    ]);
    const empty = { id: "c", function: { name: "f", arguments: "" } };
    expect(brief("answer", { role: "assistant", tool_calls: [empty] })).toEqual(["assistant f()"]);
  });

  test("numbers inside arguments keep their spelling", () => {
    const call = {
      id: "c",
      function: { name: "f", arguments: '{"n": 1.0, "m": 12345678901234567890}' },
    };
    expect(brief("answer", { role: "assistant", tool_calls: [call] })).toEqual([
      "assistant f(n=1.0, m=12345678901234567890)",
    ]);
  });

  test("Anthropic: the message, or its bare blocks", () => {
    const content = [
      { type: "text", text: "I look." },
      { type: "tool_use", id: "t", name: "read_file", input: { path: "a.py" } },
    ];
    expect(
      brief("answer", { type: "message", role: "assistant", content, stop_reason: "tool_use" }),
    ).toEqual(read);
    expect(brief("answer", content)).toEqual(read);
  });

  test("OpenAI responses", () => {
    const output = [
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "I look." }] },
      { type: "function_call", call_id: "c", name: "read_file", arguments: '{"path":"a.py"}' },
    ];
    expect(brief("answer", { output })).toEqual([
      "assistant text:I look.",
      'assistant read_file(path="a.py")',
    ]);
  });

  test("a string, a refusal, and what is no message", () => {
    expect(brief("answer", "Done.")).toBe("text Done.");
    expect(brief("answer", { role: "assistant", content: null, refusal: "No." })).toEqual([
      "assistant refusal:No.",
    ]);
    expect(brief("answer", { verdict: "ok" })).toEqual(['verdict="ok"']);
    expect(brief("answer", [])).toBe("data []");
    expect(brief("answer", 1)).toBe("data 1");
  });
});

describe("tools", () => {
  test("a call's arguments by name, or as the value they are", () => {
    expect(brief("call", { Tool: "f", Argument: { path: "a", n: 1 } })).toBe('f(path="a", n=1)');
    expect(brief("call", { Tool: "f", Argument: [1] })).toBe("f([1])");
    expect(brief("call", { Tool: "f", Argument: "ls -l" })).toBe('f("ls -l")');
    expect(brief("call", { Tool: "f", Argument: "5" })).toBe('f("5")');
    expect(brief("call", { Tool: "f", Argument: '{"a": 1.0}' })).toBe("f(a=1.0)");
    expect(brief("call", { Tool: "f" })).toEqual(['Tool="f"']);
    expect(brief("call", { Tool: "f", Argument: null })).toBe("f(null)");
    expect(brief("call", { tool: "f" })).toEqual(['tool="f"']);
  });

  test("results: text, blocks, named values, data", () => {
    expect(brief("result", "64 lines")).toBe("text 64 lines");
    expect(
      brief("result", [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ]),
    ).toBe("text a\n\nb");
    expect(brief("result", { content: [{ type: "text", text: "a" }], isError: false })).toBe(
      "text a",
    );
    expect(brief("result", { ok: true, data: [1] })).toEqual(["ok=true", "data=[1]"]);
    expect(brief("result", [1])).toBe("data [1]");
    expect(brief("result", null)).toBe("data null");
  });
});

test("a row's shape", () => {
  expect(shapeOf({ kind: "llm_query", side: "begin" })).toBe("prompt");
  expect(shapeOf({ kind: "llm_query", side: "end" })).toBe("answer");
  expect(shapeOf({ kind: "tool_invocation", side: "begin" })).toBe("call");
  expect(shapeOf({ kind: "tool_invocation", side: "end" })).toBe("result");
  expect(shapeOf({ kind: "debug_message", side: null })).toBe("note");
  expect(shapeOf({ kind: "program_started", side: "begin" })).toBe("note");
});
