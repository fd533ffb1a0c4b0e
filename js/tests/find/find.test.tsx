import { render } from "preact";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Find, nextMatch } from "../../src/find";
import type { SearchHit } from "../../src/protocol/types.gen";
import { showing } from "../helpers/debugger";
import { drawn } from "../helpers/dom";
import { endedRun, rowsTo } from "../helpers/values";

let box: HTMLElement;
beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  box = document.body.appendChild(document.createElement("div"));
});
afterEach(() => {
  render(null, box);
  vi.useRealTimers();
});

const hit = (id: string, fields: Partial<SearchHit> = {}): SearchHit => ({
  run: "a",
  place: "row",
  id,
  snippet: ["the ", "bug", " is here"],
  ...fields,
});

async function open() {
  const all = await showing(endedRun("a"), rowsTo(9));
  all.model.searchRequest.value = {};
  render(<Find model={all.model} />, box);
  await drawn();
  const input = box.querySelector("input") as HTMLInputElement;
  const write = async (words: string) => {
    input.value = words;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn();
    vi.advanceTimersByTime(250);
    await drawn();
  };
  const answer = async (hits: SearchHit[], more = false) => {
    await all.peer.answer(all.peer.take("search"), "found", { hits, more });
    await drawn();
  };
  const key = async (name: string, shiftKey = false, isComposing = false) => {
    const fields = { key: name, shiftKey, isComposing, bubbles: true };
    const event = new KeyboardEvent("keydown", fields);
    input.dispatchEvent(event);
    await drawn();
  };
  return { ...all, input, write, answer, key };
}

const told = () => box.querySelector("[role=status]")?.textContent;
const places = () =>
  [...box.querySelectorAll(".as-Find-place")].map(({ textContent }) => textContent);

test("places are stepped through round and round, from either end", () => {
  expect([nextMatch(-1, 1, 3), nextMatch(-1, -1, 3)]).toEqual([0, 2]);
  expect([nextMatch(2, 1, 3), nextMatch(0, -1, 3), nextMatch(0, 1, 0)]).toEqual([0, 2, -1]);
});

describe("find in this run", () => {
  test("has the focus, and searches the shown run once the person pauses", async () => {
    const { input, write, peer, answer } = await open();
    expect(document.activeElement).toBe(input);
    await write("bug");
    expect(peer.inbox[0]?.body).toEqual({ run: "a", query: "bug", limit: 500 });
    await answer([hit("r8"), hit("far"), hit("r2", { place: "note" })]);
    expect(told()).toBe("3");
    expect(places()).toEqual([
      "Note 2the bug is here",
      "Eventthe bug is here",
      "Event 8the bug is here",
    ]);
    expect(box.querySelector("mark")?.textContent).toBe("bug");
  });

  test("goes from place to place in the order of the run, and back", async () => {
    const { model, write, answer, key } = await open();
    await write("bug");
    await answer([hit("r8"), hit("r5"), hit("r2")]);
    expect(model.selectedRow.value).toBe("r9"); // to type leads nowhere yet
    await key("Enter");
    expect([model.selectedRow.value, told()]).toEqual(["r2", "1 of 3"]);
    await key("Enter");
    await key("Enter", true);
    await key("Enter", true);
    expect([model.selectedRow.value, told()]).toEqual(["r8", "3 of 3"]);
    expect(box.querySelectorAll('[aria-current="true"]')).toHaveLength(1);
    box.querySelectorAll<HTMLElement>(".as-Find-place")[1]?.click();
    await drawn();
    expect([model.selectedRow.value, told()]).toEqual(["r5", "2 of 3"]);
  });

  test("Enter doesn't wait for the pause, and goes to the first place", async () => {
    const { model, input, answer, key } = await open();
    input.value = "bug";
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await drawn();
    await key("Enter");
    await answer([hit("r8"), hit("r2")]);
    expect(model.selectedRow.value).toBe("r2");
  });

  test("Enter that ends a composition goes nowhere", async () => {
    const { model, write, answer, key } = await open();
    await write("bug");
    await answer([hit("r8"), hit("r2")]);
    await key("Enter", false, true);
    expect(model.selectedRow.value).toBe("r9");
  });

  test("commits lead to Changes", async () => {
    const { model, write, answer } = await open();
    await write("bug");
    await answer([hit("c1", { place: "commit" })]);
    expect(told()).toBe("1 commit");
    box.querySelector<HTMLElement>(".as-Find-place")?.click();
    expect([model.tab.value, model.selectedCommit.value]).toEqual(["changes", "c1"]);
  });

  test("says where nothing is found, why not, and that there is more", async () => {
    const { write, answer, peer } = await open();
    await write("bug");
    await answer([]);
    expect(told()).toBe("No match");
    await write('"bug');
    await peer.refuse(peer.take("search"), "invalid_search", "Close the quote.");
    await drawn();
    expect(box.querySelector("[role=alert]")?.textContent).toBe("Close the quote.");
    await write("bugs");
    await answer([hit("r1")], true);
    expect([told(), box.querySelector("[role=alert]")]).toEqual(["1+", null]);
    expect(box.textContent).toContain("There are older places");
  });

  test("shows what it finds as text", async () => {
    const { write, answer } = await open();
    await write("bug");
    await answer([hit("r1", { snippet: ["<img src=x>", "bug\u202e"] })]);
    expect(box.querySelector("img")).toBeNull();
    expect(places()[0]).toContain("⟨U+202E⟩");
  });

  test("Esc closes it", async () => {
    const { model, key } = await open();
    await key("Escape");
    expect(model.searchRequest.value).toBeNull();
  });
});
