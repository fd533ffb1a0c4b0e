/** Scenes of the background agents. */
import {
  aConversation,
  aMessage,
  aParticipant,
  aState,
  aStep,
  type Kept,
} from "../helpers/runtime";
import { BEGIN } from "./story";
import type { User } from "./user";

const JOKES = [
  "Why do cats never play poker in the jungle? Too many cheetahs.",
  "My cat was just sick on the carpet. I don't think it's feline well.",
  "What do you call a pile of kittens? A meowntain.",
  "What is a cat's favourite colour? Purr-ple.",
  "Why was the cat sitting on the computer? To keep an eye on the mouse.",
];
const joke = (at: number) => JOKES[at % JOKES.length] ?? "";

const said = (text: string) => ({ text, data: null, done: false });

const STATES = [
  aState("0198f1c2-7d10", {
    agent_id: "joker-cats",
    iteration: 12,
    result: said(joke(4)),
    created_at: BEGIN - 20,
  }),
  aState("0198f1c2-7d11", {
    agent_id: "joker-dogs",
    status: "paused",
    iteration: 7,
    result: said("What do you call a dog magician? A labracadabrador."),
    guidance: "Tell one about poodles",
    created_at: BEGIN - 40,
  }),
  aState("0198f1b0-0001", {
    agent_id: "fix-tests",
    moniker: "coding",
    iteration: 31,
    result: said("All 412 tests pass. The rounding in src/cart.py is done once, at the end."),
    status: "done",
    created_at: BEGIN - 5000,
  }),
  aState("0198f1b0-0002", {
    agent_id: "summarise-inbox",
    moniker: "llm",
    status: "error",
    iteration: 2,
    result: null,
    last_error: "The model's answer isn't a step: `text` is missing, after one repair.",
    created_at: BEGIN - 5400,
  }),
  aState("0198f1b0-0003", {
    agent_id: "watch-the-build",
    moniker: "llm",
    status: "stopping",
    iteration: 118,
    result: said("Build 4711 is green."),
    created_at: BEGIN - 90_000,
  }),
  aState("0198f1b0-0004", {
    agent_id: "joker-cats",
    status: "stopped",
    iteration: 44,
    result: said(joke(1)),
    created_at: BEGIN - 200_000,
  }),
  aState("0198f1c2-7d12", {
    agent_id: "newcomer",
    status: "created",
    iteration: 0,
    result: null,
    run_id: null,
    created_at: BEGIN + 30,
  }),
];

const CATS = "0198f1c2-7d10";
const DOGS = "0198f1c2-7d11";

const STEPS = Array.from({ length: 12 }, (_, at) =>
  aStep(CATS, at, {
    text: joke(at),
    agent_id: "joker-cats",
    created_at: BEGIN - 20 + 4 * at,
    ...(at === 9 && { guidance: "Tell one about colours" }),
  }),
).concat(
  Array.from({ length: 7 }, (_, at) =>
    aStep(DOGS, at, {
      agent_id: "joker-dogs",
      created_at: BEGIN - 20 + 4 * at,
      ...(at < 6
        ? { text: `Dog joke number ${at + 1}.` }
        : { text: null, status: "error", error: "The model did not answer within 60 s." }),
    }),
  ),
);

const TALK = "c1";
const CONVERSATIONS = [
  aConversation(TALK, {
    title: "Which joke is the best?",
    tags: ["jokes"],
    created_at: BEGIN - 10,
  }),
  aConversation("c2", { title: "Release of Friday", status: "closed", created_at: BEGIN - 90_000 }),
];
const PARTICIPANTS = [
  aParticipant(TALK, null, { role: "owner" }),
  aParticipant(TALK, CATS, { agent_id: "joker-cats" }),
  aParticipant(TALK, DOGS, { agent_id: "joker-dogs", delivery: "pull" }),
];
const MESSAGES = [
  aMessage(TALK, "m1", {
    text: "Which of you has the better one about colours?",
    created_at: BEGIN,
  }),
  aMessage(TALK, "m2", {
    sender_type: "agent",
    user_id: null,
    agent_id: "joker-cats",
    session_id: CATS,
    text: joke(3),
    iteration: 8,
    event_type: "step",
    created_at: BEGIN + 4,
  }),
  aMessage(TALK, "m3", {
    sender_type: "system",
    user_id: null,
    agent_id: "joker-dogs",
    text: "joker-dogs joined",
    event_type: "joined",
    created_at: BEGIN + 6,
  }),
  aMessage(TALK, "m4", {
    sender_type: "agent",
    user_id: null,
    agent_id: "joker-dogs",
    session_id: DOGS,
    text: "Mine are in black and white:\nwhat has four legs and can't see colours?\nA dog.",
    iteration: 6,
    event_type: "step",
    created_at: BEGIN + 9,
  }),
];

/** Names, titles and tags that are no help. */
const hostileTalk = (): Kept => ({
  states: [aState("s", { agent_id: "سلة التسوق 🛒" })],
  conversations: [
    aConversation("c", {
      title: `\u202e<b>${"unbroken".repeat(60)}`,
      tags: Array.from({ length: 20 }, (_, at) => `tag-${at}-${"unbroken".repeat(5)}`),
      created_at: BEGIN,
    }),
  ],
  participants: [
    aParticipant("c", null, { user_id: "<script>alert(1)</script>" }),
    ...Array.from({ length: 40 }, (_, at) =>
      aParticipant("c", `p${at}`, {
        agent_id: at % 2 ? "سلة التسوق 🛒" : "unbroken".repeat(20),
      }),
    ),
  ],
  messages: [
    aMessage("c", "1", { text: "unbroken".repeat(12_500), created_at: BEGIN }),
    aMessage("c", "2", {
      user_id: "سلة التسوق 🛒",
      text: "\u001b[2J\u202e שלום עולם! (1) 👩‍👩‍👧‍👦\r\n\ttabs\0",
      notes: "<img src=x onerror=alert(1)>",
      created_at: BEGIN,
    }),
  ],
});

/** A scene of this view. */
export interface SessionsMade {
  kept: Kept;
  act?: (user: User) => Promise<void>;
}

const all = (): Kept => ({
  states: [...STATES],
  steps: [...STEPS],
  conversations: [...CONVERSATIONS],
  participants: [...PARTICIPANTS],
  messages: [...MESSAGES],
});
const row = (session: string) => `[data-session="${session}"]`;
const selects = (session: string) => (user: User) => user.pick(row(session));

export const SESSION_SCENES: Record<string, () => SessionsMade> = {
  "agents-running": () => ({ kept: all(), act: selects(CATS) }),
  "agents-paused": () => ({ kept: all(), act: selects(DOGS) }),
  "agents-interrupt": () => ({
    kept: all(),
    act: async (user) => {
      await user.pick(row(CATS));
      await user.press("Interrupt");
      await user.type(".as-SessAsk-field", "Tell one about lions instead");
    },
  }),
  "agents-watching": () => ({ kept: { ...all(), control: false }, act: selects(CATS) }),
  "agents-destroy": () => ({
    kept: all(),
    act: async (user) => {
      await user.pick(`${row(CATS)} input`);
      await user.pick(`${row(DOGS)} input`);
      await user.press("Destroy");
    },
  }),
  "agents-none": () => ({ kept: {} }),
  "agents-refused": () => ({ kept: { link: "refused" } }),
  "agents-lost": () => ({ kept: { ...all(), link: "breaks" }, act: selects(CATS) }),
  "agents-problem": () => ({
    kept: { ...all(), refuses: { code: "session_over", message: "This session has ended." } },
    act: async (user) => {
      await user.pick(row(CATS));
      await user.press("Pause");
    },
  }),
  "conversations-none": () => ({
    kept: { ...all(), conversations: [] },
    act: (user) => user.press("Conversations"),
  }),
  "conversation-new": () => ({
    kept: all(),
    act: async (user) => {
      await user.pick(row(CATS));
      await user.press("Conversations");
      await user.press("New conversation");
      await user.type(".as-SessNew-title", "Only lions");
    },
  }),
  conversation: () => ({
    kept: all(),
    act: async (user) => {
      await user.pick(row("0198f1b0-0003"));
      await user.press("Conversations");
      await user.press("Which joke is the best?");
    },
  }),
  "agents-hostile": () => ({
    kept: {
      states: [
        aState("\u202egnorw", {
          agent_id: "\u001b[31m<img src=x onerror=alert(1)>",
          moniker: "unbroken".repeat(20),
          created_at: BEGIN,
          result: said(`\u202etfel ot thgir ${"unbroken".repeat(60)}`),
        }),
        aState("سلة-التسوق", {
          agent_id: "سلة التسوق 🛒",
          result: said("שלום עולם! (1) 👩‍👩‍👧‍👦"),
        }),
      ],
      steps: [
        aStep("سلة-التسوق", 0, {
          created_at: BEGIN,
          text: `שלום עולם! (1)\n${"unbroken".repeat(60)}`,
        }),
      ],
    },
    act: selects("سلة-التسوق"),
  }),
  "conversation-hostile": () => ({
    kept: hostileTalk(),
    act: async (user) => {
      await user.pick(row("s"));
      await user.press("Conversations");
      await user.pick(".as-SessTalk");
    },
  }),
  "conversations-hostile": () => ({
    kept: hostileTalk(),
    act: (user) => user.press("Conversations"),
  }),
  "agents-many": () => ({
    kept: {
      states: Array.from({ length: 1000 }, (_, at) =>
        aState(`s${String(at).padStart(8, "0")}`, {
          agent_id: `joker-${at}`,
          iteration: at,
          result: said(joke(at)),
          created_at: BEGIN - at,
        }),
      ),
    },
  }),
};
