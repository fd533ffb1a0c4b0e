/** A Core without sockets: the test reads what the view sent, and answers. */
import type { CloseInfo, Link, LinkEvents, Timers, Transport } from "../../src/client/transport";
import type { CommandName, PushName } from "../../src/protocol/messages";
import type { FromUi, Run, ToUi } from "../../src/protocol/types.gen";
import { aHello } from "./values";

interface Sent {
  n: number;
  type: CommandName;
  id: string;
  body: Record<string, unknown>;
}

export class Peer implements Transport {
  /** What came over the newest link and wasn't taken yet. */
  readonly inbox: Sent[] = [];
  links = 0;
  explanation: string | null = null;
  #events: LinkEvents | null = null;
  #sent = 0;

  open(events: LinkEvents): Link {
    this.links += 1;
    this.#events = events;
    this.#sent = 0;
    this.inbox.length = 0;
    return {
      send: (text) => this.inbox.push(JSON.parse(text) as Sent),
      close: () => {
        if (this.#events === events) this.#events = null;
      },
    };
  }

  explain = async () => this.explanation;

  /** Take the next command, which must be of this type. */
  take<C extends CommandName>(type: C): Sent & { body: FromUi[C] } {
    const sent = this.inbox.shift();
    if (sent?.type !== type) throw new Error(`expected ${type}, got ${sent?.type ?? "nothing"}`);
    return sent as Sent & { body: FromUi[C] };
  }

  async answer<T extends keyof ToUi>(to: Sent, type: T, body: ToUi[T]): Promise<void> {
    this.#say(type, body, to.id);
    await settled();
  }

  async refuse(to: Sent, code: string, message = code): Promise<void> {
    await this.answer(to, "error", { code, message, run: null });
  }

  async push<P extends PushName>(type: P, body: ToUi[P]): Promise<void> {
    this.#say(type, body);
    await settled();
  }

  raw(text: string): void {
    this.#events?.message(text);
  }

  opened(): void {
    this.#events?.opened();
  }

  /** Answers stay away; null: no longer. */
  stall(why: string | null): void {
    this.#events?.stalled?.(why);
  }

  /** The link opens, and hello is answered. */
  async greet(runs: Run[] = [], control = true, version = 2): Promise<void> {
    this.opened();
    await this.answer(this.take("hello"), "hello", aHello(runs, { control, version }));
  }

  async drop(why: Partial<CloseInfo> = {}): Promise<void> {
    const events = this.#events;
    this.#events = null;
    events?.closed({ code: 1006, reason: "", opened: true, ...why });
    await settled();
  }

  #say(type: string, body: unknown, id?: string): void {
    this.#sent += 1;
    this.#events?.message(JSON.stringify({ n: this.#sent, type, ...(id && { id }), body }));
  }
}

/** Let promises that are settled call back. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
}

/** A clock that stands until it is moved. */
export class TestTimers implements Timers {
  time = 0;
  chance = 1;
  #waiting: { at: number; then: () => void }[] = [];

  now = () => this.time;
  random = () => this.chance;
  after = (ms: number, then: () => void) => {
    const entry = { at: this.time + ms, then };
    this.#waiting.push(entry);
    return () => {
      this.#waiting = this.#waiting.filter((each) => each !== entry);
    };
  };

  pass(ms: number): void {
    const until = this.time + ms;
    for (;;) {
      const due = this.#waiting.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0];
      if (!due) break;
      this.#waiting = this.#waiting.filter((each) => each !== due);
      this.time = due.at;
      due.then();
    }
    this.time = until;
  }
}
