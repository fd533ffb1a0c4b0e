/** The scenes by name: what the Core knows, and what a person did before one looks. */
import type { RunSeams } from "../../src/protocol/types.gen";
import { aRun, aSeam } from "../helpers/values";
import { MOVING } from "./animated";
import { ANSWER_SCENES } from "./answers";
import { APPROVALS } from "./approvals";
import { BREAKPOINT_SCENES } from "./breakpoints";
import { FORK_TREE_SCENES } from "./fork_tree";
import { FORK_SCENES } from "./forks";
import { HISTORY } from "./history";
import { LANE_SCENES } from "./lanes";
import { OVERVIEW_SCENES } from "./overview";
import { KEEPING } from "./recorded_runs";
import { type Scene, shows } from "./scene";
import { SEARCH_SCENES } from "./searches";
import { STACK_SCENES } from "./stack";
import { beginning, CART, changing, finished, TESTS } from "./stories";
import { BEGIN, Story } from "./story";
import * as texts from "./texts";
import type { User } from "./user";

const MANY_FILES = Array.from({ length: 11 }, (_, at) => ({
  path: `src/shop/models/part_${at + 1}.py`,
  after: `PART = ${at}\n`,
  before: "",
}));

/** Several steps that named commits cover, and one that none covers yet. */
function severalCommits(): Story {
  const notes = { path: "NOTES.md", kind: "added", after: "Rounding happens once.\n" } as const;
  const model = {
    path: "models/price.bin",
    kind: "added",
    binary: true,
    size: 200_000_000,
    digest: "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
  } as const;
  return changing()
    .calls("write_file", { path: "NOTES.md" })
    .returns("write_file", "wrote 23 bytes to NOTES.md", undefined, { files: [notes] })
    .committed("Round once, at the end", [CART, TESTS, notes])
    .calls("train", { epochs: 3 })
    .returns("train", "saved models/price.bin", undefined, { files: [model], takes: 73.4 })
    .committed("Train the price model", [model])
    .calls("move", { from: "src/cart.py" })
    .returns("move", "moved", undefined, {
      files: [
        { path: "src/basket/cart.py", kind: "renamed", previous_path: "src/cart.py" },
        { path: "src/old_cart.py", kind: "deleted", before: texts.CART_BEFORE },
      ],
    })
    .halted();
}

const SEAMS: RunSeams = {
  seams: [
    aSeam("httpx", "0.28.1", { kind: "queries" }),
    aSeam("langchain-core", "1.2.7"),
    aSeam("mcp", "3.0.0", {
      is_active: false,
      has_failed: true,
      reason: "This version can't be wrapped: KeyError('call_tool').",
    }),
  ],
  tools: [
    { name: "write_file", found_by: "adapter" },
    { name: "run_tests", found_by: "adapter" },
    { name: "round_price", found_by: "discovery" },
    { name: "deploy", found_by: "hand" },
  ],
  discovery_off_reason: "",
};

const OTHERS = [
  ["r1", "first try", "crashed"],
  ["r2", "Run #1 of fix-tests", "finished"],
  ["r3", "Run #2 of fix-tests", "stopped"],
  ["r4", "left alone", "lost"],
].map(([id = "", name = "", ending], at) =>
  aRun(id, {
    name,
    program: "fix_tests.py",
    started_at: BEGIN - 86_400 + at * 4000,
    ended_at: BEGIN - 86_000 + at * 4000,
    state: "idle",
    ending: ending as "lost",
    rows: 12 + at,
  }),
);

const HALTED_CALL = () => changing().calls("run_tests", { path: "tests/", verbose: true }).halted();
const edits = (user: User) => user.key("e");

export const SCENES: Record<string, Scene> = {
  // ---- a run that goes on
  "halted-prompt": () => shows(beginning().halted()),
  "halted-answer": () =>
    shows(beginning().answers("write_file(src/cart.py)", texts.ANSWER, { takes: 3.2 }).halted()),
  "halted-call": () => shows(HALTED_CALL()),
  seams: () =>
    shows(HALTED_CALL().is({ seams: SEAMS }), async (user) => {
      await user.press("Seams: 2 active, 1 failed, 4 tools");
      await user.find(() => document.querySelector<HTMLElement>(".as-Seams") ?? undefined, "list");
      await user.still();
    }),
  "halted-result": () => shows(changing().halted()),
  "halted-failed": () =>
    shows(
      changing()
        .calls("run_tests", { path: "tests/" })
        .returns("run_tests", "OSError: disk full", null, {
          fails: { type: "OSError", message: "[Errno 28] No space left on device" },
          traceback: texts.TRACEBACK,
        })
        .halted(),
    ),
  "llm-thinking": () => shows(beginning().is({ agent_state: "llm_thinking" })),
  "tool-executing": () =>
    shows(
      changing()
        .calls("run_tests", {})
        .is({ mode: "continue", state: "continue", agent_state: "tool_executing" }),
    ),
  halting: () => shows(beginning().is({ agent_state: "halting" })),
  stopping: () => shows(beginning().is({ stopping: true })),
  nested: () =>
    shows(
      beginning()
        .calls("ask_reviewer", { about: "src/cart.py" })
        .asks("Review this change", texts.prompt(2), { depth: 1, name: "gpt-5" })
        .answers("Looks right", texts.ANSWER, { depth: 1, name: "gpt-5" })
        .calls("read_file", { path: "src/cart.py" }, { depth: 1 })
        .returns("read_file", "412 bytes", texts.CART_AFTER, { depth: 1, files: [CART] })
        .halted(),
    ),
  "custom-event": () =>
    shows(
      beginning()
        .does("retrieval", { query: "rounding of prices", most: 2 })
        .gave("retrieval", "2 passages", {
          passages: [
            { from: "handbook.md", text: "Prices are rounded once, half up." },
            { from: "adr-12.md", text: "Discounts apply to the sum." },
          ],
        })
        .halted(),
    ),
  "watch-only": () => shows(beginning().halted(), undefined, { control: false }),

  // ---- files on each step
  file: () => shows(changing().halted(), (user) => user.pick(".as-Row.as-mod-file")),
  "files-many": () =>
    shows(
      beginning()
        .calls("scaffold", { name: "shop" })
        .returns("scaffold", "made 11 files", undefined, { files: MANY_FILES })
        .halted(),
    ),
  "files-folded": () => shows(changing().halted(), (user) => user.pick(".as-Twist")),
  changes: () => shows(severalCommits(), (user) => user.press("Changes")),
  "changes-binary": () =>
    shows(severalCommits(), async (user) => {
      await user.press("Changes");
      await user.press("Train the price model");
    }),
  "changes-none": () =>
    shows(new Story().begins().asks("Hello", texts.prompt(2)).halted(), (user) =>
      user.press("Changes"),
    ),
  "changes-no-workspace": () =>
    shows(new Story("hello", { workspace: null }).begins().halted(), (user) =>
      user.press("Changes"),
    ),

  // ---- edits
  "edit-call": () => shows(HALTED_CALL(), edits),
  "edit-prompt": () => shows(beginning().halted(), edits),
  "edit-json": () =>
    shows(HALTED_CALL(), async (user) => {
      await edits(user);
      await user.press("JSON");
    }),
  "edit-invalid": () =>
    shows(changing().calls("set_price", { cents: 990 }).halted(), async (user) => {
      await edits(user);
      await user.type(".as-Field .as-Input", "9,90");
    }),
  draft: () =>
    shows(HALTED_CALL(), async (user) => {
      await edits(user);
      await user.type(".as-Field .as-Input", "tests/test_cart.py");
      await user.key("Escape");
    }),
  "edited-diff": () =>
    shows(
      beginning()
        .answers("write_file(src/cart.py)", texts.ANSWER, { edit: texts.ANSWER_EDITED })
        .halted({}),
      (user) => user.press("Diff"),
    ),

  // ---- how runs end
  finished: () => shows(finished().ended("finished")),
  stopped: () => shows(changing().ends("Agent execution was stopped").ended("stopped")),
  crashed: () => {
    const failure = { type: "KeyError", message: "'total'" };
    const summary = `Failed: ${failure.type}: ${failure.message}`;
    const story = changing().ends(summary, { failure, outcome: "error" });
    return shows(story.ended("crashed", { failure }));
  },
  lost: () => shows(changing().ends("The agent broke off", { outcome: "error" }).ended("lost")),

  // ---- the link
  connecting: () => ({ script: { link: "never" } }),
  refused: () => ({ script: { link: "refused" } }),
  "connection-lost": () => shows(beginning().halted(), undefined, { link: "breaks" }),
  "server-gone": () => ({ script: { link: "breaks" } }),
  "through-kernel": () => ({
    ...shows(beginning().halted()),
    options: {
      coreRoute: {
        name: "through the kernel",
        why: "This Jupyter server has no Core, so one runs in the kernel.",
      },
    },
  }),

  // ---- nothing to show yet
  empty: () => ({ script: {} }),
  awaited: () => ({ script: { others: OTHERS }, run: "gone" }),
  began: () => shows(new Story().is({})),

  // ---- what lies over the view
  runs: () => shows(beginning().halted(), (user) => user.pick(".as-Run"), { others: OTHERS }),
  "runs-delete": () =>
    shows(
      beginning().halted(),
      async (user) => {
        await user.pick(".as-Run");
        await user.press("Delete Run #2 of fix-tests");
      },
      { others: OTHERS },
    ),
  keys: () => shows(beginning().halted(), (user) => user.key("?")),
  problem: () =>
    shows(beginning().halted(), (user) => user.press("Step"), {
      refuses: { code: "stale", message: "Another view has answered this event meanwhile." },
    }),
  filter: () => shows(finished().ended("finished"), (user) => user.type(".as-Filter", "cart.py")),
  "filter-none": () =>
    shows(finished().ended("finished"), (user) => user.type(".as-Filter", "nothing like it")),
  raw: () => shows(beginning().halted(), (user) => user.press("Raw")),

  // ---- what agents can send
  bidi: () =>
    shows(
      new Story("سلة التسوق 🛒 · run 1")
        .begins()
        .says("שלום עולם! (1) 👩‍👩‍👧‍👦 emoji")
        .calls("כתוב_קובץ", { path: "src/עגלה.py" })
        .returns("כתוב_קובץ", "נכתבו 412 בתים! ✅", "נכתבו 412 בתים! ✅\nabc (שלום) 1, 2.", {
          files: [{ ...CART, path: "src/עגלה (1).py" }],
        })
        .says("مرحبا: hello (world) 123!")
        .asks("ما هو الخطأ؟ 🙈", {
          messages: [
            { role: "user", content: "ما هو الخطأ في cart.py؟ 🙈\nLine two, left to right." },
          ],
        })
        .halted(),
    ),
  long: () => shows(longStory().halted()),
  huge: () => shows(hugeStory().halted()),
  hidden: () =>
    shows(
      new Story("a\u202edesrever\u202c name")
        .begins()
        .says("\u001b[31mred\u001b[0m <img src=x onerror=alert(1)> \u202etfel ot thgir")
        .calls("shell", { command: "echo \u001b[2J\u0000 \u202egpj.exe" })
        .halted(),
      edits,
    ),
  many: () => shows(manyStory().ended("finished")),

  ...APPROVALS,
  ...HISTORY,
  ...KEEPING,
  ...MOVING,
  ...BREAKPOINT_SCENES,
  ...ANSWER_SCENES,
  ...LANE_SCENES,
  ...OVERVIEW_SCENES,
  ...FORK_SCENES,
  ...FORK_TREE_SCENES,
  ...SEARCH_SCENES,
  ...STACK_SCENES,
};

function longStory(): Story {
  const word = "unbroken".repeat(60);
  return new Story(`run-${word}`)
    .begins()
    .says(word)
    .calls(`tool_${word}`, { path: `src/${word}.py`, [word]: word })
    .returns(`tool_${word}`, word, word, {
      files: [{ path: `src/${word}/${word}.py`, after: `${word}\n` }],
      fails: { type: `Error${word}`, message: word },
    })
    .asks(word, { messages: [{ role: `role-${word}`, name: word, content: word }] });
}

function hugeStory(): Story {
  const items = Array.from({ length: 3000 }, (_, at) => ({
    id: at,
    name: `item ${at}`,
    tags: ["a", "b"],
  }));
  return new Story()
    .begins()
    .calls("list_items", {})
    .returns("list_items", "3,000 items", { items });
}

function manyStory(): Story {
  const story = new Story().begins();
  for (let at = 0; at < 5000; at += 1) {
    const path = `src/part_${at}.py`;
    story.calls("write_file", { path });
    story.returns("write_file", `wrote ${path}`, null, {
      files: at % 10 === 0 ? [{ path, after: "x = 1\n" }] : [],
    });
  }
  return story;
}
