/** What the view of all agents knows: it asks the Core how they stand, and a page of their sessions. */

import { batch, computed, effect, signal } from "@preact/signals";
import { LinkLost } from "../client/core_client";
import { browserTimers, type Timers, type Transport } from "../client/transport";
import { readOnlyReason } from "../model/controls";
import type { FleetQuery, FleetSession, FleetStatus, FleetSummary } from "../protocol/runtime.gen";
import { RUNTIME_SERVICE, RuntimeClient } from "../sessions/topics";
import { FleetCommands } from "./commands";

export interface FleetFilter {
  /** "" is all. */
  readonly status: FleetStatus | "";
  /** "" is all. */
  readonly moniker: string;
  readonly text: string;
  /** The key of the error that sessions ended with; null is whichever, or none. */
  readonly error: string | null;
}

const ALL: FleetFilter = { status: "", moniker: "", text: "", error: null };

export type FleetTab = "inbox" | "errors";

interface FleetOptions {
  transport: Transport;
  /** The view's name and version. */
  name: string;
  timers?: Timers;
}

/** How long the view waits after an answer; longer where the Core takes long to answer. */
const REFRESH_MS = 1000;
const SHARE_OF_TIME = 4;
/** What a person changes is asked for this soon after: typing and scrolling are many changes. */
const SOON_MS = 80;
/** Sessions that are asked for around those in sight, and those that are remembered. */
const AROUND = 20;
const MAX_PAGE = 200;
const MAX_REMEMBERED = 1000;

export class FleetModel {
  readonly client: RuntimeClient;
  readonly commands: FleetCommands;
  /** How all stand; null until the Core has said it. */
  readonly fleet = signal<FleetSummary | null>(null);
  readonly filter = signal<FleetFilter>(ALL);
  /** Sessions that pass the filter, and those of them that are known, by their places. */
  readonly matching = signal(0);
  readonly sessions = signal<ReadonlyMap<number, FleetSession>>(new Map());
  /** Whether the sessions of this filter are known. */
  readonly isListed = signal(false);
  /** The session whose story is shown. */
  readonly selected = signal<FleetSession | null>(null);
  readonly tab = signal<FleetTab>("inbox");
  /** Runs that were chosen in the inbox. */
  readonly chosen = signal<ReadonlySet<string>>(new Set());
  /** The key of the failed actions that are listed; null: none are. */
  readonly openActions = signal<string | null>(null);
  /** Why nothing can be changed from here now; null where it can. */
  readonly readOnlyReason = computed(() => readOnlyReason(this.client));
  readonly #timers: Timers;
  #leave: (() => void)[] = [];
  #cancelTimer = () => {};
  #isAsking = false;
  #isStale = false;
  /** The places in sight. */
  #sight = { first: 0, last: 30 };
  /** Until when sessions are listed, where a person reads: newer ones would move what is read. */
  #until: number | null = null;

  constructor({ transport, name, timers = browserTimers }: FleetOptions) {
    this.#timers = timers;
    const onError = (message: string) => this.commands.fail(message);
    this.client = new RuntimeClient({ transport, service: RUNTIME_SERVICE, name, timers, onError });
    this.commands = new FleetCommands(this.client, () => this.refresh());
  }

  start(): void {
    const onVisible = () => {
      if (!document.hidden) this.refresh();
    };
    document.addEventListener("visibilitychange", onVisible);
    this.#leave = [
      () => document.removeEventListener("visibilitychange", onVisible),
      effect(() => {
        if (this.client.connection.value.kind === "open") this.refresh();
      }),
    ];
    this.client.start();
  }

  close(): void {
    for (const leave of this.#leave) leave();
    this.#cancelTimer();
    this.client.close();
  }

  // ---- what is looked at --------------------------------------------------------------------------

  updateFilter(change: Partial<FleetFilter>): void {
    batch(() => {
      this.filter.value = { ...this.filter.peek(), ...change };
      this.isListed.value = false;
      this.selected.value = null;
    });
    this.#sight = { first: 0, last: this.#sight.last - this.#sight.first };
    this.#until = null;
    this.#later(SOON_MS);
  }

  showAll(): void {
    this.updateFilter(ALL);
  }

  /** The places from `first` to `last` are in sight. At the top a person sees what is new. */
  look(first: number, last: number, isAtTop: boolean): void {
    const until = isAtTop ? null : (this.#until ?? this.fleet.peek()?.at ?? null);
    const { first: before, last: beforeLast } = this.#sight;
    if (first === before && last === beforeLast && until === this.#until) return;
    this.#sight = { first, last };
    this.#until = until;
    this.#later(SOON_MS);
  }

  toggleActions(key: string): void {
    this.openActions.value = this.openActions.peek() === key ? null : key;
    this.refresh();
  }

  /** Choose these runs and no others. */
  setChosen(runs: Iterable<string>): void {
    this.chosen.value = new Set(runs);
  }

  toggleChosen(run: string): void {
    const chosen = new Set(this.chosen.peek());
    if (!chosen.delete(run)) chosen.add(run);
    this.chosen.value = chosen;
  }

  // ---- asking -------------------------------------------------------------------------------------

  /** Ask now; where an answer is on its way, right after it. */
  refresh(): void {
    this.#cancelTimer();
    if (this.#isAsking) this.#isStale = true;
    else if (this.client.connection.peek().kind === "open" && !document.hidden) void this.#ask();
  }

  async #ask(): Promise<void> {
    const query = this.#query();
    const filter = this.filter.peek();
    const began = this.#timers.now();
    this.#isAsking = true;
    this.#isStale = false;
    try {
      const fleet = await this.client.request("fleet", query);
      batch(() => this.#store(fleet, query.offset ?? 0, filter));
    } catch (error) {
      if (!(error instanceof LinkLost)) this.commands.fail((error as Error).message);
    }
    this.#isAsking = false;
    const took = this.#timers.now() - began;
    this.#later(this.#isStale ? SOON_MS : Math.max(REFRESH_MS, SHARE_OF_TIME * took));
  }

  #query(): FleetQuery {
    const { status, moniker, text, error } = this.filter.peek();
    const { first, last } = this.#sight;
    const offset = Math.max(0, first - AROUND);
    return {
      limit: Math.min(MAX_PAGE, last + AROUND - offset + 1),
      offset,
      ...(status && { status: [status] }),
      ...(moniker && { moniker }),
      ...(text.trim() && { text: text.trim().slice(0, 200) }),
      ...(error !== null && { error }),
      ...(this.#until !== null && { created_until: this.#until }),
      ...(this.openActions.peek() !== null && { failed_action: this.openActions.peek() }),
    };
  }

  /** Where an answer is on its way, the next is asked for after it. */
  #later(ms: number): void {
    if (this.#isAsking) {
      this.#isStale = true;
      return;
    }
    this.#cancelTimer();
    this.#cancelTimer = this.#timers.after(ms, () => this.refresh());
  }

  #store(fleet: FleetSummary, offset: number, filter: FleetFilter): void {
    this.fleet.value = fleet;
    this.#forgetChosen(fleet);
    if (filter !== this.filter.peek()) return; // another list is asked for by now
    const { sessions, matching } = fleet.report;
    const known = this.isListed.peek() ? this.sessions.peek() : new Map<number, FleetSession>();
    const kept = [...known].filter(([at]) => at < matching);
    const next = new Map(kept.length > MAX_REMEMBERED ? [] : kept);
    for (const [at, session] of sessions.entries()) next.set(offset + at, session);
    this.sessions.value = next;
    this.matching.value = matching;
    this.isListed.value = true;
    const shown = this.selected.peek()?.session_id;
    const now = sessions.find(({ session_id }) => session_id === shown);
    if (now) this.selected.value = now;
  }

  /** A run that went on isn't chosen any more. */
  #forgetChosen({ inbox }: FleetSummary): void {
    const there = new Set(inbox.map(({ run_id }) => run_id));
    const left = [...this.chosen.peek()].filter((run) => there.has(run));
    if (left.length < this.chosen.peek().size) this.setChosen(left);
  }
}
