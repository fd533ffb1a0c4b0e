/** How a chat stands, in words and shapes. Pure. */
import type { Connection } from "../model/model";
import { type Status, viewStatus } from "../model/status";
import { escapeInvisible } from "../view/format";
import type { ChatAgentInfo, ChatSessionInfo } from "./types";

const NO_RUN = { run: null, pending: [], isAwaited: false, opening: false };

/** The view's state: that of the link while it doesn't stand, else that of the session. */
export function chatStatus(
  connection: Connection,
  info: ChatSessionInfo | null,
  { stopping, removed }: { stopping: boolean; removed: boolean },
): Status {
  if (connection.kind !== "open") return viewStatus(connection, NO_RUN);
  if (removed) return { words: "Deleted", detail: "", icon: "trash", tone: "off" };
  if (!info) return busy("Opening…", "off");
  if (info.state === "STATE_RUNNING" && stopping) return busy("Stopping…", "agent");
  return sessionStatus(info);
}

/** A session's state. */
export function sessionStatus(info: ChatSessionInfo): Status {
  if (!info.live)
    return { words: "Stored", detail: "can be opened again", icon: "save", tone: "off" };
  if (info.state === "STATE_RUNNING") return runningStatus(info);
  if (info.state === "STATE_INIT") return READY;
  switch (info.ending) {
    case "error":
      return { words: "Failed", detail: "say something to go on", icon: "crash", tone: "bad" };
    case "stopped":
      return { words: "Stopped", detail: "by a person", icon: "stop", tone: "off" };
    default:
      return READY;
  }
}

const READY: Status = { words: "Ready", detail: "", icon: "check", tone: "good" };

function runningStatus({ waiting, speaking, halted }: ChatSessionInfo): Status {
  const who = speaking === null ? "" : escapeInvisible(speaking);
  if (waiting === null && halted)
    return {
      words: "Halted",
      detail: "step or continue in the debugger",
      icon: "pause",
      tone: "you",
    };
  if (waiting === null) return { ...busy("Answering…", "agent"), detail: who };
  const detail = who && `${who} asks`;
  return { words: "Waits for your choice", detail, icon: "shield", tone: "you" };
}

function busy(words: string, tone: Status["tone"]): Status {
  return { words, detail: "", icon: "spin", tone, spin: true };
}

/** How an agent calls tools, for a person. */
export function typeText({ type }: ChatAgentInfo): string {
  return type === "STRUCTURED_CHAT"
    ? "calls tools by JSON in its text"
    : "calls tools by its model’s means";
}

/** What a session is called: its title, or that it has none yet. */
export function titleOf({ title }: Pick<ChatSessionInfo, "title">): string {
  return escapeInvisible(title.trim()) || "New conversation";
}

/** Why nothing can be said now; null where it can. */
export function sendDisabledReason(info: ChatSessionInfo | null, removed: boolean): string | null {
  if (removed) return "This conversation was deleted";
  if (!info) return "The conversation is being opened";
  if (info.waiting !== null) return "Answer the question above first, or stop the answer";
  if (info.halted) return "The agent is halted in the debugger: continue there, or stop the answer";
  if (info.state === "STATE_RUNNING") return "The agent is answering: wait, or stop the answer";
  if (info.agents.length === 0) return "No agent takes part in this chat";
  return null;
}
