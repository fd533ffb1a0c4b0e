import type { Signal } from "@preact/signals";
import { render } from "preact";
import { act } from "preact/test-utils";
import { expect, test, vi } from "vitest";
import { LinkLost } from "../../src/client/core_client";
import { Inspector } from "../../src/inspector";
import type { Inspection } from "../../src/model/inspection";
import type { Connection } from "../../src/model/model";
import type { StackFrame, StackSnapshot, Variable } from "../../src/protocol/types.gen";
import { onOpenFile } from "../../src/shells/open_file";
import { Stack } from "../../src/stack";
import { firstFrame, frameLines } from "../../src/stack/frames";
import { longLocation, shortLocation } from "../../src/view/location";
import { box as host, useBox } from "../helpers/dom";
import { fakeModel, row } from "../inspector/fake_model";

useBox();

const at = (name: string, is_own: boolean, file = "/srv/agent.py"): StackFrame => ({
  location: { file, line: 4, function: name },
  is_own,
});
const FRAMES = [
  at("wait", false),
  { ...at("ask", true), source: { first: 3, lines: ["def ask():", "    halt()"] } },
  at("wrap", false),
  at("call", false),
  at("main", true),
];
const STACK: StackSnapshot = {
  kind: "stack",
  frames: FRAMES,
  thread: "MainThread",
  is_task: false,
  omitted: 0,
  pdb_refusal: "No notebook is here.",
};
const variable = (name: string, children = 0): Variable => ({
  name,
  value: `<${name}>`,
  type: "T",
  children,
  masked: false,
});

function inspecting(more: Partial<Inspection> = {}) {
  const inspection: Inspection = {
    stack: vi.fn(async () => STACK),
    variables: vi.fn(async (_row, { path }, start) => {
      const total = path.length === 0 ? 2 : 150;
      const names = Array.from({ length: Math.min(100, total - start) }, (_, n) => start + n);
      const variables = names.map((n) => variable(path.length ? `${n}` : `name${n}`, 150));
      return { kind: "variables" as const, variables, start, total };
    }),
    evaluate: vi.fn(async () => ({
      kind: "evaluation" as const,
      value: variable("said"),
      result: 7,
      error: null,
      output: "printed",
    })),
    complete: vi.fn(async () => ({
      kind: "completions" as const,
      start: 0,
      end: 2,
      matches: ["name0", "name1"],
    })),
    enterPdb: vi.fn(async () => ({ kind: "pdb_ready" as const, where: "below" })),
    sampling: vi.fn(async () => ({ left: 20 })),
    sample: vi.fn(() => Promise.reject(new Error("not asked here"))),
    ...more,
  };
  const halted = row({ id: "b", pending: true });
  return { inspection, halted, model: { ...fakeModel([[halted, { data: "1" }]]), inspection } };
}

const settled = () => act(async () => await new Promise((done) => setTimeout(done, 5)));
async function shown(more: Partial<Inspection> = {}) {
  const all = inspecting(more);
  await act(async () => render(<Stack model={all.model} row={all.halted} />, host));
  await settled();
  return all.inspection;
}
const text = () => host.textContent ?? "";
const buttons = () => [...host.querySelectorAll<HTMLElement>("button")];
const press = async (words: string) => {
  const found = buttons().find((each) => (each.textContent ?? "").includes(words));
  if (!found) throw new Error(`no button ${words}`);
  await act(async () => found.click());
  await settled();
};
const field = () => host.querySelector("input") as HTMLInputElement;
const key = async (key: string, more: KeyboardEventInit = {}) => {
  const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true, ...more });
  await act(async () => {
    field().dispatchEvent(event);
  });
  await settled();
};
const type = async (words: string) => {
  await act(async () => {
    field().value = words;
    field().dispatchEvent(new Event("input", { bubbles: true }));
  });
};

test("library frames fold, and the agent's own innermost frame is shown first", () => {
  expect(firstFrame(FRAMES)).toBe(1);
  const kinds = (unfolded: number[]) =>
    frameLines(FRAMES, new Set(unfolded)).map((line) =>
      line.kind === "fold" ? `${line.count} folded` : line.frame.location.function,
    );
  expect(kinds([])).toEqual(["1 folded", "ask", "2 folded", "main"]);
  expect(kinds([2])).toEqual(["1 folded", "ask", "2 folded", "wrap", "call", "main"]);
  expect(firstFrame([at("only", false)])).toBe(0);
});

test("a location is a file's name and a line, or a cell's number", () => {
  expect(shortLocation({ file: "/a/agent.py", line: 42, function: "f" })).toBe("agent.py:42");
  const cell = { file: "/tmp/ipykernel_1/2.py", line: 4, function: "<module>", cell: 3 };
  expect(shortLocation(cell)).toBe("cell [3]:4");
  expect(longLocation(cell)).toBe("cell [3], line 4");
});

test("another frame's locals are asked for when it is chosen", async () => {
  const inspection = await shown();
  expect(text()).toContain("2 library frames");
  expect(host.querySelector(".as-Source-line[aria-current]")?.textContent).toContain("halt()");
  await press("main");
  expect(vi.mocked(inspection.variables).mock.calls.map(([, place]) => place.frame)).toEqual([
    1, 4,
  ]);
  expect(text()).toContain("lines of this file can't be read");
});

test("a branch is asked for when it is opened, a page at a time", async () => {
  const inspection = await shown();
  await press("name1");
  expect(vi.mocked(inspection.variables).mock.calls.at(-1)?.[1].path).toEqual([1]);
  await press("Show more: 50 items left");
  expect(vi.mocked(inspection.variables).mock.calls.at(-1)?.[2]).toBe(100);
  expect(host.querySelectorAll(".as-Variable")).toHaveLength(2 + 150);
});

test("a late page of one frame isn't shown as another's", async () => {
  const pages: (() => void)[] = [];
  await shown({
    variables: async (_row, { frame }, start) => {
      if (start > 0) await new Promise<void>((resolve) => pages.push(resolve));
      const variables = [variable(`of frame ${frame} from ${start}`)];
      return { kind: "variables", variables, start, total: 2 };
    },
  });
  await press("Show more");
  await press("main");
  await act(async () => pages[0]?.());
  await settled();
  const names = [...host.querySelectorAll(".as-Variable-name")].map((each) => each.textContent);
  expect(names).toEqual(["of frame 4 from 0"]);
});

test("a page that doesn't come is asked for again", async () => {
  let fails = true;
  await shown({
    variables: async (_row, _place, start) => {
      if (fails) throw new Error("The agent is busy.");
      return { kind: "variables", variables: [variable(`name${start}`)], start, total: 2 };
    },
  });
  expect(text()).toContain("The agent is busy.");
  expect(text()).not.toContain("This frame has no names.");
  fails = false;
  await press("Try again");
  expect(text()).not.toContain("The agent is busy.");
  fails = true;
  await press("Show more: 1 item left");
  expect(text()).toContain("name0");
  expect(text()).toContain("The agent is busy.");
  fails = false;
  await press("Show more: 1 item left");
  expect(text()).toContain("name1");
  expect(text()).not.toContain("The agent is busy.");
  expect(text()).not.toContain("Show more");
});

test("Enter that ends a composition evaluates nothing", async () => {
  const inspection = await shown();
  await type("名前");
  await key("Enter", { isComposing: true });
  expect(inspection.evaluate).not.toHaveBeenCalled();
  expect(field().value).toBe("名前");
});

test("an expression is evaluated, and its value can be opened", async () => {
  const said = { ...variable("", 3) };
  const inspection = await shown({
    evaluate: vi.fn(async () => ({
      kind: "evaluation" as const,
      value: said,
      result: 7,
      error: null,
      output: "printed",
    })),
  });
  await type("a + b");
  await key("Enter");
  expect(inspection.evaluate).toHaveBeenCalledWith("b", 1, "a + b");
  expect(host.querySelector("[role=log]")?.textContent).toContain("> a + bprinted");
  const value = host.querySelector<HTMLElement>("[role=log] button");
  await act(async () => value?.click());
  await settled();
  expect(vi.mocked(inspection.variables).mock.calls.at(-1)?.[1]).toMatchObject({
    result: 7,
    path: [],
  });
  await key("ArrowUp");
  expect(field().value).toBe("a + b");
});

test("Tab completes, the arrows choose, and Escape gives up", async () => {
  await shown();
  await type("na");
  await key("Tab");
  expect(field().getAttribute("aria-expanded")).toBe("true");
  await key("Escape");
  expect(field().getAttribute("aria-expanded")).toBe("false");
  await key("Tab");
  await key("ArrowDown");
  await key("Enter");
  expect(field().value).toBe("name1");
});

test("what is typed right after a completion comes behind it", async () => {
  await shown();
  vi.spyOn(globalThis, "requestAnimationFrame").mockReturnValue(0);
  await type("na + b");
  field().setSelectionRange(2, 2);
  await key("Tab");
  await key("Enter");
  expect(field().value).toBe("name0 + b");
  expect(field().selectionStart).toBe(5);
});

test("a completion that adds nothing leaves the caret to what is typed next", async () => {
  await shown({
    complete: async () => ({ kind: "completions", start: 0, end: 2, matches: ["na"] }),
  });
  await type("na");
  await key("Tab");
  await type("na.b");
  expect(field().selectionStart).toBe(4);
});

test("who refuses says why, in the stack's place and in the console", async () => {
  await shown({
    evaluate: async () => {
      throw new Error("Only expressions can be evaluated here.");
    },
  });
  expect(text()).toContain("No notebook is here.");
  await type("a = 1");
  await key("Enter");
  expect(host.querySelector("[role=log]")?.textContent).toContain("Only expressions");
  await act(async () => render(null, host));
  await shown({
    stack: async () => {
      throw new Error("This agent doesn't show its stack.");
    },
  });
  expect(text()).toContain("This agent doesn't show its stack.");
});

test("pdb is entered where it can be", async () => {
  const inspection = await shown({ stack: async () => ({ ...STACK, pdb_refusal: null }) });
  await press("Drop into pdb");
  expect(inspection.enterPdb).toHaveBeenCalledWith("b", 1);
  expect(text()).toContain("below");
});

test("a file below the page's folder is opened in its editor", async () => {
  await shown();
  expect(host.querySelector(".as-Stack-head .as-Link")).toBeNull();
  await act(async () => render(null, host));
  const open = vi.fn();
  onOpenFile("/srv", open);
  await shown();
  await act(async () => host.querySelector<HTMLElement>(".as-Stack-head .as-Link")?.click());
  expect(open).toHaveBeenCalledWith("agent.py", 4);
});

test("a lost link leaves the console with its results and the expression", async () => {
  const { inspection, model } = inspecting();
  const set = async (next: Connection) => {
    await act(async () => {
      model.control.value = next.kind === "open" && next.control;
      (model.connection as Signal<Connection>).value = next;
    });
    await settled();
  };
  const tab = () => buttons().find(({ textContent }) => textContent === "Stack");
  await act(async () => render(<Inspector model={model} />, host));
  await settled();
  await press("Stack");
  await vi.waitFor(() => expect(field()).not.toBeNull());
  await type("a + b");
  await key("Enter");
  await type("half of an ex");
  const written = field();
  vi.mocked(inspection.stack).mockRejectedValueOnce(new LinkLost());
  await set({ kind: "lost", attempt: 1, retryInMs: 1000 });
  expect([field(), tab()?.title]).toEqual([written, "Not connected to the Core"]);
  await set({ kind: "open", control: true, core: "test" });
  expect([field(), written.value]).toEqual([written, "half of an ex"]);
  expect(host.querySelector("[role=log]")?.textContent).toContain("> a + bprinted");
  await set({ kind: "open", control: false, core: "test" });
  expect(host.querySelector("[role=log]")).toBeNull();
  expect(tab()?.title).toBe("This login may watch, not control");
});
