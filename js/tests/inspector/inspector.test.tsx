import type { Signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { beforeAll, describe, expect, test, vi } from "vitest";
import { Inspector } from "../../src/inspector";
import type { Connection } from "../../src/model/model";
import { box as host, useBox } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import { type Content, type FakeModel, fakeModel, row } from "./fake_model";

// Else the first test waits for them to be compiled.
beforeAll(async () => {
  await import("../../src/inspector/contents");
});

useBox();

async function shown(model: FakeModel): Promise<void> {
  await act(async () => render(<Inspector model={model} />, host));
  await settled(); // the contents
  await settled(); // what is found out beside them
}
/** Effects run at the end of an act: each lets one round of requests be answered. */
const settled = () => act(async () => await new Promise((done) => setTimeout(done, 5)));
const text = () => host.textContent ?? "";
const { button } = queriesOf(
  () => host,
  async () => {},
);
const click = async (name: string) => {
  await act(async () => button(name).click());
  await settled();
};
const one = (id: string, content: Content, more: Parameters<typeof row>[0] = { id }) =>
  fakeModel([[row(more), content]]);

describe("reading", () => {
  test("an event of an agent's own type is called after it", async () => {
    const custom = { id: "a", kind: "custom", name: "retrieval", source: "system" } as const;
    await shown(one("a", { data: '["a boat"]' }, { ...custom, side: "end" }));
    expect(host.querySelector("h3")?.title).toBe("Result of retrieval");
    expect(text()).toContain("a boat");
  });

  test("what agents say is text: no element comes of it", async () => {
    const evil =
      '<img src=x onerror="alert(1)"><a href="https://x.test">link</a><script>1</script>';
    const message = {
      role: evil,
      name: evil,
      content: [{ type: "text", text: evil }, { type: evil }],
    };
    await shown(
      one("a", {
        data: JSON.stringify({
          [evil]: evil,
          messages: [message],
          tools: [{ name: evil, description: evil }],
        }),
      }),
    );
    await click("Raw");
    await click("As sent");
    expect(host.querySelectorAll("img, a, script, iframe")).toHaveLength(0);
    expect(text()).toContain("<img src=x");
  });

  const PNG =
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
  /** As PNG says it, but of so many pixels that a browser would run out of memory. */
  const HUGE = btoa(atob(PNG).replace("\0\0\0\x01\0\0\0\x01", "\0\x01\0\0\0\x01\0\0"));
  const image = (url: string) => ({ type: "image_url", image_url: { url } });
  const prompt = (...content: unknown[]) =>
    one("a", { data: JSON.stringify([{ role: "user", content }]) });

  test("images are shown from the bytes in the message", async () => {
    const source = { type: "base64", media_type: "image/png", data: PNG };
    await shown(prompt(image(`data:image/png;base64,${PNG}`), { type: "image", source }));
    const images = [...host.querySelectorAll("img")];
    expect(images.map(({ src }) => src.split(":")[0])).toEqual(["blob", "blob"]);
    expect(images[0]?.alt).toBe("PNG · 1 × 1 · 70 B");
  });

  test.each([
    ["at an address", image("https://x.test/a.png")],
    ["an SVG", image(`data:image/svg+xml;base64,${btoa("<svg onload='alert(1)'/>")}`)],
    ["an SVG that says it is a PNG", image(`data:image/png;base64,${btoa("<svg/>")}`)],
    ["not base64", image("data:image/png;base64,%%%")],
    ["as text", image("data:image/png,abc")],
    ["of too many pixels", image(`data:image/png;base64,${HUGE}`)],
    ["of too many bytes", image(`data:image/png;base64,${PNG}${"A".repeat(7_000_000)}`)],
  ])("an image %s is named, not shown", async (_, part) => {
    await shown(prompt(part));
    expect(host.querySelector("img, svg:not(.as-Icon), iframe, object")).toBeNull();
    expect(text()).toContain("(not shown");
  });

  test.each([
    ["a text", '"Hello"', null, "≈3 tok · 1.84 s"],
    ["a message", '{"role":"assistant","content":"Hello"}', null, "≈3 tok · 1.84 s"],
    [
      "what was told",
      '{"role":"assistant","content":"Hello"}',
      { input_tokens: 1204, output_tokens: 96, cost: 0.0021, estimated: true },
      "1,204 → 96 tok · ≈$0.0021 · 1.84 s",
    ],
  ])("what an answer took: %s", async (_, data, usage, figures) => {
    const answer = row({ id: "a", side: "end", size: 10, duration: 1.84, usage });
    await shown(fakeModel([[answer, { data }]]));
    expect(text()).toContain(figures);
    expect(host.querySelector<HTMLElement>("h3")?.title).toContain("1.84 s");
  });

  test("a long text names what is folded, and opens in pieces", async () => {
    const lines = Array.from({ length: 5000 }, (_, at) => `line ${at}`).join("\n");
    await shown(one("a", { data: JSON.stringify([{ role: "user", content: lines }]) }));
    expect(text()).toMatch(/line 13\b/);
    expect(text()).not.toMatch(/line 14\b/);
    await click("Show 4,986 more lines · 49 KB");
    expect(text()).toMatch(/line 1013/);
    expect(text()).toContain("Show 3,986 more lines");
    await click("Fold");
    expect(text()).not.toMatch(/line 1013/);
  });

  test("Raw is the exact text: nothing is re-encoded", async () => {
    const data = '{"a":1.0,"b":12345678901234567890,"a":"\\u00e9"}';
    await shown(one("a", { data }));
    await click("Raw");
    expect(host.querySelector("pre")?.textContent).toBe(
      '{\n  "a": 1.0,\n  "b": 12345678901234567890,\n  "a": "\\u00e9"\n}',
    );
    await click("As sent");
    expect(host.querySelector("pre")?.textContent).toBe(data);
  });

  test("what is new since the prompt before is told apart, other conversations between them or not", async () => {
    const prompt = (...texts: string[]) =>
      JSON.stringify(texts.map((content) => ({ role: "user", content })));
    const model = fakeModel([
      [row({ id: "a", seq: 2 }), { data: prompt("one", "two") }],
      [row({ id: "b", seq: 4 }), { data: prompt("other") }],
      [row({ id: "c", seq: 6 }), { data: prompt("one", "two", "three") }],
    ]);
    await shown(model);
    expect(text()).toContain("2 earlier messages");
    expect(text()).toContain("unchanged since event 2");
    expect([...host.querySelectorAll(".as-mod-new")].map((found) => found.textContent)).toEqual([
      expect.stringContaining("three"),
    ]);
    await act(async () => model.select("a"));
    await settled();
    expect(text()).not.toContain("New since");
  });

  test.each([
    ["edited", ["one", "TWO", "three", "four"], "1 earlier message edited since event 2"],
    [
      "cut and summarised",
      ["sum", "three", "four"],
      "2 earlier messages replaced since event 2 by",
    ],
    ["cut", ["one", "three", "four"], "1 earlier message left out since event 2"],
    ["put in between", ["zero", "one", "two", "three", "four"], "1 message put in between"],
    ["begun again", ["one", "five"], "New since the last prompt, in place of 2 earlier messages"],
  ])("a conversation that was %s", async (_, now, said) => {
    const prompt = (texts: string[]) =>
      JSON.stringify(texts.map((content) => ({ role: "user", content })));
    const model = fakeModel([
      [row({ id: "a", seq: 2 }), { data: prompt(["one", "two", "three"]) }],
      [row({ id: "c", seq: 6 }), { data: prompt(now) }],
    ]);
    await shown(model);
    expect(text()).toContain(said);
    expect(host.querySelectorAll(".as-mod-new").length).toBeGreaterThan(0);
  });

  test("text that is not strict JSON is shown as it is, with a note", async () => {
    await shown(one("a", { data: '{"x": NaN}', strict: false }));
    expect(text()).toContain("not strict JSON");
    expect(host.querySelector("pre")?.textContent).toBe('{"x": NaN}');
  });

  test("an exception that a person replaced is shown with the original alone", async () => {
    const failure = { type: "KeyError", message: "'price'" };
    const replaced = { id: "a", kind: "tool_invocation", side: "end", outcome: "ok" } as const;
    const model = one(
      "a",
      { data: "null", edit: '"fine"' },
      { ...replaced, edited: true, answer: "resume", failure },
    );
    await shown(model);
    expect(text()).toContain("fine");
    expect(text()).not.toContain("KeyError");
    await act(async () => {
      model.showOriginal.value = true;
    });
    expect(text()).toContain("KeyError");
  });

  test("what was stopped shows no failure", async () => {
    const failure = { type: "CancelledError", message: "" };
    const stopped = { kind: "tool_invocation", side: "end", outcome: "stopped" } as const;
    await shown(one("a", { data: "null" }, { id: "a", ...stopped, summary: "Stopped", failure }));
    expect(text()).toContain("Stopped");
    expect(text()).not.toContain("CancelledError");
  });

  test("a failure says its type and message", async () => {
    const failed = {
      id: "a",
      kind: "tool_invocation",
      side: "end",
      failure: { type: "KeyError", message: "'price'" },
    } as const;
    await shown(one("a", { data: "null" }, failed));
    expect(text()).toContain("KeyError");
    expect(text()).toContain("'price'");
    expect(text()).not.toContain("null");
  });

  test("a failure shows its traceback, and what waits offers to replace the exception", async () => {
    const failed = {
      id: "a",
      kind: "tool_invocation",
      side: "end",
      outcome: "error",
      failure: { type: "KeyError", message: "'price'" },
    } as const;
    const traceback = '  File "shop.py", line 7, in total\n    return item["price"]';
    await shown(one("a", { data: "null", traceback }, failed));
    expect(host.querySelector(".as-Traceback pre")?.textContent).toBe(traceback);
    expect(text()).not.toContain("Replace the exception");
    const model = one("a", { data: "null", traceback }, { ...failed, pending: true });
    await shown(model);
    await click("Replace the exception");
    expect(model.editing.value).toBe(true);
  });

  test("contents that don't come are said, and asked for again", async () => {
    const model = one("a", { data: '"here"' });
    model.contents.delete("a");
    await shown(model);
    expect(text()).toContain("could not be fetched");
    model.contents.set("a", { data: '"here"' });
    await click("Try again");
    expect(text()).toContain("here");
  });

  test("without a row it says what to do", async () => {
    await shown(fakeModel());
    expect(text()).toContain("Nothing has happened yet");
  });
});

describe("an edit that was sent", () => {
  const edited = () =>
    one("a", { data: '"before"', edit: '"after"' }, { id: "a", edited: true, side: "end" });

  test("stands in the original's place; the original is a press away", async () => {
    const model = edited();
    await shown(model);
    expect(text()).toContain("after");
    await act(async () => {
      model.showOriginal.value = true;
    });
    expect(host.querySelector(".as-Scroll")?.textContent).toBe("before");
  });

  test("is compared with the original", async () => {
    await shown(edited());
    await click("Diff");
    await vi.waitFor(() => expect(host.querySelector("td.d.t")).not.toBeNull());
    expect(host.querySelector("td.d.t")?.textContent).toContain("before");
    expect(host.querySelector("td.a.t")?.textContent).toContain("after");
  });

  test("there is nothing to compare where nothing was edited: Diff keeps its place and says why", async () => {
    await shown(one("a", { data: '"a"' }));
    expect([...host.querySelectorAll("[role=tab]")].map((tab) => tab.textContent)).toEqual([
      "Messages",
      "Diff",
      "Raw",
      "Stack",
    ]);
    expect(button("Diff").getAttribute("aria-disabled")).toBe("true");
    expect(button("Diff").title).toBe("Nothing was edited here");
    await click("Diff");
    expect(button("Messages").getAttribute("aria-selected")).toBe("true");
    button("Messages").focus();
    const right = new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true });
    await act(async () => {
      button("Messages").dispatchEvent(right);
    });
    expect(button("Raw").getAttribute("aria-selected")).toBe("true");
  });
});

describe("editing", () => {
  const pending = () => one("a", { data: '"before"' }, { id: "a", pending: true });
  const type = async (value: string) => {
    const area = host.querySelector<HTMLTextAreaElement>("textarea");
    if (!area) throw new Error(host.innerHTML);
    await act(async () => {
      area.value = value;
      area.dispatchEvent(new Event("input", { bubbles: true }));
    });
  };
  const opened = async (model: FakeModel) => {
    await shown(model);
    await click("Edit this prompt");
    await vi.waitFor(() => expect(host.querySelector("textarea")).not.toBeNull());
  };

  test("the draft is kept as it is typed, and closing keeps it", async () => {
    const model = pending();
    await opened(model);
    await type("after");
    expect(model.draft("a").value).toEqual({ text: '"after"', revision: 1 });
    await click("Close");
    expect(text()).toContain("draft");
    expect(host.querySelector(".as-Scroll")?.textContent).toBe("after");

    await click("Discard edit");
    expect(model.draft("a").value).not.toBeNull();
    await click("Really discard");
    expect(model.draft("a").value).toBeNull();
    expect(host.querySelector(".as-Scroll")?.textContent).toBe("before");
  });

  test("the original typed again is no draft", async () => {
    const model = pending();
    await opened(model);
    await type("after");
    await type("before");
    expect(model.draft("a").value).toBeNull();
  });

  test("only a pending row is edited, and only by who may", async () => {
    const held = async (model: FakeModel) => {
      await shown(model);
      await click("Edit this prompt");
      expect(model.editing.value).toBe(false);
      return button("Edit this prompt").title;
    };
    expect(await held(one("a", { data: '"a"' }))).toContain("Only what is halted");
    const model = pending();
    model.control.value = false;
    const connection = model.connection as Signal<Connection>;
    connection.value = { kind: "open", control: false, core: "test" };
    expect(await held(model)).toContain("may watch");
  });

  test("a draft that came too late is kept and offered", async () => {
    const model = pending();
    await opened(model);
    await type("after");
    await act(async () => {
      model.contents.set("a", { data: '"before"', edit: '"theirs"' });
      model.rows.value = [row({ id: "a", edited: true, revision: 2 })];
    });
    await settled();
    expect(text()).toContain("Answered before your edit was sent");
    expect(button("Copy the draft")).toBeTruthy();
    await click("Discard");
    expect(model.draft("a").value).toBeNull();
  });

  test.each([
    ["withdrawn", "interrupted or has ended"],
    ["stop", "Stopped before your edit was sent"],
  ] as const)("a draft at what was %s isn’t said to be answered", async (answer, words) => {
    const model = pending();
    await opened(model);
    await type("after");
    await act(async () => {
      model.rows.value = [row({ id: "a", answer })];
    });
    await settled();
    expect(text()).toContain(words);
    expect(text()).not.toContain("Answered before");
    expect(button("Copy the draft")).toBeTruthy();
  });

  test("a draft that was sent is not one that came too late", async () => {
    const model = pending();
    model.draft("a").value = { text: '"after"', revision: 1 };
    model.contents.set("a", { data: '"before"', edit: '"after"' });
    model.rows.value = [row({ id: "a", edited: true, revision: 2 })];
    await shown(model);
    await vi.waitFor(() => expect(model.draft("a").value).toBeNull());
    expect(text()).not.toContain("Answered before");
  });

  test("another view's edit meanwhile: keep mine, or take theirs", async () => {
    const model = pending();
    await opened(model);
    await type("mine");
    await act(async () => {
      model.contents.set("a", { data: '"before"', edit: '"theirs"' });
      model.rows.value = [row({ id: "a", pending: true, edited: true, revision: 2 })];
    });
    await settled();
    expect(text()).toContain("Edited elsewhere meanwhile");
    expect(host.querySelector("textarea")?.value).toBe("mine");
    await click("Take theirs");
    expect(host.querySelector("textarea")?.value).toBe("theirs");
    expect(model.draft("a").value).toBeNull();
    await type("mine again");
    expect(model.draft("a").value).toEqual({ text: '"mine again"', revision: 2 });
  });
});
