/** What a run spent its tokens and its time on, and what its models cost: a chunk of its own. */
import { useMemo } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import shares from "../styles/shares.css";
import usage from "../styles/usage.css";
import { formatCost, formatRunTokens, runTokens } from "../view/figures";
import { formatDuration } from "../view/format";
import { useLoaded } from "../view/lazy";
import { Prices } from "./prices";
import { TimeChart } from "./time_chart";
import { MAX_COLUMNS, tokenColumns } from "./token_columns";
import { TokensChart } from "./tokens_chart";
import { layOut } from "./waterfall";

/** Rows of a live run after which its figures are read again. */
const ROWS_A_FETCH = 20;

export const styles = `${shares}\n${usage}`;

export function Usage({ model }: { model: Debugger }) {
  const run = model.run.value;
  const id = run?.id ?? "";
  // A live run's prompts aren't read again for each of its rows.
  const version = `${Math.floor((run?.rows ?? 0) / ROWS_A_FETCH)} ${run?.pending.length} ${run?.ending}`;
  const enabled = model.tab.value === "overview" && id !== "";
  const state = useLoaded(model, id, () => model.profile(id), { version, enabled });
  const profile = state.kind === "ready" ? state.value : null;
  const lanes = model.lanes.value;
  const columns = useMemo(() => (profile ? tokenColumns(profile) : []), [profile]);
  const waterfall = useMemo(
    () => (profile ? layOut(profile, lanes, Date.now() / 1000) : null),
    [profile, lanes],
  );
  if (state.kind === "failed") {
    return (
      <p class="as-Note as-Bad" role="alert">
        The figures can’t be read: {state.message}{" "}
        <button type="button" class="as-Link" onClick={state.retry}>
          Read them again
        </button>
      </p>
    );
  }
  if (!profile || !waterfall) return <p class="as-Note as-Muted">Reading the run…</p>;
  if (profile.events.length === 0) {
    return <p class="as-Note as-Muted">Nothing was asked or called yet.</p>;
  }
  const models = [
    ...new Set(profile.events.flatMap(({ kind, name }) => (kind === "llm_query" && name) || [])),
  ];
  return (
    <div class="as-Usage">
      {columns.length > 0 && (
        <section aria-label="Tokens">
          <h3>
            Tokens <span class="as-Muted">{tokensNote(model, columns.length)}</span>
          </h3>
          <TokensChart model={model} columns={columns} />
        </section>
      )}
      <section aria-label="Time">
        <h3>
          Time <span class="as-Muted">{timeNote(waterfall, profile.first_row)}</span>
        </h3>
        <TimeChart model={model} waterfall={waterfall} />
      </section>
      {models.length > 0 && (
        <section aria-label="Prices">
          <h3>Prices</h3>
          <Prices model={model} models={models} />
        </section>
      )}
    </div>
  );
}

function tokensNote(model: Debugger, columns: number): string {
  const run = model.run.value;
  const cost = run && formatCost(run.usage);
  const parts = [
    run && `${formatRunTokens(runTokens(run))} in all`,
    cost,
    columns === 1 ? "1 query" : `${columns === MAX_COLUMNS ? "the last " : ""}${columns} queries`,
  ];
  return parts.filter(Boolean).join(" · ");
}

function timeNote(
  { busy, shortened, omitted }: ReturnType<typeof layOut>,
  firstRow: number,
): string {
  const parts = [
    `${formatDuration(busy)} at work`,
    shortened && "pauses are shortened",
    (omitted > 0 || firstRow > 1) && "the last events",
  ];
  return parts.filter(Boolean).join(" · ");
}
