/** Scenes of answers beyond going on: their forms, what stays of them, and edit rules. */
import type {
  EditRuleDefinition,
  EditRuleOutcome,
  Failure,
  SampledAnswer,
} from "../../src/protocol/types.gen";
import type { Script } from "./core";
import { type Scene, type SceneSetup, shows } from "./scene";
import { beginning, changing } from "./stories";
import * as texts from "./texts";
import type { User } from "./user";

const RULES: EditRuleDefinition[] = [
  {
    id: "limit",
    kind: "tool_invocation",
    side: "begin",
    path: "/Argument/timeout",
    change: { kind: "set", value: "30" },
    program: "*",
    agent: null,
    name: "run_command",
    once: false,
    enabled: true,
  },
  {
    id: "names",
    kind: "llm_query",
    side: "begin",
    path: "/messages",
    change: { kind: "replace", pattern: "\\bACME\\b", replacement: "the customer" },
    program: "fix_*",
    agent: "reviewer",
    name: null,
    once: true,
    enabled: false,
  },
];

const OUTCOMES: EditRuleOutcome[] = [
  {
    run: "a",
    rows: 12,
    edits: [
      { seq: 4, before: "600", after: "30" },
      { seq: 9, before: "120", after: "30" },
    ],
    total: 2,
    error: null,
  },
];

const CODE = `# Edit rule: before tool run_command at /Argument/timeout.
# Call it before the tool is called: arguments = edit_run_command_arguments(arguments)
import copy


def edit_run_command_arguments(arguments):
    edited = copy.deepcopy(arguments)
    try:
        before = edited['timeout']
        edited['timeout'] = 30
    except (KeyError, IndexError, TypeError):
        return arguments  # nothing stands there
    return edited
`;

const sampled = (
  summary: string,
  message: Parameters<typeof texts.answer>[0],
  failure: Failure | null = null,
): SampledAnswer => ({
  data: JSON.stringify(texts.answer(message)),
  action: summary,
  summary,
  left: 15,
  usage: failure ? null : { input_tokens: 1550, output_tokens: 96, cost: 0.0042, estimated: false },
  failure,
});
const READ = {
  role: "assistant",
  content: null,
  tool_calls: [texts.call("c1", "read_file", { path: "src/cart.py" })],
};
const SAMPLES: SampledAnswer[] = [
  sampled("Calls read_file(src/cart.py)", READ),
  sampled("Calls run_tests(tests/)", {
    role: "assistant",
    content: "I run the tests first.",
    tool_calls: [texts.call("c2", "run_tests", { path: "tests/" })],
  }),
  sampled("Calls read_file(src/cart.py)", READ),
  sampled("Failed: ModelError: The model's service answered 529: overloaded", READ, {
    type: "ModelError",
    message: "The model's service answered 529: overloaded",
  }),
  sampled("Calls read_file(src/cart.py)", READ),
];

const CALL = () =>
  changing()
    .calls("run_tests", { path: "tests/", timeout: 60 })
    .returns("run_tests", "1 failed, 12 passed", { failed: 1, passed: 12 })
    .calls("run_tests", { path: "tests/", timeout: 60 });

const rules = (act?: (user: User) => Promise<void>, more: Partial<Script> = {}): SceneSetup =>
  shows(
    CALL().halted(),
    async (user) => {
      await user.press("Breakpoints");
      await user.find(
        () => document.querySelector<HTMLElement>(".as-EditRules") ?? undefined,
        "edit rules",
      );
      await act?.(user);
      await user.still();
    },
    { editRules: RULES, editRuleDryRuns: OUTCOMES, editRuleCode: CODE, ...more },
  );

/** The form asks once the person pauses. */
async function previewShown(): Promise<void> {
  while (!document.querySelector(".as-EditRule-preview"))
    await new Promise((resolve) => requestAnimationFrame(resolve));
}

export const ANSWER_SCENES: Record<string, Scene> = {
  "answer-skip": () => shows(CALL().halted(), (user) => user.press("Skip…")),
  "answer-raise": () =>
    shows(CALL().halted(), async (user) => {
      await user.press("Raise…");
      await user.type(".as-AnswerForm-type", "TimeoutError");
      await user.type(".as-AnswerForm textarea", "The tests took longer than 60 s.");
    }),
  "answer-guide": () =>
    shows(beginning().halted(), async (user) => {
      await user.press("Guide…");
      await user.type(".as-AnswerForm textarea", "Run the tests before you change a file.");
    }),
  resample: () =>
    shows(beginning().halted(), (user) => user.press("Resample…"), { samples: SAMPLES }),
  "resample-answers": () =>
    shows(
      beginning().halted(),
      async (user) => {
        await user.press("Resample…");
        await user.press("Ask 5 times");
        await user.pick(".as-Resample-groups .as-Fold");
      },
      { samples: SAMPLES },
    ),
  "resample-refused": () =>
    shows(beginning().halted(), (user) => user.press("Resample…"), {
      refuses: {
        code: "resample_refused",
        message:
          "This query can't be asked again: the debugger doesn't see the call that makes it. Wrap the " +
          "function that makes the query, or attach the agent, so that its HTTP client is seen.",
      },
    }),
  guided: () =>
    shows(
      beginning()
        .said({ guides: ["Run the tests before you change a file."] })
        .changed({ guided: true, edited: true })
        .halted(),
    ),
  skipped: () =>
    shows(
      CALL()
        .said({ supplied: '{"failed": 0, "passed": 13}' })
        .changed({ answer: "skip", summary: 'Skipped: run_tests("tests/", 60)' })
        .is({ mode: "step" }),
    ),
  raised: () =>
    shows(
      CALL()
        .said({ raised: { type: "TimeoutError", message: "The tests took longer than 60 s." } })
        .changed({
          answer: "raise",
          summary: "Raised by a person: TimeoutError: The tests took longer than 60 s.",
        }),
    ),
  "edited-by-rule": () =>
    shows(
      beginning()
        .calls(
          "run_command",
          { command: "make test", timeout: 600 },
          { edit: { Tool: "run_command", Argument: { command: "make test", timeout: 30 } } },
        )
        .said({ edit_rules: ["limit"] })
        .changed({ edit_rules: ["limit"] })
        .halted(),
      undefined,
      { editRules: RULES },
    ),
  "edit-rules": () => rules(),
  "edit-rules-none": () => rules(undefined, { editRules: [] }),
  "edit-rules-code": () => rules((user) => user.press("Python")),
  "edit-rules-past": () => rules((user) => user.pick(".as-EditRule-acts .as-Button")),
  "edit-rules-form": () =>
    rules(
      async (user) => {
        await user.press("Add rule");
        await user.type(".as-EditRuleForm-path", "/Argument/timeout");
        await user.type('.as-EditRuleForm [aria-label="Value, as JSON"]', "30");
        await previewShown();
      },
      { editRules: RULES.slice(0, 1) },
    ),
  "answer-schema": () =>
    shows(
      beginning()
        .asks("Look at the tests", { ...(texts.prompt(1) as object), tools: [SEARCH] })
        .answers("search(12)", texts.ANSWER)
        .calls("search", { text: 12, mode: "regex", limit: "many" })
        .halted(),
      async (user) => {
        await user.key("e");
        await user.find(
          () => document.querySelector<HTMLElement>(".as-SchemaProblems") ?? undefined,
          "problems",
        );
        await user.still();
      },
    ),
};

const SEARCH = {
  type: "function",
  function: {
    name: "search",
    parameters: {
      type: "object",
      properties: {
        text: { type: "string", description: "What to look for" },
        mode: { enum: ["words", "regex"], description: "How the text is read" },
        limit: { type: "integer", minimum: 1 },
        folder: { type: "string", description: "Where to look" },
        hidden: { type: "boolean" },
      },
      required: ["text"],
    },
  },
};
