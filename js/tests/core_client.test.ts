import { expect, test } from "vitest";
import { Client, CommandError, LinkLost, type Listener } from "../src/client/core_client";
import { Peer, TestTimers } from "./helpers/peer";
import { aBody, aRun } from "./helpers/values";

function connect() {
  const peer = new Peer();
  const timers = new TestTimers();
  const heard: unknown[] = [];
  const listener: Listener = {
    hello: ({ runs }) => heard.push(["hello", runs.length]),
    push: (type) => heard.push([type]),
    onError: (code) => heard.push(["trouble", code]),
  };
  const client = new Client({ transport: peer, name: "test", listener, timers });
  client.start();
  return { peer, timers, heard, client, state: () => client.connection.value };
}

async function open() {
  const all = connect();
  await all.peer.greet();
  return all;
}

test("hello opens the connection with its snapshot", async () => {
  const { peer, heard, state } = connect();
  expect(state()).toEqual({ kind: "connecting" });
  await peer.greet([aRun("a")], false);
  expect(state()).toEqual({ kind: "open", control: false, core: "test 1" });
  expect(heard).toEqual([["hello", 1]]);
});

test("each answer finds its command, whatever their order, and pushes go between", async () => {
  const { client, peer, heard } = await open();
  const first = client.request("get_message", { run: "a", message: "1" });
  const second = client.request("halt", { run: "a" });
  const [one, two] = [peer.take("get_message"), peer.take("halt")];
  expect([one.n, two.n]).toEqual([2, 3]);
  await peer.push("run", { run: aRun("a") });
  await peer.answer(two, "ok", {});
  const body = aBody("1", { data: "1.0" });
  await peer.answer(one, "message", body);
  expect(await second).toEqual({});
  expect(await first).toEqual(body);
  expect(heard.at(-1)).toEqual(["run"]);
});

const inPieces = (number: number, then: (number | string)[], like = 0, keep = 0) =>
  aBody("1", { data: "", pieces: { number, like, keep, then } });

test("contents that come in pieces are whole when they are heard", async () => {
  const { client, peer } = await open();
  const answers = [1, 2].map(() => client.request("get_message", { run: "a", message: "1" }));
  const first = peer.take("get_message");
  await peer.answer(first, "message", inPieces(1, ["[1", ", 2]"]));
  await peer.answer(peer.take("get_message"), "message", inPieces(2, [", 3", 2], 1, 1));
  expect(await Promise.all(answers)).toMatchObject([
    { data: "[1, 2]", pieces: null },
    { data: "[1, 3, 2]", pieces: null },
  ]);
});

test("contents that can't be joined end the link, and the next one begins anew", async () => {
  const { client, peer, timers, state, heard } = await open();
  const lost = expect(client.request("get_message", { run: "a", message: "1" })).rejects.toThrow(
    LinkLost,
  );
  await peer.answer(peer.take("get_message"), "message", inPieces(2, [7]));
  await lost;
  expect(state()).toMatchObject({ kind: "lost", attempt: 1 });
  timers.pass(60_000);
  await peer.greet();
  const again = client.request("get_message", { run: "a", message: "1" });
  await peer.answer(peer.take("get_message"), "message", inPieces(1, ["[1]"]));
  expect(await again).toMatchObject({ data: "[1]" });
  expect(heard).toEqual([
    ["hello", 0],
    ["hello", 0],
  ]);
});

test("an answer is taken before what comes with it is heard", async () => {
  const { client, peer, heard } = await open();
  const answer = client.request("halt", { run: "a" }, () => heard.push(["taken"]));
  void peer.answer(peer.take("halt"), "ok", {});
  void peer.push("run", { run: aRun("a") });
  await answer;
  expect(heard.slice(-2)).toEqual([["taken"], ["run"]]);
});

test("a refusal rejects its command alone", async () => {
  const { client, peer, state } = await open();
  const step = client.request("halt", { run: "a" });
  const refused = expect(step).rejects.toThrow(new CommandError("stale", "too late"));
  await peer.refuse(peer.take("halt"), "stale", "too late");
  await refused;
  expect(state().kind).toBe("open");
});

test("commands on their way are rejected when the link ends, later ones at once", async () => {
  const { client, peer } = await open();
  const waiting = expect(client.request("halt", { run: "a" })).rejects.toThrow(LinkLost);
  await peer.drop();
  await waiting;
  await expect(client.request("halt", { run: "a" })).rejects.toThrow(LinkLost);
});

test("a lost link counts down, then tries again by itself", async () => {
  const { peer, timers, state } = await open();
  timers.pass(5000);
  await peer.drop();
  expect(state()).toEqual({ kind: "lost", attempt: 1, retryInMs: 500 });
  timers.pass(500);
  expect(state()).toEqual({ kind: "lost", attempt: 1, retryInMs: 0 });
  await peer.greet();
  expect(state().kind).toBe("open");
  expect(peer.links).toBe(2);
});

test("the waits grow, with chance in them, and say each second how long still", async () => {
  const { peer, timers, state } = connect();
  timers.chance = 0;
  const waits = [];
  for (let attempt = 1; attempt <= 8; attempt += 1) {
    await peer.drop({ opened: false });
    const now = state();
    const wait = now.kind === "lost" ? now.retryInMs : Number.NaN;
    waits.push(wait);
    if (wait === 4000) {
      timers.pass(1000);
      expect(state()).toMatchObject({ retryInMs: 3000 });
      timers.pass(3000);
    } else {
      timers.pass(wait);
    }
  }
  expect(waits).toEqual([250, 500, 1000, 2000, 4000, 7500, 7500, 7500]);
});

test("a Core that hangs up at once is not taken for one that was found again", async () => {
  const { peer, timers, state } = await open();
  for (const attempt of [1, 2, 3]) {
    await peer.drop();
    expect(state()).toMatchObject({ attempt });
    timers.pass(60_000);
    await peer.greet();
  }
});

test("retry tries now", async () => {
  const { client, peer, state } = await open();
  await peer.drop();
  client.retry();
  expect(peer.links).toBe(2);
  await peer.greet();
  expect(state().kind).toBe("open");
});

test.each([
  ["a refusal at the door", { opened: false }, "log in"],
  ["a close code that means no", { code: 1008, reason: "not allowed" }, "not allowed"],
])("%s ends the trying until the person asks", async (_, closed, message) => {
  const { client, peer, timers, state } = connect();
  peer.explanation = "log in";
  await peer.drop(closed);
  expect(state()).toEqual({ kind: "refused", message });
  timers.pass(60_000);
  expect(peer.links).toBe(1);
  client.retry();
  await peer.greet();
  expect(state().kind).toBe("open");
});

test("why answers stay away is said until they come, and the person may try anew", async () => {
  const { client, peer, timers, state } = await open();
  peer.stall("busy");
  expect(state()).toEqual({ kind: "open", control: true, core: "test 1", stalled: "busy" });
  peer.stall(null);
  expect(state()).toEqual({ kind: "open", control: true, core: "test 1" });
  client.retry();
  expect(peer.links).toBe(1);
  await peer.drop();
  timers.pass(500);
  peer.stall("busy");
  expect(state()).toEqual({ kind: "connecting", stalled: "busy" });
  client.retry();
  expect(peer.links).toBe(3);
});

test("another version says which side to upgrade", async () => {
  const older = connect();
  await older.peer.greet([], true, 1);
  expect(older.state()).toMatchObject({ message: expect.stringContaining("Upgrade") });
  const newer = connect();
  await newer.peer.greet([], true, 3);
  expect(newer.state()).toMatchObject({ message: expect.stringContaining("Reload the page") });
});

test("a refused hello says why", async () => {
  const { peer, state } = connect();
  peer.opened();
  await peer.refuse(peer.take("hello"), "version_mismatch", "upgrade the view");
  expect(state()).toEqual({ kind: "refused", message: "upgrade the view" });
});

test("what isn't a message, or is unknown, is told and harms nothing", async () => {
  const { peer, heard, state } = await open();
  peer.raw("nonsense");
  peer.raw('{"n": 2, "type": "confetti", "body": {}}');
  expect(heard.slice(1)).toEqual([
    ["trouble", "malformed"],
    ["trouble", "unknown_message"],
  ]);
  expect(state().kind).toBe("open");
});

test("after close nothing is tried or heard", async () => {
  const { client, peer, timers, heard } = await open();
  client.close();
  await peer.push("run", { run: aRun("a") });
  timers.pass(60_000);
  expect(peer.links).toBe(1);
  expect(heard).toEqual([["hello", 0]]);
});
