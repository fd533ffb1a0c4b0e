/** What the view of sessions and that of the fleet say where nothing is listed, or something was done. */
import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import type { Connection } from "../model/model";
import { connectionProblem } from "../model/status";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { CodeLine, Empty, NoticeBar } from "../view/notices";
import type { ActionNotice } from "./session_actions";

const CODE = `from agentstepper_nb import Agents

agents = Agents.connect()
agents.create_agent("joker", "joke", {"subject": "cats"})`;

const AWAY = "The Core doesn’t answer. The view continues when the Core is back.";

/** Why nothing is known yet: no Core answers; null where one may soon. */
export const awayReason = (connection: Connection): string | null =>
  connectionProblem(connection) ?? (connection.kind === "lost" ? AWAY : null);

/** @param children What is listed here, and when. */
export function NoAgents({ children }: { children: ComponentChildren }) {
  return (
    <Empty title="No background agent yet">
      <p>{children}</p>
      <CodeLine code={CODE} label="Copy the code" />
    </Empty>
  );
}

interface NoMatchingSessionsProps {
  onShowAll(): void;
  /** What the filter looks at. */
  children: ComponentChildren;
}

export function NoMatchingSessions({ onShowAll, children }: NoMatchingSessionsProps) {
  const all = (
    <Button outline hint="Show all sessions" onClick={onShowAll}>
      Show all sessions
    </Button>
  );
  return (
    <Empty title="No session matches the filter" actions={all}>
      <p>{children}</p>
    </Empty>
  );
}

interface ActionNoticeBarProps {
  notice: Signal<ActionNotice | null>;
  role?: "alert" | "status";
}

export function ActionNoticeBar({ notice, role = "alert" }: ActionNoticeBarProps) {
  if (!notice.value) return null;
  const { tone, text } = notice.value;
  const dismiss = () => {
    notice.value = null;
  };
  return (
    <NoticeBar class={`as-SessNews as-mod-${tone}`} role={role} onDismiss={dismiss}>
      <span>{escapeInvisible(text)}</span>
    </NoticeBar>
  );
}
