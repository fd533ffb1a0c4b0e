/** What the Core would refuse an edit for. */
import { type Member, Problem, Value } from "./json/node";
import { type Parsed, parse } from "./json/parse";
import { markProblem } from "./marks";
import type { Shape } from "./shape";

/**
 * What is wrong with an edit's text; null where it can be sent.
 *
 * @param original What the agent sent.
 */
export function problemOf(
  shape: Shape,
  original: string,
  text: string,
  parsed: Parsed = parse(text),
): Problem | null {
  if ("problem" in parsed) return parsed.problem;
  const root = new Value(text, parsed.root);
  return (shape === "call" ? callProblem(root) : null) ?? markProblem(original, root);
}

/** A tool call must stay {"Tool": text, "Argument": any}: the Core refuses anything else. */
function callProblem(root: Value): Problem | null {
  const { start, end } = root.node;
  const whole = (words: string) => new Problem(start, Math.min(end, start + 1), words);
  if (!root.members) return whole('a tool call must stay {"Tool": …, "Argument": …}');
  const tool = root.get("Tool");
  if (!tool) return whole("“Tool” is missing: a tool call names its tool");
  if (tool.string === undefined) {
    return new Problem(
      tool.node.start,
      tool.node.end,
      "the value of “Tool” must be text, the tool's name",
    );
  }
  if (!root.get("Argument")) return whole("“Argument” is missing: a tool call has one, be it null");
  const other = membersOf(root).find(({ key }) => key !== "Tool" && key !== "Argument");
  return other
    ? new Problem(other.at.start, other.at.end, "a tool call holds only “Tool” and “Argument”")
    : null;
}

function membersOf({ node }: Value): readonly Member[] {
  return node.kind === "object" ? node.members : [];
}
