/** Where runs halt by themselves: the Core's stops, mirrored, and the one that is being made. */
import { batch, computed, type ReadonlySignal, type Signal, signal } from "@preact/signals";
import { type Client, CommandError, LinkLost } from "../client/client";
import type { FromUi, Price, Row, Run, Stop, StopTrial, ToUi } from "../protocol/types.gen";
import type { StopDraft } from "../stops/draft";
import { fits } from "./globs";
import type { Problem, Tab } from "./model";
import { stopWords } from "./stop_words";

interface Links {
  client: Client;
  run: ReadonlySignal<Run | null>;
}

/** A push that is about stops. */
export type StopPush = {
  [P in "stop" | "stop_gone" | "prices"]: { type: P; body: ToUi[P] };
}["stop" | "stop_gone" | "prices"];

export const isStopPush = <P extends { type: string }>(push: P): push is P & StopPush =>
  ["stop", "stop_gone", "prices"].includes(push.type);

export class Stops {
  /** All stops, in the order in which they were made. */
  readonly all = signal<readonly Stop[]>([]);
  /** What a person said models cost. */
  readonly prices = signal<readonly Price[]>([]);
  /** How many are on and for the shown run's agents. */
  readonly inForce: ReadonlySignal<number>;
  /** What stands in the bar; null until something was written there. It outlives tabs. */
  readonly draft = signal<StopDraft | null>(null);
  /** The row that a stop is to be made like; null once the bar has taken it. */
  readonly like = signal<Row | null>(null);

  readonly #links: Links;

  constructor(links: Links) {
    this.#links = links;
    this.inForce = computed(
      () => this.all.value.filter(({ enabled }) => enabled).filter(this.isFor).length,
    );
  }

  /** Whether a stop is for the shown run's agents; where no run is shown, any is. */
  isFor = ({ program }: Stop): boolean => {
    const run = this.#links.run.value;
    return run === null || fits(program, run.program);
  };

  /** The words of stops by their ids: what a row is said to have been hit by. */
  named(ids: readonly string[]): string {
    const words = ids.map((id) => {
      const stop = this.all.value.find((each) => each.id === id);
      return stop ? `“${stopWords(stop)}”` : "(deleted)";
    });
    return words.join(", ");
  }

  /** Whether all of these only log. */
  onlyLog(ids: readonly string[]): boolean {
    return ids.every((id) => this.all.value.find((each) => each.id === id)?.then === "log");
  }

  /** Take a Core's snapshot. */
  hello({ stops, prices }: Pick<ToUi["hello"], "stops" | "prices">): void {
    batch(() => {
      this.all.value = stops;
      this.prices.value = prices;
    });
  }

  fold({ type, body }: StopPush): void {
    if (type === "prices") this.prices.value = body.prices;
    else if (type === "stop") this.#put(body.stop);
    else this.#drop(body.stop);
  }

  /** Set a stop. Tells what was wrong with it; null where it is set. */
  set(stop: Stop): Promise<Problem | null> {
    return this.#attempt("set_stop", { stop }, () => this.#put(stop));
  }

  delete(stop: string): Promise<Problem | null> {
    return this.#attempt("delete_stop", { stop }, () => this.#drop(stop));
  }

  /**
   * Where a stop would have hit, newest run first. Rejects with `CommandError` or `LinkLost`.
   *
   * @param run Null: in the last runs of agents that it is for.
   */
  async try(stop: Stop, run: string | null): Promise<readonly StopTrial[]> {
    const { trials } = await this.#links.client.request("try_stop", { stop, run });
    return trials;
  }

  /** The Core pushes it as well; shown at once, nothing flickers for a frame. */
  async #attempt<C extends "set_stop" | "delete_stop">(
    command: C,
    body: FromUi[C],
    done: () => void,
  ): Promise<Problem | null> {
    try {
      await this.#links.client.request(command, body, done);
      return null;
    } catch (error) {
      return problemOf(error);
    }
  }

  #put(stop: Stop): void {
    const all = this.all.peek();
    const at = all.findIndex(({ id }) => id === stop.id);
    this.all.value = at < 0 ? [...all, stop] : all.with(at, stop);
  }

  #drop(id: string): void {
    this.all.value = this.all.peek().filter((stop) => stop.id !== id);
  }
}

/** Begin a stop that is to hit where this row is. */
export function stopLike(model: { tab: Signal<Tab>; stops: Stops }, row: Row): void {
  batch(() => {
    model.stops.like.value = row;
    model.tab.value = "stops";
  });
}

/** What was refused, or that the link was lost; what a person can do nothing about is thrown on. */
export function problemOf(error: unknown): Problem {
  if (error instanceof CommandError) return { code: error.code, message: error.message };
  if (error instanceof LinkLost) return { code: "link_lost", message: error.message };
  throw error;
}
