/** The line: its greeting, requests, streams with credit, and what is done where it breaks. */
import { expect, test } from "vitest";
import type { TopicEvent } from "../../src/protocol/runtime.gen";
import { RUNTIME_SERVICE, RuntimeClient } from "../../src/sessions/topics";
import { settled, TestTimers } from "../helpers/peer";
import { aState, FakeRuntime, type Kept } from "../helpers/runtime";

async function begun(kept: Kept = {}) {
  const core = new FakeRuntime(kept);
  const timers = new TestTimers();
  const troubles: string[] = [];
  const line = new RuntimeClient({
    transport: core,
    service: RUNTIME_SERVICE,
    name: "test",
    timers,
    onError: (message) => troubles.push(message),
  });
  line.start();
  await settled();
  return { core, line, timers, troubles };
}

const TOPIC = { topic: "sessions" };
const kind = (line: RuntimeClient) => line.connection.value.kind;

test("it greets as a client without services, and is open once it is welcomed", async () => {
  const { core, line } = await begun();
  expect(core.received).toEqual([
    { n: 1, type: "hello", body: { version: 1, worker: "test", pid: 0, services: [] } },
  ]);
  expect(line.connection.value).toEqual({
    kind: "open",
    control: true,
    core: "agentstepper_nb 0.1",
  });
});

test("a login that may only watch is known from the start", async () => {
  const { line } = await begun({ control: false });
  expect(line.connection.value).toMatchObject({ kind: "open", control: false });
});

test("a request is answered, numbered and for the runtime", async () => {
  const { core, line } = await begun({ states: [aState("a")] });
  const { states } = await line.request("states", { limit: 5 });
  expect(states.map(({ session_id }) => session_id)).toEqual(["a"]);
  expect(core.received.at(-1)).toEqual({
    n: 2,
    type: "request",
    id: "v1",
    body: { service: "runtime", method: "states", params: { limit: 5 }, window: 0 },
  });
});

test("a refusal is an error with its code, and watching only is kept in mind", async () => {
  const { line } = await begun({ refuses: { code: "watch_only", message: "You may watch." } });
  const asked = line.request("act", { kind: "agent_pause", session_id: "a" });
  await expect(asked).rejects.toMatchObject({ code: "watch_only", message: "You may watch." });
  expect(line.connection.value).toMatchObject({ kind: "open", control: false });
});

test("a topic is heard from its beginning on, and room is made for half a window at a time", async () => {
  const { core, line } = await begun();
  const heard: TopicEvent[] = [];
  line.subscribe("watch", TOPIC, (notice) => heard.push(notice));
  await settled();
  expect(core.received.at(-1)?.body).toMatchObject({ method: "watch", window: 64 });
  for (let n = 0; n < 62; n += 1) await core.tell("sessions", "state", {});
  expect(heard).toHaveLength(63);
  const more = core.received.filter(({ type }) => type === "more");
  expect(more.map(({ body }) => body)).toEqual([{ items: 32 }]);
  await core.tell("sessions", "state", {});
  expect(core.received.filter(({ type }) => type === "more")).toHaveLength(2);
});

test("who stops watching hears no more, and the Core is told", async () => {
  const { core, line } = await begun();
  const heard: TopicEvent[] = [];
  const leave = line.subscribe("watch", TOPIC, (notice) => heard.push(notice));
  await settled();
  leave();
  core.say("item", { value: { topic: "sessions" } }, "v1"); // it crossed the cancellation
  await settled();
  expect(heard).toHaveLength(1);
  expect(core.received.at(-1)).toMatchObject({ type: "cancel", id: "v1" });
  expect(core.topics).toEqual([]);
});

test("where the link breaks, what waits is rejected, and all is watched anew", async () => {
  const { core, line, timers } = await begun();
  const heard: string[] = [];
  line.subscribe("watch", TOPIC, ({ event }) => heard.push(event));
  await settled();
  const asked = line.request("states", {});
  const lost = expect(asked).rejects.toMatchObject({ name: "LinkLost" });
  await core.drop();
  await lost;
  expect(line.connection.value).toMatchObject({ kind: "lost", attempt: 1, retryInMs: 500 });
  await expect(line.request("states", {})).rejects.toMatchObject({ name: "LinkLost" });
  timers.pass(500);
  await settled();
  expect(kind(line)).toBe("open");
  expect(heard).toEqual(["begin", "begin"]);
  expect(core.received.map(({ n }) => n)).toEqual([1, 2]);
});

test("waits grow while the link breaks soon, and begin anew once it has stood or a person asks", async () => {
  const { core, line, timers } = await begun();
  const drop = async () => {
    await core.drop();
    const now = line.connection.value;
    const wait = now.kind === "lost" ? now.retryInMs : null;
    timers.pass(wait ?? 0);
    await settled();
    return wait;
  };
  expect([await drop(), await drop(), await drop()]).toEqual([500, 1000, 2000]);
  timers.pass(5000);
  expect([await drop(), await drop()]).toEqual([500, 1000]);
  await core.drop();
  line.retry();
  await settled();
  expect(kind(line)).toBe("open");
  expect(await drop()).toBe(500);
});

test.each([
  ["a login that has run out", { code: 4403, reason: "" }, "The server refused the connection."],
  ["a kernel that is gone", { code: 4410, reason: "It ended." }, "It ended."],
])("it doesn't knock again at %s", async (_, why, message) => {
  const { core, line, timers } = await begun();
  await core.drop(why);
  timers.pass(60_000);
  expect(line.connection.value).toEqual({ kind: "refused", message });
  expect(core.links).toBe(1);
});

test("a Core of another version is said, and so is a hello that is refused", async () => {
  const { core, line } = await begun();
  core.say("welcome", { version: 2, core: "agentstepper_nb 9" });
  expect(line.connection.value).toMatchObject({
    kind: "refused",
    message: expect.stringContaining("Upgrade agentstepper_nb in the kernel"),
  });
  const other = await begun({ link: "never" });
  other.core.say("failed", { code: "wrong_version", message: "Too old." });
  expect(other.line.connection.value).toEqual({ kind: "refused", message: "Too old." });
});

test("what isn't a message, and a topic that is refused, is told", async () => {
  const { core, line, troubles } = await begun();
  line.subscribe("watch", TOPIC, () => {});
  await settled();
  core.say("failed", { code: "unknown_topic", message: "There is no such topic." }, "v1");
  core.say("item", {}); // without an id
  expect(troubles).toEqual([
    "There is no such topic.",
    "The Core sent what this view can’t read. Reload the page.",
  ]);
});
