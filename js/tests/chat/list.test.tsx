/** The list of conversations beside a chat, or over it. */
import { expect, test } from "vitest";
import { FakeChat, session } from "../helpers/chat";
import { BEGAN } from "../helpers/chat_messages";
import { drawn, press } from "../helpers/dom";
import { shown, useChatLayout, Wide } from "../helpers/shown_chat";

useChatLayout();

const THREE = () =>
  new FakeChat(
    session({ title: "This" }),
    session({ id: "t", title: "That", state: "STATE_RUNNING", speaking: "coder" }),
    session({ id: "old", title: "Old one", live: false, updated_at: BEGAN - 9e5, messages: 4 }),
  );

test("the list says what there is, how it stands, and whether it is only kept", async () => {
  const { button, click, all } = await shown(THREE());
  expect(button("Conversations").getAttribute("aria-expanded")).toBe("false");
  await click(button("Conversations"));
  const items = all(".as-ChatItem-open");
  expect(items.map((each) => each.querySelector(".as-ChatItem-title")?.textContent)).toEqual([
    "This",
    "That",
    "Old one",
  ]);
  expect(items[0]?.getAttribute("aria-current")).toBe("true");
  expect(items[1]?.textContent).toContain("Answering…");
  expect(items[2]?.textContent).toContain("Stored");
  expect(items[2]?.title).toContain("4 messages; stored: click to open");
  expect(document.activeElement).toBe(items[0]);
  await press("ArrowDown");
  await press("ArrowDown");
  expect(document.activeElement).toBe(items[2]);
});

test("a kept conversation is opened by a click; beside the conversation the list stays", async () => {
  const { chat, button, click, all, one } = await shown(THREE());
  await click(button("Conversations"));
  await click(all(".as-ChatItem-open")[2] as HTMLElement);
  expect(chat.asked).toEqual([["open", { session: "old" }]]);
  expect(one(".as-ChatTitle").textContent).toBe("Old one");
  expect(all(".as-ChatList")).toHaveLength(1);
  await click(button("New"));
  expect(chat.asked.at(-1)).toEqual(["create", {}]);
  expect(one(".as-ChatTitle").textContent).toBe("New conversation");
  expect(document.activeElement).toBe(one(".as-ChatPost-field"));
});

test("where there is little room the list lies over the conversation, and goes once one is chosen", async () => {
  Wide.tell(400);
  const { button, click, all, one } = await shown(THREE());
  await click(button("Conversations"));
  expect(one(".as-ChatList").className).toContain("as-mod-over");
  await click(all(".as-ChatItem-open")[1] as HTMLElement);
  expect(all(".as-ChatList")).toEqual([]);
  expect(document.activeElement).toBe(button("Conversations"));
});

test("the list that stood beside the conversation goes where it would come to lie over it", async () => {
  const { button, click, all } = await shown(THREE());
  await click(button("Conversations"));
  expect(all(".as-ChatList")).toHaveLength(1);
  Wide.tell(400);
  await drawn();
  expect(all(".as-ChatList")).toEqual([]);
  await click(button("Conversations"));
  expect(all(".as-ChatList.as-mod-over")).toHaveLength(1);
});

test("Escape puts the list away, and leaves what was written", async () => {
  const { button, click, all, write, field } = await shown(THREE());
  await write("Half");
  await click(button("Conversations"));
  await press("Escape");
  expect(all(".as-ChatList")).toEqual([]);
  expect(document.activeElement).toBe(button("Conversations"));
  expect(field().value).toBe("Half");
});

test("to delete asks once, with the harmless answer in hand", async () => {
  const { chat, button, click, all } = await shown(THREE());
  await click(button("Conversations"));
  await click(button("Delete Old one"));
  expect(chat.asked).toEqual([]);
  expect(document.activeElement?.textContent).toBe("Keep");
  await press("Escape");
  expect([all(".as-ChatItem-doomed"), all(".as-ChatList").length]).toEqual([[], 1]);
  await click(button("Delete Old one"));
  await click(all(".as-ChatItem-doomed button")[0] as HTMLElement);
  expect(chat.asked).toEqual([["remove", { session: "old" }]]);
});

test.each(["Keep", "Escape"])("%s gives the focus back to the conversation", async (way) => {
  const { button, click, all } = await shown(THREE());
  await click(button("Conversations"));
  await click(button("Delete That"));
  if (way === "Escape") await press("Escape");
  else await click(button("Keep"));
  expect(document.activeElement).toBe(all(".as-ChatItem-open")[1]);
});

test.each([
  ["the next one", "That", "Old one"],
  ["the one before, where it was the last", "Old one", "That"],
])("a conversation that is deleted gives the focus to %s", async (_, title, next) => {
  const { chat, button, click, all } = await shown(THREE());
  await click(button("Conversations"));
  await click(button(`Delete ${title}`));
  await click(all(".as-ChatItem-doomed button")[0] as HTMLElement);
  expect(document.activeElement?.textContent).toContain(title); // until it is told
  await chat.list();
  await drawn();
  expect(all(".as-ChatItem")).toHaveLength(2);
  expect(document.activeElement?.className).toBe("as-ChatItem-open");
  expect(document.activeElement?.textContent).toContain(next);
});

test("where no conversation is left the focus is where one is begun", async () => {
  const { chat, button, click } = await shown(new FakeChat(session({ title: "This" })));
  await click(button("Conversations"));
  await click(button("Delete This"));
  await click(button("Delete"));
  await chat.list();
  await drawn();
  expect(document.activeElement).toBe(button("New"));
});

test("what is refused of the list is said in the list", async () => {
  const { chat, button, click, one } = await shown(THREE());
  chat.refuses.remove = { code: "session_busy", message: "Stop it first." };
  await click(button("Conversations"));
  await click(button("Delete That"));
  await click(one(".as-ChatItem-doomed .as-mod-danger"));
  expect(one(".as-ChatList .as-ChatNews").textContent).toBe("Stop it first.");
});
