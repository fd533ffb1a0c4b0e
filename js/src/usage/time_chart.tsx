/** When a run's events ran: a waterfall, with what runs in parallel below each other. */
import type { Debugger } from "../model/debugger";
import type { EventKind, ProfiledEvent } from "../protocol/types.gen";
import { useRovingTabIndex } from "../view/focus";
import { escapeInvisible, formatDuration } from "../view/format";
import { cx } from "../view/hooks";
import type { Bar, Waterfall, WaterfallLane } from "./waterfall";

interface TimeChartProps {
  model: Debugger;
  waterfall: Waterfall;
}

export function TimeChart({ model, waterfall }: TimeChartProps) {
  const roving = useRovingTabIndex<HTMLDivElement>();
  return (
    <div class="as-TimeChart" role="group" aria-label="When each event ran" {...roving}>
      {waterfall.lanes.map((lane) => (
        <Lane key={lane.title} model={model} lane={lane} named={waterfall.lanes.length > 1} />
      ))}
    </div>
  );
}

function Lane({ model, lane, named }: { model: Debugger; lane: WaterfallLane; named: boolean }) {
  const title = escapeInvisible(lane.title) || "main";
  return (
    <div class="as-TimeLane">
      {named && (
        <span class="as-TimeLane-name as-Ellipsis as-Muted" title={title}>
          {title}
        </span>
      )}
      <div class="as-TimeLane-lines">
        {lane.lines.map((line, at) => (
          // Lines have no identity of their own: bars move among them as events end.
          <div key={at} class="as-TimeLine">
            {line.map((bar) => (
              <TimeBar key={bar.event.seq} model={model} bar={bar} />
            ))}
          </div>
        ))}
      </div>
    </div>
  );
}

const ACTORS: Partial<Record<EventKind, string>> = {
  llm_query: "llm",
  tool_invocation: "tools",
};

const NOUNS: Partial<Record<EventKind, string>> = {
  llm_query: "LLM query",
  tool_invocation: "tool",
};

function TimeBar({ model, bar }: { model: Debugger; bar: Bar }) {
  const { event, left, width } = bar;
  const words = barText(event);
  return (
    <button
      type="button"
      class={cx(
        "as-TimeBar",
        `as-mod-${ACTORS[event.kind] ?? "agent"}`,
        event.outcome === "error" && "as-mod-bad",
        event.duration_s === null && "as-mod-open",
      )}
      style={{ left: `${100 * left}%`, width: `${100 * width}%` }}
      title={words}
      aria-label={words}
      onClick={() => model.reveal(event.seq)}
    />
  );
}

/** "Row 12, tool run_tests: 1.2 s, failed": what a bar says in words. */
export function barText({ seq, kind, name, duration_s, outcome }: ProfiledEvent): string {
  const noun = NOUNS[kind] ?? "event";
  const what = [noun, name && escapeInvisible(name)].filter(Boolean).join(" ");
  const time = duration_s === null ? "under way" : formatDuration(duration_s);
  return `Row ${seq}, ${what}: ${time}${outcome === "error" ? ", failed" : ""}`;
}
