/** What comes is gathered until the next frame: a burst costs one change of the view, and none is seen half. */

/** Call back once, soon; gives back how to cancel. */
export type Schedule = (then: () => void) => () => void;

/** A page that isn't shown, as a hidden tab, draws no frames and goes on hearing. */
const HIDDEN_MS = 200;

/** Before the next frame is drawn. */
export const nextFrame: Schedule = (then) => {
  const cancel = () => {
    cancelAnimationFrame(frame);
    clearTimeout(timer);
  };
  const once = () => {
    cancel();
    then();
  };
  const frame = requestAnimationFrame(once);
  const timer = setTimeout(once, HIDDEN_MS);
  return cancel;
};

export class Inbox<T> {
  readonly #schedule: Schedule;
  readonly #deliver: (items: T[]) => void;
  #items: T[] = [];
  #cancel: (() => void) | null = null;

  /** @param onItems Gets what came since it was last called, in order. */
  constructor(schedule: Schedule, onItems: (items: T[]) => void) {
    this.#schedule = schedule;
    this.#deliver = onItems;
  }

  add(item: T): void {
    this.#items.push(item);
    this.#cancel ??= this.#schedule(() => this.flush());
  }

  /** Hand over now what is there. */
  flush(): void {
    const items = this.#items;
    this.forget();
    if (items.length > 0) this.#deliver(items);
  }

  /** Drop what is there. */
  forget(): void {
    this.#cancel?.();
    this.#cancel = null;
    this.#items = [];
  }
}
