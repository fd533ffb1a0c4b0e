import { describe, expect, test } from "vitest";
import { commTransport } from "../src/client/comm";
import { Client } from "../src/client/core_client";
import { RUNTIME_SERVICE, RuntimeClient } from "../src/sessions/topics";
import { FakeModel } from "./helpers/comm";
import { settled, TestTimers } from "./helpers/peer";
import { aHello } from "./helpers/values";

const PART = 512 * 1024;

function opened(model = new FakeModel(), timers = new TestTimers()) {
  const heard: unknown[] = [];
  const link = commTransport(model, timers).open({
    opened: () => heard.push("opened"),
    message: (text) => heard.push(text),
    stalled: (why) => heard.push(why === null ? "heard again" : ["stalled", why]),
    closed: (why) => heard.push(why),
  });
  return { model, timers, heard, link };
}

async function standing() {
  const all = opened();
  await settled();
  return { ...all, name: all.model.take("open").link };
}

const texts = (link: string, ...said: string[]) => ({ link, op: "texts", texts: said });

test("the view speaks first, and has the link in hand by then", async () => {
  const { model, heard } = opened();
  expect([model.inbox, heard]).toEqual([[], []]);
  await settled();
  expect(model.take("open").link).toMatch(/^[0-9a-f]{24}$/);
  expect(heard).toEqual(["opened"]);
});

test("texts go both ways", async () => {
  const { model, heard, link, name } = await standing();
  link.send("a");
  expect(model.take("text")).toEqual({ link: name, op: "text", text: "a" });
  model.say(texts(name, "b", "c"));
  expect(heard.slice(1)).toEqual(["heard again", "b", "c"]);
});

test("links of one model are apart", async () => {
  const model = new FakeModel();
  const [one, two] = [opened(model), opened(model)];
  await settled();
  const [first, second] = [model.take("open").link, model.take("open").link];
  expect(first).not.toBe(second);
  model.say(texts(second, "for two"));
  expect([one.heard, two.heard]).toEqual([["opened"], ["opened", "for two"]]);
  one.link.close();
  model.say(texts(second, "still"));
  expect(two.heard.at(-1)).toBe("still");
});

describe("a long text", () => {
  const send = async (text: string) => {
    const { model, link } = await standing();
    link.send(text);
    return model.inbox;
  };

  test("goes in parts that say whether more comes", async () => {
    const text = "x".repeat(2 * PART + 1);
    const parts = await send(text);
    expect(parts.map(({ more }) => more)).toEqual([true, true, undefined]);
    expect(parts.map((part) => part.text?.length)).toEqual([PART, PART, 1]);
    expect(parts.map((part) => part.text).join("")).toBe(text);
  });

  test("of just a part's size goes in one", async () => {
    expect((await send("x".repeat(PART))).map(({ more }) => more)).toEqual([undefined]);
  });

  test("is never cut within a character", async () => {
    const text = `${"x".repeat(PART - 1)}😀${"y".repeat(PART)}`;
    const parts = (await send(text)).map((part) => part.text ?? "");
    expect(parts.join("")).toBe(text);
    expect(parts.map(({ length }) => length)).toEqual([PART - 1, PART, 2]);
  });
});

describe("an answer that stays away", () => {
  test("is said after a while, once, and the link goes on", async () => {
    const { model, timers, heard, link, name } = await standing();
    link.send("hello");
    timers.pass(4999);
    expect(heard).toEqual(["opened"]);
    timers.pass(1);
    link.send("again");
    expect(heard.slice(1)).toEqual([["stalled", expect.stringContaining("busy with a cell")]]);
    model.say(texts(name, '{"n":1}'));
    expect(heard.slice(2)).toEqual(["heard again", '{"n":1}']);
    timers.pass(60_000);
    expect(heard.length).toBe(4);
  });

  test("few messages are sent for it: nothing piles up in the kernel", async () => {
    const { model, timers, link } = await standing();
    link.send("hello");
    timers.pass(3_600_000);
    const tries = Array.from({ length: 3 }, () => ["open", "text"]).flat();
    expect(model.inbox.map(({ op }) => op)).toEqual(["text", ...tries]);
  });

  test("the link is opened once more: its first messages may wait behind a cell", async () => {
    const { model, timers, heard, link, name } = await standing();
    link.send("hello");
    model.take("text");
    timers.pass(250);
    const again = model.take("open").link;
    expect(again).not.toBe(name);
    expect(model.take("text")).toEqual({ link: again, op: "text", text: "hello" });
    model.say(texts(again, '{"n":1}'));
    expect(heard.slice(1)).toEqual(["heard again", '{"n":1}']);
    timers.pass(60_000);
    expect(model.inbox).toEqual([]);
    // The cell has ended: the kernel hears what was sent first.
    model.say(texts(name, '{"n":1}'));
    expect(model.inbox).toEqual([{ link: name, op: "close" }]);
    link.send("step");
    expect(model.inbox.at(-1)).toEqual({ link: again, op: "text", text: "step" });
    expect(heard.length).toBe(3);
  });

  test("the first to answer is the one, whichever it is", async () => {
    const { model, timers, heard, link, name } = await standing();
    link.send("hello");
    timers.pass(1000);
    const others = model.inbox.filter(({ op }) => op === "open").map((each) => each.link);
    model.inbox.length = 0;
    model.say(texts(name, '{"n":1}'));
    for (const other of others) model.say(texts(other, '{"n":1}'));
    expect(heard.slice(1)).toEqual(["heard again", '{"n":1}']);
    expect(model.inbox).toEqual(others.map((each) => ({ link: each, op: "close" })));
  });

  test("all that were opened are closed with it", async () => {
    const { model, timers, link, name } = await standing();
    timers.pass(250);
    const again = model.take("open").link;
    link.close();
    expect(model.inbox).toEqual([name, again].map((each) => ({ link: each, op: "close" })));
    timers.pass(60_000);
    expect(model.inbox.length).toBe(2);
  });
});

describe("the end", () => {
  test("may come from the Core, with its reason", async () => {
    const { model, heard, name } = await standing();
    model.say({ link: name, op: "closed", code: 1009, reason: "too large" });
    expect(heard.at(-1)).toEqual({ code: 1009, reason: "too large", opened: false });
    expect([model.inbox, model.listeners]).toEqual([[], 0]);
  });

  test.each(["comm:close", "comm_live_update"])("is known at once by %s", async (event) => {
    const { model, heard, name } = await standing();
    model.say(texts(name, '{"n":1}'));
    model.trigger(event);
    expect(heard.at(-1)).toMatchObject({ code: 4410, opened: true });
    expect(heard.at(-1)).toMatchObject({ reason: expect.stringContaining("in its memory") });
    expect([model.inbox, model.listeners]).toEqual([[], 0]);
  });

  test("is known where the front end threw the comm away", async () => {
    const { model, heard, link } = await standing();
    model.disposed = true;
    link.send("x".repeat(2 * PART));
    expect(heard.slice(1)).toEqual([expect.objectContaining({ code: 4410 })]);
  });

  test("is known also to who opens a link only then", async () => {
    const model = new FakeModel();
    model.disposed = true;
    const { heard } = opened(model);
    expect(heard).toEqual([]);
    await settled();
    expect(heard).toEqual([expect.objectContaining({ code: 4410, opened: false })]);
  });

  test("comes where a message was lost on the way: the next link brings all", async () => {
    const { model, heard, name } = await standing();
    model.say(texts(name, '{"n":1,"type":"hello"}', '{"n":3,"type":"row"}', '{"n":4}'));
    expect(heard.slice(1)).toEqual([
      '{"n":1,"type":"hello"}',
      expect.objectContaining({ code: 4000, opened: true }),
    ]);
    model.take("close");
  });

  test("may be ours: the kernel is told, and nothing is heard any more", async () => {
    const { model, timers, heard, link, name } = await standing();
    link.send("a");
    model.take("text");
    link.close();
    link.close();
    link.send("b");
    expect(model.inbox).toEqual([{ link: name, op: "close" }]);
    model.say(texts(name, "late"));
    model.trigger("comm:close");
    timers.pass(60_000);
    expect([heard, model.listeners]).toEqual([["opened"], 0]);
  });

  test("before the beginning leaves no link behind", async () => {
    const { model, heard, link } = opened();
    link.close();
    await settled();
    expect([heard, model.inbox]).toEqual([[], []]);
  });
});

test.each([null, "text", 1, {}, { op: "texts" }, { op: "texts", texts: [1] }, { op: "closed" }])(
  "what the kernel says otherwise is passed over: %j",
  async (content) => {
    const { model, heard, name } = await standing();
    model.say(typeof content === "object" && content ? { link: name, ...content } : content);
    expect(heard).toEqual(["opened"]);
  },
);

test("an RPC client's cancellation and its credit are not waited for: nobody answers them", async () => {
  const model = new FakeModel();
  const timers = new TestTimers();
  const transport = commTransport(model, timers);
  const options = { transport, name: "test", timers, onError() {} };
  const client = new RuntimeClient({ ...options, service: RUNTIME_SERVICE });
  client.start();
  await settled();
  const { link } = model.take("open");
  let n = 0;
  const say = (type: string, body: object, id?: string) =>
    model.say(texts(link, JSON.stringify({ n: ++n, type, ...(id && { id }), body })));
  say("welcome", { version: 1, core: "test 1", control: true });
  const unsubscribe = client.subscribe("watch", { topic: "sessions" }, () => {});
  model.inbox.length = 0;
  const sent = () => JSON.parse(model.take("text").text ?? "").type;
  for (let item = 0; item < 32; item += 1) say("item", { value: {} }, "v1");
  expect(sent()).toBe("more");
  timers.pass(5000);
  expect(client.connection.value).toEqual({ kind: "open", control: true, core: "test 1" });
  unsubscribe();
  expect(sent()).toBe("cancel");
  timers.pass(5000);
  expect(client.connection.value).toEqual({ kind: "open", control: true, core: "test 1" });
});

describe("a client on it", () => {
  async function connected() {
    const model = new FakeModel();
    const timers = new TestTimers();
    const listener = { hello() {}, push() {}, onError() {} };
    const client = new Client({
      transport: commTransport(model, timers),
      name: "test",
      listener,
      timers,
    });
    client.start();
    await settled();
    return { model, timers, client, state: () => client.connection.value };
  }

  async function greeted() {
    const all = await connected();
    const { link } = all.model.take("open");
    const { id } = JSON.parse(all.model.take("text").text ?? "");
    const greet = async () => {
      const body = aHello();
      all.model.say(texts(link, JSON.stringify({ n: 1, type: "hello", id, body })));
      await settled();
    };
    return { ...all, link, greet };
  }

  test("waits for a busy kernel, says so, and goes on by itself", async () => {
    const { model, timers, state, greet } = await greeted();
    timers.pass(3_600_000);
    expect(state()).toEqual({ kind: "connecting", stalled: expect.stringContaining("busy") });
    model.inbox.length = 0;
    await greet();
    expect(state()).toEqual({ kind: "open", control: true, core: "test 1" });
  });

  test("says of a command that isn't answered what keeps it", async () => {
    const { model, timers, state, client, greet, link } = await greeted();
    await greet();
    const halted = client.request("halt", { run: "a" });
    timers.pass(5000);
    expect(state()).toMatchObject({ kind: "open", stalled: expect.any(String) });
    const { id } = JSON.parse(model.take("text").text ?? "");
    model.say(texts(link, JSON.stringify({ n: 2, type: "ok", id, body: {} })));
    expect(await halted).toEqual({});
    expect(state()).toEqual({ kind: "open", control: true, core: "test 1" });
  });

  test("opens another link when the person asks, and closes the one before", async () => {
    const { model, timers, client, link } = await greeted();
    timers.pass(5000);
    const tried = [link, ...model.inbox.splice(0).map((each) => each.link)];
    client.retry();
    await settled();
    for (const name of new Set(tried)) expect(model.take("close").link).toBe(name);
    expect(tried).not.toContain(model.take("open").link);
  });

  test("stops where the kernel is gone, and says what was there", async () => {
    const { model, timers, state, greet } = await greeted();
    await greet();
    model.trigger("comm_live_update");
    await settled();
    expect(state()).toEqual({ kind: "refused", message: expect.stringContaining("Run the cell") });
    timers.pass(3_600_000);
    await settled();
    expect(model.inbox).toEqual([]);
  });
});
