/** What was said in a session: the messages, where agents read from, and what comes now. */
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../../icons/icon";
import { Button } from "../../view/button";
import { escapeInvisible, formatCount } from "../../view/format";
import { cx } from "../../view/hooks";
import { useObjectUrl } from "../../view/images";
import type { ChatAgentInfo, ChatSessionInfo, TranscriptModel } from "../types";
import type { Enlarged } from "./image";
import { Message } from "./message";
import { countAfter, type Divider, roleLabel, rowsOf } from "./rows";

interface TranscriptProps {
  model: TranscriptModel;
}

export function Transcript({ model }: TranscriptProps) {
  const info = model.info.value;
  if (info === null) return <div class="as-Log" />;
  return <Log key={info.id} model={model} info={info} />; // another session begins at its end
}

function Log({ model, info }: { model: TranscriptModel; info: ChatSessionInfo }) {
  const messages = model.messages.value;
  const { scroller, content, away, toEnd, onScroll, hold } = useScrollAnchor();
  const sent = model.sent.value;
  useLayoutEffect(toEnd, [sent]); // who says something looks for the answer
  const [large, setLarge] = useState<Enlarged | null>(null);
  const seen = useRef<string | null>(null);
  if (!away) seen.current = messages.at(-1)?.id ?? null;
  const fresh = away ? countAfter(messages, seen.current) : 0;
  const loading = useLoading(model);
  return (
    <div class="as-Log">
      <div
        ref={scroller}
        class="as-Scroll as-Log-scroll"
        role="log"
        aria-label="Conversation"
        aria-live={loading ? "off" : "polite"}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a scroller has to be reached by the keyboard
        tabIndex={0}
        onScroll={onScroll}
        onClickCapture={hold}
      >
        <div ref={content} class="as-Log-content">
          {messages.length === 0 && !model.hasEarlier.value && (
            <EmptyTranscript agents={info.agents} />
          )}
          {model.hasEarlier.value && <Earlier model={model} info={info} shown={messages.length} />}
          {rowsOf(messages, info).map((row) =>
            row.kind === "divider" ? (
              <Divided key={row.divider} divider={row.divider} />
            ) : (
              <Message
                key={row.message.id}
                model={model}
                message={row.message}
                head={row.head}
                onEnlarge={setLarge}
              />
            ),
          )}
          <Now info={info} speaks={messages.at(-1)?.streaming ?? false} />
        </div>
      </div>
      {away && (
        <button
          type="button"
          class={cx("as-Button as-mod-outline as-Log-end", fresh > 0 && "as-mod-fresh")}
          title="Go to the end"
          onClick={toEnd}
        >
          <Icon name="follow" small />
          {fresh > 0 ? `${fresh.toLocaleString("en-US")} new` : "Latest"}
        </button>
      )}
      {large && <EnlargedImage image={large} onClose={() => setLarge(null)} />}
    </div>
  );
}

/** Whether earlier messages are on their way, or just drawn: they are no news to read out. */
function useLoading({ loadingEarlier }: TranscriptModel): boolean {
  const now = loadingEarlier.value;
  const [late, setLate] = useState(now);
  useEffect(() => {
    if (now) setLate(true);
    else {
      const frame = requestAnimationFrame(() => setLate(false));
      return () => cancelAnimationFrame(frame);
    }
  }, [now]);
  return now || late;
}

interface EarlierProps {
  model: TranscriptModel;
  info: ChatSessionInfo;
  shown: number;
}

function Earlier({ model, info, shown }: EarlierProps) {
  const before = info.messages - shown;
  return (
    <p class="as-Log-earlier as-Small">
      {model.loadingEarlier.value ? (
        <span class="as-Muted">Loading earlier messages…</span>
      ) : (
        <button type="button" class="as-Link" onClick={() => void model.loadEarlier()}>
          {before > 0
            ? `Show earlier messages (${before.toLocaleString("en-US")})`
            : "Show earlier messages"}
        </button>
      )}
    </p>
  );
}

const DIVIDERS: Record<Divider, { words: string; hint: string }> = {
  window: {
    words: "Agents read from here",
    hint: "An agent is given the last messages before the one that it answers: the rolling window",
  },
  memory: {
    words: "In memory from here",
    hint: "Earlier messages are only in the transcript’s file",
  },
};

function Divided({ divider }: { divider: Divider }) {
  const { words, hint } = DIVIDERS[divider];
  return (
    <p class="as-Log-divider as-Muted" title={hint}>
      {words}
    </p>
  );
}

/** Who answers, until its words do: its room is always there, so that nothing moves for it. */
function Now({ info, speaks }: { info: ChatSessionInfo; speaks: boolean }) {
  const busy = info.state === "STATE_RUNNING" && info.waiting === null;
  return (
    <p class="as-Log-now as-Muted as-Small">
      {busy && (info.halted || !speaks) && (
        <>
          <Icon name={info.halted ? "pause" : "agent"} small />
          <span class="as-Ellipsis">
            <bdi>{escapeInvisible(info.speaking ?? "") || "The agent"}</bdi>
            {info.halted ? " is halted in the debugger" : " is answering…"}
          </span>
        </>
      )}
    </p>
  );
}

/** Nothing was said yet: who is there to talk to. */
function EmptyTranscript({ agents }: { agents: readonly ChatAgentInfo[] }) {
  return (
    <div class="as-Empty as-Log-empty">
      <h3>No messages yet</h3>
      <p>
        {agents.length === 0
          ? "No agent takes part. Give the chat an agent, and run the cell again."
          : `Write below. ${agents.length === 1 ? "This agent takes part:" : "These agents take part:"}`}
      </p>
      <ul aria-label={formatCount(agents.length, "agent")}>
        {agents.map(({ name, role, description }) => (
          <li key={name} class="as-Log-agent">
            <Icon name="agent" small />
            <b class="as-Ellipsis">{escapeInvisible(name)}</b>
            <span class="as-Tag" title={`Role ${escapeInvisible(role)}`}>
              {roleLabel(role)}
            </span>
            {description && <span class="as-Muted as-Text">{escapeInvisible(description)}</span>}
          </li>
        ))}
      </ul>
    </div>
  );
}

// ---- A picture over the transcript, as large as there is room.

interface LargeProps {
  image: Enlarged;
  onClose(): void;
}

export function EnlargedImage({ image: { blob, alt }, onClose }: LargeProps) {
  const address = useObjectUrl(blob);
  const box = useRef<HTMLDivElement>(null);
  useEffect(() => {
    const before = document.activeElement;
    box.current?.querySelector<HTMLElement>(".as-Large-head button")?.focus();
    return () => {
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  return (
    <div
      ref={box}
      class="as-Large"
      role="dialog"
      aria-modal="true"
      aria-label={alt}
      onKeyDown={(event) => {
        if (event.key === "Tab") event.preventDefault(); // its one button keeps the focus
        if (event.key !== "Escape") return;
        event.stopPropagation();
        onClose();
      }}
    >
      <div class="as-Large-head">
        <b class="as-Ellipsis">{alt}</b>
        <span class="as-Spring" />
        <Button icon="close" hint="Close (Esc)" onClick={onClose} />
      </div>
      <button
        type="button"
        class="as-Large-room"
        aria-label="Close"
        tabIndex={-1}
        onClick={onClose}
      >
        {address && <img src={address} alt={alt} />}
      </button>
    </div>
  );
}

// ---- A scroller that grows at both ends: who is at its end stays there, and nobody else is moved.

/** Nearer to the end than this is at it. */
const NEAR = 24;

/** What a person looks at, and where on the screen it was. */
interface Anchor {
  readonly element: Element;
  readonly top: number;
}

/** Where the person is: at the end, or at something further up. */
type Place = "end" | Anchor | null;

/**
 * For a scroller, and the one element in it that holds its articles.
 *
 * Rows that come, fold open, or are fetched before the first one take room: what is looked at is put
 * back to where it was, before the browser draws. Safari has no anchoring of its own, and others do
 * without at the very top.
 */
export function useScrollAnchor() {
  const scroller = useRef<HTMLDivElement>(null);
  const content = useRef<HTMLDivElement>(null);
  const place = useRef<Place>("end");
  const [away, setAway] = useState(false);
  /** Where it was put last. What is heard of that comes late: more may have grown since. */
  const put = useRef(0);

  const measure = () => {
    const box = scroller.current;
    if (!box || box.clientHeight === 0) return; // not shown: nobody looks at anything
    put.current = box.scrollTop;
    const atEnd = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
    place.current = atEnd ? "end" : anchorIn(box);
    setAway(!atEnd);
  };
  const keep = () => {
    const box = scroller.current;
    const now = place.current;
    if (!box || box.clientHeight === 0) return;
    if (now === "end") box.scrollTop = box.scrollHeight;
    else if (now?.element.isConnected) {
      const moved = now.element.getBoundingClientRect().top - now.top;
      if (Math.abs(moved) >= 1) box.scrollTop += moved;
    }
    put.current = box.scrollTop;
  };
  const onScroll = () => {
    const byItself = Math.abs((scroller.current?.scrollTop ?? 0) - put.current) < 1;
    if (byItself) keep();
    else measure();
  };
  const toEnd = () => {
    place.current = "end";
    setAway(false);
    keep();
  };
  /** What is opened by a click stays under the pointer, also where that was at the end. */
  const hold = (event: Event) => {
    const box = scroller.current;
    const article = event.target instanceof Element ? event.target.closest("article") : null;
    if (!box) return;
    place.current = article ? anchorAt(article) : anchorIn(box);
    requestAnimationFrame(() => requestAnimationFrame(measure));
  };
  useLayoutEffect(keep);
  useEffect(() => {
    const observer = new ResizeObserver(keep);
    for (const { current } of [scroller, content]) if (current) observer.observe(current);
    return () => observer.disconnect();
  }, []);
  return { scroller, content, away, toEnd, onScroll, hold };
}

function anchorAt(element: Element): Anchor {
  return { element, top: element.getBoundingClientRect().top };
}

/** The first article that is in sight. */
function anchorIn(box: Element): Anchor | null {
  const { top } = box.getBoundingClientRect();
  const articles = [...box.querySelectorAll("article")];
  let [low, high] = [0, articles.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    const bottom = articles[middle]?.getBoundingClientRect().bottom ?? 0;
    if (bottom > top) high = middle;
    else low = middle + 1;
  }
  const found = articles[low];
  return found ? anchorAt(found) : null;
}
