/** What the view of sessions knows: what is told is taken in, once, and actions reach whom they are for. */
import { expect, test, vi } from "vitest";
import { LinkLost } from "../../src/client/core_client";
import { SessionsModel } from "../../src/sessions/model";
import { settled, TestTimers } from "../helpers/peer";
import {
  aConversation,
  aMessage,
  aParticipant,
  aState,
  aStep,
  FakeRuntime,
  type Kept,
} from "../helpers/runtime";

async function begun(kept: Kept = {}, conversation = "") {
  const core = new FakeRuntime(kept);
  const timers = new TestTimers();
  const model = new SessionsModel({ transport: core, name: "test", conversation, timers });
  model.start();
  await settled();
  const pass = async () => {
    timers.pass(40);
    await settled();
  };
  await pass();
  return { core, model, timers, pass };
}

const ids = (model: SessionsModel) => [...model.states.value.keys()];

test("sessions are those that the topic begins with, and all behind them", async () => {
  const states = Array.from({ length: 450 }, (_, at) => aState(`s${at}`));
  const { core, model } = await begun({ states, begins: 10 });
  expect(model.isLoaded.value).toBe(true);
  expect(ids(model)).toHaveLength(450);
  const asked = core.received.filter(({ body }) => body.method === "states");
  expect(asked.map(({ body }) => body.params)).toEqual([
    { limit: 200, offset: 10 },
    { limit: 200, offset: 210 },
    { limit: 200, offset: 410 },
  ]);
});

test("changes are taken in together, and what their moniker keeps isn't held", async () => {
  const { core, model, pass } = await begun({ states: [aState("a")] });
  await core.change(aState("a", { iteration: 4, state: { large: "x" } }));
  await core.change(aState("b", { iteration: 1 }));
  expect(model.states.value.get("a")?.iteration).toBe(3);
  await pass();
  expect(model.states.value.get("a")).toMatchObject({ iteration: 4, state: null });
  expect(ids(model)).toEqual(["a", "b"]);
});

test("what was heard before a new beginning doesn't stand over it", async () => {
  const { core, model, pass } = await begun({ states: [aState("a")] });
  await core.tell("sessions", "state", { states: [aState("a", { iteration: 4 })] });
  await core.tell("sessions", "begin", { states: [aState("a", { iteration: 9 })] });
  await pass();
  expect(model.states.value.get("a")?.iteration).toBe(9);
});

test("the steps of a selected session are the newest fifty, each once, and go on", async () => {
  const steps = Array.from({ length: 60 }, (_, at) => aStep("a", at));
  const { core, model } = await begun({ states: [aState("a", { iteration: 60 })], steps });
  model.select("a");
  expect(model.sessionTopic.isLoading.value).toBe(true);
  await settled();
  const shown = () => model.sessionTopic.steps.value.map(({ iteration }) => iteration);
  expect(model.sessionTopic.isLoading.value).toBe(false);
  expect(shown()).toEqual(Array.from({ length: 50 }, (_, at) => 10 + at));
  await core.tell("session:a", "step", { steps: [aStep("a", 60)] });
  await core.tell("session:a", "step", { steps: [aStep("a", 60)] });
  expect(shown().slice(-2)).toEqual([59, 60]);
  expect(shown()).toHaveLength(50);
});

test("what can't be followed isn't looked at any more, and why is told", async () => {
  const { core, model } = await begun({ states: [aState("a")] });
  model.select("a");
  const { id } = core.received.at(-1) ?? {};
  core.say("failed", { code: "unknown_session", message: "It was deleted." }, id);
  const { id: session, isLoading } = model.sessionTopic;
  expect([session.value, isLoading.value]).toEqual([null, false]);
  expect(model.actions.notice.value?.text).toBe("It was deleted.");
});

test("what the link was lost for is on its way until it comes", async () => {
  const { core, model, timers } = await begun({ messages: [aMessage("c", "1")] });
  vi.spyOn(model.client, "request").mockRejectedValue(new LinkLost());
  model.openConversation("c");
  await settled();
  await core.drop();
  expect(model.conversationTopic.isLoading.value).toBe(true);
  expect(model.actions.notice.value).toBeNull();
  vi.restoreAllMocks();
  timers.pass(500);
  await settled();
  expect(model.conversationTopic.isLoading.value).toBe(false);
  expect(model.conversationTopic.messages.value).toHaveLength(1);
});

test("only the session that is looked at is followed", async () => {
  const { core, model } = await begun({ states: [aState("a"), aState("b")] });
  model.select("a");
  await settled();
  model.select("b");
  await settled();
  expect(core.topics).toEqual(["sessions", "conversations", "session:b"]);
});

test("an order goes to those chosen that can take it, and is on its way until it shows", async () => {
  const { core, model, pass } = await begun({
    states: [aState("a"), aState("b", { status: "paused" }), aState("c", { status: "done" })],
  });
  model.setChosen(["a", "b", "c"]);
  model.sendAction("pause");
  await settled();
  expect(core.done).toEqual([["act", { kind: "agent_pause", session_id: "a" }]]);
  expect([...model.actions.pending.value]).toEqual([["a", "pause"]]);
  await core.change(aState("a", { status: "paused" }));
  await pass();
  expect(model.actions.pending.value.size).toBe(0);
});

test("a pause is no longer on its way once the session is pausing", async () => {
  const { core, model, pass } = await begun({ states: [aState("a")] });
  model.setChosen(["a"]);
  model.sendAction("pause");
  await settled();
  await core.change(aState("a", { is_pausing: true }));
  await pass();
  expect(model.actions.pending.value.size).toBe(0);
});

test("without a choice an order is for the session that is selected", async () => {
  const { core, model } = await begun({ states: [aState("a"), aState("b")] });
  expect(model.actionDisabledReason("pause")).toBe("Select a session first");
  model.select("b");
  expect(model.actionDisabledReason("resume")).toBe("Only a paused session can be resumed");
  model.sendAction("resume");
  model.sendAction("pause");
  await settled();
  expect(core.done).toEqual([["act", { kind: "agent_pause", session_id: "b" }]]);
});

test("interrupting asks for words, destroying for a second thought, for those it was asked of", async () => {
  const { core, model } = await begun({ states: [aState("a"), aState("b")] });
  model.select("a");
  model.sendAction("interrupt");
  expect(model.actionForm.value).toEqual({ action: "interrupt", sessions: ["a"] });
  model.select("b");
  model.guidance.value = "tell one about lions";
  await model.submitActionForm();
  model.sendAction("destroy");
  expect(core.done).toHaveLength(1);
  await model.submitActionForm();
  expect(core.done).toEqual([
    [
      "act",
      {
        kind: "agent_interrupt",
        session_id: "a",
        payload: { guidance: "tell one about lions" },
      },
    ],
    ["act", { kind: "agent_destroy", session_id: "b" }],
  ]);
});

test("input is sent by the same form; words that don't get through stay in it", async () => {
  const { core, model } = await begun({ states: [aState("a"), aState("b")] });
  model.setChosen(["a", "b"]);
  model.sendAction("input");
  expect(model.actionForm.value).toEqual({ action: "input", sessions: ["a", "b"] });
  model.guidance.value = "and lions";
  core.refuses = { code: "store_error", message: "The disk is full." };
  await model.submitActionForm();
  expect(model.actionForm.value).toEqual({ action: "input", sessions: ["a", "b"] });
  expect(model.guidance.value).toBe("and lions");
  core.refuses = undefined;
  await model.submitActionForm();
  expect(core.done[0]).toEqual([
    "act",
    {
      kind: "agent_input",
      session_id: "a",
      payload: { text: "and lions" },
      idem_key: expect.any(String),
    },
  ]);
  expect([model.actionForm.value, model.guidance.value]).toEqual([null, ""]);
});

test("input whose answer was lost is the same action when it is sent again", async () => {
  const { core, model, timers } = await begun({ states: [aState("a")] });
  const keys: unknown[] = [];
  const send = async () => {
    model.select("a");
    model.sendAction("input");
    model.guidance.value = "and lions";
    const answered = model.submitActionForm();
    keys.push(core.received.findLast(({ body }) => body.method === "act")?.body.params);
    return answered;
  };
  const lost = send();
  await core.drop();
  await lost;
  expect(model.guidance.value).toBe("and lions");
  timers.pass(500);
  await settled();
  await model.submitActionForm();
  await send();
  const sent = core.done.map(([, asked]) => asked.idem_key);
  expect((keys[0] as { idem_key: string }).idem_key).toBe(sent[0]);
  expect(new Set(sent).size).toBe(2); // the same words once more are told once more
});

test("a post whose answer was lost is said once when it is sent again", async () => {
  const { core, model, timers } = await begun({ conversations: [aConversation("c")] }, "c");
  const lost = model.postMessage("hello");
  const first = core.received.findLast(({ body }) => body.method === "say")?.body.params;
  await core.drop();
  expect(await lost).toBe(false);
  timers.pass(500);
  await settled();
  expect(await model.postMessage("hello")).toBe(true);
  expect(await model.postMessage("hello")).toBe(true);
  const keys = core.done.map(([, asked]) => asked.idem_key);
  expect((first as { idem_key: string }).idem_key).toBe(keys[0]);
  expect(new Set(keys).size).toBe(2); // the same words once more are said once more
});

test("words outlive the form, a broken link, and what was asked meanwhile", async () => {
  const { core, model } = await begun({ states: [aState("a")] });
  model.select("a");
  model.sendAction("interrupt");
  model.guidance.value = "half a thou";
  model.sendAction("destroy");
  model.actionForm.value = null;
  expect(model.guidance.value).toBe("half a thou");
  model.sendAction("interrupt");
  await core.drop();
  expect(model.actionDisabledReason("interrupt", model.statesOf(["a"]))).toBe(
    "Not connected to the Core",
  );
  await model.submitActionForm(); // though it can't be
  expect(model.guidance.value).toBe("half a thou");
  expect(model.actionForm.value).not.toBeNull();
});

test("an order that fails is told, also of a session that nobody looks at", async () => {
  const { core, model } = await begun({ states: [aState("a"), aState("b"), aState("c")] });
  model.setChosen(["a", "b", "c"]);
  model.sendAction("pause");
  await settled();
  expect(core.topics.filter((topic) => topic.startsWith("session:"))).toHaveLength(3);
  await core.end("act-1", "done");
  await core.end("act-2", "failed", "no worker knows its moniker");
  expect([...model.actions.pending.value.keys()]).toEqual(["c"]);
  expect(model.actions.notice.value?.text).toBe(
    "joker could not be paused: no worker knows its moniker",
  );
  await core.end("act-3", "failed", "nor this one's");
  expect(model.actions.notice.value?.text).toBe(
    "2 of 3 sessions could not be paused: no worker knows its moniker",
  );
  expect(core.topics).toEqual(["sessions", "conversations"]);
});

test("one that failed while the link was broken, or before it was listened to, is told too", async () => {
  const { core, model, timers } = await begun({ states: [aState("a")] });
  model.setChosen(["a"]);
  model.sendAction("resume"); // it can't be
  model.sendAction("pause");
  await settled();
  await core.drop();
  await core.end("act-1", "failed", "it was too late");
  expect(model.actions.notice.value).toBeNull();
  timers.pass(500);
  await settled();
  expect(model.actions.notice.value?.text).toBe("joker could not be paused: it was too late");
  expect(model.actions.pending.value.size).toBe(0);
});

test("a thousand actions are sent a few at a time, and as few sessions are listened to", async () => {
  const states = Array.from({ length: 1000 }, (_, at) => aState(`s${at}`));
  const { core, model } = await begun({ states });
  model.setChosen(ids(model));
  model.sendAction("pause");
  const asked = () => core.received.filter(({ body }) => body.method === "act").length;
  expect(asked()).toBe(64);
  await vi.waitFor(() => expect(asked()).toBe(1000));
  expect(core.topics).toHaveLength(2 + 32);
  await core.end("act-900", "failed", "it hung"); // nobody listens to it yet
  for (let n = 1; n <= 999; n += 1) if (n !== 900) await core.end(`act-${n}`, "done");
  expect(model.actions.notice.value?.text).toBe("joker could not be paused: it hung");
  expect([...model.actions.pending.value.keys()]).toEqual(["s999"]);
  expect(core.topics).toEqual(["sessions", "conversations", "session:s999"]);
});

test("what was refused is told, with how many it is of several", async () => {
  const refuses = { code: "session_over", message: "It has ended." };
  const { model } = await begun({ states: [aState("a"), aState("b")], refuses });
  model.setChosen(["a", "b"]);
  model.sendAction("pause");
  await settled();
  expect(model.actions.notice.value?.text).toBe(
    "2 of 2 sessions could not be paused: It has ended.",
  );
  expect(model.actions.pending.value.size).toBe(0);
});

test("an action that failed is told: nothing else would show it", async () => {
  const { core, model, pass } = await begun({ states: [aState("a")] });
  model.select("a");
  await settled();
  const action = { status: "failed", agent_id: "joker", session_id: "a", error: "no moniker" };
  await core.tell("session:a", "action", { actions: [action as never] });
  await pass();
  expect(model.actions.notice.value?.text).toBe("joker: no moniker");
});

test("a conversation has who takes part and what was said, each message once, in order", async () => {
  const { core, model } = await begun(
    {
      conversations: [aConversation("c")],
      participants: [aParticipant("c", "a")],
      messages: [aMessage("c", "1"), aMessage("c", "2")],
    },
    "c",
  );
  expect(model.sideTab.value).toBe("conversations");
  const said = () => model.conversationTopic.messages.value.map(({ message_id }) => message_id);
  expect(said()).toEqual(["1", "2"]);
  await core.tell("conversation:c", "message", { messages: [aMessage("c", "3")] });
  await core.tell("conversation:c", "message", { messages: [aMessage("c", "3")] });
  expect(said()).toEqual(["1", "2", "3"]);
  const left = aParticipant("c", "a", { left_at: 5 });
  await core.tell("conversation:c", "participant", { participants: [left] });
  expect(model.conversationTopic.participants.value).toEqual([left]);
});

test("what was missed in a conversation is asked for at its new beginning", async () => {
  const { core, model, timers } = await begun({ messages: [aMessage("c", "1")] }, "c");
  await core.drop();
  core.kept.messages.push(aMessage("c", "2"), aMessage("c", "3"));
  timers.pass(500);
  await settled();
  expect(model.conversationTopic.messages.value.map(({ message_id }) => message_id)).toEqual([
    "1",
    "2",
    "3",
  ]);
});

test("who can't take part doesn't make a second conversation of the first", async () => {
  const { core, model } = await begun({ states: [aState("a"), aState("b"), aState("c")] });
  core.refusesOf = { "join a": { code: "unknown_session", message: "It is gone." } };
  expect(await model.createConversation("Lions", ["a", "b", "c"])).toBe(true);
  expect(model.conversationTopic.id.value).toBe("c1");
  const joined = core.done.filter(([method]) => method === "join");
  expect(joined.map(([, { session_id }]) => session_id)).toEqual(["b", "c"]);
  const text = () => model.actions.notice.value?.text;
  expect(text()).toBe("joker could not be added to the conversation: It is gone.");
  core.refuses = { code: "conversation_closed", message: "It is closed." };
  expect(await model.addParticipants(["b", "c"])).toBe(false);
  expect(text()).toBe("2 of 2 sessions could not be added to the conversation: It is closed.");
});

test("somebody who leaves a conversation is seen to have left", async () => {
  const { core, model } = await begun(
    { conversations: [aConversation("c")], participants: [aParticipant("c", "a")] },
    "c",
  );
  expect(await model.removeParticipant("c-a")).toBe(true);
  expect(core.done).toEqual([["leave", { conversation_id: "c", participant_id: "c-a" }]]);
});

test("a new conversation is opened with its sessions in it; a refused post keeps the words", async () => {
  const { core, model } = await begun({ states: [aState("a")] });
  expect(await model.createConversation("Lions", ["a"])).toBe(true);
  expect(core.done.map(([method]) => method)).toEqual(["create_conversation", "join"]);
  expect(model.conversationTopic.id.value).toBe("c1");
  expect(await model.postMessage("hello")).toBe(true);
  core.refuses = { code: "conversation_closed", message: "It is closed." };
  expect(await model.postMessage("again")).toBe(false);
  expect(model.actions.notice.value?.text).toBe("It is closed.");
});
