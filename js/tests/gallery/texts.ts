/** What is said and written in the scenes. */

export const CART_BEFORE = `from decimal import Decimal


def total(items, discount=Decimal("0")):
    """The sum of all items, after the discount."""
    result = Decimal("0")
    for item in items:
        price = round(item.price * (1 - discount), 2)
        result += price * item.count
    return result
`;

export const CART_AFTER = `from decimal import ROUND_HALF_UP, Decimal


def total(items, discount=Decimal("0")):
    """The sum of all items, after the discount; rounded once, at the end."""
    result = sum(item.price * item.count for item in items)
    return (result * (1 - discount)).quantize(Decimal("0.01"), ROUND_HALF_UP)
`;

export const TEST = `from cart import total


def test_rounds_once(items):
    assert total(items) == total(items)
`;

export const TEST_RUN = `============================= test session starts ==============================
collected 12 items

tests/test_cart.py ...........F                                           [100%]

=================================== FAILURES ===================================
>       assert total(items, Decimal("0.15")) == Decimal("33.98")
E       AssertionError: assert Decimal('33.99') == Decimal('33.98')
========================= 1 failed, 11 passed in 2.31s =========================
`;

interface Said {
  role: string;
  content: string | null;
  [more: string]: unknown;
}

export const call = (id: string, name: string, args: unknown) => ({
  id,
  type: "function",
  function: { name, arguments: JSON.stringify(args) },
});

const CONVERSATION: Said[] = [
  {
    role: "system",
    content:
      "You fix failing tests. Read before you write, change as little as you can, and run the tests when you are done.",
  },
  { role: "user", content: "tests/test_cart.py fails since yesterday. Please fix it." },
  {
    role: "assistant",
    content: "I will run the tests first.",
    tool_calls: [call("c1", "run_tests", { path: "tests/" })],
  },
  { role: "tool", tool_call_id: "c1", content: TEST_RUN },
  {
    role: "assistant",
    content: null,
    tool_calls: [call("c2", "read_file", { path: "src/cart.py" })],
  },
  { role: "tool", tool_call_id: "c2", content: CART_BEFORE },
];

/** A prompt with the first so many messages. */
export function prompt(messages: number): unknown {
  return {
    model: "gpt-5-mini",
    temperature: 0.2,
    messages: CONVERSATION.slice(0, messages),
    tools: ["run_tests", "read_file", "write_file"].map((name) => ({
      type: "function",
      function: { name, description: `The tool ${name}.`, parameters: { type: "object" } },
    })),
  };
}

export function answer(message: Said): unknown {
  return {
    model: "gpt-5-mini",
    choices: [{ index: 0, finish_reason: "tool_calls", message }],
    usage: { prompt_tokens: 1240, completion_tokens: 96 },
  };
}

export function answerCalling(name: string, args: unknown): unknown {
  return answer({ role: "assistant", content: null, tool_calls: [call("c9", name, args)] });
}

const SAID =
  "The discount is rounded for each item, so that cents add up. I round once, at the end.";

export const ANSWER = answer({
  role: "assistant",
  content: SAID,
  tool_calls: [call("c3", "write_file", { path: "src/cart.py", text: CART_AFTER })],
});

export const ANSWER_EDITED = answer({
  role: "assistant",
  content: SAID.replace("once, at the end", "once, half up"),
  tool_calls: [call("c3", "write_file", { path: "src/cart.py", text: CART_AFTER })],
});

export const TRACEBACK = `  File "shop/agent.py", line 41, in run_tests
    report.write_text(done.stdout)
  File "/usr/lib/python3.12/pathlib.py", line 1047, in write_text
    with self.open(mode="w", encoding=encoding) as f:`;
