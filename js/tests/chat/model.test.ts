/** What the view of a chat knows: events folded, pieces joined, what is missing asked for anew. */
import { expect, test } from "vitest";
import { ChatModel } from "../../src/chat/model";
import type { Schedule } from "../../src/model/inbox";
import { FakeChat, type Session, said, session } from "../helpers/chat";
import { anAgent } from "../helpers/chat_messages";
import { settled, TestTimers } from "../helpers/peer";
import { testMemory } from "../helpers/values";

/** Draws when a test says so. */
class Frames {
  #due: (() => void)[] = [];
  drawn = 0;
  on: Schedule = (then) => {
    this.#due.push(then);
    return () => {
      this.#due = this.#due.filter((each) => each !== then);
    };
  };
  async draw(): Promise<void> {
    await settled();
    const due = this.#due;
    this.#due = [];
    this.drawn += due.length;
    for (const then of due) then();
    await settled();
  }
}

async function begun({ chat = new FakeChat(), memory = testMemory(), first = "s" } = {}) {
  const timers = new TestTimers();
  const frames = new Frames();
  const options = { transport: chat, name: "test", session: first, timers, frames: frames.on };
  const model = new ChatModel({ ...options, memory });
  model.start();
  await frames.draw();
  const words = () => model.messages.value.map(({ content }) => content);
  const ids = () => model.messages.value.map(({ id }) => id);
  return { chat, model, timers, frames, memory, words, ids };
}

const many = (n: number): Session["messages"] =>
  Array.from({ length: n }, (_, at) => said(`m${at}`, { content: `words ${at}` }));

test("a beginning says all, and what follows is folded into it", async () => {
  const { chat, model, frames, words } = await begun({
    chat: new FakeChat(session({ title: "Talk" }, [said("a", { content: "one" })])),
  });
  expect(model.info.value?.title).toBe("Talk");
  await chat.tells(said("b", { content: "two" }));
  await chat.tells(said("b", { content: "two, mended" }));
  await chat.change("s", { title: "Other" });
  await frames.draw();
  expect(words()).toEqual(["one", "two, mended"]);
  expect(model.info.value?.title).toBe("Other");
});

test("pieces that come between two drawings are one change", async () => {
  const { chat, model, frames, words } = await begun();
  await chat.change("s", { state: "STATE_RUNNING" });
  await chat.tells(said("a", { content: "", final: false }));
  await frames.draw();
  const before = frames.drawn;
  let changes = -1; // it hears what there is, too
  const leave = model.messages.subscribe(() => {
    changes += 1;
  });
  const pieces = [..."streaming"].map((text) => ({
    event: "delta" as const,
    session_id: "s",
    message_id: "a",
    text,
  }));
  await chat.tell("s", ...pieces);
  expect(words()).toEqual([""]);
  await frames.draw();
  leave();
  expect(words()).toEqual(["streaming"]);
  expect([changes, frames.drawn - before]).toEqual([1, 1]);
});

test("a message is the same object until it changes, and streams while it is answered", async () => {
  const { chat, model, frames } = await begun({
    chat: new FakeChat(
      session({ state: "STATE_RUNNING" }, [said("a"), said("b", { final: false })]),
    ),
  });
  const [first, second] = model.messages.value;
  expect([first?.streaming, second?.streaming]).toEqual([false, true]);
  await chat.tell("s", { event: "delta", session_id: "s", message_id: "b", text: "!" });
  await frames.draw();
  expect(model.messages.value[0]).toBe(first);
  expect(model.messages.value[1]).not.toBe(second);
  await chat.change("s", { state: "STATE_STOP", ending: "stopped" });
  await frames.draw();
  expect(model.messages.value[1]?.streaming).toBe(false);
  const list = model.messages.value;
  await chat.change("s", { title: "Talk" });
  await frames.draw();
  expect(model.messages.value).toBe(list);
});

test.each([
  ["an event that is missing", "later" as const],
  ["a piece of a message that isn't there", "piece" as const],
])("%s lets it ask for all anew", async (_, kind) => {
  const { chat, frames, words } = await begun({
    chat: new FakeChat(session({}, [said("a", { content: "one" })])),
  });
  chat.sessions.get("s")?.messages.push(said("b", { content: "two" }));
  const info = { ...session({}, many(2)).info };
  (chat.sessions.get("s") as Session).info = info;
  if (kind === "later") await chat.tellLater("s", { event: "session", session: info });
  else await chat.tell("s", { event: "delta", session_id: "s", message_id: "b", text: "!" });
  await frames.draw();
  await frames.draw();
  expect(words()).toEqual(["one", "two"]);
  expect(chat.watched).toEqual(["s"]);
});

test("a link that comes back begins anew, and keeps what was fetched of earlier", async () => {
  const { chat, model, frames, timers, ids } = await begun({
    chat: new FakeChat(session({ messages: 120, kept: 2 }, many(120))),
  });
  expect(ids()).toEqual(["m118", "m119"]);
  expect(model.hasEarlier.value).toBe(true);
  await model.loadEarlier();
  expect(ids()).toHaveLength(52);
  await chat.drop();
  timers.pass(500);
  await frames.draw();
  expect(model.client.connection.value.kind).toBe("open");
  expect([ids()[0], ids().at(-1), ids().length]).toEqual(["m68", "m119", 52]);
  await model.loadEarlier();
  await model.loadEarlier();
  expect([ids()[0], model.hasEarlier.value]).toEqual(["m0", false]);
});

test("earlier messages that can't be had are said, and can be asked for again", async () => {
  const { chat, model } = await begun({
    chat: new FakeChat(session({ messages: 9, kept: 2 }, many(9))),
  });
  chat.refuses.earlier = { code: "internal", message: "The file is gone." };
  await model.loadEarlier();
  expect([model.error.value, model.loadingEarlier.value]).toEqual(["The file is gone.", false]);
  chat.refuses = {};
  await model.loadEarlier();
  expect([model.error.value, model.messages.value.length]).toEqual([null, 9]);
});

test("a view holds no more than it can, and fetches the rest again", async () => {
  const { chat, model, frames, ids } = await begun({
    chat: new FakeChat(session({}, many(2000))),
  });
  await chat.tells(said("new"));
  await chat.change("s", { messages: 2001 });
  await frames.draw();
  expect([ids().length, ids()[0], ids().at(-1)]).toEqual([1000, "m1001", "new"]);
  expect(model.hasEarlier.value).toBe(true);
});

test("agents come, change, and are told with their session", async () => {
  const { chat, model, frames } = await begun();
  const tell = (name: string, phase: "running" | "created") =>
    chat.tell("s", {
      event: "agent",
      session_id: "s",
      agent: anAgent(name, { phase }),
      error: null,
    });
  await tell("coder", "running");
  await tell("late", "created");
  await frames.draw();
  expect(model.info.value?.agents.map(({ name, phase }) => [name, phase])).toEqual([
    ["coder", "running"],
    ["late", "created"],
  ]);
});

test("what is sent was written, is for who was chosen, and is written no more once it is taken", async () => {
  const { chat, model, memory } = await begun();
  model.drafts.set("s", "Hello");
  expect([...memory.kept.values()]).toEqual(["Hello"]);
  model.recipient.value = "late";
  expect(await model.send()).toBe(true);
  const key = expect.any(String);
  expect(chat.asked).toEqual([
    ["send", { session: "s", content: "Hello", agent_name: "late", key }],
  ]);
  expect([model.drafts.peek("s"), memory.kept.size, model.sent.value]).toEqual(["", 0, 1]);
});

test("what is refused stays written, and why is said until something else is asked", async () => {
  const { chat, model } = await begun();
  chat.refuses.send = { code: "session_busy", message: "It is answering." };
  model.drafts.set("s", "Hello");
  expect(await model.send()).toBe(false);
  expect([model.drafts.peek("s"), model.error.value, model.sending.value]).toEqual([
    "Hello",
    "It is answering.",
    false,
  ]);
  expect(model.sent.value).toBe(0);
  chat.refuses = {};
  await model.send();
  expect(model.error.value).toBe(null);
});

test("what was written meanwhile stays when the message before it is taken", async () => {
  const { model } = await begun();
  model.drafts.set("s", "one");
  const sent = model.send();
  model.drafts.set("s", "one and two");
  await sent;
  expect(model.drafts.peek("s")).toBe("one and two");
});

test("a message whose answer never came stays written, and is said once when it is sent again", async () => {
  const { chat, model, timers } = await begun();
  chat.silent.add("send");
  model.drafts.set("s", "Hello");
  const sent = model.send();
  await settled();
  await chat.drop();
  expect(await sent).toBe(false);
  expect(model.error.value).toBe("The connection was lost before the answer came.");
  expect(model.drafts.peek("s")).toBe("Hello");
  chat.silent.clear();
  timers.pass(500);
  await settled();
  expect(await model.send()).toBe(true);
  model.drafts.set("s", "Hello");
  expect(await model.send()).toBe(true);
  const [lost, again, other] = chat.asked.map(([, { key }]) => key);
  expect(lost).toEqual(expect.any(String));
  expect(again).toBe(lost);
  expect(other).not.toBe(lost); // the same words once more are said once more
});

test("nothing is sent twice by an Enter too many, nor where there is nothing", async () => {
  const { chat, model } = await begun();
  expect(await model.send()).toBe(false);
  model.drafts.set("s", "Hello");
  await Promise.all([model.send(), model.send()]);
  expect(chat.asked).toHaveLength(1);
});

test("a choice that is refused is said to who chose", async () => {
  const { chat, model } = await begun();
  expect(await model.choose("q", "Yes")).toBe(null);
  expect(chat.asked).toEqual([["choose", { session: "s", message: "q", choice: "Yes" }]]);
  chat.refuses.choose = { code: "not_waiting", message: "It was withdrawn." };
  expect(await model.choose("q", "Yes")).toBe("It was withdrawn.");
  expect(model.error.value).toBe(null);
});

test("pictures and sources are of the session that is looked at", async () => {
  const { model } = await begun();
  expect((await model.loadImage("m")).media_type).toBe("image/png");
  expect(await model.loadSource("m")).toEqual({ text: "print()" });
});

test("a kept session is opened to look at it, and the page remembers which one it was", async () => {
  const chat = new FakeChat(session(), session({ id: "old", live: false }, many(3)));
  const { model, frames, memory, words } = await begun({ chat });
  expect(await model.openSession("old")).toBe(true);
  await frames.draw();
  expect([model.session.value, words().length]).toEqual(["old", 3]);
  expect(chat.asked).toEqual([["open", { session: "old" }]]);
  expect(chat.watched).toEqual(["old"]);
  const reloaded = await begun({ chat, memory });
  expect(reloaded.model.session.value).toBe("old");
});

test("a session that can't be opened leaves the one that is looked at", async () => {
  const chat = new FakeChat(session(), session({ id: "old", live: false }));
  const { model } = await begun({ chat });
  chat.refuses.open = { code: "unknown_session", message: "Its file is gone." };
  expect(await model.openSession("old")).toBe(false);
  expect([model.session.value, model.sessions.error.value]).toEqual(["s", "Its file is gone."]);
});

test("what was asked for last is shown, however late the answers before it come", async () => {
  const kept = (id: string) => session({ id, live: false });
  const chat = new FakeChat(session(), session({ id: "live" }), kept("one"), kept("two"));
  const { model } = await begun({ chat });
  const [one, made] = [model.openSession("one"), model.createSession()];
  expect(await model.openSession("live")).toBe(true);
  expect([await one, await made, model.session.value]).toEqual([false, false, "live"]);
  const [first, last] = [model.openSession("one"), model.openSession("two")];
  expect([await first, await last, model.session.value]).toEqual([false, true, "two"]);
});

test("a view that begins with a session that is only kept opens it", async () => {
  const chat = new FakeChat(session({ live: false }, many(2)));
  const { model, frames, words } = await begun({ chat });
  await frames.draw();
  expect([model.removed.value, words().length]).toEqual([false, 2]);
});

test("what the page remembers and was deleted gives way to the session that it was made for", async () => {
  const memory = testMemory();
  memory.set("chat-session:s", "gone");
  const { model, frames } = await begun({ memory });
  await frames.draw();
  expect([model.session.value, model.info.value?.id]).toEqual(["s", "s"]);
});

test("a session that is deleted is said to be", async () => {
  const { chat, model, frames } = await begun();
  await model.sessions.remove("s");
  await chat.tell("s", { event: "removed", session_id: "s" });
  await frames.draw();
  expect(model.removed.value).toBe(true);
  expect(await model.createSession()).toBe(true);
  await frames.draw();
  expect([model.removed.value, model.info.value !== null]).toEqual([false, true]);
});

test("one that never was is said likewise, and isn't asked for again and again", async () => {
  const { chat, model } = await begun({ first: "nowhere" });
  expect(model.removed.value).toBe(true);
  expect(chat.received.filter(({ body }) => body.method === "open")).toHaveLength(1);
});

test("where only one session may be looked at there is no list", async () => {
  const chat = new FakeChat();
  chat.refuses.watch_sessions = { code: "out_of_scope", message: "Others aren't yours." };
  const { model } = await begun({ chat });
  expect([model.sessions.all.value, model.error.value]).toEqual([null, null]);
});

test("who may only watch, and who isn't connected, can change nothing", async () => {
  const chat = new FakeChat();
  chat.control = false;
  const { model } = await begun({ chat });
  expect(model.readOnlyReason.value).toBe("This login may watch the chat, not take part");
  await chat.drop();
  expect(model.readOnlyReason.value).toBe("Not connected to the kernel");
});

test("Stop is on its way until the kernel has answered", async () => {
  const { chat, model } = await begun();
  const stopped = model.stop();
  expect(model.stopping.value).toBe(true);
  void model.stop();
  await stopped;
  expect(model.stopping.value).toBe(false);
  expect(chat.asked).toEqual([["stop", { session: "s" }]]);
});

test("nothing is heard any more after its end", async () => {
  const { chat, model, frames } = await begun();
  await chat.tells(said("a"));
  model.close();
  await frames.draw();
  expect(model.messages.value).toEqual([]);
  expect(chat.received.filter(({ type }) => type === "cancel")).toHaveLength(2);
});
