/** Stops in words: where they halt, and on what condition. Pure; one place, so that all say them alike. */
import type { IconName } from "../icons/icon";
import type { EventKind, Stop } from "../protocol/types.gen";
import { visible } from "../view/visible";

const NOUNS: Record<EventKind, { icon: IconName; actor: string; begin: string; end: string }> = {
  llm_query: { icon: "llm", actor: "llm", begin: "LLM query", end: "LLM answer" },
  tool_invocation: { icon: "tools", actor: "tools", begin: "tool", end: "tool" },
  custom: { icon: "diamond", actor: "agent", begin: "custom event", end: "custom event" },
  debug_message: { icon: "agent", actor: "agent", begin: "message", end: "message" },
  program_started: {
    icon: "system",
    actor: "system",
    begin: "program start",
    end: "program start",
  },
  program_finished: { icon: "system", actor: "system", begin: "program end", end: "program end" },
};

type Place = Pick<Stop, "kind" | "side" | "on_error">;

/** Where a stop looks, without a name: "Before a tool", "An LLM query fails", "Any event". */
export const placeWords = (place: Place): string => partsOf(place, false).join("");

/** What stands before a stop's name, and what after it: "Tool ", " fails". */
export const aroundName = (place: Place): [string, string] => {
  const [before, after] = partsOf(place, true);
  return [`${before} `, after];
};

function partsOf({ kind, side, on_error: fails }: Place, named: boolean): [string, string] {
  const { begin, end } = kind ? NOUNS[kind] : { begin: "event", end: "event" };
  const noun = side === "end" && !fails ? end : begin;
  const article = named ? "" : kind ? (/^[aeioL]/.test(noun) ? "an " : "a ") : "any ";
  if (side && !fails) return [`${side === "begin" ? "Before" : "After"} ${article}${noun}`, ""];
  return [sentence(article + noun), fails ? " fails" : ""];
}

/** The icon of where a stop looks, and the actor whose colour it has. */
export function placeIcon({ kind }: Place): { icon: IconName; actor: string } {
  return kind ? NOUNS[kind] : { icon: "diamond", actor: "system" };
}

/** What a watch waits for: "tokens over 10,000". */
export function watchWords(watch: NonNullable<Stop["watch"]>): string {
  switch (watch.kind) {
    case "tokens":
      return `tokens over ${watch.limit.toLocaleString("en-US")}`;
    case "cost":
      return `cost over $${watch.limit}`;
    case "repeated":
      return `the same action ${watch.times} times ${watch.in_a_row ? "in a row" : "in all"}`;
    case "touched":
      return `${visible(watch.path)} is changed`;
  }
}

/** How often it hits: "once", "from the 3rd match on"; "" is each time. */
export function oftenWords({ nth, once }: Pick<Stop, "nth" | "once">): string {
  if (nth === 1) return once ? "once" : "";
  return once ? `at the ${ordinal(nth)} match` : `from the ${ordinal(nth)} match on`;
}

/** A stop in one line, as it is called where it hit. */
export function stopWords(stop: Stop): string {
  const { name, condition, watch } = stop;
  const place = name === null ? placeWords(stop) : aroundName(stop).join(visible(name));
  const where = condition === null ? "" : ` where ${visible(condition)}`;
  return [place + where, watch && watchWords(watch), oftenWords(stop)].filter(Boolean).join(", ");
}

const sentence = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

function ordinal(n: number): string {
  const ending = { 1: "st", 2: "nd", 3: "rd" }[n % 100 >= 11 && n % 100 <= 13 ? 0 : n % 10];
  return `${n.toLocaleString("en-US")}${ending ?? "th"}`;
}
