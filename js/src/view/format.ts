/** How counts, times and texts are said. */
import type { IconName } from "../icons/icon";
import type { Actor } from "../protocol/types.gen";

const ACTORS: Record<Actor, { label: string; icon: IconName }> = {
  agent: { label: "Agent", icon: "agent" },
  llm: { label: "LLM", icon: "llm" },
  tools: { label: "Tools", icon: "tools" },
  system: { label: "System", icon: "system" },
};

export const actorLabel = (actor: Actor): string => ACTORS[actor].label;
export const actorIcon = (actor: Actor): IconName => ACTORS[actor].icon;

/** "1 event", "2 events". */
export function formatCount(n: number, noun: string): string {
  return `${n.toLocaleString("en-US")} ${n === 1 ? noun : `${noun}s`}`;
}

/** A duration as a row's figure: "4 ms", "1.84 s", "12.3 s", "3:07". */
export function formatDuration(seconds: number): string {
  if (seconds < 0.0005) return "0 ms";
  if (seconds < 0.9995) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 9.995) return `${seconds.toFixed(2)} s`;
  if (seconds < 59.95) return `${seconds.toFixed(1)} s`;
  return formatElapsed(seconds);
}

/** Time gone by, as a clock counts it: "0:41", "12:05", "1:02:30". */
export function formatElapsed(seconds: number): string {
  const whole = Math.max(0, Math.floor(seconds));
  const s = String(whole % 60).padStart(2, "0");
  const minutes = Math.floor(whole / 60);
  if (minutes < 60) return `${minutes}:${s}`;
  return `${Math.floor(minutes / 60)}:${String(minutes % 60).padStart(2, "0")}:${s}`;
}

/** Bytes: "812 B", "1.2 KB", "3.4 MB". */
export function formatSize(bytes: number): string {
  if (bytes < 1000) return `${bytes} B`;
  const units = ["KB", "MB", "GB"];
  let value = bytes / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 9.95 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

const CLOCK = new Intl.DateTimeFormat(undefined, {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const DAY = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });

/** The time of day of a moment in POSIX seconds: "14:02:31". */
export const formatClock = (at: number): string => CLOCK.format(at * 1000);

/** When something was, from now: "14:02" today, "Yesterday 17:22", "18 Nov 09:15". */
export function formatDate(at: number, now = Date.now() / 1000): string {
  const time = formatClock(at).slice(0, -3);
  const days = dayNumber(now) - dayNumber(at);
  if (days <= 0) return time;
  return days === 1 ? `Yesterday ${time}` : `${DAY.format(at * 1000)} ${time}`;
}

function dayNumber(at: number): number {
  const day = new Date(at * 1000);
  return Math.round(new Date(day.getFullYear(), day.getMonth(), day.getDate()).getTime() / 864e5);
}

// ---- Characters that nobody sees, or that turn around what stands beside them, as something to be seen.
// Pure. agentstepper_nb/protocol/text_escaping.py has the same rule; one table of all code points holds both to
// it.

// By Unicode's properties. Not tabs and line ends. Not a joiner in a script that has letters beyond ASCII
// or in an emoji, which are written with them, nor what chooses an emoji's look.
const HIDDEN =
  /(?![\t\n\r]|(?<=\p{Emoji})[\ufe0e\ufe0f]|(?<=[^\0-\x7f\u200c\u200d])[\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** The text as it is shown; what is copied and sent is the text itself. */
export function escapeInvisible(text: string): string {
  return text.replace(HIDDEN, shown);
}

/** The characters of a text that can't be seen, by their numbers: each once. */
export function findInvisible(text: string): string[] {
  return [...new Set(text.match(HIDDEN))].map(number);
}

function shown(char: string): string {
  const code = char.charCodeAt(0);
  if (code < 0x20) return String.fromCharCode(0x2400 + code); // ␛
  return code === 0x7f ? "␡" : `⟨${number(char)}⟩`;
}

const number = (char: string) =>
  `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
