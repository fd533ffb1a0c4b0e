/** An agent that waits, and its Python code: stack, source, locals, and expressions. */
import type {
  CompletionList,
  Evaluation,
  FromUi,
  SourceLocation,
  StackFrame,
  StackSnapshot,
  ToUi,
  Variable,
  VariablesPage,
} from "../../src/protocol/types.gen";
import type { InspectionScript } from "./core";
import { type Scene, shows } from "./scene";
import { Story } from "./story";
import * as texts from "./texts";
import type { User } from "./user";

const FILE = "/srv/shop/fix_tests.py";
const location = (line: number, name: string): SourceLocation => ({
  file: FILE,
  line,
  function: name,
});
const library = (file: string, line: number, name: string): StackFrame => ({
  location: { file: `/usr/lib/python3.12/${file}`, line, function: name },
  is_own: false,
});

const SOURCE = `def ask(client, messages, api_key):
    """Ask the model what to do next."""
    budget = Budget(limit=20, used=len(messages))
    if budget.used > budget.limit:
        raise RuntimeError("too many messages")
    with dbg.llm({"model": MODEL, "messages": messages}) as query:
        query.response = client.chat(query.prompt, key=api_key)
    return query.response["choices"][0]


def main():`.split("\n");

const STACK: StackSnapshot = {
  kind: "stack",
  frames: [
    { location: location(46, "ask"), is_own: true, source: { first: 41, lines: SOURCE } },
    library("functools.py", 909, "wrapper"),
    library("contextlib.py", 81, "inner"),
    {
      location: location(58, "Agent.run.<locals>.step"),
      is_own: true,
      source: {
        first: 57,
        lines: ["    while not done:", "        action = ask(client, messages, key)"],
      },
    },
    { location: location(71, "<module>"), is_own: true },
    library("runpy.py", 88, "_run_code"),
  ],
  thread: "MainThread",
  is_task: false,
  omitted: 0,
  pdb_refusal:
    "This agent runs in a process of its own, which has no notebook to ask in. Evaluate expressions here, " +
    "or run the agent in a notebook's cell.",
};

const variable = (name: string, value: string, type: string, children = 0): Variable => ({
  name,
  value,
  type,
  children,
  masked: value.startsWith("[masked"),
});
const page = (...variables: Variable[]): VariablesPage => ({
  kind: "variables",
  variables,
  start: 0,
  total: variables.length,
});
const MESSAGES = [
  variable("0", "{'role': 'system', 'content': 'You fix failing tests.'}", "dict", 2),
  variable("1", "{'role': 'user', 'content': 'Run the tests and mend what fails.'}", "dict", 2),
];

function variables({ path, result }: FromUi["get_variables"]): VariablesPage {
  if (result !== undefined) return page(...MESSAGES);
  if (path?.length === 1 && path[0] === 1) return { ...page(...MESSAGES), total: 214 };
  if (path?.length) return page(variable("limit", "20", "int"), variable("used", "2", "int"));
  return page(
    variable("client", "<shop.client.Client object at 0x7f3a>", "shop.client.Client", 3),
    variable(
      "messages",
      "[{'role': 'system', 'content': 'You fix failing tests.'}, …]",
      "list",
      214,
    ),
    variable("api_key", "[masked api_key]", "str"),
    variable("budget", "Budget(limit=20, used=2)", "fix_tests.Budget", 2),
  );
}

const EVALUATION: Evaluation = {
  kind: "evaluation",
  value: variable("messages", "[{'role': 'system', …}, {'role': 'user', …}]", "list", 2),
  result: 1,
  error: null,
  output: "",
};
const COMPLETIONS: CompletionList = {
  kind: "completions",
  start: 0,
  end: 8,
  matches: ["budget.limit", "budget.used", "budget.left"],
};

const INSPECTION: InspectionScript = {
  stack: STACK,
  variables,
  evaluate: ({ expression }) =>
    expression.startsWith("1 /")
      ? { ...EVALUATION, value: null, error: "ZeroDivisionError: division by zero" }
      : EVALUATION,
  completions: COMPLETIONS,
};

function halted(): Story {
  const story = new Story()
    .begins()
    .asks("Run the tests and mend what fails", texts.prompt(2))
    .halted();
  for (const row of story.rows.slice(1)) row.location = location(46, "ask");
  return story;
}

const opened = (user: User) => user.press("Stack");
const evaluated = async (user: User) => {
  await opened(user);
  for (const text of ["messages[:2]", "1 / 0"]) {
    await user.type(".as-Console-field", text);
    await user.press("Evaluate");
  }
};
const completing = async (user: User) => {
  await opened(user);
  await user.type(".as-Console-field", "budget.l");
  await user.key("Tab");
};
const REFUSED: ToUi["error"] = {
  code: "inspection_refused",
  message:
    "This agent doesn't show its stack: it was started with inspect=False or AGENTSTEPPER_INSPECT=0, or " +
    "its Core is on another machine. Start the agent with inspect=True or AGENTSTEPPER_INSPECT=1 to allow it.",
  run: "a",
};

export const STACK_SCENES: Record<string, Scene> = {
  stack: () => shows(halted(), opened, { inspection: INSPECTION }),
  "stack-console": () => shows(halted(), evaluated, { inspection: INSPECTION }),
  "stack-completion": () => shows(halted(), completing, { inspection: INSPECTION }),
  "stack-refused": () => shows(halted(), opened, { refuses: REFUSED }),
};
