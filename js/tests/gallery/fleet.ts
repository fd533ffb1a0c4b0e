/** Scenes of all agents at once. */
import { aFailedAction, aFleetSession, aHaltedRun, type FleetKept } from "../helpers/fleet";
import { BEGIN } from "./story";
import type { User } from "./user";

const STATUSES = [
  ...Array<"running">(61).fill("running"),
  ...Array<"done">(20).fill("done"),
  ...Array<"created">(9).fill("created"),
  ...(["paused", "stopped", "stopping"] as const),
];
const TASKS = ["fix-tests", "summarise-inbox", "watch-the-build", "label-tickets", "translate"];

const WORKING = Array.from({ length: 1000 }, (_, at) =>
  aFleetSession(`0198f1c2-${String(at).padStart(4, "0")}`, {
    agent_id: `${TASKS[at % TASKS.length]}-${at}`,
    moniker: at % 5 === 0 ? "coding" : "llm",
    status: STATUSES[at % STATUSES.length] ?? "running",
    iteration: (at * 7) % 60,
    words: at % 3 ? "All 412 tests pass. The rounding in src/cart.py is done once." : "",
    created_at: BEGIN - at * 3,
    updated_at: BEGIN - at,
  }),
);

const loss = (second: number, pid: number, ending: string | null) => ({
  worker: `ada-laptop-${pid}-5f0c`,
  at: BEGIN - 100 + second,
  ending,
  is_shared: false,
});

const KILLER = aFleetSession("0198f1c3-0001", {
  agent_id: "resize-images-7",
  moniker: "coding",
  status: "quarantined",
  iteration: 12,
  attempt: 3,
  losses: [
    loss(0, 4711, "was killed by signal 9"),
    loss(20, 4730, "was killed by signal 9"),
    loss(44, 4742, null),
  ],
  last_error:
    "Step 12 was begun 3 times and never ended, because its worker did: 14:00:21 UTC in " +
    "ada-laptop-4711-5f0c, which was killed by signal 9; 14:00:41 UTC in ada-laptop-4730-5f0c, which " +
    "was killed by signal 9; 14:01:05 UTC in ada-laptop-4742-5f0c, which was lost: nothing is known " +
    "of its end. No worker begins it again by itself. Correct what the step does, then retry the session.",
  created_at: BEGIN + 2,
});

const FAILED = Array.from({ length: 14 }, (_, at) =>
  aFleetSession(`0198f1c4-${String(at).padStart(4, "0")}`, {
    agent_id: `summarise-inbox-${at}`,
    moniker: "llm",
    status: "error",
    iteration: at,
    last_error:
      at < 12
        ? `The model did not answer within ${60 + at} s.`
        : "The model's answer isn't a step: `text` is missing, after one repair.",
    created_at: BEGIN + 3 + at,
  }),
);
const RETRYING = Array.from({ length: 6 }, (_, at) =>
  aFleetSession(`0198f1c5-${String(at).padStart(4, "0")}`, {
    agent_id: `translate-${at}`,
    moniker: "llm",
    status: "retrying",
    iteration: 4,
    attempt: 1 + (at % 2),
    next_try_at: BEGIN + 55,
    last_error: "The provider answered 429: too many requests.",
    created_at: BEGIN + 20 + at,
  }),
);
const WAITING = ["fix-tests-12", "label-tickets-3", "fix-tests-40"].map((agent_id, at) =>
  aFleetSession(`0198f1c6-000${at}`, {
    agent_id,
    moniker: at === 1 ? "llm" : "coding",
    status: "halted",
    run_id: `run-${at}`,
    iteration: 9 + at,
    words: "I'll run the tests again.",
    created_at: BEGIN + 30 + at,
  }),
);

const HALTED = [
  aHaltedRun("run-0", {
    agent_id: "fix-tests-12",
    session_id: "0198f1c6-0000",
    halted_at: BEGIN - 3700,
    where: "tool call write_file (row 31)",
    summary: 'write_file(path="src/cart.py", text="def total(…")',
  }),
  aHaltedRun("asks", {
    name: "Run #3 of migrate-database.py",
    program: "migrate-database.py",
    halted_at: BEGIN - 610,
    where: "tool call shell (row 8)",
    summary: 'Asks: shell(command="rm -r build")',
    is_approval: true,
    breakpoints: 0,
  }),
  aHaltedRun("run-1", {
    agent_id: "label-tickets-3",
    session_id: "0198f1c6-0001",
    halted_at: BEGIN - 150,
    kind: "llm_query",
    where: "LLM query gpt-5-mini (row 17)",
    summary: "Which of these labels fits the ticket best? 1. billing 2. login …",
  }),
  aHaltedRun("run-2", {
    agent_id: "fix-tests-40",
    session_id: "0198f1c6-0002",
    halted_at: BEGIN - 4,
    side: "end",
    where: "tool result run_tests (row 22)",
    summary: "3 failed, 409 passed in 12.80s",
    breakpoints: 0,
    pending: 2,
  }),
];

const ACTIONS = Array.from({ length: 3 }, (_, at) =>
  aFailedAction(`0198f1c7-000${at}`, {
    agent_id: `translate-${at}`,
    session_id: `0198f1c5-000${at}`,
    kind: at === 2 ? "agent_interrupt" : "agent_input",
    error: `The action's payload can't be read: text: expected str, got int (${at}).`,
    created_at: BEGIN - 300 + at,
  }),
);

const all = (): FleetKept => ({
  sessions: [...WAITING, ...RETRYING, ...FAILED, KILLER, ...WORKING],
  halted: [...HALTED],
  actions: [...ACTIONS],
  going: 670,
  at: BEGIN + 41,
});

/** A scene of this view. */
export interface FleetMade {
  kept: FleetKept;
  act?: (user: User) => Promise<void>;
}

const UNBROKEN = "unbroken".repeat(20);
const HOSTILE = `\u202egnorw \u001b[31m<img src=x onerror=alert(1)> ${UNBROKEN}`;
const errors = async (user: User) => {
  await user.press("Errors");
};

export const FLEET_SCENES: Record<string, () => FleetMade> = {
  fleet: () => ({ kept: all() }),
  "fleet-chosen": () => ({
    kept: all(),
    act: async (user) => {
      await user.pick('[data-run="run-1"] input');
      await user.pick('[data-run="run-2"] input');
    },
  }),
  "fleet-continued": () => ({
    kept: all(),
    act: async (user) => {
      await user.press("Continue all");
    },
  }),
  "fleet-errors": () => ({ kept: all(), act: errors }),
  "fleet-error": () => ({
    kept: all(),
    act: async (user) => {
      await errors(user);
      await user.pick(".as-FleetError-message");
    },
  }),
  "fleet-actions": () => ({
    kept: all(),
    act: async (user) => {
      await errors(user);
      await user.pick('[aria-label="Errors of actions"] .as-FleetError-message');
    },
  }),
  "fleet-quarantined": () => ({
    kept: all(),
    act: async (user) => {
      await user.pick('[data-status="quarantined"]');
      await user.pick('[data-session="0198f1c3-0001"]');
    },
  }),
  "fleet-retrying": () => ({
    kept: all(),
    act: async (user) => {
      await user.pick('[data-status="retrying"]');
      await user.pick('[data-session="0198f1c5-0001"]');
    },
  }),
  "fleet-quiet": () => ({ kept: { sessions: [...WORKING], going: 670 } }),
  "fleet-unmatched": () => ({
    kept: all(),
    act: (user) => user.type(".as-SessSearch", "nobody is called so"),
  }),
  "fleet-watching": () => ({ kept: { ...all(), control: false } }),
  "fleet-problem": () => ({
    kept: { ...all(), refuses: { code: "store_failed", message: "The disk is full." } },
    act: (user) => user.press("Halt all"),
  }),
  "fleet-none": () => ({
    kept: {
      going: 0,
      figures: {
        steps_per_minute: 0,
        workers: 0,
        usage: { input_tokens: null, output_tokens: null, cost: null, estimated: false },
      },
    },
  }),
  "fleet-refused": () => ({ kept: { link: "refused" } }),
  "fleet-lost": () => ({ kept: { ...all(), link: "breaks" } }),
  "fleet-hostile": () => ({
    kept: {
      sessions: [
        aFleetSession("سلة-التسوق", {
          agent_id: "سلة التسوق 🛒",
          words: "שלום עולם! (1) 👩‍👩‍👧‍👦",
        }),
        aFleetSession("b", {
          agent_id: HOSTILE,
          moniker: UNBROKEN,
          status: "error",
          last_error: HOSTILE,
          created_at: BEGIN,
        }),
      ],
      halted: [
        aHaltedRun("r", { name: HOSTILE, where: HOSTILE, summary: HOSTILE, halted_at: BEGIN }),
        aHaltedRun("s", { agent_id: "سلة التسوق 🛒", session_id: "x", halted_at: null }),
      ],
      actions: [aFailedAction("x", { error: HOSTILE, agent_id: HOSTILE, created_at: BEGIN })],
    },
    act: (user) => user.pick('[data-session="b"]'),
  }),
};
