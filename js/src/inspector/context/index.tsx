/** What a prompt is made of: system, tools' schemas, what was said before, what is new. */
import styles from "../../styles/context.css";
import { estimateTokens, formatTokenCount, NOT_REPORTED } from "../../view/figures";
import type { PreviousPrompts } from "../components/content";
import { textBytes } from "../fold";
import type { ParsedContent } from "../parsed/parts";

export { styles };

type Prompt = Extract<ParsedContent, { kind: "prompt" }>;

export interface ContextProps {
  prompt: Prompt;
  known: PreviousPrompts | undefined;
  /** Of the whole prompt, where its answer has told them. */
  tokens: number | null;
}

interface Share {
  readonly kind: "system" | "tools" | "history" | "new";
  readonly label: string;
  readonly percent: number;
}

export function Context({ prompt, known, tokens }: ContextProps) {
  const sizes = sizesOf(prompt, known);
  const shares = contextShares(sizes);
  if (shares.length === 0) return null;
  const bytes = Object.values(sizes).reduce((sum, one) => sum + one, 0);
  const words = shares.map(({ label, percent }) => `${label} ${percent}%`);
  return (
    <div class="as-Foot as-Context">
      <div class="as-Context-head">
        <span title={tokens === null ? NOT_REPORTED : "As the model's provider counted them"}>
          Context{" "}
          <b>
            {tokens === null
              ? `≈${formatTokenCount(estimateTokens(bytes))}`
              : formatTokenCount(tokens)}
          </b>{" "}
          <span class="as-Muted">tokens</span>
        </span>
        <span class="as-Muted">by length</span>
      </div>
      <div class="as-Context-bar" role="img" aria-label={words.join(", ")}>
        {shares.map(({ kind, percent }) => (
          <i key={kind} class={`as-c-${kind}`} style={{ width: `${percent}%` }} />
        ))}
      </div>
      <div class="as-Legend" aria-hidden="true">
        {shares.map(({ kind }, at) => (
          <span key={kind}>
            <i class={`as-c-${kind}`} />
            {words[at]}
          </span>
        ))}
      </div>
    </div>
  );
}

type Sizes = Record<Share["kind"], number>;

const SYSTEM = new Set(["system", "developer"]);

/** Bytes of each kind. Without an earlier prompt, nothing is told from what is new. */
export function sizesOf({ messages, tools }: Prompt, known: PreviousPrompts | undefined): Sizes {
  const fresh = new Set(
    known?.groups.flatMap((group) => (group.change === "same" ? [] : group.messages)),
  );
  const sizes: Sizes = { system: 0, tools: 0, history: 0, new: 0 };
  for (const tool of tools) sizes.tools += textBytes(tool.value.literal);
  for (const message of messages) {
    const kind = SYSTEM.has(message.role) ? "system" : fresh.has(message) ? "new" : "history";
    sizes[kind] += textBytes(message.json);
  }
  return sizes;
}

const LABELS: readonly [Share["kind"], string][] = [
  ["system", "system"],
  ["tools", "tool schemas"],
  ["history", "history"],
  ["new", "new"],
];

/** Whole percents that are a hundred together: the largest remainders are rounded up. */
export function contextShares(sizes: Sizes): Share[] {
  const whole = Object.values(sizes).reduce((sum, one) => sum + one, 0);
  const exact = LABELS.filter(([kind]) => sizes[kind] > 0).map(([kind, label]) => ({
    kind,
    label,
    exact: (100 * sizes[kind]) / whole,
  }));
  const missing = 100 - exact.reduce((sum, one) => sum + Math.floor(one.exact), 0);
  const up = new Set(
    exact.toSorted((a, b) => (b.exact % 1) - (a.exact % 1)).slice(0, exact.length && missing),
  );
  return exact.map((one) => ({
    kind: one.kind,
    label: one.label,
    percent: Math.floor(one.exact) + (up.has(one) ? 1 : 0),
  }));
}
