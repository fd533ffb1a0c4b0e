/** The view of sessions as a person and a screen reader find it. */
import { expect, onTestFinished, test, vi } from "vitest";
import { mountSessions } from "../../src/sessions/mount";
import { onOpenRun } from "../../src/shells/server";
import { drawn, press, useLayout } from "../helpers/dom";
import { queriesOf } from "../helpers/queries";
import {
  aConversation,
  aMessage,
  aParticipant,
  aState,
  aStep,
  FakeRuntime,
  type Kept,
} from "../helpers/runtime";

useLayout();

async function shown(kept: Kept = {}, options: Parameters<typeof mountSessions>[2] = {}) {
  const core = new FakeRuntime(kept);
  const host = document.body.appendChild(document.createElement("div"));
  const leave = mountSessions(host, core, options);
  await drawn();
  const { all, one, button, click, type } = queriesOf(host, drawn);
  const row = (id: string) => one(`[data-session="${id}"]`);
  const rows = () => all(".as-SessRow").map(({ dataset }) => dataset.session);
  return { core, host, leave, all, one, button, click, type, row, rows };
}

const SEVERAL = [
  aState("a", { created_at: 30, agent_id: "ant" }),
  aState("b", { created_at: 20, agent_id: "bee", status: "paused" }),
  aState("c", { created_at: 10, agent_id: "cat", status: "done" }),
];

test("sessions are listed in words, newest first, and a change keeps its place", async () => {
  const { core, row, rows, one } = await shown({ states: SEVERAL });
  expect(rows()).toEqual(["a", "b", "c"]);
  expect(row("b").textContent).toContain("Paused");
  expect(one(".as-State").textContent).toBe("1 runningof 3 sessions: 1 paused, 1 done");
  const before = row("c");
  await core.change(aState("c", { created_at: 10, status: "error", last_error: "it broke" }));
  await vi.waitFor(() => expect(row("c").textContent).toContain("it broke"));
  expect(rows()).toEqual(["a", "b", "c"]);
  expect(row("c")).toBe(before);
});

test("what agents say is text, with what hides made visible", async () => {
  const hostile = "<img src=x onerror=alert(1)> \u202etxt";
  const { host, row } = await shown({
    states: [aState("a", { result: { text: hostile }, agent_id: "<b>x</b>" })],
    steps: [aStep("a", 2, { text: hostile })],
  });
  row("a").click();
  await drawn();
  expect(host.querySelector("img, .as-SessRow b")).toBeNull();
  expect(row("a").textContent).toContain("<img src=x onerror=alert(1)> ⟨U+202E⟩txt");
  expect(host.querySelector('[role="log"]')?.textContent).toContain("⟨U+202E⟩txt");
});

test("of a thousand sessions only those in sight are in the document", async () => {
  const states = Array.from({ length: 1000 }, (_, at) => aState(`s${at}`, { created_at: -at }));
  const { rows, one } = await shown({ states });
  expect(rows().length).toBeLessThan(60);
  expect(one('[role="grid"]').getAttribute("aria-rowcount")).toBe("1001");
});

test("keys lead through the list, choose, and send actions", async () => {
  const { core, row, one, all } = await shown({ states: SEVERAL });
  row("a").focus();
  await press("ArrowDown");
  expect((document.activeElement as HTMLElement).dataset.session).toBe("b");
  expect(all('.as-SessRow[tabindex="0"]')).toHaveLength(1);
  await press("r");
  await press("Home");
  await press(" ");
  await press("End");
  await press(" ");
  expect(one(".as-SessFor").textContent).toContain("2 sessions");
  await press("p");
  await press("Escape");
  expect(all(".as-SessFor .as-Button")).toHaveLength(0);
  expect(core.done.map(([, { kind, session_id }]) => [kind, session_id])).toEqual([
    ["agent_resume", "b"],
    ["agent_pause", "a"],
  ]);
});

test("an order that can't be given keeps its place and says why", async () => {
  const { core, row, button, click } = await shown({ states: SEVERAL });
  await click(row("c"));
  const pause = button("Pause");
  expect(pause.getAttribute("aria-disabled")).toBe("true");
  expect(pause.title).toBe("This session has ended");
  await click(pause);
  expect(core.done).toEqual([]);
});

test("interrupting opens a form; what is sent is the next step's guidance", async () => {
  const { core, row, one, button, click, type, all } = await shown({ states: SEVERAL });
  await click(row("a"));
  await click(button("Interrupt"));
  expect(document.activeElement).toBe(one(".as-SessAsk-field"));
  expect(button("Send").getAttribute("aria-disabled")).toBe("true");
  await type(".as-SessAsk-field", "lions");
  one(".as-SessAsk").dispatchEvent(new Event("submit", { cancelable: true }));
  await drawn();
  expect(core.done).toEqual([
    ["act", { kind: "agent_interrupt", session_id: "a", payload: { guidance: "lions" } }],
  ]);
  expect(all(".as-SessAsk")).toEqual([]);
});

test("who goes elsewhere before the form's answer comes stays there", async () => {
  const { core, row, one, button, click, type } = await shown({ states: SEVERAL });
  const cell = document.body.appendChild(document.createElement("textarea"));
  await click(row("a"));
  await click(button("Interrupt"));
  await type(".as-SessAsk-field", "lions");
  const field = one(".as-SessAsk-field");
  button("Send").focus();
  button("Send").click();
  expect(document.activeElement).toBe(field);
  cell.focus();
  await core.drop(); // which answers it: it failed
  await drawn();
  expect([one(".as-SessAsk-field"), document.activeElement]).toEqual([field, cell]);
});

test("the form says which way words are told; its fields hold lines, and what was left unsent", async () => {
  const { core, row, one, all, button, click, type } = await shown({ states: SEVERAL });
  row("a").focus();
  await press("s");
  const ways = all('.as-SessAsk input[type="radio"]') as HTMLInputElement[];
  expect(ways.map(({ checked }) => checked)).toEqual([false, true]);
  await type(".as-SessAsk-field", "one\ntwo");
  await press("Escape");
  expect(all(".as-SessAsk")).toEqual([]);
  await click(row("b"));
  await click(button("Interrupt"));
  expect((one(".as-SessAsk-field") as HTMLTextAreaElement).value).toBe("one\ntwo");
  await click(all('.as-SessAsk input[type="radio"]')[1] as HTMLElement);
  one(".as-SessAsk-field").focus();
  await press("Enter", { shiftKey: true });
  expect(core.done).toEqual([]);
  await press("Enter");
  expect(core.done).toEqual([
    [
      "act",
      {
        kind: "agent_input",
        session_id: "b",
        payload: { text: "one\ntwo" },
        idem_key: expect.any(String),
      },
    ],
  ]);
});

test("words that are too long, or for a session that ended meanwhile, are held back, not cut", async () => {
  const { core, row, one, button, click, type } = await shown({ states: SEVERAL });
  await click(row("a"));
  await click(button("Interrupt"));
  await type(".as-SessAsk-field", "x".repeat(100_001));
  expect(button("Send").title).toBe("Too long: 100,000 letters at most");
  await type(".as-SessAsk-field", "lions");
  await core.change(aState("a", { created_at: 30, agent_id: "ant", status: "done" }));
  await vi.waitFor(() => expect(button("Send").title).toBe("This session has ended"));
  expect((one(".as-SessAsk-field") as HTMLTextAreaElement).value).toBe("lions");
});

test("a login that may only watch is told so before it tries anything", async () => {
  const { core, row, button, click, all } = await shown(
    {
      states: SEVERAL,
      control: false,
      conversations: [aConversation("c")],
      participants: [aParticipant("c", "b", { agent_id: "bee" })],
    },
    { conversation: "c" },
  );
  await click(row("a"));
  const orders = ["Resume", "Pause", "Interrupt", "Destroy", "Add ant", "Remove bee", "Post"];
  for (const name of orders)
    expect([name, button(name).title]).toEqual([name, "This login may watch, not control"]);
  row("a").focus();
  for (const key of ["p", "i", "s", "Delete"]) await press(key);
  expect(all(".as-SessAsk")).toEqual([]);
  expect(core.done).toEqual([]);
});

test("a text of a hundred thousand letters is shown a piece at a time", async () => {
  const long = "unbroken".repeat(12_500);
  const { host, row, click, button } = await shown({
    states: [aState("a", { guidance: long, result: { text: long } })],
    steps: [aStep("a", 0, { text: long, guidance: long, error: long, notes: long })],
  });
  await click(row("a"));
  expect(host.textContent?.length).toBeLessThan(20_000);
  await click(button("Show 98 KB more"));
  expect(host.textContent?.length).toBeGreaterThan(100_000);
});

test("destroying asks once, and Escape leaves it be", async () => {
  const { core, row, one, button, click, all } = await shown({ states: SEVERAL });
  await click(row("a"));
  await click(button("Destroy"));
  expect(one(".as-SessAsk").textContent).toContain("End ant for good?");
  await press("Escape");
  expect(all(".as-SessAsk")).toEqual([]);
  row("a").focus();
  await press("Delete");
  const buttons = all(".as-SessAsk button");
  await click(buttons[0] as HTMLElement);
  expect(core.done).toEqual([["act", { kind: "agent_destroy", session_id: "a" }]]);
});

test("a session's steps stand beside it with their guidance, and the next one's below", async () => {
  const { core, row, one, click } = await shown({
    states: [aState("a", { guidance: "wait" })],
    steps: [aStep("a", 0), aStep("a", 1, { guidance: "lions", text: null, error: "too long" })],
  });
  await click(row("a"));
  const log = one('[role="log"]');
  expect(log.textContent).toContain("Step 0 of a");
  expect(log.textContent).toContain("lions");
  expect(log.textContent).toContain("too long");
  expect(one(".as-SessGuidance").textContent).toBe("Guidance for its next step: wait");
  await core.tell("session:a", "step", { steps: [aStep("a", 2, { text: "the third" })] });
  await drawn();
  expect(log.textContent).toContain("the third");
});

test("a post goes to the conversation that is open, and stands in it once the Core tells it", async () => {
  const { core, one, button, click, type } = await shown(
    {
      states: SEVERAL,
      conversations: [aConversation("c", { title: "Jokes" })],
      participants: [aParticipant("c", "a", { agent_id: "ant" })],
      messages: [aMessage("c", "1", { text: "the first" })],
    },
    { conversation: "c" },
  );
  expect(one('[aria-label="Messages"]').textContent).toContain("the first");
  expect(one('[aria-label="Participants"]').textContent).toBe("ant");
  await type(".as-SessPost textarea", "hello all");
  await click(button("Post"));
  expect(core.done).toEqual([
    ["say", { conversation_id: "c", text: "hello all", idem_key: expect.any(String) }],
  ]);
  expect((one(".as-SessPost textarea") as HTMLTextAreaElement).value).toBe("");
  const step = aMessage("c", "2", {
    sender_type: "agent",
    user_id: null,
    agent_id: "ant",
    iteration: 4,
  });
  await core.tell("conversation:c", "message", { messages: [step] });
  await drawn();
  expect(one('[aria-label="Messages"]').textContent).toContain("ant#4");
  await click(button("ant"));
  expect(core.topics).toContain("session:a");
});

test("what is being written in a conversation waits while another is looked at", async () => {
  const { one, type, click, button } = await shown(
    { conversations: [aConversation("c"), aConversation("d", { title: "Other" })] },
    { conversation: "c" },
  );
  const field = () => one(".as-SessPost textarea") as HTMLTextAreaElement;
  await type(".as-SessPost textarea", "half a thou");
  await click(button("All conversations"));
  await vi.waitFor(() => one("li:nth-child(2) .as-SessTalk"));
  await click(one("li:nth-child(2) .as-SessTalk"));
  expect(field().value).toBe("");
  await click(button("All conversations"));
  await click(one(".as-SessTalk"));
  expect(field().value).toBe("half a thou");
});

test("a new conversation is begun with those of the selected sessions that haven't ended", async () => {
  const { core, host, one, all, click, button } = await shown({ states: SEVERAL });
  for (const id of ["a", "c"]) await click(one(`[data-session="${id}"] input`));
  await click(button("Conversations"));
  await click(button("New conversation"));
  expect(one(".as-SessNew-with").textContent).toBe("with ant");
  await click(button("Begin"));
  const joined = core.done.filter(([method]) => method === "join");
  expect(joined.map(([, { session_id }]) => session_id)).toEqual(["a"]);
  expect([all(".as-SessNew"), host.querySelector(".as-SessNews")]).toEqual([[], null]);
});

test("somebody is let go from a conversation, and may be added again", async () => {
  const { core, one, row, click, button } = await shown(
    {
      states: SEVERAL,
      conversations: [aConversation("c")],
      participants: [aParticipant("c", "a", { agent_id: "ant" }), aParticipant("c", null)],
    },
    { conversation: "c" },
  );
  expect(one('[aria-label="Participants"]').textContent).toBe("antada");
  await click(row("a"));
  await click(button("Remove ant"));
  expect(core.done).toEqual([["leave", { conversation_id: "c", participant_id: "c-a" }]]);
  const left = aParticipant("c", "a", { agent_id: "ant", left_at: 9 });
  await core.tell("conversation:c", "participant", { participants: [left] });
  await drawn();
  expect(one('[aria-label="Participants"]').textContent).toBe("ada");
  await click(button("Add ant"));
  expect(core.done.at(-1)?.[0]).toBe("join");
});

test("the filter, and what stands where nothing is left", async () => {
  const { rows, type, click, button, all } = await shown({ states: SEVERAL });
  await type(".as-SessSearch", "bee");
  expect(rows()).toEqual(["b"]);
  await type(".as-SessSearch", "nobody");
  expect(all('[role="grid"]')).toEqual([]);
  await click(button("Show all sessions"));
  expect(rows()).toEqual(["a", "b", "c"]);
});

test("where there is no session the code that makes one can be copied", async () => {
  const { host, button } = await shown();
  expect(host.textContent).toContain('agents.create_agent("joker", "joke"');
  expect(button("Copy the code")).toBeDefined();
});

test("a link that is refused says what to do; one that broke keeps what was there", async () => {
  const refused = await shown({ link: "refused" });
  expect(refused.one('[role="alert"]').textContent).toContain("Log in to Jupyter");
  refused.leave();
  const { core, rows, one, button } = await shown({ states: SEVERAL });
  await core.drop();
  await drawn();
  expect(rows()).toEqual(["a", "b", "c"]);
  expect(one('[role="status"]').textContent).toContain("Connection lost");
  expect(button("Pause").title).toBe("Not connected to the Core");
  expect(button("Retry now")).toBeDefined();
});

test("a run is opened on this page where somebody takes it, else in a tab, else by a command", async () => {
  const opened = vi.spyOn(window, "open").mockReturnValue(null);
  const states = [aState("a", { run_id: "r1" })];
  const there = await shown({ states }, { pageUrl: (run) => `/app?run=${run}` });
  there.row("a").focus();
  await press("o");
  expect(opened).toHaveBeenCalledWith("/app?run=r1", "_blank", "noopener");
  there.leave();
  document.body.replaceChildren();
  const away = await shown({ states }, { command: (run) => `agentstepper step --run ${run}` });
  away.row("a").focus();
  await press("o");
  expect(away.one(".as-SessNews").textContent).toContain("agentstepper step --run r1");
  away.leave();
  document.body.replaceChildren();
  const runs: string[] = [];
  onTestFinished(onOpenRun((run) => runs.push(run)));
  const lab = await shown({ states }, { pageUrl: (run) => `/app?run=${run}` });
  lab.row("a").focus();
  await press("o");
  expect([runs, opened.mock.calls.length]).toEqual([["r1"], 1]);
});

test("who leaves takes the view and its link away", async () => {
  const { core, host, leave } = await shown({ states: SEVERAL });
  leave();
  expect(host.textContent).toBe("");
  await core.drop();
  expect(core.links).toBe(1);
});
