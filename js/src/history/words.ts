/** Figures of runs as the list says them. Pure. */

const COMPACT = new Intl.NumberFormat("en-US", {
  notation: "compact",
  maximumFractionDigits: 1,
});

/** A number of tokens: "812", "9.8k", "148k", "1.2M"; a dash where none were told. */
export function tokenFigure(tokens: number | null): string {
  return tokens === null ? "–" : COMPACT.format(tokens).replace("K", "k");
}

const WHOLE = new Intl.NumberFormat("en-US");

/** "6,912 in, 2,900 out". */
export function usageWords(
  usage: { input_tokens: number | null; output_tokens: number | null } | null,
): string {
  if (!usage) return "The agent told no tokens";
  const told = (tokens: number | null) => (tokens === null ? "unknown" : WHOLE.format(tokens));
  return `${told(usage.input_tokens)} in, ${told(usage.output_tokens)} out`;
}
