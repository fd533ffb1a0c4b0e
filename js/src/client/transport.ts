/** How messages travel. One interface, so that the view doesn't care what is underneath. */

/** Why a link ended. */
export interface Closed {
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
  closed(why: Closed): void;
}

/** One attempt to reach the Core, and the connection that comes of it. */
export interface Link {
  send(text: string): void;
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
