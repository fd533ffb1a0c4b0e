/** Below the list: what is told of files, how many runs there are, and how they are kept. */

import type { Debugger } from "../model/debugger";
import { historyOf } from "../model/history";
import type { Run } from "../model/model";
import type { StoreInfo } from "../protocol/types.gen";
import { Button } from "../view/button";
import { cx } from "../view/classes";
import { tokensFigure, tokensOf } from "../view/figures";
import { visible } from "../view/visible";
import { count, size } from "../view/words";

interface FootProps {
  model: Debugger;
  lines: readonly Run[];
}

export function Foot({ model, lines }: FootProps) {
  const store = model.store.value;
  return (
    <>
      <News model={model} />
      <div class="as-RunsFoot">
        <span>{totals(lines, model.runs.value.length)}</span>
        <Coming n={model.moreRuns.value} />
        <span class="as-Spring" />
        {store && <Kept store={store} />}
      </div>
    </>
  );
}

function News({ model }: { model: Debugger }) {
  const history = historyOf(model);
  const news = history.news.value;
  if (!news) return null;
  const dismiss = () => {
    history.news.value = null;
  };
  return (
    <p
      class={cx("as-RunsNews", `as-mod-${news.tone}`)}
      role={news.tone === "bad" ? "alert" : "status"}
    >
      <span>{visible(news.text)}</span>
      {news.tone !== "busy" && <Button icon="close" hint="Dismiss" onClick={dismiss} />}
    </p>
  );
}

/** How many older runs are still being asked for. */
function Coming({ n }: { n: number }) {
  return n === 0 ? null : <span role="status">{`${count(n, "older run")} on the way…`}</span>;
}

/** "3 of 120 runs, 1.2M tokens". */
function totals(lines: readonly Run[], all: number): string {
  const runs = lines.length === all ? count(all, "run") : `${lines.length} of ${count(all, "run")}`;
  const tokens = lines.map(tokensOf).filter((each) => each !== null);
  if (tokens.length === 0) return runs;
  const n = tokens.reduce((sum, each) => sum + each.n, 0);
  const estimated = tokens.some((each) => each.estimated);
  return `${runs}, ${tokensFigure({ n, estimated })} tokens`;
}

const DURABILITY: Record<NonNullable<StoreInfo["durability"]>, { word: string; hint: string }> = {
  relaxed: {
    word: "relaxed",
    hint: "What a power cut or a killed server may cost: the last moments",
  },
  durable: {
    word: "durable",
    hint: "A killed server loses nothing; halts and edits outlive a power cut too",
  },
  sync: { word: "synced", hint: "Everything outlives a power cut" },
};

function Kept({ store }: { store: StoreInfo }) {
  const { kind, folder, size: bytes, durability } = store;
  if (kind === "memory") {
    return (
      <span title="Export a run to keep it">
        Kept in memory only: gone with this server or kernel
      </span>
    );
  }
  const { word, hint } = durability ? DURABILITY[durability] : { word: null, hint: "" };
  const rest = [bytes !== null && size(bytes), word].filter(Boolean).join(", ");
  return (
    <span class="as-RunsFoot-kept" title={[folder, hint].filter(Boolean).join("\n")}>
      Kept in{" "}
      <span class="as-Ellipsis as-PathStart">
        <bdi>{folder ? visible(folder) : "a store"}</bdi>
      </span>
      {rest && `, ${rest}`}
    </span>
  );
}
