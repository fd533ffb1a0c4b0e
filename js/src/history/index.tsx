/** All runs: listed, searched, named, tagged, compared, taken in and out. */

import { useEffect, useRef } from "preact/hooks";
import type { Debugger } from "../model/debugger";
import { historyOf, type Order } from "../model/history";
import type { Run } from "../model/model";
import type { StoreInfo } from "../protocol/types.gen";
import history from "../styles/history.css";
import list from "../styles/list.css";
import { Button } from "../view/button";
import { formatRunTokens, runTokens } from "../view/figures";
import { escapeInvisible, formatCount, formatSize } from "../view/format";
import { Empty, NoticeBar } from "../view/notices";
import { useNarrow } from "../view/split";
import { Bar, Import } from "./bar";
import { Results } from "./results";
import { matchesFilter, sortRuns } from "./sorting";
import { Table } from "./table";

export const styles = list + history;

export function Runs({ model }: { model: Debugger }) {
  const pane = useRef<HTMLElement>(null);
  const narrow = useNarrow(pane);
  const lines = useLines(model);
  useStoreInfo(model);
  return (
    <section ref={pane} class="as-Pane as-Runs" aria-label="All runs">
      {model.runs.value.length > 0 ? (
        <>
          <Bar model={model} narrow={narrow} />
          <Body model={model} lines={lines} narrow={narrow} />
        </>
      ) : (
        <NoRuns model={model} />
      )}
      <RunListFooter model={model} lines={lines} />
    </section>
  );
}

interface BodyProps {
  model: Debugger;
  lines: ReturnType<typeof useLines>;
  narrow: boolean;
}

/** The list stays in the document behind what was found, so that it is found again as it was left. */
function Body({ model, lines, narrow }: BodyProps) {
  const finding = historyOf(model).searchState.value;
  const none = lines.length === 0;
  return (
    <>
      <Table model={model} lines={lines} narrow={narrow} hidden={finding !== null || none} />
      {finding && <Results model={model} searchState={finding} />}
      {!finding && none && <NoMatchingRuns model={model} />}
    </>
  );
}

/** How much room the runs take is asked for each time somebody comes to look. */
function useStoreInfo(model: Debugger): void {
  const isVisible = model.tab.value === "runs" && model.connection.value.kind === "open";
  useEffect(() => {
    if (isVisible) void historyOf(model).requestStoreInfo();
  }, [isVisible]);
}

// ---- What the Runs tab says where there is nothing to list.

/** No run at all. */
function NoRuns({ model }: { model: Debugger }) {
  return (
    <Empty title="No run is stored yet" actions={<Import model={model} outline />}>
      <p>
        Every run of an agent is listed here: to be found again, compared, named and exported. Step
        an agent, or import a run that was exported elsewhere.
      </p>
    </Empty>
  );
}

/** There are runs, but the filter leaves none. */
export function NoMatchingRuns({ model }: { model: Debugger }) {
  const all = (
    <Button
      outline
      hint="Show all runs"
      onClick={() => historyOf(model).setFilter({ text: "", outcome: "", tag: "" })}
    >
      Show all runs
    </Button>
  );
  return (
    <Empty title="No run matches the filter" actions={all}>
      <p>The filter looks at names, programs and tags. The search also finds prompts and files.</p>
    </Empty>
  );
}

// ---- The runs of the list, in an order that stands still while somebody looks.

interface SortedRuns {
  runs: readonly Run[];
  order: Order;
  /** The runs' ids, sorted. */
  ids: readonly string[];
  shown: boolean;
}

/**
 * The runs to show. They are sorted anew when runs come or go, when the person asks for another order
 * or comes back to the list; a run whose figures grow keeps its place. A list that is hidden rests.
 */
export function useLines(model: Debugger): readonly Run[] {
  const kept = useRef<SortedRuns | null>(null);
  const lines = useRef<readonly Run[]>([]);
  const shown = model.tab.value === "runs";
  if (!shown) {
    if (kept.current) kept.current.shown = false;
    return lines.current;
  }
  const runs = model.runs.value;
  const order = historyOf(model).order.value;
  const before = kept.current;
  const same = before?.shown && before.order === order && sameIds(before.runs, runs);
  const ids = same ? before.ids : sortRuns(runs, order, Date.now() / 1000).map(({ id }) => id);
  kept.current = { runs, order, ids, shown };
  const byId = new Map(runs.map((run) => [run.id, run]));
  const filter = historyOf(model).filter.value;
  lines.current = ids.flatMap((id) => {
    const run = byId.get(id);
    return run && matchesFilter(run, filter) ? [run] : [];
  });
  return lines.current;
}

function sameIds(before: readonly Run[], now: readonly Run[]): boolean {
  return before.length === now.length && before.every(({ id }, at) => id === now[at]?.id);
}

// ---- Below the list: what is told of files, how many runs there are, and how they are kept.

interface FootProps {
  model: Debugger;
  lines: readonly Run[];
}

export function RunListFooter({ model, lines }: FootProps) {
  const store = model.store.value;
  return (
    <>
      <FileNoticeBar model={model} />
      <div class="as-RunsFoot">
        <span>{totals(lines, model.runs.value.length)}</span>
        <LoadingRuns n={model.moreRuns.value} />
        <span class="as-Spring" />
        {store && <StoreLocation store={store} />}
      </div>
    </>
  );
}

function FileNoticeBar({ model }: { model: Debugger }) {
  const history = historyOf(model);
  const notice = history.fileNotice.value;
  if (!notice) return null;
  const dismiss = () => {
    history.fileNotice.value = null;
  };
  return (
    <NoticeBar
      class={`as-RunsNews as-mod-${notice.tone}`}
      role={notice.tone === "bad" ? "alert" : "status"}
      onDismiss={notice.tone === "busy" ? undefined : dismiss}
    >
      <span>{escapeInvisible(notice.text)}</span>
    </NoticeBar>
  );
}

/** How many older runs are still being asked for. */
function LoadingRuns({ n }: { n: number }) {
  return n === 0 ? null : <span role="status">{`Loading ${formatCount(n, "older run")}…`}</span>;
}

/** "3 of 120 runs, 1.2M tokens". */
function totals(lines: readonly Run[], all: number): string {
  const runs =
    lines.length === all
      ? formatCount(all, "run")
      : `${lines.length} of ${formatCount(all, "run")}`;
  const tokens = lines.map(runTokens).filter((each) => each !== null);
  if (tokens.length === 0) return runs;
  const n = tokens.reduce((sum, each) => sum + each.count, 0);
  const estimated = tokens.some((each) => each.estimated);
  return `${runs}, ${formatRunTokens({ count: n, estimated })} tokens`;
}

const DURABILITY: Record<NonNullable<StoreInfo["durability"]>, { word: string; hint: string }> = {
  relaxed: {
    word: "relaxed",
    hint: "A power cut or a killed server may lose the last moments",
  },
  durable: {
    word: "durable",
    hint: "A killed server loses nothing; halts and edits survive a power cut too",
  },
  sync: { word: "synced", hint: "Everything survives a power cut" },
};

function StoreLocation({ store }: { store: StoreInfo }) {
  const { kind, folder, size: bytes, durability } = store;
  if (kind === "memory") {
    return (
      <span title="Export a run to keep it">
        Stored in memory only: gone with this server or kernel
      </span>
    );
  }
  const { word, hint } = durability ? DURABILITY[durability] : { word: null, hint: "" };
  const rest = [bytes !== null && formatSize(bytes), word].filter(Boolean).join(", ");
  return (
    <span class="as-RunsFoot-kept" title={[folder, hint].filter(Boolean).join("\n")}>
      Stored in{" "}
      <span class="as-Ellipsis as-PathStart">
        <bdi>{folder ? escapeInvisible(folder) : "a store"}</bdi>
      </span>
      {rest && `, ${rest}`}
    </span>
  );
}
