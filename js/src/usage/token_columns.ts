/** The tokens of each query by where they come from, for a chart. Pure. */
import type { ProfiledEvent, RunProfile } from "../protocol/types.gen";
import { estimateTokens } from "../view/figures";

/** So many columns are drawn: the last ones. */
export const MAX_COLUMNS = 200;

export type Source = "system" | "tools" | "history" | "new" | "output";

export const SOURCES: readonly (readonly [Source, string])[] = [
  ["system", "system"],
  ["tools", "tool schemas"],
  ["history", "history"],
  ["new", "new"],
  ["output", "answer"],
];

export interface TokenColumn {
  readonly event: ProfiledEvent;
  /** Tokens of each source. */
  readonly tokens: Readonly<Record<Source, number>>;
  readonly total: number;
  /** Whether the prompt's tokens are estimated by its length. */
  readonly estimated: boolean;
}

/** The columns of a run's queries, the last ones; those without any tokens are left out. */
export function tokenColumns({ events }: RunProfile): TokenColumn[] {
  return events
    .filter(({ kind }) => kind === "llm_query")
    .map(columnOf)
    .filter(({ total }) => total > 0)
    .slice(-MAX_COLUMNS);
}

function columnOf(event: ProfiledEvent): TokenColumn {
  const { prompt, usage } = event;
  const bytes = prompt ?? { system: 0, tools: 0, history: 0, new: 0 };
  const whole = bytes.system + bytes.tools + bytes.history + bytes.new;
  const told = usage?.input_tokens ?? null;
  const input = told ?? estimateTokens(whole);
  // A prompt of another form is told by its tokens alone.
  const part = (size: number) => (whole === 0 ? 0 : (input * size) / whole);
  const tokens = {
    system: part(bytes.system),
    tools: part(bytes.tools),
    history: part(bytes.history),
    new: whole === 0 ? input : part(bytes.new),
    output: usage?.output_tokens ?? 0,
  };
  return { event, tokens, total: input + tokens.output, estimated: told === null };
}
