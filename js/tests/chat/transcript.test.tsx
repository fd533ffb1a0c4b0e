/** What was said, one message after the other. */
import { beforeEach, expect, test, vi } from "vitest";
import type { ChatSessionInfo } from "../../src/chat/types";
import { aChatMessage, anAgent, BEGAN } from "../helpers/chat_messages";
import { drawn, useLayout } from "../helpers/dom";
import { FakeIntersectionObserver, shown } from "../helpers/transcripts";

useLayout();

beforeEach(() => {
  vi.stubGlobal("IntersectionObserver", FakeIntersectionObserver);
});

test("who speaks stands where somebody else begins; output belongs to its agent", async () => {
  const { all } = await shown(
    [
      aChatMessage("1", { role: "user", content: "hi", agent_name: "coder" }),
      aChatMessage("2", { content: "a" }),
      aChatMessage("3", { type: "CONSOLE", role: "computer", content: "b" }),
      aChatMessage("4", { content: "c", created_at: BEGAN + 400 }),
      aChatMessage("5", { role: "system", agent_name: null, content: "Go on." }),
      aChatMessage("6", {
        role: "system",
        agent_name: null,
        content: "ValueError",
        format: "error",
      }),
      aChatMessage("7", { content: "d", agent_name: "other" }),
    ],
    { agents: [anAgent("coder"), anAgent("other", { role: "LLM_PLANNER" })] },
  );
  const heads = all(".as-Said-head").map((head) =>
    [...head.children].slice(1, -2).map(({ textContent }) => textContent),
  );
  expect(heads).toEqual([
    ["You", "to coder"],
    ["coder", "executor"],
    ["coder", "executor"],
    ["AutoChat"],
    ["Error"],
    ["other", "planner"],
  ]);
});

test("dividers stand where agents read from, and where memory begins", async () => {
  const said = Array.from({ length: 6 }, (_, at) => aChatMessage(`${at}`, { content: `${at}` }));
  const { model, one } = await shown(said, { kept: 4, window_from: "4", messages: 6 });
  const rows = () => [...one(".as-Log-content").children].map((each) => each.textContent);
  const place = (words: string) => rows().findIndex((text) => text?.includes(words));
  expect(place("In memory from here")).toBe(2);
  expect(place("Agents read from here")).toBe(5);
  model.info.value = { ...(model.info.value as ChatSessionInfo), kept: 6, window_from: "0" };
  await drawn();
  expect(place("from here")).toBe(-1); // nothing stands above
});

test("earlier messages are fetched where there are some", async () => {
  const { model, button, click, one } = await shown([aChatMessage("9", { content: "x" })], {
    messages: 51,
  });
  model.hasEarlier.value = true;
  await drawn();
  await click(button("Show earlier messages (50)"));
  expect(model.asked).toEqual(["earlier"]);
  model.loadingEarlier.value = true;
  await drawn();
  expect(one('[role="log"]').getAttribute("aria-live")).toBe("off");
  model.loadingEarlier.value = false;
  model.messages.value = [aChatMessage("8", { content: "y" }), ...model.messages.peek()];
  await drawn();
  expect(one('[role="log"]').getAttribute("aria-live")).toBe("polite");
});

test("who is further up is told how many came, and goes to the end by a click", async () => {
  const { model, one, all, click } = await shown([aChatMessage("1", { content: "x" })]);
  const scroller = one('[role="log"]');
  Object.defineProperty(scroller, "scrollHeight", { configurable: true, value: 2000 });
  scroller.scrollTop = 100;
  scroller.dispatchEvent(new Event("scroll"));
  await drawn();
  expect(one(".as-Log-end").textContent).toBe("Latest");
  for (const id of ["2", "3", "4"]) model.say(aChatMessage(id, { content: id }));
  await drawn();
  expect(one(".as-Log-end").textContent).toBe("3 new");
  expect(scroller.scrollTop).toBe(100);
  await click(one(".as-Log-end"));
  expect(all(".as-Log-end")).toEqual([]);
  expect(scroller.scrollTop).toBe(2000);
});

test("who says something from here is taken to the end, where the answer comes", async () => {
  const { model, one, all } = await shown([aChatMessage("1", { content: "x" })]);
  const scroller = one('[role="log"]');
  Object.defineProperty(scroller, "scrollHeight", { configurable: true, value: 2000 });
  scroller.scrollTop = 100;
  scroller.dispatchEvent(new Event("scroll"));
  await drawn();
  model.sent.value += 1;
  await drawn();
  expect(all(".as-Log-end")).toEqual([]);
  expect(scroller.scrollTop).toBe(2000);
});

test("a message that stands isn't drawn again while another one comes", async () => {
  const { model, one } = await shown([aChatMessage("1", { content: "x" })]);
  const changes = vi.fn();
  const observer = new MutationObserver(changes);
  observer.observe(one('[data-message="1"]'), { subtree: true, childList: true, attributes: true });
  for (let at = 0; at < 20; at += 1) {
    model.say(aChatMessage("2", { content: "y".repeat(at), streaming: true }));
    await drawn();
  }
  observer.disconnect();
  expect(changes).not.toHaveBeenCalled();
});

test("where nothing was said it is said who is there; and who is at it", async () => {
  const agents = [anAgent("coder", { description: "Writes code" })];
  const { model, one, all } = await shown([], { agents });
  expect(one(".as-Empty").textContent).toContain("coderexecutorWrites code");
  model.say(aChatMessage("1", { role: "user", content: "hi" }));
  model.info.value = {
    ...(model.info.value as ChatSessionInfo),
    state: "STATE_RUNNING",
    speaking: "coder",
  };
  await drawn();
  expect(all(".as-Empty")).toEqual([]);
  expect(one(".as-Log-now").textContent).toBe("coder is answering…");
  model.info.value = { ...model.info.value, halted: true };
  await drawn();
  expect(one(".as-Log-now").textContent).toBe("coder is halted in the debugger");
  model.info.value = { ...model.info.value, halted: false };
  model.say(aChatMessage("2", { content: "he", streaming: true }));
  await drawn();
  expect(one(".as-Log-now").textContent).toBe("");
});
