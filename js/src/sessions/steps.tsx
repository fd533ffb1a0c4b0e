/** The newest steps of a session, and what its next one will be told. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { LongText } from "../inspector/components/long_text";
import type { AgentState, AgentStep } from "../protocol/runtime.gen";
import { CopyButton } from "../view/button";
import { escapeInvisible, formatClock, formatDuration } from "../view/format";
import { Empty } from "../view/notices";
import type { SessionsModel } from "./model";
import { SessionState } from "./row";
import { guidanceOf, oneLine, shortId } from "./status";
import { SHOWN_ITERATIONS } from "./topics";

export function StepsPane({ model }: { model: SessionsModel }) {
  const id = model.sessionTopic.id.value;
  const state = id === null ? undefined : model.states.value.get(id);
  if (!state) {
    return (
      <Empty title="No session is selected">
        <p>Select one in the list: what its steps say is shown here, while it goes on.</p>
      </Empty>
    );
  }
  return (
    <div class="as-Pane">
      <Title model={model} state={state} />
      <StepList model={model} state={state} />
      <Guidance state={state} />
    </div>
  );
}

function Title({ model, state }: { model: SessionsModel; state: AgentState }) {
  const { agent_id, session_id, moniker } = state;
  return (
    <div class="as-PaneBar as-SessTitle">
      <b class="as-Ellipsis" title={escapeInvisible(agent_id)}>
        {escapeInvisible(agent_id)}
      </b>
      <span
        class="as-Muted as-Small as-Ellipsis as-SessTitle-id"
        title={escapeInvisible(session_id)}
      >
        {escapeInvisible(shortId(session_id))}
      </span>
      <CopyButton label="Copy the session’s id" text={() => session_id} />
      <span class="as-Spring" />
      <span class="as-Muted as-Small as-Ellipsis" title={`Moniker ${escapeInvisible(moniker)}`}>
        {escapeInvisible(moniker)}
      </span>
      <SessionState state={state} pendingAction={model.actions.pending.value.get(session_id)} />
    </div>
  );
}

function StepList({ model, state }: { model: SessionsModel; state: AgentState }) {
  const steps = model.sessionTopic.steps.value;
  const { ref, onScroll, hasUnseen, scrollToEnd } = useScrollToEnd<HTMLDivElement>(
    state.session_id,
    steps.at(-1)?.id,
  );
  if (steps.length === 0) {
    return (
      <Empty>
        <p>{model.sessionTopic.isLoading.value ? "" : "It has done no step yet."}</p>
      </Empty>
    );
  }
  return (
    <div class="as-SessLog">
      <div
        ref={ref}
        class="as-Scroll"
        role="log"
        aria-live="off"
        aria-label="Steps"
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroller has to be reached by the keyboard
        tabIndex={0}
        onScroll={onScroll}
      >
        {(steps[0]?.iteration ?? 0) > 0 && (
          <p class="as-SessLog-before as-Muted as-Small">
            The last {SHOWN_ITERATIONS} steps. Earlier ones: <code>Agents.list_agent_steps</code>
          </p>
        )}
        {steps.map((step) => (
          <Step key={`${step.iteration} ${step.event_seq}`} step={step} />
        ))}
      </div>
      {hasUnseen && <ScrollToEndButton what="New steps" onClick={scrollToEnd} />}
    </div>
  );
}

export function ScrollToEndButton({ what, onClick }: { what: string; onClick(): void }) {
  return (
    <button type="button" class="as-Button as-mod-outline as-SessLog-end" onClick={onClick}>
      <Icon name="follow" small />
      {what}
    </button>
  );
}

function Step({ step }: { step: AgentStep }) {
  const guidance = textOf(step.guidance);
  return (
    <div class="as-SessEntry">
      <div class="as-SessEntry-head as-Small as-Muted">
        <span class="as-SessEntry-n">{`#${step.iteration}`}</span>
        {step.status !== "running" && <span>{escapeInvisible(step.status)}</span>}
        <span class="as-Spring" />
        {step.latency_ms !== null && <span>{formatDuration(step.latency_ms / 1000)}</span>}
        <span>{formatClock(step.created_at)}</span>
      </div>
      {guidance && (
        <div class="as-SessEntry-guidance as-Small">
          <Icon name="note" small />
          <div>
            <LongText text={guidance} />
          </div>
        </div>
      )}
      {step.text && <LongText text={step.text} />}
      {step.error && <LongTextBlock text={step.error} class="as-Bad" />}
      {step.notes && <LongTextBlock text={step.notes} class="as-Small as-Muted" />}
    </div>
  );
}

export function LongTextBlock({ text, class: kind }: { text: string; class: string }) {
  return (
    <div class={kind}>
      <LongText text={text} />
    </div>
  );
}

/** What is laid down for the next step. */
function Guidance({ state }: { state: AgentState }) {
  const guidance = guidanceOf(state);
  if (guidance === null) return null;
  const words = escapeInvisible(oneLine(guidance));
  return (
    <p class="as-SessGuidance as-Small" title={words}>
      <Icon name="note" small />
      <span class="as-Ellipsis">
        Guidance for its next step: <bdi>{words}</bdi>
      </span>
    </p>
  );
}

function textOf(guidance: unknown): string {
  if (guidance === null || guidance === undefined) return "";
  return typeof guidance === "string" ? guidance : JSON.stringify(guidance);
}

// ---- A list that grows at its end: who is there stays there, and who reads further up isn't moved.

/** Nearer to the end than this is at it. */
const NEAR_END_PX = 24;

/**
 * For a scroller's `ref` and `onScroll`.
 *
 * @param of What it is a list of: with another one it begins at its end.
 * @param last What its last entry is.
 */
export function useScrollToEnd<T extends HTMLElement>(of: unknown, last: unknown) {
  const ref = useRef<T>(null);
  const atEnd = useRef(true);
  const [hasUnseen, setHasUnseen] = useState(false);
  const before = useRef<{ of: unknown; last: unknown }>({ of: undefined, last: undefined });
  const scrollToEnd = () => {
    const element = ref.current;
    if (element) element.scrollTop = element.scrollHeight;
    atEnd.current = true;
    setHasUnseen(false);
  };
  useLayoutEffect(() => {
    const was = before.current;
    before.current = { of, last };
    if (was.of !== of || atEnd.current) scrollToEnd();
    else if (was.last !== last) setHasUnseen(true);
  });
  useResizeObserver(ref, () => atEnd.current && scrollToEnd());
  const onScroll = () => {
    const element = ref.current;
    if (!element) return;
    atEnd.current = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX;
    if (atEnd.current) setHasUnseen(false);
  };
  return { ref, onScroll, hasUnseen, scrollToEnd };
}

/** Hear of each change in an element's size, also where it comes later: what comes in below takes room. */
function useResizeObserver(ref: { current: Element | null }, resized: () => void): void {
  const watched = useRef<{ element: Element; observer: ResizeObserver } | null>(null);
  useLayoutEffect(() => {
    if (ref.current === (watched.current?.element ?? null)) return;
    watched.current?.observer.disconnect();
    watched.current = null;
    if (!ref.current) return;
    const observer = new ResizeObserver(resized);
    observer.observe(ref.current);
    watched.current = { element: ref.current, observer };
  });
  useEffect(() => () => watched.current?.observer.disconnect(), []);
}
