/** The strip under the header: tabs, and on the same line the run's figures or what was refused. */

import type { VNode } from "preact";
import { Icon } from "../icons/icon";
import type { Debugger } from "../model/debugger";
import type { Run, Tab } from "../model/model";
import { connectionProblem } from "../model/status";
import { Button } from "./button";
import { formatCost, formatRunTokens, runTokens, tokensTitle } from "./figures";
import { escapeInvisible, formatClock, formatDate, formatElapsed } from "./format";
import { type CoreRoute, cx, useNow, type ViewPlacement } from "./hooks";
import { TAB_LABELS, TABS } from "./tab_labels";
import { TabList } from "./tabs";

interface StripProps {
  model: Debugger;
  place: ViewPlacement;
}

export function Strip({ model, place }: StripProps) {
  return (
    <div class="as-Strip">
      <Tabs model={model} />
      <StripEnd model={model} coreRoute={place.coreRoute} />
    </div>
  );
}

const MAX_COUNT = 99;

function Tabs({ model }: { model: Debugger }) {
  const marks: Partial<Record<Tab, VNode>> = {
    changes: <Counted n={model.commitCount.value} />,
    breakpoints: <Counted n={model.breakpoints.enabledCount.value} />,
    overview: <Icon name="bars" small class="as-Tab-glyph" />,
    forks: <Icon name="retry" small class="as-Tab-glyph as-mod-early" />,
  };
  return (
    <TabList
      label="Views"
      tabs={TABS.map((id, at) => ({
        id,
        label: TAB_LABELS[id],
        title: `${TAB_LABELS[id]} (Alt+${at + 1})`,
        mark: marks[id],
      }))}
      selected={model.tab.value}
      onSelect={(id) => {
        model.fileAtRow.value = null; // the overview shows itself again
        model.tab.value = id;
      }}
    />
  );
}

/** A number of one width, also where there is none yet: the tabs behind keep their place. */
function Counted({ n }: { n: number }) {
  return (
    <span class={cx("as-Count as-Tab-count", n === 0 && "as-mod-none")}>
      {n === 0 ? "" : n > MAX_COUNT ? `${MAX_COUNT}+` : n}
    </span>
  );
}

interface StripEndProps {
  model: Debugger;
  coreRoute: CoreRoute | undefined;
}

function Figures({ model, coreRoute }: StripEndProps) {
  const run = model.run.value;
  if (!run) return null;
  const connection = model.connection.value;
  const rows = model.window.rows.value.length; // its header may be a little behind
  return (
    <div class="as-Figures">
      {coreRoute && (
        <span class="as-Tag as-Via as-x-narrow" title={coreRoute.why}>
          {coreRoute.name}
          <span class="as-Hidden">{`: ${coreRoute.why}`}</span>
        </span>
      )}
      {connection.kind === "open" && !connection.control && (
        <span class="as-Tag as-Watching" title="This login may watch, not control">
          <Icon name="eye" small class="as-Tab-glyph" />
          <span class="as-Tab-label">
            Watching<span class="as-x-slim"> only</span>
          </span>
        </span>
      )}
      <span class="as-Events">
        <b>{rows.toLocaleString("en-US")}</b> {rows === 1 ? "event" : "events"}
      </span>
      <Totals run={run} />
      <Elapsed run={run} />
      <Agent run={run} away={connection.kind !== "open"} />
    </div>
  );
}

function Elapsed({ run }: { run: Run }) {
  const now = useNow(run.state !== "idle");
  const end = run.ended_at ?? now;
  return (
    <b title={`Started ${formatClock(run.started_at)}`}>{formatElapsed(end - run.started_at)}</b>
  );
}

function Agent({ run, away }: { run: Run; away: boolean }) {
  if (run.state === "idle") {
    return run.ended_at === null ? null : (
      <span class="as-x-wide">Ended {formatClock(run.ended_at)}</span>
    );
  }
  const seen = !away && run.state !== "detached";
  return (
    <span class="as-x-wide">
      <i class={seen ? "as-Dot" : "as-Dot as-mod-off"} />
      {seen ? "Agent connected" : away ? "Agent not seen" : awayText(run)}
    </span>
  );
}

function awayText({ detached_at }: Run): string {
  return detached_at === null ? "Agent away" : `Agent away since ${formatDate(detached_at)}`;
}

/** What stands beside the tabs: a warning about the run, which stays, and what is told of it. */
function StripEnd({ model, coreRoute }: StripEndProps) {
  const notice = model.run.value?.notice;
  return (
    <>
      {notice && <RunNotice notice={notice} />}
      <NoticeOrFigures model={model} coreRoute={coreRoute} />
    </>
  );
}

/** What the server or the Core refused is said in place of the figures: nothing moves for it. */
function NoticeOrFigures({ model, coreRoute }: StripEndProps) {
  const connection = model.connection.value;
  const problem = model.problem.value;
  const apart = connectionProblem(connection);
  if (apart) return <StripNotice text={apart} />;
  if (!problem) return <Figures model={model} coreRoute={coreRoute} />;
  const dismiss = () => {
    model.problem.value = null;
  };
  return <StripNotice text={problem.message} code={problem.code} onDismiss={dismiss} />;
}

interface NoticeProps {
  text: string;
  code?: string;
  onDismiss?(): void;
}

function StripNotice({ text, code, onDismiss }: NoticeProps) {
  return (
    <div class="as-Notice" role="alert">
      <span class="as-Notice-text" title={code ? `${text} (${code})` : text}>
        {text}
      </span>
      {onDismiss && <Button icon="close" hint="Dismiss" onClick={onDismiss} />}
    </div>
  );
}

// ---- What a person must know of the whole run, in its agent's words: that its commands have
// no sandbox, say.

function RunNotice({ notice }: { notice: string }) {
  const text = escapeInvisible(notice);
  const [warning, ...rest] = text.split(":");
  if (!warning) return null;
  return (
    <span class="as-Tag as-RunNotice" title={text}>
      <Icon name="warn" small />
      <span class="as-Ellipsis">{warning}</span>
      {rest.length > 0 && <span class="as-Hidden">{`:${rest.join(":")}`}</span>}
    </span>
  );
}

// ---- What a run has used so far: its tokens and what they cost.

export function Totals({ run }: { run: Run }) {
  const tokens = runTokens(run);
  if (!tokens) return null;
  const cost = formatCost(run.usage);
  return (
    <span class="as-Totals as-x-narrow" title={tokensTitle(run)}>
      <b>{formatRunTokens(tokens)}</b> tokens
      {cost && <b class="as-Totals-cost">{cost}</b>}
    </span>
  );
}
