/** The selected pair's contents: their difference, or what there is of them. */
import type { RefObject } from "preact";
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from "preact/hooks";
import { type Sides, useSides } from "../diff/table";
import { type DiffLabels, TextsDiff } from "../diff/texts_diff";
import { ContentView } from "../inspector/components/content";
import { Failure, LongText } from "../inspector/components/long_text";
import { INITIAL_LIMIT_ALONE } from "../inspector/fold";
import { documentOf, parseContent } from "../inspector/parsed/content";
import { shapeOf, Title } from "../inspector/title";
import type { Comparison, MessageBody, Model, RunOpened, TimelineRow } from "../model/model";
import { formatDuration, formatSize } from "../view/format";
import { type LoadState, useLoaded } from "../view/lazy";
import { NotFetched } from "../view/notices";
import { compare, idOf, type Pair, textOf } from "./align";

interface PairPaneProps {
  model: Model;
  ids: Comparison;
  pair: Pair;
  /** Told what the contents say, once they are here. */
  onDifference(id: string, difference: "same" | "changed"): void;
}

export function PairPane({ model, ids, pair, onDifference }: PairPaneProps) {
  const bodies = useBodies(model, ids, pair);
  const row = pair.left ?? pair.right;
  useEffect(() => {
    if (bodies.kind !== "ready" || !pair.left || !pair.right) return;
    const { left, right } = bodies.value;
    if (left && right) onDifference(idOf(pair), compare([pair.left, pair.right], [left, right]));
  }, [bodies]);
  return (
    <>
      <div class="as-PaneBar">
        <Title row={row} />
        <span class="as-Spring" />
        <Places model={model} ids={ids} pair={pair} />
      </div>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keys */}
      <div class="as-Scroll" role="region" tabIndex={0} aria-label="Contents">
        {bodies.kind === "ready" && <Bodies bodies={bodies.value} />}
        {bodies.kind === "loading" && <p class="as-Note as-Late">Fetching the contents…</p>}
        {bodies.kind === "failed" && (
          <NotFetched
            title="The contents could not be fetched"
            why={bodies.message}
            hint="Ask for the contents again"
            onRetry={bodies.retry}
          />
        )}
      </div>
    </>
  );
}

/** Ways to the rows themselves, each in its run's timeline. */
function Places({ model, ids, pair }: Pick<PairPaneProps, "model" | "ids" | "pair">) {
  const go = async (run: string, row: TimelineRow) => {
    await model.openRun(run);
    // The strip says why the run isn't shown: it was deleted, or the link is away.
    if (model.run.peek()?.id === run) model.reveal(row.id);
  };
  const place = (run: string, row: TimelineRow, side: string) => (
    <button
      type="button"
      class="as-Link as-Small as-MadeBy"
      title={`Go to event ${row.seq} of the run on the ${side}`}
      onClick={() => void go(run, row)}
    >
      {`event ${row.seq}`}
    </button>
  );
  return (
    <>
      {pair.left && place(ids.left, pair.left, "left")}
      {pair.left && pair.right && <span class="as-Muted">|</span>}
      {pair.right && place(ids.right, pair.right, "right")}
    </>
  );
}

function Bodies({ bodies: { pair, left, right } }: { bodies: BodyPair }) {
  if (pair.left && pair.right && left && right) {
    const rows = [pair.left, pair.right] as const;
    if (textOf(left) !== textOf(right)) return <Differing rows={rows} bodies={[left, right]} />;
    return (
      <>
        <p class="as-Note">
          {compare(rows, [left, right]) === "same"
            ? "The same on both sides."
            : "The contents are the same; how it ended differs."}
        </p>
        <Ends rows={rows} />
        <Alone row={pair.left} body={left} />
      </>
    );
  }
  const row = pair.left ?? pair.right;
  const body = left ?? right;
  return (
    <>
      <p class="as-Note">{`Only the run on the ${pair.left ? "left" : "right"} has this.`}</p>
      {row?.failure && <Failure failure={row.failure} />}
      {row && body && <Alone row={row} body={body} />}
    </>
  );
}

const WORDS: DiffLabels = {
  label: "Left and right",
  added: " only on the right",
  removed: " only on the left",
  same: "Both say the same; only the spelling of the JSON differs.",
};

interface BothProps {
  rows: readonly [TimelineRow, TimelineRow];
  bodies: readonly [MessageBody, MessageBody];
}

function Differing({ rows, bodies }: BothProps) {
  const pane = useRef<HTMLDivElement>(null);
  const sides = useSides(pane);
  useChangeInSight(pane, sides);
  return (
    <div ref={pane}>
      <PairHeadings rows={rows} bodies={bodies} sides={sides} />
      <Ends rows={rows} />
      <TextsDiff
        shape={shapeOf(rows[0])}
        before={textOf(bodies[0])}
        after={textOf(bodies[1])}
        words={WORDS}
        sides={sides}
      />
    </div>
  );
}

/** The first line that differs is in sight, at a third, so that what stands before it is seen too. */
function useChangeInSight(pane: RefObject<HTMLElement | null>, sides: Sides): void {
  useLayoutEffect(() => {
    const scroller = pane.current?.closest(".as-Scroll");
    const change = pane.current?.querySelector(".as-Diff td.a, .as-Diff td.d");
    if (!scroller || !change) return;
    const { clientHeight: height } = scroller;
    const top = change.getBoundingClientRect().top - scroller.getBoundingClientRect().top;
    if (top > (2 * height) / 3) scroller.scrollTop += top - height / 3;
  }, [sides]);
}

function PairHeadings({ rows, bodies, sides }: BothProps & { sides: Sides }) {
  return (
    <div class={`as-Sides as-mod-${sides}`}>
      {rows.map((row, at) => (
        <div key={row.id + at}>
          <span class={`as-Diff-sign ${at === 0 ? "as-Bad" : "as-Good"}`}>
            {at === 0 ? "−" : "+"}
          </span>
          <b>{at === 0 ? "Left" : "Right"}</b>
          <span class="as-Muted as-Ellipsis">{factsOf(row, bodies[at])}</span>
        </div>
      ))}
    </div>
  );
}

function factsOf(row: TimelineRow, body: MessageBody | undefined): string {
  const facts = [
    row.name,
    row.duration !== null && formatDuration(row.duration),
    formatSize(row.size),
    body?.edit != null && "edited",
  ];
  return facts.filter(Boolean).join(", ");
}

/** What was raised, where one side did and the other didn't, or something else. */
function Ends({ rows: [left, right] }: Pick<BothProps, "rows">) {
  return (
    <>
      {left.failure && <Failure failure={left.failure} />}
      {right.failure && right.failure.message !== left.failure?.message && (
        <Failure failure={right.failure} />
      )}
    </>
  );
}

/** Larger bodies are shown as text: taking them apart takes seconds. */
const READ_UP_TO = 4_000_000;

function Alone({ row, body }: { row: TimelineRow; body: MessageBody }) {
  const shape = shapeOf(row);
  const text = textOf(body);
  const reading = useMemo(() => {
    const value = text.length > READ_UP_TO ? undefined : documentOf(text);
    return value && parseContent(shape, value);
  }, [shape, text]);
  if (reading) return <ContentView row={row} shape={shape} reading={reading} known={undefined} />;
  return (
    <div class="as-Alone">
      <LongText text={text} code limit={INITIAL_LIMIT_ALONE} />
    </div>
  );
}

// ---- What a comparison needs of the Core: both runs whole, and the contents of the selected pair.

/** Runs are compared as they stood. */
const ONCE = { once: true };

export interface RunPair {
  readonly left: RunOpened;
  readonly right: RunOpened;
}

/** Both runs as they stood when they were asked for; `again` asks anew. */
export function useRuns(
  model: Model,
  { left, right }: Comparison,
): { runs: LoadState<RunPair>; again(): void } {
  const [times, setTimes] = useState(0);
  const runs = useLoaded(
    model,
    `${left} ${right} ${times}`,
    async () => {
      const [one, other] = await Promise.all([model.readRun(left), model.readRun(right)]);
      return { left: one, right: other };
    },
    ONCE,
  );
  return { runs, again: () => setTimes(times + 1) };
}

/** A pair's contents; null on the side that it lacks. */
export interface BodyPair {
  readonly pair: Pair;
  readonly left: MessageBody | null;
  readonly right: MessageBody | null;
}

export function useBodies(model: Model, runs: Comparison, pair: Pair): LoadState<BodyPair> {
  const revisions = `${pair.left?.revision} ${pair.right?.revision}`;
  return useLoaded(
    model,
    `${idOf(pair)} ${revisions}`,
    async () => {
      const [left, right] = await Promise.all([
        pair.left && model.body(pair.left, runs.left),
        pair.right && model.body(pair.right, runs.right),
      ]);
      return { pair, left, right };
    },
    ONCE,
  );
}
