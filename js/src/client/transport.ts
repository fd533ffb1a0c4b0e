/** How bytes reach a Core, and the timers by which links are kept. */

/** Why a link ended. */
export interface CloseInfo {
  code: number;
  reason: string;
  /** Whether it had ever opened. */
  opened: boolean;
}

export interface LinkEvents {
  opened(): void;
  message(text: string): void;
  /**
   * An answer stays away, and the link may still go on.
   *
   * @param why Said to the person; null once something was heard again.
   */
  stalled?(why: string | null): void;
  closed(why: CloseInfo): void;
}

/** One attempt to reach the Core, and the connection that comes of it. */
export interface Link {
  /** @param isAnswered False: the other end answers nothing, and so no answer stays away. */
  send(text: string, isAnswered?: boolean): void;
  close(): void;
}

export interface Transport {
  /** Begin an attempt. Nothing is called after `close`. */
  open(events: LinkEvents): Link;
  /**
   * Ask why an attempt failed, since a browser doesn't say.
   *
   * @returns What the person should do, where trying again is of no use; null where it may be.
   */
  explain?(attempt: number): Promise<string | null>;
}

// ---- How long to wait before trying again.

/** The clock, chance and timers: passed in, so that tests need not wait. */
export interface Timers {
  now(): number;
  random(): number;
  /** Call once after some milliseconds; gives back how to cancel. */
  after(ms: number, then: () => void): () => void;
}

export const browserTimers: Timers = {
  now: () => Date.now(),
  random: () => Math.random(),
  after(ms, then) {
    const timer = setTimeout(then, ms);
    return () => clearTimeout(timer);
  },
};

const FIRST_MS = 500;
const MOST_MS = 15_000;

/**
 * The wait before an attempt: doubling, and with chance in it, so that many views whose server comes
 * back don't all knock at once.
 *
 * @param attempt Counted from 1.
 * @param chance From 0 to 1.
 */
export function backoff(attempt: number, chance: number): number {
  const most = Math.min(MOST_MS, FIRST_MS * 2 ** (attempt - 1));
  return Math.round(most * (0.5 + chance / 2));
}
