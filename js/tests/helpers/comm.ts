/** A widget's model whose kernel is played by the test. */
import type { CommModel } from "../../src/client/comm";

interface FromView {
  link: string;
  op: "open" | "text" | "close";
  text?: string;
  more?: true;
}

type ReceivedLink = (...heard: never[]) => void;

export class FakeModel implements CommModel {
  /** What the views sent, and wasn't taken yet. */
  readonly inbox: FromView[] = [];
  /** Whether the front end threw the comm away: to send is then an error, as in JupyterLab. */
  disposed = false;
  readonly #listeners = new Map<string, Set<ReceivedLink>>();

  constructor(readonly traits: Record<string, unknown> = {}) {}

  get = (name: string) => this.traits[name] as never;

  send(content: unknown): void {
    if (this.disposed) throw new Error("Cannot send");
    this.inbox.push(content as FromView);
  }

  on(event: string, callback: ReceivedLink): void {
    this.#listeners.set(event, this.#of(event).add(callback));
  }

  off(event: string, callback: ReceivedLink): void {
    this.#of(event).delete(callback);
  }

  /** How many listen, to anything. */
  get listeners(): number {
    return [...this.#listeners.values()].reduce((sum, { size }) => sum + size, 0);
  }

  trigger(event: string, ...heard: unknown[]): void {
    for (const callback of [...this.#of(event)]) callback(...(heard as never[]));
  }

  /** The kernel says something. */
  say(content: unknown): void {
    this.trigger("msg:custom", content, []);
  }

  set(name: string, value: unknown): void {
    this.traits[name] = value;
    this.trigger(`change:${name}`);
  }

  /** Take the next message, which must be of this kind. */
  take(op: FromView["op"]): FromView {
    const message = this.inbox.shift();
    if (message?.op !== op) throw new Error(`expected ${op}, got ${message?.op ?? "nothing"}`);
    return message;
  }

  #of(event: string): Set<ReceivedLink> {
    return this.#listeners.get(event) ?? new Set();
  }
}
