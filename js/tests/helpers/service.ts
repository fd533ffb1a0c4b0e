/** A service behind a line, played: it keeps what came, and says hello. */
import type { CloseInfo, Link, LinkEvents, Transport } from "../../src/client/transport";
import { settled } from "./peer";

interface Envelope {
  n: number;
  type: string;
  id?: string;
  body: Record<string, unknown>;
}

export abstract class FakeService implements Transport {
  /** What came, by this connection. */
  readonly received: Envelope[] = [];
  links = 0;
  /** What the login may do: all, or only watch. */
  control = true;
  #events: LinkEvents | null = null;
  #n = 0;

  open(events: LinkEvents): Link {
    this.links += 1;
    this.#events = events;
    this.#n = 0;
    this.received.length = 0;
    this.begin();
    queueMicrotask(() => this.link(events));
    return {
      send: (text) => {
        const message = JSON.parse(text) as Envelope;
        this.received.push(message);
        queueMicrotask(() => this.#events === events && this.#answer(message));
      },
      close: () => {
        if (this.#events === events) this.#events = null;
      },
    };
  }

  abstract explain(): Promise<string | null>;

  async drop(why: Partial<CloseInfo> = {}): Promise<void> {
    const events = this.#events;
    this.#events = null;
    events?.closed({ code: 1006, reason: "", opened: true, ...why });
    await settled();
  }

  /** Send as it is. */
  say(type: string, body: object, id?: string): void {
    this.#n += 1;
    this.#events?.message(JSON.stringify({ n: this.#n, type, ...(id && { id }), body }));
  }

  /** A connection is new: nothing is watched. */
  protected abstract begin(): void;

  /** What becomes of a connection; it opens unless told otherwise. */
  protected link(events: LinkEvents): void {
    events.opened();
  }

  protected abstract request(id: string, method: string, params: Record<string, unknown>): void;

  /** Nobody listens to what was asked any more. */
  protected abstract cancel(id: string): void;

  #answer({ type, id, body }: Envelope): void {
    if (type === "hello")
      this.say("welcome", { version: 1, core: "agentstepper_nb 0.1", control: this.control });
    else if (type === "cancel" && id) this.cancel(id);
    else if (type === "request" && id)
      this.request(id, String(body.method), body.params as Record<string, unknown>);
  }
}
