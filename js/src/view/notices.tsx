/** What a person is told: why there is nothing to show, how things stand, and what went wrong. */
import type { ReadonlySignal, Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { Icon } from "../icons/icon";
import type { Connection } from "../model/model";
import { connectionProblem, type Status } from "../model/status";
import { Button, CopyButton } from "./button";
import { escapeInvisible } from "./format";
import { cx } from "./hooks";

// ---- In the place of what there is nothing of.

export interface EmptyProps {
  title?: ComponentChildren;
  class?: string;
  /** Whether it is read out as it comes. */
  alert?: boolean;
  /** Buttons: what to do next. */
  actions?: ComponentChildren;
  children?: ComponentChildren;
}

export function Empty({ title, class: extra, alert, actions, children }: EmptyProps) {
  return (
    <div class={cx("as-Empty", extra)} role={alert ? "alert" : undefined}>
      {title && <h3>{title}</h3>}
      {children}
      {actions && <div class="as-Empty-actions">{actions}</div>}
    </div>
  );
}

interface NotFetchedProps {
  /** "The file could not be fetched" */
  title: string;
  why: string;
  /** Of the button: "Ask for the file again" */
  hint: string;
  onRetry(): void;
}

/** Something could not be fetched, and can be asked for again. */
export function NotFetched({ title, why, hint, onRetry }: NotFetchedProps) {
  const again = (
    <Button outline hint={hint} onClick={onRetry}>
      Try again
    </Button>
  );
  return (
    <Empty title={title} actions={again}>
      <p>{why}</p>
    </Empty>
  );
}

/** What keeps a link up. */
interface Reconnectable {
  readonly connection: ReadonlySignal<Connection>;
  retry(): void;
}

/** What keeps the view from those that it shows. */
export function NotConnected({ link, why }: { link: Reconnectable; why: string }) {
  const again = (
    <Button outline icon="retry" hint="Connect now" onClick={() => link.retry()}>
      Try again
    </Button>
  );
  return (
    <Empty alert title="Not connected" actions={again}>
      <p>{escapeInvisible(why)}</p>
    </Empty>
  );
}

/** A button to connect now, while the link doesn't stand. `label` is the class that hides its words. */
export function RetryNow({ link, label }: { link: Reconnectable; label: string }) {
  const connection = link.connection.value;
  if (connection.kind !== "lost" && !connectionProblem(connection)) return null;
  return (
    <Button
      outline
      icon="retry"
      name="Retry now"
      hint="Connect now"
      class="as-Retry"
      onClick={() => link.retry()}
    >
      <span class={label}>Retry now</span>
    </Button>
  );
}

/** Code to paste, with a button that copies it. */
export function CodeLine(props: { code: string; copies?: string; label?: string }) {
  const { code, copies = code, label = "Copy" } = props;
  return (
    <div class="as-CodeLine">
      <pre>{code}</pre>
      <CopyButton label={label} text={() => copies} />
    </div>
  );
}

// ---- How something stands.

interface StateLineProps {
  status: Status;
  connection: Connection;
  live?: "polite" | "off";
  /** Said of a person who may only watch. */
  watching?: string;
}

/** In a header: the state in a word or two, and what there is to say of it. */
export function StateLine({ status, connection, live, watching }: StateLineProps) {
  const { words, detail, icon, tone, spin = false } = status;
  const lost = connection.kind === "lost"; // what comes next is said however narrow it is
  return (
    <div
      class={cx("as-State", `as-mod-${tone}`)}
      role="status"
      aria-live={live}
      title={detail ? `${words}: ${detail}` : words}
    >
      <Icon name={icon} spin={spin} />
      <span class="as-Ellipsis">{words}</span>
      {watching && connection.kind === "open" && !connection.control && (
        <small class="as-mod-kept" title={watching}>
          watching only
        </small>
      )}
      {detail && <small class={cx("as-Ellipsis", lost && "as-mod-kept")}>{detail}</small>}
    </div>
  );
}

/** In a list: the state as an icon. */
export function StateMark(props: { status: Omit<Status, "detail">; title?: string }) {
  const { icon, tone, spin = false } = props.status;
  return (
    <span class={`as-State as-mod-${tone}`} title={props.title}>
      <Icon name={icon} small spin={spin} />
    </span>
  );
}

// ---- What is told until it is dismissed.

interface NoticeBarProps {
  class: string;
  role?: "alert" | "status";
  /** Absent where it can't be dismissed. */
  onDismiss?: (() => void) | undefined;
  children: ComponentChildren;
}

export function NoticeBar({ class: look, role = "alert", onDismiss, children }: NoticeBarProps) {
  return (
    <p class={look} role={role}>
      {children}
      {onDismiss && <Button icon="close" hint="Dismiss" onClick={onDismiss} />}
    </p>
  );
}

/** What went wrong; null where nothing did. */
export function ErrorBar({ class: look, error }: { class: string; error: Signal<string | null> }) {
  if (error.value === null) return null;
  const dismiss = () => {
    error.value = null;
  };
  return (
    <NoticeBar class={look} onDismiss={dismiss}>
      <span>{escapeInvisible(error.value)}</span>
    </NoticeBar>
  );
}

/** What to type where the browser can't reach a run. */
export function CommandHint(props: { class: string; command: string; onDismiss(): void }) {
  const { command } = props;
  return (
    <NoticeBar class={props.class} role="status" onDismiss={props.onDismiss}>
      <span>
        {command.startsWith("%")
          ? "To step it, run in a cell: "
          : "To step it, type in a terminal: "}
        <code class="as-Code">{command}</code>
      </span>
      <CopyButton label="Copy the command" text={() => command} />
    </NoticeBar>
  );
}

/** Text with what was looked for marked in it: plain and found by turns. */
export function Snippet({ parts }: { parts: readonly string[] }) {
  return (
    <>
      {parts.map((part, at) =>
        // Its place is what each is known by.
        at % 2 === 1 ? <mark key={at}>{escapeInvisible(part)}</mark> : escapeInvisible(part),
      )}
    </>
  );
}
