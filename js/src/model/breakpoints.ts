/** Where runs halt by themselves: the Core's breakpoints, mirrored, and the one that is being made. */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import type { BreakpointDraft } from "../breakpoints/draft";
import { type Client, CommandError, LinkLost } from "../client/core_client";
import type { IconName } from "../icons/icon";
import { BREAKPOINT_PUSH_NAMES } from "../protocol/messages";
import type {
  BreakpointRule,
  DryRunOutcome,
  EventKind,
  FromUi,
  Price,
  Run,
  TimelineRow,
  ToUi,
} from "../protocol/types.gen";
import { escapeInvisible } from "../view/format";
import { EditRules } from "./edit_rules";
import type { Problem, Tab } from "./model";

interface BreakpointsOptions {
  client: Client;
  run: ReadonlySignal<Run | null>;
}

type PushName = (typeof BREAKPOINT_PUSH_NAMES)[number];

/** A push that is about breakpoints, edit rules or prices. */
export type BreakpointPush = { [P in PushName]: { type: P; body: ToUi[P] } }[PushName];

export const isBreakpointPush = <P extends { type: string }>(push: P): push is P & BreakpointPush =>
  (BREAKPOINT_PUSH_NAMES as readonly string[]).includes(push.type);

export class Breakpoints {
  /** All breakpoints, in the order in which they were made. */
  readonly all = signal<readonly BreakpointRule[]>([]);
  /** What a person said models cost. */
  readonly prices = signal<readonly Price[]>([]);
  /** How many are on and for the shown run's agents. */
  readonly enabledCount: ReadonlySignal<number>;
  /** What stands in the bar; null until something was written there. It outlives tabs. */
  readonly draft = signal<BreakpointDraft | null>(null);
  /** The row that a breakpoint is to be made like; null once the bar has taken it. */
  readonly template = signal<TimelineRow | null>(null);
  /** Edits that are made by themselves. */
  readonly editRules: EditRules;

  readonly #options: BreakpointsOptions;

  constructor(options: BreakpointsOptions) {
    this.#options = options;
    this.editRules = new EditRules(options.client);
    this.enabledCount = computed(
      () => this.all.value.filter(({ enabled }) => enabled).filter(this.appliesToRun).length,
    );
  }

  /** Whether a breakpoint is for the shown run's agents; where no run is shown, any is. */
  appliesToRun = ({ program }: Pick<BreakpointRule, "program">): boolean => {
    const run = this.#options.run.value;
    return run === null || matchesGlob(program, run.program);
  };

  /** The words of breakpoints by their ids: what a row is said to have been hit by. */
  describe(ids: readonly string[]): string {
    const words = ids.map((id) => {
      const breakpoint = this.all.value.find((each) => each.id === id);
      return breakpoint ? `“${breakpointText(breakpoint)}”` : "(deleted)";
    });
    return words.join(", ");
  }

  /** Whether all of these only log. */
  areLogOnly(ids: readonly string[]): boolean {
    return ids.every((id) => this.all.value.find((each) => each.id === id)?.then === "log");
  }

  /** Take a Core's snapshot. */
  replaceAll(hello: Pick<ToUi["hello"], "stops" | "prices" | "edit_rules">): void {
    const { stops, prices, edit_rules = [] } = hello;
    batch(() => {
      this.all.value = stops;
      this.editRules.all.value = edit_rules;
      this.prices.value = prices;
    });
  }

  applyPush(push: BreakpointPush): void {
    const { type, body } = push;
    if (push.type === "edit_rule" || push.type === "edit_rule_gone") this.editRules.applyPush(push);
    else if (type === "prices") this.prices.value = body.prices;
    else if (type === "stop") this.#store(body.stop);
    else if (type === "stop_gone") this.#remove(body.stop);
  }

  /** Set a breakpoint. Tells what was wrong with it; null where it is set. */
  set(breakpoint: BreakpointRule): Promise<Problem | null> {
    return this.#run("set_stop", { stop: breakpoint }, () => this.#store(breakpoint));
  }

  delete(breakpoint: string): Promise<Problem | null> {
    return this.#run("delete_stop", { stop: breakpoint }, () => this.#remove(breakpoint));
  }

  /** Set what models cost, in place of all that was set. Tells what was wrong; null where it is set. */
  setPrices(prices: readonly Price[]): Promise<Problem | null> {
    return this.#run("set_prices", { prices: [...prices] }, () => {
      this.prices.value = prices;
    });
  }

  /**
   * Where a breakpoint would have hit, newest run first. Rejects with `CommandError` or `LinkLost`.
   *
   * @param run Null: in the last runs of agents that it is for.
   */
  async dryRun(breakpoint: BreakpointRule, run: string | null): Promise<readonly DryRunOutcome[]> {
    const { trials } = await this.#options.client.request("try_stop", { stop: breakpoint, run });
    return trials;
  }

  /** The Core pushes it as well; shown at once, nothing flickers for a frame. */
  async #run<C extends "set_stop" | "delete_stop" | "set_prices">(
    command: C,
    body: FromUi[C],
    done: () => void,
  ): Promise<Problem | null> {
    try {
      await this.#options.client.request(command, body, done);
      return null;
    } catch (error) {
      return problemOf(error);
    }
  }

  #store(breakpoint: BreakpointRule): void {
    const all = this.all.peek();
    const at = all.findIndex(({ id }) => id === breakpoint.id);
    this.all.value = at < 0 ? [...all, breakpoint] : all.with(at, breakpoint);
  }

  #remove(id: string): void {
    this.all.value = this.all.peek().filter((breakpoint) => breakpoint.id !== id);
  }
}

/** Begin a breakpoint that is to hit where this row is. */
export function addBreakpointLike(
  model: { tab: Signal<Tab>; breakpoints: Breakpoints },
  row: TimelineRow,
): void {
  batch(() => {
    model.breakpoints.template.value = row;
    model.tab.value = "breakpoints";
  });
}

/** What was refused, or that the link was lost; what a person can do nothing about is thrown on. */
export function problemOf(error: unknown): Problem {
  if (error instanceof CommandError) return { code: error.code, message: error.message };
  if (error instanceof LinkLost) return { code: "link_lost", message: error.message };
  throw error;
}

// ---- Breakpoints in words: where they halt, and on what condition. Pure; one place, so that all say them alike.

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

type Location = Pick<BreakpointRule, "kind" | "side" | "on_error">;

/** Where a breakpoint looks, without a name: "Before a tool", "An LLM query fails", "Any event". */
export const locationText = (location: Location): string => nounParts(location, false).join("");

/** What stands before a breakpoint's name, and what after it: "Tool ", " fails". */
export const locationParts = (location: Location): [string, string] => {
  const [before, after] = nounParts(location, true);
  return [`${before} `, after];
};

function nounParts({ kind, side, on_error: fails }: Location, describe: boolean): [string, string] {
  const { begin, end } = kind ? NOUNS[kind] : { begin: "event", end: "event" };
  const noun = side === "end" && !fails ? end : begin;
  const article = describe ? "" : kind ? (/^[aeioL]/.test(noun) ? "an " : "a ") : "any ";
  if (side && !fails) return [`${side === "begin" ? "Before" : "After"} ${article}${noun}`, ""];
  return [capitalize(article + noun), fails ? " fails" : ""];
}

/** The icon of where a breakpoint looks, and the actor whose colour it has. */
export function locationIcon({ kind }: Location): { icon: IconName; actor: string } {
  return kind ? NOUNS[kind] : { icon: "diamond", actor: "system" };
}

/** What a watch waits for: "tokens over 10,000". */
export function watchText(watch: NonNullable<BreakpointRule["watch"]>): string {
  switch (watch.kind) {
    case "tokens":
      return `tokens over ${watch.limit.toLocaleString("en-US")}`;
    case "cost":
      return `cost over $${watch.limit}`;
    case "repeated":
      return `the same action ${watch.times} times ${watch.in_a_row ? "in a row" : "in all"}`;
    case "touched":
      return `${escapeInvisible(watch.path)} is changed`;
  }
}

/** How often it hits: "once", "from hit 3 on"; "" is each time. */
export function hitCountText({ nth, once }: Pick<BreakpointRule, "nth" | "once">): string {
  if (nth === 1) return once ? "once" : "";
  const count = nth.toLocaleString("en-US");
  return once ? `at hit ${count} only` : `from hit ${count} on`;
}

/** Which agents of the program it looks at: " by researcher"; "" is all of them. */
export const agentText = ({ agent }: Pick<BreakpointRule, "agent">): string =>
  agent === undefined ? "" : ` by ${escapeInvisible(globLiteral(agent) ?? agent)}`;

/** A breakpoint in one line, as it is called where it hit. */
export function breakpointText(breakpoint: BreakpointRule): string {
  const { name, condition, watch } = breakpoint;
  const location =
    name === null
      ? locationText(breakpoint)
      : locationParts(breakpoint).join(escapeInvisible(name));
  const where = condition === null ? "" : ` where ${escapeInvisible(condition)}`;
  return [
    location + agentText(breakpoint) + where,
    watch && watchText(watch),
    hitCountText(breakpoint),
  ]
    .filter(Boolean)
    .join(", ");
}

const capitalize = (words: string) => words.charAt(0).toUpperCase() + words.slice(1);

// ---- Patterns as shells have them: `*`, `?` and `[...]`, with case, against the whole text. Pure.

type CharTest = (char: string) => boolean;
const ANY_CHARS = Symbol("any number of characters");

/** Whether a text is such; in time that grows with their lengths' product, whatever the pattern. */
export function matchesGlob(pattern: string, text: string): boolean {
  const parts = parseGlob(pattern);
  const chars = [...text];
  let part = 0;
  let at = 0;
  // Where the last star stands, and how far it reaches: that one alone is ever tried again.
  let star = -1;
  let reach = 0;
  while (at < chars.length) {
    const wanted = parts[part];
    if (wanted === ANY_CHARS) {
      star = part++;
      reach = at;
    } else if (wanted?.(chars[at] ?? "")) {
      part += 1;
      at += 1;
    } else if (star >= 0) {
      part = star + 1;
      at = ++reach;
    } else {
      return false;
    }
  }
  return parts.slice(part).every((each) => each === ANY_CHARS);
}

/** The pattern that fits this text alone. */
export const escapeGlob = (text: string): string => text.replace(/[*?[]/g, "[$&]");

/** The text that a pattern fits alone; null where it fits others too. */
export function globLiteral(pattern: string): string | null {
  const text = pattern.replace(/\[([*?[])\]/g, "$1");
  return escapeGlob(text) === pattern ? text : null;
}

function parseGlob(pattern: string): (CharTest | typeof ANY_CHARS)[] {
  const chars = [...pattern];
  const parts: (CharTest | typeof ANY_CHARS)[] = [];
  for (let at = 0; at < chars.length; at += 1) {
    const char = chars[at];
    const end = char === "[" ? endOfSet(chars, at) : -1;
    if (char === "*") parts.push(ANY_CHARS);
    else if (char === "?") parts.push(() => true);
    else if (end < 0) parts.push((each) => each === char);
    else {
      parts.push(charSet(chars.slice(at + 1, end)));
      at = end;
    }
  }
  return parts;
}

/** Where a set ends; -1 where the bracket is only a character. One that comes first is in the set. */
function endOfSet(chars: readonly string[], at: number): number {
  return chars.indexOf("]", at + (chars[at + 1] === "!" ? 3 : 2));
}

function charSet(chars: readonly string[]): CharTest {
  const turned = chars[0] === "!";
  const set = turned ? chars.slice(1) : chars;
  const ranges: [string, string][] = [];
  for (let at = 0; at < set.length; at += 1) {
    const first = set[at] ?? "";
    const isRange = set[at + 1] === "-" && at + 2 < set.length;
    ranges.push([first, isRange ? (set[at + 2] ?? "") : first]);
    if (isRange) at += 2;
  }
  return (char) => ranges.some(([from, to]) => from <= char && char <= to) !== turned;
}
