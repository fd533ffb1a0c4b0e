/** Pushes gathered until the next frame: a burst costs one change of the view, and none is seen half. */

/** Call back before the next frame is drawn; also where none is drawn, as in a hidden tab. */
export type Schedule = (then: () => void) => void;

const HIDDEN_MS = 200;

export const nextFrame: Schedule = (then) => {
  const once = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
    then();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, HIDDEN_MS);
};

export class Inbox<T> {
  readonly #schedule: Schedule;
  readonly #take: (items: T[]) => void;
  #items: T[] = [];

  /** @param take Gets what came since it was last called, in order. */
  constructor(schedule: Schedule, take: (items: T[]) => void) {
    this.#schedule = schedule;
    this.#take = take;
  }

  put(item: T): void {
    this.#items.push(item);
    if (this.#items.length === 1) this.#schedule(() => this.flush());
  }

  /** Hand over now what is there. */
  flush(): void {
    const items = this.#items;
    this.#items = [];
    if (items.length > 0) this.#take(items);
  }
}
