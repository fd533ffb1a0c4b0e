/** Each message as a person and a screen reader find it. */
import { beforeEach, expect, test, vi } from "vitest";
import type { ChatSessionInfo } from "../../src/chat/types";
import { aChatMessage, anAgent, FakeTranscript } from "../helpers/chat_messages";
import { drawn, press, useLayout } from "../helpers/dom";
import { FakeIntersectionObserver, showing, shown } from "../helpers/transcripts";

useLayout();

beforeEach(() => {
  vi.stubGlobal("IntersectionObserver", FakeIntersectionObserver);
});

const HOSTILE = '<script>alert(1)</script><img src=x onerror="alert(1)"> \u202etxt\u200b';
const SEEN = '<script>alert(1)</script><img src=x onerror="alert(1)"> ⟨U+202E⟩txt⟨U+200B⟩';

/** Nothing of what was said is an element of its own, or an attribute that acts. */
function expectText(host: HTMLElement): void {
  expect(host.querySelector("script, img, iframe, a, b > b, object, form, style")).toBeNull();
  for (const element of host.querySelectorAll("*"))
    for (const { name } of element.attributes) expect(name.startsWith("on")).toBe(false);
}

// ---- words --------------------------------------------------------------------------------------------

test("code stands in a box with its language, and is copied whole", async () => {
  const copied = vi.fn(async () => {});
  vi.stubGlobal("navigator", { clipboard: { writeText: copied } });
  const content =
    "Look at `cart.py`, **twice**:\n\n```python\nprint(1)\nprint(2)\n```\nThat is it.";
  const { one, all, click, button } = await shown([aChatMessage("a", { content })]);
  expect(one(".as-CodeBox-language").textContent).toBe("python");
  expect(one(".as-CodeBox-head").textContent).toContain("2 lines");
  expect(one(".as-CodeBox pre").textContent).toBe("print(1)\nprint(2)");
  expect(one(".as-Rich code").textContent).toBe("cart.py");
  expect(one(".as-Rich b").textContent).toBe("twice");
  expect(all(".as-Text").map(({ textContent }) => textContent)).toContain("That is it.");
  await click(button("Copy the code"));
  expect(copied).toHaveBeenCalledWith("print(1)\nprint(2)");
});

test("a fence that is still open is code already, with a caret where more comes", async () => {
  const { model, one, all } = await shown([
    aChatMessage("a", { content: "So:\n```py\nx = 1", streaming: true }),
  ]);
  expect(one(".as-CodeBox pre").textContent).toBe("x = 1");
  const article = one("article");
  expect(article.getAttribute("aria-busy")).toBe("true");
  expect(all(".as-CodeBox .as-Caret")).toHaveLength(1);
  model.say(aChatMessage("a", { content: "So:\n```py\nx = 1\n```\nDone", streaming: true }));
  await drawn();
  expect(all(".as-Caret")).toHaveLength(1);
  expect(all(".as-Text").at(-1)?.textContent).toBe("Done");
  model.say(aChatMessage("a", { content: "So:\n```py\nx = 1\n```\nDone" }));
  await drawn();
  expect(all(".as-Caret")).toHaveLength(0);
  expect(one("article")).toBe(article);
  expect(article.getAttribute("aria-busy")).toBe("false");
});

test("hostile words are text, whatever their type", async () => {
  const every = [
    aChatMessage("m", {
      content: `${HOSTILE}\n\`${HOSTILE}\` **${HOSTILE}**\n\`\`\`${HOSTILE}\n${HOSTILE}`,
    }),
    aChatMessage("e", { content: HOSTILE, format: "error" }),
    aChatMessage("c", { type: "CODE", content: HOSTILE, language: HOSTILE, format: HOSTILE }),
    aChatMessage("o", { type: "CONSOLE", content: HOSTILE, role: "computer" }),
    aChatMessage("q", {
      type: "CONFIRMATION",
      content: HOSTILE,
      choices: [HOSTILE],
      details: HOSTILE,
    }),
    aChatMessage("f", {
      type: "FUNCTION",
      name: HOSTILE,
      arguments: { [HOSTILE]: HOSTILE },
      result: HOSTILE,
    }),
    aChatMessage("u", { type: HOSTILE, content: HOSTILE, details: { [HOSTILE]: [HOSTILE] } }),
    aChatMessage("n", { content: "x", agent_name: HOSTILE }),
    aChatMessage("y", { content: HOSTILE, role: "user", agent_name: HOSTILE }),
  ];
  const agents = [anAgent(HOSTILE, { role: HOSTILE, description: HOSTILE })];
  const { host, all, click, one } = await shown(every, {
    agents,
    speaking: HOSTILE,
    state: "STATE_RUNNING",
  });
  for (const each of all("[aria-expanded]")) await click(each);
  expectText(host);
  for (const id of ["m", "e", "c", "o", "f", "u", "n", "y"])
    expect(one(`[data-message="${id}"]`).textContent).toContain("⟨U+202E⟩txt");
  expect(one('[data-message="e"]').textContent).toContain(SEEN);
});

test("addresses are no links, and no picture is fetched from one", async () => {
  const content = "![x](https://evil.example/x.png) [y](javascript:alert(1)) https://evil.example";
  const { host, one } = await shown([aChatMessage("a", { content })]);
  expectText(host);
  expect(one(".as-Rich").textContent).toBe(content);
});

test("of a long answer the beginning is shown, the rest where it is asked for", async () => {
  const content = Array.from({ length: 4200 }, (_, at) => `line ${at}`).join("\n");
  const { one, button, click, all } = await shown([aChatMessage("a", { content })]);
  expect(one(".as-Rich").textContent).not.toContain("line 90\n");
  await click(button("Show 4,120 more lines"));
  expect(one(".as-Rich").textContent).toContain("line 1000\n");
  await click(button("Fold"));
  expect(all(".as-More button")).toHaveLength(1);
});

test("what is seen coming keeps its end in sight, also once it is there", async () => {
  const content = Array.from({ length: 20_000 }, (_, at) => `line ${at}`).join("\n");
  const { model, one, button, click } = await shown([
    aChatMessage("a", { content, streaming: true }),
  ]);
  expect(one(".as-Rich").textContent).toContain("line 19999");
  expect(one(".as-Rich").textContent.length).toBeLessThan(50_000);
  model.say(aChatMessage("a", { content }));
  await drawn();
  expect(one(".as-Rich").textContent).toContain("line 19999");
  await click(button("Show the "));
  expect(one(".as-Rich").textContent.length).toBeGreaterThan(60_000);
});

test("a message without a word, and a failure, say so", async () => {
  const { one } = await shown([
    aChatMessage("a"),
    aChatMessage("b", { format: "error", content: "OpenAIError: no key. Set OPENAI_API_KEY." }),
  ]);
  expect(one('[data-message="a"]').textContent).toContain("(no text)");
  expect(one('[data-message="b"] .as-Failure').textContent).toContain("Set OPENAI_API_KEY");
});

// ---- code, output, calls --------------------------------------------------------------------------------

test("code says what it is; that of a file is fetched, or why it can't be is said", async () => {
  const model = new FakeTranscript([
    aChatMessage("a", { type: "CODE", language: "python", format: "source", content: "x = 1" }),
    aChatMessage("b", { type: "CODE", language: "json", format: "result", path: "out/r.json" }),
    aChatMessage("c", { type: "CODE", language: "text", format: "source", path: "/etc/passwd" }),
  ]);
  model.sources = {
    b: { text: '{"n": 1}' },
    c: new Error("/etc/passwd isn't below the workspace."),
  };
  const { one, button, click } = await showing(model);
  expect(one('[data-message="a"] .as-CodeBox-head').textContent).toContain("pythonsource");
  expect(one('[data-message="b"] .as-CodeBox-head').textContent).toContain("result");
  expect(one('[data-message="b"] .as-CodeBox-head').textContent).toContain("out/r.json");
  expect(one('[data-message="b"] pre').textContent).toBe('{"n": 1}');
  expect(one('[data-message="c"]').textContent).toContain("isn't below the workspace");
  model.sources.c = { text: "root" };
  await click(button("Read the file again"));
  expect(one('[data-message="c"] pre').textContent).toBe("root");
});

test("output is what a terminal would show, and of much of it the end", async () => {
  const bars = Array.from({ length: 100 }, (_, at) => `\r${at} %`).join("");
  const lines = Array.from({ length: 100_000 }, (_, at) => `n${at}`).join("\n");
  const { one, button, click } = await shown([
    aChatMessage("a", {
      type: "CONSOLE",
      role: "computer",
      content: `\x1b[31mred\x1b[0m\n${bars}\ndone\n`,
    }),
    aChatMessage("b", { type: "CONSOLE", role: "computer", content: lines }),
    aChatMessage("c", { type: "CONSOLE", role: "computer" }),
  ]);
  expect(one('[data-message="a"] pre').textContent).toBe("red\n99 %\ndone\n");
  const pre = one('[data-message="b"] pre');
  expect(pre.textContent?.length).toBeLessThan(50_000);
  expect(pre.textContent).toContain("n99999");
  expect(one('[data-message="b"]').textContent).toContain("100,000 lines");
  await click(button("Show the "));
  expect(pre.textContent?.length).toBeGreaterThan(60_000);
  expect(one('[data-message="c"] pre').textContent).toBe("(no output)");
});

test("a call is one line, which opens; numbers of any size stand as they are", async () => {
  const args = { path: "a.py", n: 12345678901234567890n, deep: { x: [1, null] } };
  const { model, one, click } = await shown([
    aChatMessage("a", { type: "FUNCTION", name: "read", arguments: args, streaming: true }),
  ]);
  const line = one(".as-FunctionCall-line");
  expect(line.textContent).toContain(
    'read(path="a.py", n=12345678901234567890, deep={"x":[1,null]})',
  );
  expect(line.textContent).toContain("running");
  model.say(
    aChatMessage("a", {
      type: "FUNCTION",
      name: "read",
      arguments: args,
      result: { ok: 1 },
      ok: true,
    }),
  );
  await drawn();
  expect(one(".as-FunctionCall-line")).toBe(line);
  expect(line.textContent).toContain('→ {"ok":1}');
  expect(line.textContent).toContain("done");
  expect(line.getAttribute("aria-expanded")).toBe("false");
  await click(line);
  expect(one(".as-FunctionCall-opened").textContent).toContain('"n": 12345678901234567890');
  expect(one(".as-FunctionCall-opened").textContent).toContain("Result");
});

test("a call that failed, and one that never ended, say so", async () => {
  const { one } = await shown([
    aChatMessage("a", { type: "FUNCTION", name: "f", ok: false, result: "boom" }),
    aChatMessage("b", { type: "FUNCTION", name: null, ok: null, arguments: [1, 2] }),
    aChatMessage("c", { type: "FUNCTION", name: "g", ok: true, result: null }),
  ]);
  expect(one('[data-message="a"]').textContent).toContain("failed");
  expect(one('[data-message="b"]').textContent).toContain("(no name)([1,2])");
  expect(one('[data-message="b"]').textContent).toContain("no result");
  expect(one('[data-message="c"]').textContent).toContain("→ null");
});

test("a type that this view doesn't know is text, and says so", async () => {
  const { one } = await shown([
    aChatMessage("a", { type: "PLOT", content: "y = x", details: { y: 1 } }),
  ]);
  expect(one("article").textContent).toContain("doesn’t know messages of type PLOT");
  expect(one("article").textContent).toContain("y = x");
  expect(one("article pre").textContent).toBe('{\n  "y": 1\n}');
});

// ---- pictures -------------------------------------------------------------------------------------------

const PNG = btoa("\x89PNG\r\n\x1a\n");

test("a picture is a blob of the view's own, and is let go with its message", async () => {
  const made = vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:x/1");
  const gone = vi.spyOn(URL, "revokeObjectURL").mockImplementation(() => {});
  const model = new FakeTranscript([aChatMessage("a", { type: "IMAGE", path: "out/plot.png" })]);
  model.pictures = { a: { media_type: "image/png", data: PNG } };
  const { one, leave, click, button, all } = await showing(model);
  const image = one("img") as HTMLImageElement;
  expect(image.src).toBe("blob:x/1");
  expect(image.alt).toBe("plot.png");
  expect(made.mock.calls.map(([blob]) => (blob as Blob).type)).toEqual(["image/png"]);
  await click(button("Enlarge"));
  expect(one('[role="dialog"]').getAttribute("aria-label")).toBe("plot.png");
  expect(document.activeElement).toBe(button("Close (Esc)"));
  await press("Escape");
  expect(all('[role="dialog"]')).toEqual([]);
  leave();
  await drawn();
  expect(gone.mock.calls.length).toBe(made.mock.calls.length);
});

test("while a picture is enlarged, Tab doesn't lead to what it covers", async () => {
  vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:x/1");
  const model = new FakeTranscript([aChatMessage("a", { type: "IMAGE" })]);
  model.pictures = { a: { media_type: "image/png", data: PNG } };
  const { one, click, button } = await showing(model);
  await click(button("Enlarge"));
  expect(one('[role="dialog"]').getAttribute("aria-modal")).toBe("true");
  const tab = new KeyboardEvent("keydown", { key: "Tab", bubbles: true, cancelable: true });
  button("Close (Esc)").dispatchEvent(tab);
  expect(tab.defaultPrevented).toBe(true);
});

test("what is no picture, or may not be shown, says why, and is never an image", async () => {
  const made = vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:x/1");
  const model = new FakeTranscript([
    aChatMessage("svg", { type: "IMAGE" }),
    aChatMessage("junk", { type: "IMAGE" }),
    aChatMessage("path", { type: "IMAGE", path: "/etc/x.png" }),
    aChatMessage("html", { type: "IMAGE" }),
  ]);
  model.pictures = {
    svg: { media_type: "image/svg+xml", data: btoa("<svg onload=alert(1)>") },
    junk: { media_type: "image/png", data: "%%%" },
    path: new Error("/etc/x.png isn't below the workspace."),
    html: { media_type: "text/html", data: btoa("<script>") },
  };
  const { host, one } = await showing(model);
  expectText(host);
  expect(made).not.toHaveBeenCalled();
  for (const id of ["svg", "junk", "html"])
    expect(one(`[data-message="${id}"]`).textContent).toContain("isn’t a PNG");
  expect(one('[data-message="path"]').textContent).toContain("isn't below the workspace");
});

test("bytes that the browser can't draw are said to be broken", async () => {
  vi.spyOn(URL, "createObjectURL").mockReturnValue("blob:x/1");
  const model = new FakeTranscript([aChatMessage("a", { type: "IMAGE" })]);
  model.pictures = { a: { media_type: "image/png", data: PNG } };
  const { one } = await showing(model);
  one("img").dispatchEvent(new Event("error"));
  await drawn();
  expect(one("article").textContent).toContain("bytes are damaged");
});

// ---- confirmations --------------------------------------------------------------------------------------

const ASKS = aChatMessage("q", {
  type: "CONFIRMATION",
  content: "Run `rm -r build`?",
  choices: ["Allow", "Deny"],
  details: { tool: "run_command", why: "it changes files", args: { command: "rm -r build" } },
  final: false,
  streaming: true,
});

test("a confirmation waits with its choices, none of them taken by itself", async () => {
  const { model, one, button, click } = await shown([ASKS], {
    waiting: "q",
    state: "STATE_RUNNING",
  });
  expect(one("section").textContent).toContain("Waits for your choice");
  expect(document.activeElement).toBe(document.body);
  await click(one("section .as-Fold"));
  expect(one("section pre").textContent).toContain('"command": "rm -r build"');
  await click(button("Allow"));
  expect(model.chosen).toEqual([["q", "Allow"]]);
  await click(button("Deny")); // a second one is not sent
  expect(model.chosen).toHaveLength(1);
  model.info.value = { ...(model.info.value as ChatSessionInfo), waiting: null };
  model.say({ ...ASKS, chosen: "Allow", final: true, streaming: false });
  await drawn();
  expect(button("Allow: chosen").getAttribute("aria-disabled")).toBe("true");
  expect(button("Deny").getAttribute("aria-disabled")).toBe("true");
  expect(one("section").textContent).not.toContain("Withdrawn");
});

test("a choice that is refused says why, and can be made again", async () => {
  const { model, one, button, click } = await shown([ASKS], { waiting: "q" });
  model.refuses = "The session was stopped.";
  await click(button("Deny"));
  expect(one('section [role="alert"]').textContent).toBe("The session was stopped.");
  expect(button("Deny").getAttribute("aria-disabled")).toBeNull();
});

test("who may only watch can't choose, and a withdrawn question says so", async () => {
  const { model, one, button, click } = await shown([ASKS], { waiting: "q" });
  model.readOnlyReason.value = "This login may watch, not answer";
  await drawn();
  await click(button("Allow"));
  expect(button("Allow").title).toBe("This login may watch, not answer");
  expect(model.chosen).toEqual([]);
  model.info.value = { ...(model.info.value as ChatSessionInfo), waiting: null };
  model.say({ ...ASKS, final: true, streaming: false });
  await drawn();
  expect(one("section").textContent).toContain("Withdrawn");
});
