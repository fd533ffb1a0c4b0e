/** Tokens and costs as they are said. Pure; exact where they are known, marked ≈ where estimated. */
import type { Run } from "../protocol/types.gen";

export type Usage = NonNullable<Run["usage"]>;

const COMPACT = new Intl.NumberFormat("en-US", {
  notation: "compact",
  maximumFractionDigits: 1,
});

/** A number of tokens: "812", "9.8k", "148k", "1.2M"; a dash where none were told. */
export function formatTokenCount(tokens: number | null): string {
  return tokens === null ? "–" : COMPACT.format(tokens).replace("K", "k");
}

/** Tokens of both ways together; null where none were told. */
export function totalTokens(usage: Usage | null): number | null {
  if (!usage) return null;
  const { input_tokens: input, output_tokens: output } = usage;
  return input === null && output === null ? null : (input ?? 0) + (output ?? 0);
}

/** Bytes that a token stands for, where nobody told how many there were. */
const BYTES_A_TOKEN = 4;

export const NOT_REPORTED = `Estimated by length, ${BYTES_A_TOKEN} bytes a token: the agent reported no figures`;

/** About how many tokens a text of this size is. */
export function estimateTokens(bytes: number): number {
  return Math.ceil(bytes / BYTES_A_TOKEN);
}

const CENTS = new Intl.NumberFormat("en-US", {
  style: "currency",
  currency: "USD",
});

/** All tokens of a run, exact or by length. */
export interface TokenTotal {
  readonly count: number;
  readonly estimated: boolean;
}

/** The tokens of a run: as its agent told them, else by the length of its queries; null: it asked nothing. */
export function runTokens({ usage, query_bytes }: Run): TokenTotal | null {
  const told = totalTokens(usage);
  if (told !== null) return { count: told, estimated: false };
  return query_bytes > 0 ? { count: estimateTokens(query_bytes), estimated: true } : null;
}

/** "9.8k", "≈9.8k" where they are estimated; a dash where there are none. */
export function formatRunTokens(tokens: TokenTotal | null): string {
  return `${tokens?.estimated ? "≈" : ""}${formatTokenCount(tokens?.count ?? null)}`;
}

/** What is said of a run's tokens and costs where its figure is pointed at. */
export function tokensTitle(run: Run): string {
  return runTokens(run)?.estimated ? NOT_REPORTED : usageText(run.usage);
}

/** US dollars: "$1.24", "$0.018", "$0.00042", "$0". */
export function formatDollars(cost: number): string {
  if (cost === 0) return "$0";
  if (cost >= 0.995) return CENTS.format(cost);
  if (cost < 1e-6) return "<$0.000001";
  // Two digits that say something.
  return `$${cost.toFixed(1 - Math.floor(Math.log10(cost)))}`;
}

/** A cost, "≈$0.018" where it is estimated; null where it isn't known. */
export function formatCost(usage: Usage | null): string | null {
  if (!usage || usage.cost === null) return null;
  return `${usage.estimated ? "≈" : ""}${formatDollars(usage.cost)}`;
}

const WHOLE = new Intl.NumberFormat("en-US");

/** "6,912 in, 2,900 out; ≈$0.018, estimated by the prices that were set". */
export function usageText(usage: Usage | null): string {
  if (!usage) return "The agent reported no tokens";
  const told = (tokens: number | null) => (tokens === null ? "unknown" : WHOLE.format(tokens));
  const tokens = `${told(usage.input_tokens)} in, ${told(usage.output_tokens)} out`;
  const cost = formatCost(usage);
  if (cost === null) return tokens;
  return `${tokens}; ${cost}${usage.estimated ? ", estimated by the prices that were set" : ""}`;
}
