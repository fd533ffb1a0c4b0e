/** The sessions that pass the filter: of ten thousand, those in sight are asked for and drawn. */

import { useLayoutEffect, useRef, useState } from "preact/hooks";
import type { FleetSession } from "../protocol/runtime.gen";
import { oneLine, shortDate, shortId } from "../sessions/status";
import { Button } from "../view/button";
import { SearchField, Select } from "../view/fields";
import { consumeKey, lineIndexForKey, pageOf, scrollTo } from "../view/focus";
import { escapeInvisible, formatClock, formatCount, formatDate } from "../view/format";
import { cx } from "../view/hooks";
import { StateMark } from "../view/notices";
import { useVirtual } from "../view/timeline/scroll";
import type { FleetModel } from "./model";
import { FLEET_STATUSES, fleetStatusOf, monikersOf, STATUS_NAMES } from "./status";

const STATES = [
  ["", "All states"] as const,
  ...STATUS_NAMES.map((status) => [status, FLEET_STATUSES[status].words] as const),
];

export function FilterBar({ model, narrow }: { model: FleetModel; narrow: boolean }) {
  const { text, status, moniker, error } = model.filter.value;
  const monikers = monikersOf(model.fleet.value).map(
    (each) => [each, escapeInvisible(each)] as const,
  );
  return (
    <div class={cx("as-PaneBar as-SessBar", narrow && "as-mod-narrow")}>
      <SearchField
        type="search"
        field="as-SessSearch"
        label="Show only sessions that contain this text"
        placeholder="Agent, session, error"
        maxLength={200}
        value={text}
        onText={(words) => model.updateFilter({ text: words })}
        onKeyDown={(event) => {
          if (event.isComposing || event.key !== "Escape" || model.filter.peek().text === "")
            return;
          model.updateFilter({ text: "" });
          event.stopPropagation();
        }}
      />
      <Select
        label="Show only sessions in this state"
        value={status}
        options={STATES}
        onChange={(chosen) => model.updateFilter({ status: chosen })}
      />
      <Select
        label="Show only sessions of this moniker"
        value={moniker}
        options={[["", "All monikers"], ...monikers]}
        onChange={(chosen) => model.updateFilter({ moniker: chosen })}
      />
      {error !== null && (
        <Button
          outline
          icon="close"
          class="as-FleetFilter-error"
          hint="Sessions that ended with one error are shown. Show all sessions"
          onClick={() => model.updateFilter({ error: null })}
        >
          One error
        </Button>
      )}
    </div>
  );
}

/** The heights of a line, of one in two lines, and of the head above: those of sessions.css. */
const LINE = 28;
const TWO_LINES = 46;
const HEAD = 28;
/** A browser's elements may be so high, in pixels. */
const MAX_HEIGHT = 8_000_000;

interface SessionTableProps {
  model: FleetModel;
  narrow: boolean;
  onOpen(session: FleetSession): void;
}

export function SessionTable({ model, narrow, onOpen }: SessionTableProps) {
  const height = narrow ? TWO_LINES : LINE;
  const count = Math.min(model.matching.value, Math.floor(MAX_HEIGHT / height));
  const { scroller, active, setActive, indexes, go } = useSparseLines(model, count, height, narrow);
  const known = model.sessions.value;
  const selected = model.selected.value?.session_id;

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || event.ctrlKey || event.metaKey) return;
    const session = known.get(active);
    const page = pageOf(scroller.current, height, narrow ? 1 : 2);
    const to = lineIndexForKey(event.key, active, page);
    if (to !== undefined) go(to);
    else if (event.key === "Enter" && session) model.selected.value = session;
    else if (event.key === "o" && session) onOpen(session);
    else if (event.key === "Escape" && selected) model.selected.value = null;
    else return;
    consumeKey(event);
  };
  return (
    <div
      ref={scroller}
      class="as-Scroll as-SessTable as-FleetTable"
      role="grid"
      aria-label="Sessions"
      aria-rowcount={count + 1}
      onKeyDown={onKeyDown}
    >
      {!narrow && <TableHead />}
      <div class="as-Rows" role="rowgroup" style={{ height: `${count * height}px` }}>
        {indexes.map((index) => (
          <SessionLine
            key={index}
            session={known.get(index)}
            index={index}
            top={index * height}
            active={index === active}
            current={selected !== undefined && known.get(index)?.session_id === selected}
            narrow={narrow}
            onSelect={(session) => {
              setActive(index);
              model.selected.value = session;
            }}
          />
        ))}
      </div>
    </div>
  );
}

/** The lines to draw of a list of which only a part is known, and the one that the keys go from. */
function useSparseLines(model: FleetModel, count: number, height: number, narrow: boolean) {
  const scroller = useRef<HTMLDivElement>(null);
  const [wanted, setActive] = useState(0);
  const active = Math.max(0, Math.min(wanted, count - 1));
  const indexes = useVirtual({ scroller, count, active, height });
  const focuses = useRef(false);
  const filter = model.filter.value;
  useLayoutEffect(() => {
    if (scroller.current) scroller.current.scrollTop = 0;
    setActive(0);
  }, [filter]);
  // Drawn anew whenever other lines come into sight.
  useLayoutEffect(() => {
    const { scrollTop = 0, clientHeight = 0 } = scroller.current ?? {};
    const last = Math.ceil((scrollTop + clientHeight) / height);
    model.look(Math.floor(scrollTop / height), last, scrollTop < height);
  });
  useLayoutEffect(() => {
    if (!focuses.current) return;
    focuses.current = false;
    scrollTo(scroller, active, height, narrow ? 0 : HEAD);
    const row = scroller.current?.querySelector<HTMLElement>('.as-SessRow[tabindex="0"]');
    row?.focus({ preventScroll: true });
  });
  const go = (to: number) => {
    focuses.current = true;
    const next = Math.max(0, Math.min(count - 1, to));
    scrollTo(scroller, next, height, narrow ? 0 : HEAD);
    setActive(next);
  };
  return { scroller, active, setActive, indexes, go };
}

function TableHead() {
  return (
    <div class="as-ListHead as-SessHead" role="row" aria-rowindex={1}>
      <span role="columnheader">State</span>
      <span role="columnheader">Agent</span>
      <span role="columnheader">Moniker</span>
      <span class="as-Column-figure" role="columnheader">
        Steps
      </span>
      <span role="columnheader">Last words</span>
      <span class="as-Column-figure" role="columnheader">
        Since
      </span>
    </div>
  );
}

interface SessionLineProps {
  /** Undefined until it is known. */
  session: FleetSession | undefined;
  index: number;
  top: number;
  active: boolean;
  current: boolean;
  narrow: boolean;
  onSelect(session: FleetSession): void;
}

function SessionLine(props: SessionLineProps) {
  const { session, index, top, active, current, narrow, onSelect } = props;
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the list takes the keys
    <div
      class="as-SessRow"
      role="row"
      data-session={session?.session_id}
      aria-rowindex={index + 2}
      aria-current={current ? "true" : undefined}
      aria-busy={session ? undefined : true}
      tabIndex={active ? 0 : -1}
      style={{ top: `${top}px` }}
      onClick={() => session && onSelect(session)}
    >
      {session ? (
        narrow ? (
          <TwoLines session={session} />
        ) : (
          <Cells session={session} />
        )
      ) : (
        <span class="as-Muted" role="gridcell">
          …
        </span>
      )}
    </div>
  );
}

function Cells({ session }: { session: FleetSession }) {
  return (
    <>
      <span class="as-SessRow-state" role="gridcell">
        <State session={session} />
      </span>
      <span class="as-SessRow-name" role="gridcell" title={nameTitle(session)}>
        <Name session={session} />
      </span>
      <span class="as-Ellipsis as-Muted" role="gridcell" title={escapeInvisible(session.moniker)}>
        {escapeInvisible(session.moniker)}
      </span>
      <span class="as-SessRow-figure" role="gridcell">
        {session.iteration.toLocaleString("en-US")}
      </span>
      <Words session={session} role="gridcell" />
      <span class="as-SessRow-figure" role="gridcell" title={sinceTitle(session)}>
        {shortDate(session.created_at)}
      </span>
    </>
  );
}

function TwoLines({ session }: { session: FleetSession }) {
  return (
    <span class="as-SessRow-two" role="gridcell">
      <span class="as-SessRow-line">
        <span class="as-SessRow-state">
          <State session={session} />
        </span>
        <span class="as-SessRow-name" title={nameTitle(session)}>
          <Name session={session} />
        </span>
        <span class="as-Spring" />
        <span class="as-Muted as-Small" title={sinceTitle(session)}>
          {shortDate(session.created_at)}
        </span>
      </span>
      <span class="as-SessRow-line as-Small as-Muted">
        <span class="as-SessRow-iteration">{formatCount(session.iteration, "step")}</span>
        <Words session={session} />
      </span>
    </span>
  );
}

function State({ session }: { session: FleetSession }) {
  const status = fleetStatusOf(session);
  const { words, explanation } = status;
  return (
    <span class="as-SessState" title={`${words}: ${explanation}`}>
      <StateMark status={status} />
      <span class="as-Ellipsis">{words}</span>
    </span>
  );
}

function Name({ session }: { session: FleetSession }) {
  return (
    <>
      <span class="as-SessRow-title as-Ellipsis">{escapeInvisible(session.agent_id)}</span>
      <span class="as-SessRow-id as-Muted as-Small">
        {escapeInvisible(shortId(session.session_id))}
      </span>
    </>
  );
}

/** Why it failed, or what it said last: as text, since agents write it. */
function Words({ session, role }: { session: FleetSession; role?: "gridcell" }) {
  const { status, last_error: error, words } = session;
  const failed = status === "error" || status === "quarantined";
  const shown = failed || status === "retrying" ? (error ?? words) : words;
  const line = escapeInvisible(oneLine(shown));
  return (
    <span class={cx("as-Ellipsis as-SessRow-words", failed && "as-Bad")} role={role} title={line}>
      {line}
    </span>
  );
}

function nameTitle({ agent_id, session_id, moniker }: FleetSession): string {
  return [`Agent ${agent_id}`, `Session ${session_id}`, `Moniker ${moniker}`]
    .map(escapeInvisible)
    .join("\n");
}

function sinceTitle({ created_at, updated_at }: FleetSession): string {
  return `Created ${formatDate(created_at)} (${formatClock(created_at)})\nLast changed ${formatClock(updated_at)}`;
}
