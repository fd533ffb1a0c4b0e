/** Tokens by source, a column a query. */
import type { Debugger } from "../model/debugger";
import { formatTokenCount } from "../view/figures";
import { useRovingTabIndex } from "../view/focus";
import { escapeInvisible } from "../view/format";
import { SOURCES, type TokenColumn } from "./token_columns";

interface TokensChartProps {
  model: Debugger;
  columns: readonly TokenColumn[];
}

export function TokensChart({ model, columns }: TokensChartProps) {
  const roving = useRovingTabIndex<HTMLDivElement>();
  const largest = Math.max(...columns.map(({ total }) => total));
  const sources = SOURCES.filter(([source]) => columns.some(({ tokens }) => tokens[source] > 0));
  return (
    <>
      <div class="as-TokensChart" role="group" aria-label="Tokens of each query" {...roving}>
        <span class="as-TokensChart-max as-Muted" aria-hidden="true">
          {formatTokenCount(largest)}
        </span>
        {columns.map((column) => (
          <Column key={column.event.seq} model={model} column={column} largest={largest} />
        ))}
      </div>
      <div class="as-Legend" aria-hidden="true">
        {sources.map(([source, label]) => (
          <span key={source}>
            <i class={`as-c-${source}`} />
            {label}
          </span>
        ))}
      </div>
    </>
  );
}

interface ColumnProps {
  model: Debugger;
  column: TokenColumn;
  largest: number;
}

function Column({ model, column, largest }: ColumnProps) {
  const words = columnText(column);
  return (
    <button
      type="button"
      class="as-TokensChart-column"
      title={words}
      aria-label={words}
      onClick={() => model.reveal(column.event.seq)}
    >
      {SOURCES.toReversed().map(([source]) => (
        <i
          key={source}
          class={`as-c-${source}`}
          style={{ height: `${(100 * column.tokens[source]) / largest}%` }}
        />
      ))}
    </button>
  );
}

/** "Row 12, gpt-5: 1.2k tokens: 400 system, 800 history": what a column says in words. */
export function columnText({ event, tokens, total, estimated }: TokenColumn): string {
  const name = event.name ? `, ${escapeInvisible(event.name)}` : "";
  const parts = SOURCES.filter(([source]) => tokens[source] > 0).map(
    ([source, label]) => `${formatTokenCount(Math.round(tokens[source]))} ${label}`,
  );
  const count = `${estimated ? "≈" : ""}${formatTokenCount(total)} tokens`;
  return `Row ${event.seq}${name}: ${count}: ${parts.join(", ")}`;
}
