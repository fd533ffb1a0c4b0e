import { expect, test } from "vitest";
import { align, type Section, sectionsOf } from "../../src/diff/texts_diff";
import { parse, Value } from "../../src/inspector/json/parse";
import { read } from "../../src/inspector/read/reading";
import type { Shape } from "../../src/inspector/title";

function sections(shape: Shape, body: unknown): Section[] {
  const text = JSON.stringify(body);
  const parsed = parse(text);
  if ("problem" in parsed) throw new Error(text);
  return sectionsOf(read(shape, new Value(text, parsed.root)));
}

const brief = (before: Section[], after: Section[]) =>
  align(before, after).map(
    (one) =>
      `${one.before && one.after ? (one.changed ? "~" : "=") : one.after ? "+" : "-"}${(one.after ?? one.before)?.title} ${(one.after ?? one.before)?.name ?? ""}`,
  );

const call = (name: string, args: unknown) => ({
  id: name,
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});
const answer = (content: string, ...calls: unknown[]) => ({
  role: "assistant",
  content,
  tool_calls: calls,
});

test("an answer's text and its calls are compared each with its own", () => {
  const before = answer(
    "I round.",
    call("edit_file", { path: "a.py", find: "s = 0\n" }),
    call("run_tests", {}),
  );
  const after = answer("I sum.", call("edit_file", { path: "b.py", find: "s = 0\n" }));
  expect(sections("answer", before).map((one) => one.text)).toEqual([
    "I round.",
    "path: a.py\nfind:\n  s = 0\n  ",
    "",
  ]);
  expect(brief(sections("answer", before), sections("answer", after))).toEqual([
    "~Text ",
    "~Tool call edit_file",
    "-Tool call run_tests",
  ]);
});

test("a prompt's unchanged messages find each other around an edited and a new one", () => {
  const message = (role: string, content: string) => ({ role, content });
  const before = [message("system", "s"), message("user", "u1"), message("user", "u2")];
  const after = [
    message("system", "s"),
    message("user", "edited"),
    message("tool", "new"),
    message("user", "u2"),
  ];
  expect(brief(sections("prompt", before), sections("prompt", after))).toEqual([
    "=system ",
    "~user ",
    "+tool ",
    "=user ",
  ]);
});

test("every kind of reading has sections", () => {
  expect(sections("call", { Tool: "f", Argument: { a: 1 } })).toEqual([
    { title: "Tool call", name: "f", text: "a: 1", prose: false },
  ]);
  expect(sections("result", "done")).toEqual([{ title: "Text", text: "done", prose: true }]);
  expect(sections("result", { ok: true })[0]?.text).toBe("ok: true");
  expect(sections("result", [1])[0]?.text).toBe("[\n  1\n]");
  expect(
    sections("prompt", { model: "m", messages: [], tools: [{ name: "t" }] }).map(
      (one) => one.title,
    ),
  ).toEqual(["Settings", "Tool"]);
});
