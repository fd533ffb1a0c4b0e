/** The view of a chat as a person and a screen reader find it: header, and the field to write in. */
import { expect, onTestFinished, test, vi } from "vitest";
import { onOpenRun } from "../../src/shells/server";
import { FakeChat, type Session, said, session } from "../helpers/chat";
import { anAgent } from "../helpers/chat_messages";
import { drawn, press } from "../helpers/dom";
import { shown, useChatLayout } from "../helpers/shown_chat";

useChatLayout();

const only = (changes: Session["info"] | object, messages: Session["messages"] = []) =>
  new FakeChat(session(changes, messages));

test.each([
  ["Ready", "good", { state: "STATE_INIT", ending: null }],
  ["Ready", "good", { state: "STATE_STOP", ending: "done" }],
  ["Answering…", "agent", { state: "STATE_RUNNING", speaking: "coder" }],
  ["Halted", "you", { state: "STATE_RUNNING", speaking: "coder", halted: true }],
  ["Waits for your choice", "you", { state: "STATE_RUNNING", speaking: "coder", waiting: "q" }],
  ["Stopped", "off", { state: "STATE_STOP", ending: "stopped" }],
  ["Failed", "bad", { state: "STATE_STOP", ending: "error" }],
])("the state %s is told by its word, its shape and its colour", async (words, tone, info) => {
  const { state } = await shown(only(info));
  expect(state().querySelector("span")?.textContent).toBe(words);
  expect(state().classList.contains(`as-mod-${tone}`)).toBe(true);
  expect(state().querySelector("svg path, svg rect, svg circle")).not.toBeNull();
  expect(state().getAttribute("role")).toBe("status");
});

test("who takes part is listed with their roles, and who speaks is told apart", async () => {
  const agents = [
    anAgent("boss", { role: "SUPERVISOR", description: "Hands on" }),
    anAgent("coder", { type: "STRUCTURED_CHAT", run_id: "r2" }),
  ];
  const opened: string[] = [];
  onTestFinished(onOpenRun((run) => opened.push(run)));
  const { all, click } = await shown(
    only({ agents, default_agent: "boss", state: "STATE_RUNNING", speaking: "coder" }),
    { getRunAccess: () => ({ pageUrl: (run) => `http://core/${run}` }) },
  );
  const [boss, coder] = all(".as-ChatAgent") as [HTMLElement, HTMLElement];
  expect(boss.textContent).toBe("bosssupervisor");
  expect(coder.textContent).toContain("speaks");
  expect(boss.title).toContain("SUPERVISOR, calls tools by its model’s means\nHands on");
  expect(coder.title).toContain("JSON in its text");
  await click(coder);
  expect(opened).toEqual(["r2"]);
});

test("an agent's notice warns beside its name, and explains where one looks", async () => {
  const notice = "No sandbox: approvals are no protection.";
  const { one, all } = await shown(only({ agents: [anAgent("coder", { notice }), anAgent("b")] }));
  expect(one(".as-ChatAgent-notice").firstChild?.textContent).toBe("No sandbox");
  expect(one(".as-ChatAgent").textContent).toContain(notice);
  expect(one(".as-ChatAgent").title).toContain(notice);
  expect(all(".as-ChatAgent-notice")).toHaveLength(1);
});

test("what agents are called is text, with what hides made visible", async () => {
  const name = "<img src=x onerror=alert(1)>\u202e";
  const { host, one } = await shown(
    only({ title: name, agents: [anAgent(name)], default_agent: name, speaking: name }),
  );
  await drawn();
  expect(host.querySelector("img")).toBeNull();
  expect(one(".as-ChatTitle").textContent).toBe("<img src=x onerror=alert(1)>⟨U+202E⟩");
  expect(one(".as-ChatAgent").textContent).toContain("⟨U+202E⟩");
});

test("AutoChat is a switch that says how far it went, and what it does", async () => {
  const { chat, button, click, one } = await shown(only({ auto_turns: 2 }));
  const auto = one('[role="switch"]');
  expect([auto.getAttribute("aria-checked"), auto.getAttribute("aria-label")]).toEqual([
    "false",
    "AutoChat, 2 of 3",
  ]);
  expect(auto.title).toContain("at most 3 times until you say something");
  await click(button("AutoChat"));
  expect(chat.asked).toEqual([["set", { session: "s", auto_chat: true }]]);
  expect(auto.getAttribute("aria-checked")).toBe("false"); // until it is told
  await chat.change("s", { auto_chat: true });
  await drawn();
  expect(auto.getAttribute("aria-checked")).toBe("true");
});

test("Stop is the filled button while something is answered, and held else", async () => {
  const { chat, button, click, state } = await shown(only({ state: "STATE_RUNNING" }));
  expect(button("Stop").className).toContain("as-mod-primary");
  expect(button("Send").className).not.toContain("as-mod-primary");
  chat.silent.add("stop");
  await click(button("Stop"));
  expect(state().textContent).toBe("Stopping…");
  expect(button("Stop").title).toBe("The answer is being stopped");
  await chat.change("s", { state: "STATE_STOP", ending: "stopped" });
  await drawn();
  expect(state().textContent).toContain("Stopped");
  expect(button("Stop").title).toBe("No answer is under way");
});

test("its run is opened in the debugger, or it is said why there is none", async () => {
  const none = await shown(only({ no_debugger: "No Core runs here." }));
  expect(none.button("Open the run").title).toBe("No Core runs here.");
  const { button, click, one } = await shown(only({ run_id: "r1" }), {
    getRunAccess: () => ({ command: (run) => `agentstepper step --run ${run}` }),
  });
  await click(button("Open the run"));
  expect(one(".as-ChatNews").textContent).toBe(
    "To step it, type in a terminal: agentstepper step --run r1",
  );
  const inCell = await shown(only({ run_id: "r1" }), {
    getRunAccess: () => ({ command: () => "%agentstepper" }),
  });
  await inCell.click(inCell.button("Open the run"));
  expect(inCell.one(".as-ChatNews").textContent).toBe("To step it, run in a cell: %agentstepper");
});

test("while it is halted the way to the debugger is the filled button, and nobody seems at work", async () => {
  const { button, all } = await shown(
    only({ state: "STATE_RUNNING", speaking: "coder", halted: true, run_id: "r1" }),
  );
  expect(button("Open the run").className).toContain("as-mod-primary");
  expect(button("Stop").className).not.toContain("as-mod-primary");
  expect(all(".as-ChatAgent.as-mod-speaks")).toHaveLength(1);
  expect(all(".as-ChatAgent .as-Spin")).toEqual([]);
});

test("two chats on one page have nothing in common that a screen reader could mix up", async () => {
  await shown();
  await shown();
  const ids = [...document.querySelectorAll("[id]")].map(({ id }) => id);
  expect(ids.length).toBeGreaterThan(1);
  expect(new Set(ids).size).toBe(ids.length);
});

test("the title is written anew by a click, and Escape leaves it", async () => {
  const { chat, button, click, one, all } = await shown(only({ title: "Talk" }));
  await click(one(".as-ChatTitle"));
  const field = one(".as-ChatTitle-field") as HTMLInputElement;
  field.value = "  Other ";
  field.focus();
  await press("Enter");
  expect(chat.asked).toEqual([["set", { session: "s", title: "Other" }]]);
  expect(document.activeElement).toBe(one(".as-ChatTitle"));
  await click(button("Talk"));
  (one(".as-ChatTitle-field") as HTMLInputElement).focus();
  await press("Escape");
  expect(all(".as-ChatTitle-field")).toEqual([]);
  expect(chat.asked).toHaveLength(1);
});

test("the title's editing ends where the person goes elsewhere, who stays there", async () => {
  const { chat, click, one, field } = await shown(only({ title: "Talk" }));
  await click(one(".as-ChatTitle"));
  const title = one(".as-ChatTitle-field") as HTMLInputElement;
  title.focus();
  title.value = "Other";
  field().focus();
  await drawn();
  expect(chat.asked).toEqual([["set", { session: "s", title: "Other" }]]);
  expect(one(".as-ChatTitle").textContent).toBe("Talk"); // until it is told
  expect(document.activeElement).toBe(field());
});

test("Enter sends, Shift+Enter and a word being composed don't", async () => {
  const { chat, field, write } = await shown();
  await write("Hello");
  field().focus();
  await press("Enter", { shiftKey: true });
  await press("Enter", { isComposing: true });
  expect(chat.asked).toEqual([]);
  await press("Enter");
  const message = { session: "s", content: "Hello", key: expect.any(String) };
  expect(chat.asked).toEqual([["send", message]]);
  expect(field().value).toBe("");
  expect(document.activeElement).toBe(field());
});

test("who goes elsewhere before a message's answer comes stays there", async () => {
  const { chat, field, write, button, click } = await shown();
  const cell = document.body.appendChild(document.createElement("textarea"));
  chat.silent.add("send");
  await write("Hello");
  button("Send").focus();
  await click(button("Send"));
  expect(document.activeElement).toBe(field());
  cell.focus();
  await chat.drop(); // which answers it: it failed
  await drawn();
  expect(button("Send").title).toBe("Not connected to the kernel");
  expect(document.activeElement).toBe(cell);
});

test("while it answers one may write and not send, and sees why; the draft and the focus stay", async () => {
  const { chat, field, write, button, one } = await shown(only({ state: "STATE_RUNNING" }));
  const before = field();
  before.focus();
  await write("Next");
  await press("Enter");
  expect(chat.asked).toEqual([]);
  expect(button("Send").title).toBe("The agent is answering: wait, or stop the answer");
  const hint = one(`[id="${field().getAttribute("aria-describedby")}"]`);
  expect(hint.textContent).toBe("The agent is answering: wait, or stop the answer");
  await chat.change("s", { state: "STATE_STOP", ending: "done" });
  await drawn();
  expect(field()).toBe(before);
  expect([field().value, document.activeElement === field()]).toEqual(["Next", true]);
  await press("Enter");
  expect(chat.asked).toHaveLength(1);
});

test.each([
  [
    "a choice that waits",
    { state: "STATE_RUNNING", waiting: "q" },
    "Answer the question above first",
  ],
  ["nobody there", { agents: [] }, "No agent takes part in this chat"],
])("%s holds the message back", async (_, info, why) => {
  const { button, write } = await shown(only(info));
  await write("Hello");
  expect(button("Send").title).toContain(why);
});

test("a message that is refused stays written, with why above it", async () => {
  const { chat, field, write, one, button, click, all } = await shown();
  chat.refuses.send = { code: "session_busy", message: "<b>It</b> is answering." };
  await write("Hello");
  await click(button("Send"));
  expect(one(".as-ChatNews").textContent).toBe("<b>It</b> is answering.");
  expect(one(".as-ChatNews").getAttribute("role")).toBe("alert");
  expect(field().value).toBe("Hello");
  await click(button("Dismiss"));
  expect(all(".as-ChatNews")).toEqual([]);
});

test("Up writes again what was said last, only where nothing is written", async () => {
  const { field, write } = await shown(
    only({}, [said("a", { role: "user", content: "First" }), said("b", { content: "Yes" })]),
  );
  field().focus();
  await press("ArrowUp");
  expect(field().value).toBe("First");
  await write("Other");
  await press("ArrowUp");
  expect(field().value).toBe("Other");
});

test("what was written is there again after a reload", async () => {
  const first = await shown();
  await first.write("Half a sen");
  first.leave();
  first.host.remove();
  const { field } = await shown();
  expect(field().value).toBe("Half a sen");
});

test("with several agents one chooses whom it is for, the default one being marked", async () => {
  const agents = [anAgent("boss"), anAgent("coder"), anAgent("critic")];
  const { chat, one, field, write } = await shown(only({ agents, default_agent: "coder" }));
  const select = one(".as-ChatPost-to select") as HTMLSelectElement;
  expect([...select.options].map(({ text }) => text)).toEqual([
    "coder (default)",
    "boss",
    "critic",
  ]);
  select.value = "critic";
  select.dispatchEvent(new Event("change", { bubbles: true }));
  await write("Hello");
  field().focus();
  await press("Enter");
  expect(chat.asked.at(-1)?.[1]).toEqual({
    session: "s",
    content: "Hello",
    key: expect.any(String),
    agent_name: "critic",
  });
});

test("a conversation that was deleted says so, and another can be begun", async () => {
  const { chat, button, click, one, write } = await shown();
  await chat.tell("s", { event: "removed", session_id: "s" });
  await drawn();
  expect(one(".as-Empty").textContent).toContain("This conversation was deleted");
  await write("Hello");
  expect(button("Send").title).toBe("This conversation was deleted");
  await click(one(".as-Empty button"));
  expect(one(".as-Log").textContent).toContain("No messages yet");
});

test("a link that breaks: what was said stays to be read, nothing can be sent, and it goes on by itself", async () => {
  const { chat, state, one, button, click, write } = await shown(
    only({}, [said("a", { content: "Words" })]),
  );
  await chat.drop();
  await drawn();
  expect(state().textContent).toContain("Connection lost");
  expect(one(".as-Log").textContent).toContain("Words");
  await write("Hello");
  expect(button("Send").title).toBe("Not connected to the kernel");
  await click(button("Retry now"));
  expect(state().textContent).toContain("Ready");
});

test("a kernel that is gone is said with what to do", async () => {
  const { chat, one } = await shown(only({}, [said("a", { content: "Words" })]));
  await chat.drop({ code: 4410, reason: "Run the cell again." });
  await drawn();
  expect(one(".as-ChatNews").textContent).toBe("Run the cell again.");
  expect(one(".as-Log").textContent).toContain("Words");
});

test("one that was never reached says why in place of the conversation", async () => {
  const chat = new FakeChat();
  chat.refuses.watch = { code: "internal", message: "It broke." };
  const { one } = await shown(chat);
  expect(one(".as-ChatNews").textContent).toBe("It broke.");
  await chat.drop({ code: 1008, reason: "This chat was closed." });
  await drawn();
  expect(one(".as-Empty").textContent).toContain("This chat was closed.");
});

test("JupyterLab's keys stay out while the focus is in the view, and F keys are nobody's here", async () => {
  const { field, host } = await shown();
  field().focus();
  const taken = vi.fn();
  host.addEventListener("keydown", (event) => event.defaultPrevented && taken());
  for (const key of ["F6", "F9", "F10", "a", "/"]) await press(key);
  expect(field().dataset.lmSuppressShortcuts).toBeDefined();
  expect(taken).not.toHaveBeenCalled();
});
