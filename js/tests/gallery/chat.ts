/** Scenes of the chat. */
import type { ChatImage, ChatSessionInfo, Message } from "../../src/chat/types";
import { FakeChat, said as message, type Session, session } from "../helpers/chat";
import { anAgent } from "../helpers/chat_messages";
import { BEGIN } from "./story";
import { CART_AFTER } from "./texts";
import type { User } from "./user";

/** What there is to show. */
interface Talk {
  messages?: Message[];
  session?: Partial<ChatSessionInfo>;
  others?: Session[];
  pictures?: Record<string, ChatImage | Error>;
  /** What the login may do. */
  control?: boolean;
  /** Why it can't be reached. */
  away?: string;
}

/** A scene of this view. */
export interface ChatMade {
  chat: FakeChat;
  /** Whether the link breaks before one looks. */
  breaks?: boolean;
  act?: (user: User) => Promise<void>;
}

const AGENTS = [
  anAgent("coder", { description: "Reads, changes and tests the project in this folder." }),
  anAgent("planner", {
    role: "LLM_PLANNER",
    description: "Says what to do next, and does nothing.",
  }),
];

let at = 0;
/** A message, some seconds after the one before. */
const said = (id: string, changes: Partial<Message>): Message => {
  at += 4;
  return message(id, { created_at: BEGIN - 120 + at, ...changes });
};

const ASKED = () =>
  said("m1", {
    role: "user",
    content: "The totals of the cart are off by a cent. Can you mend that?",
  });

const ANSWER = `The rounding happened for **each line**, so that the errors added up. Now \`total()\` rounds once:

\`\`\`python
def total(lines):
    return round(sum(line.price * line.count for line in lines), 2)
\`\`\`

All 412 tests pass.`;

const all = (): Message[] => {
  at = 0;
  return [
    ASKED(),
    said("m2", { content: "I’ll look at the test that fails first." }),
    said("m3", {
      type: "FUNCTION",
      name: "run_command",
      call_id: "call_1",
      arguments: { command: "pytest -q tests/test_rounding.py", timeout: 60 },
      result: "1 failed, 11 passed in 0.21 s",
      ok: true,
    }),
    said("m4", {
      type: "CONSOLE",
      role: "computer",
      content:
        "collected 12 items\n\ntests/test_rounding.py ...........F\n\n1 failed, 11 passed in 0.21 s\n",
    }),
    said("m5", { type: "CODE", language: "python", format: "source", path: "src/cart.py" }),
    said("m6", {
      type: "FUNCTION",
      name: "write_file",
      arguments: { path: "src/cart.py", content: "…" },
      result: "PermissionError: src/cart.py is read-only",
      ok: false,
    }),
    said("m7", {
      type: "CONFIRMATION",
      content: "May I run `chmod u+w src/cart.py`?",
      choices: ["Allow", "Always allow", "Deny"],
      chosen: "Allow",
      details: { tool: "run_command", why: "It changes who may write a file." },
    }),
    said("m8", {
      type: "IMAGE",
      content: "The error by the number of lines, before and after",
      path: "out/error.png",
    }),
    said("m9", { content: ANSWER }),
  ];
};

/** A curve, drawn as a plot is. */
function plot(): { media_type: string; data: string } {
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [480, 240];
  const pen = canvas.getContext("2d");
  if (!pen) throw new Error("no canvas");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, 480, 240);
  for (const [colour, swing] of [
    ["#d62728", 90],
    ["#1f77b4", 12],
  ] as const) {
    pen.strokeStyle = colour;
    pen.lineWidth = 2;
    pen.beginPath();
    for (let x = 30; x < 460; x += 2) pen.lineTo(x, 120 - swing * Math.sin(x / 40) * (x / 460));
    pen.stroke();
  }
  pen.strokeStyle = "#444";
  pen.lineWidth = 1;
  pen.strokeRect(30, 15, 430, 210);
  return { media_type: "image/png", data: canvas.toDataURL("image/png").split(",")[1] ?? "" };
}

const SESSION: Partial<ChatSessionInfo> = {
  title: "Totals off by a cent",
  agents: AGENTS,
  run_id: "0198f1c2-7d10",
  created_at: BEGIN - 120,
  updated_at: BEGIN,
};

function made(talk: Talk, act?: ChatMade["act"]): ChatMade {
  const { messages = [], others = [], control = true, away = null, pictures } = talk;
  const chat = new FakeChat(session({ ...SESSION, ...talk.session }, messages), ...others);
  chat.pictures = { m8: plot(), ...pictures };
  chat.sources = { m5: CART_AFTER };
  chat.control = control;
  chat.away = away;
  return { chat, ...(act && { act }) };
}

const HARM = '<script>alert(1)</script><img src=x onerror="alert(1)">';
const TURNED = "\u202etxt.exe\u200b";
const UNBROKEN = "unbroken".repeat(60);

const hostile = (): Message[] => {
  at = 0;
  return [
    said("h1", {
      role: "user",
      content: `${TURNED} שלום עולם! (1) 👩‍👩‍👧‍👦`,
      agent_name: UNBROKEN,
    }),
    said("h2", {
      agent_name: `${TURNED}<b>`,
      content: `${HARM} \`${HARM}\` **${HARM}**\n[click](javascript:alert(1)) https://evil.example\n${UNBROKEN}\n\`\`\`${UNBROKEN}\n${UNBROKEN}\n\`\`\``,
    }),
    said("h3", {
      type: "CODE",
      language: `${HARM}`,
      format: UNBROKEN,
      path: UNBROKEN,
      content: `${TURNED}\n${"x".repeat(400)}`,
    }),
    said("h4", {
      type: "CONSOLE",
      role: "computer",
      content: `\u001b[2J\u001b]0;x\u0007\u001b[31mred\u001b[0m\n0 %\r100 %\n${"unbroken".repeat(12)}\0`,
    }),
    said("h5", {
      type: "FUNCTION",
      name: UNBROKEN,
      arguments: { [HARM]: TURNED },
      result: HARM,
      ok: true,
    }),
    said("h6", {
      type: "CONFIRMATION",
      content: HARM,
      choices: [UNBROKEN, TURNED, "", HARM],
      final: false,
    }),
    said("h7", { type: "IMAGE", path: `/etc/${UNBROKEN}.png` }),
    said("h8", { type: "IMAGE", content: HARM }),
    said("h9", { type: TURNED, content: HARM, details: { [HARM]: null } }),
    said("h10", {
      role: "system",
      agent_name: null,
      format: "error",
      content: `${HARM}\n${"unbroken".repeat(12)}`,
    }),
  ];
};

const hostileSession = (from: number, to: number): Talk => ({
  messages: hostile().slice(from, to),
  session: {
    title: `${TURNED}${HARM}`,
    agents: [anAgent(`${TURNED}<b>`, { role: UNBROKEN }), anAgent("سلة التسوق 🛒")],
  },
  pictures: {
    h7: new Error("That path isn’t below the workspace: only files there are shown."),
    h8: { media_type: "image/svg+xml", data: btoa("<svg onload='alert(1)'/>") },
  },
});

const waiting = (more: Talk = {}): ChatMade => {
  at = 0;
  return made({
    messages: [
      ASKED(),
      said("m2", { content: "There is a build folder of an old version. It has to go first." }),
      said("q", {
        type: "CONFIRMATION",
        content: "May I run `rm -r build` in the workspace?",
        choices: ["Allow", "Always allow `rm -r build`", "Deny"],
        details: {
          tool: "run_command",
          why: "It deletes files.",
          args: { command: "rm -r build" },
        },
        final: false,
      }),
    ],
    session: { state: "STATE_RUNNING", ending: null, speaking: "coder", waiting: "q" },
    ...more,
  });
};

const streaming = (): ChatMade => {
  at = 0;
  return made({
    messages: [
      ASKED(),
      said("f", {
        type: "FUNCTION",
        name: "read_file",
        arguments: { path: "src/cart.py" },
        final: false,
      }),
      said("m2", { content: `${ANSWER.slice(0, 180)}`, final: false }),
    ],
    session: {
      state: "STATE_RUNNING",
      ending: null,
      speaking: "coder",
      auto_chat: true,
      auto_turns: 2,
    },
  });
};

/** Somebody pressed Halt in the debugger before this turn. */
const halted = (): ChatMade => {
  at = 0;
  return made({
    messages: [
      ASKED(),
      said("m2", { content: "I’ll look at the test that fails first." }),
      said("m3", { role: "user", content: "Look at the whole of `cart.py`, too." }),
    ],
    session: { state: "STATE_RUNNING", ending: null, speaking: "coder", halted: true },
  });
};

/** Some turns of which AutoChat took two. */
const long = (): Message[] => {
  at = 0;
  const turns = Array.from({ length: 14 }, (_, turn) => [
    said(`u${turn}`, { role: "user", content: `What about file ${turn + 1}?` }),
    said(`a${turn}`, { content: `File ${turn + 1} is as it should be.` }),
  ]);
  return [
    ...turns.flat(),
    said("s1", {
      role: "system",
      agent_name: null,
      content: "Continue with what is left to do, or say that you are done.",
    }),
    said("z1", { agent_name: "planner", content: "Next comes the documentation." }),
  ];
};

/** A person reads where the window begins, and more is said meanwhile. */
async function readsFurtherUp(user: User, chat: FakeChat): Promise<void> {
  const divider = await user.find(
    () => document.querySelector<HTMLElement>(".as-Log-divider[title*=window]") ?? undefined,
    "a divider",
  );
  divider.scrollIntoView({ block: "center" });
  await user.still();
  for (const id of ["n1", "n2"]) await chat.tells(said(id, { content: "And the last one, too." }));
  await user.still();
}

export const CHAT_SCENES: Record<string, () => ChatMade> = {
  chat: () => made({ messages: all() }, (user) => user.still()),
  "chat-no-sandbox": () => {
    const notice = "No sandbox: approvals are no protection against a command itself.";
    const agents = AGENTS.map((each) => (each.name === "coder" ? { ...each, notice } : each));
    return made({ messages: all(), session: { agents } }, (user) => user.still());
  },
  "chat-work": () => made({ messages: all().slice(0, 6) }),
  "chat-call": () =>
    made({ messages: all().slice(0, 3) }, (user) => user.pick(".as-FunctionCall-line")),
  "chat-picture": () => made({ messages: all() }, (user) => user.pick(".as-Image-button")),
  "chat-waiting": () => waiting(),
  "chat-streaming": streaming,
  "chat-halted": halted,
  "chat-window": () => {
    const scene = made({ messages: long(), session: { window_from: "u11", kept: 20 } });
    return { ...scene, act: (user) => readsFurtherUp(user, scene.chat) };
  },
  "chat-none": () =>
    made({ session: { title: "", state: "STATE_INIT", ending: null, run_id: null } }),
  "chat-error": () => {
    at = 0;
    return made({
      messages: [
        ASKED(),
        said("m2", {
          role: "system",
          agent_name: null,
          format: "error",
          content:
            "AuthenticationError: the model’s endpoint refused the key. Set OPENAI_API_KEY, and say something to go on.",
        }),
      ],
      session: { ending: "error", no_debugger: "No Core runs here", run_id: null },
    });
  },
  "chat-list": () =>
    made(
      {
        messages: all().slice(0, 2),
        others: [
          session({
            id: "o1",
            title: "Which tests are slow?",
            updated_at: BEGIN - 5000,
            messages: 12,
            state: "STATE_RUNNING",
            speaking: "coder",
          }),
          session({ id: "o2", title: "", updated_at: BEGIN - 9000, ending: "stopped" }),
          session({
            id: "o3",
            title: `${TURNED}${UNBROKEN}`,
            updated_at: BEGIN - 90_000,
            live: false,
          }),
        ],
      },
      (user) => user.pick(".as-ChatHeader-list"),
    ),
  "chat-watching": () => waiting({ control: false }),
  "chat-hostile-words": () => made(hostileSession(0, 2)),
  "chat-hostile": () => made(hostileSession(2, 6)),
  "chat-hostile-pictures": () => made(hostileSession(6, 10)),
  "chat-refused": () => made({ away: "The kernel has ended. Run the cell again." }),
  "chat-lost": () => ({ ...made({ messages: all() }), breaks: true }),
};
