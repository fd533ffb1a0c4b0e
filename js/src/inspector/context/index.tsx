/** What a prompt is made of: system, tools' schemas, what was said before, what is new. */
import context from "../../styles/context.css";
import shares from "../../styles/shares.css";
import { estimateTokens, formatTokenCount, NOT_REPORTED } from "../../view/figures";
import type { PreviousPrompts } from "../components/content";
import { textBytes } from "../fold";
import type { ParsedContent } from "../parsed/parts";

export const styles = `${shares}\n${context}`;

type Prompt = Extract<ParsedContent, { kind: "prompt" }>;

export interface ContextProps {
  prompt: Prompt;
  known: PreviousPrompts | undefined;
  /** Of the whole prompt, where its answer has told them. */
  tokens: number | null;
  /** Tokens that the model's prompt and answer may have together, where a person said so. */
  window: number | null;
}

interface Share {
  readonly kind: "system" | "tools" | "history" | "new";
  readonly label: string;
  readonly percent: number;
}

export function Context({ prompt, known, tokens, window }: ContextProps) {
  const sizes = sizesOf(prompt, known);
  const shares = contextShares(sizes);
  if (shares.length === 0) return null;
  const bytes = Object.values(sizes).reduce((sum, one) => sum + one, 0);
  const words = shares.map(({ label, percent }) => `${label} ${percent}%`);
  const count = tokens ?? estimateTokens(bytes);
  const fit = window === null ? null : fitOf(count, window);
  // Shares are of the prompt: with a window the bar is the window's, of which the prompt fills a part.
  const filled = fit ? Math.min(1, fit.used) : 1;
  return (
    <div class="as-Foot as-Context">
      <div class="as-Context-head">
        <span title={tokens === null ? NOT_REPORTED : "As the model's provider counted them"}>
          Context{" "}
          <b>
            {tokens === null ? "≈" : ""}
            {formatTokenCount(count)}
          </b>{" "}
          <span class="as-Muted">
            {window === null ? "tokens" : `of ${formatTokenCount(window)} tokens`}
          </span>
        </span>
        <span class={fit?.isOver ? "as-Bad" : "as-Muted"} title={fit?.title}>
          {fit?.text ?? "by length"}
        </span>
      </div>
      <div
        class="as-Context-bar"
        role="img"
        aria-label={[...words, fit && `${fit.text} of the model’s window`]
          .filter(Boolean)
          .join(", ")}
      >
        {shares.map(({ kind, percent }) => (
          <i key={kind} class={`as-c-${kind}`} style={{ width: `${percent * filled}%` }} />
        ))}
        {filled < 1 && <i class="as-mod-free" />}
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

/** How a prompt fits into its model's window. */
interface Fit {
  /** A part of the window, above 1 where the prompt is too long. */
  readonly used: number;
  readonly isOver: boolean;
  /** "62% used", "2.1k too long". */
  readonly text: string;
  readonly title: string;
}

/**
 * How a prompt fits.
 *
 * @param tokens Of the prompt.
 * @param window Tokens that the prompt and the answer may have together.
 */
export function fitOf(tokens: number, window: number): Fit {
  const used = tokens / window;
  const over = tokens - window;
  if (over <= 0) {
    const left = `${formatTokenCount(-over)} tokens are left for the answer and later messages`;
    return { used, isOver: false, text: `${Math.floor(100 * used)}% used`, title: left };
  }
  const much = formatTokenCount(over);
  return {
    used,
    isOver: true,
    text: `${much} too long`,
    title: `${much} tokens don’t fit: the provider refuses the query or cuts its oldest messages`,
  };
}

type Sizes = Record<Share["kind"], number>;

const SYSTEM = new Set(["system", "developer"]);

/** Bytes of each kind. Without an earlier prompt, all that isn't the system's is new. */
export function sizesOf({ messages, tools }: Prompt, known: PreviousPrompts | undefined): Sizes {
  const earlier = new Set(
    known?.groups.flatMap((group) => (group.change === "same" ? group.messages : [])),
  );
  const sizes: Sizes = { system: 0, tools: 0, history: 0, new: 0 };
  for (const tool of tools) sizes.tools += textBytes(tool.value.literal);
  for (const message of messages) {
    const kind = SYSTEM.has(message.role) ? "system" : earlier.has(message) ? "history" : "new";
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
