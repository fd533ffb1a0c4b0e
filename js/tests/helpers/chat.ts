/** A chat's kernel, played: it answers from what a test laid down, and tells what the test says. */

import type { ChatSessionInfo, ShownMessage } from "../../src/chat/types";
import type { LinkEvents } from "../../src/client/transport";
import type { ChatImage, Message, NumberedChatEvent } from "../../src/protocol/chat.gen";
import { aChatMessage, aSession } from "./chat_messages";
import { settled } from "./peer";
import { FakeService } from "./service";

type Event = NumberedChatEvent["event"];

/** A message as it travels. */
export function said(id: string, changes: Partial<ShownMessage> = {}): Message {
  const { streaming: _, ...message } = aChatMessage(id, changes);
  return message;
}

export interface Session {
  info: ChatSessionInfo;
  messages: Message[];
}

export function session(changes: Partial<ChatSessionInfo> = {}, messages: Message[] = []): Session {
  const n = messages.length;
  return { info: aSession({ messages: n, kept: n, ...changes }), messages };
}

export class FakeChat extends FakeService {
  /** What was asked for and changes something, refused or not. */
  readonly asked: [string, Record<string, unknown>][] = [];
  readonly sessions: Map<string, Session>;
  /** What some methods are refused with. */
  refuses: Record<string, { code: string; message: string }> = {};
  /** Methods that are never answered. */
  readonly silent = new Set<string>();
  /** Bytes and texts by a message's id, or why there are none. */
  pictures: Record<string, ChatImage | Error> = {};
  sources: Record<string, string | Error> = {};
  /** Why it can't be reached at all; null where it can. */
  away: string | null = null;
  readonly #watched = new Map<string, { session: string; n: number }>();
  readonly #lists = new Set<string>();

  constructor(...sessions: Session[]) {
    super();
    const all = sessions.length > 0 ? sessions : [session()];
    this.sessions = new Map(all.map((each) => [each.info.id, each]));
  }

  explain = async () => this.away;

  protected begin(): void {
    this.#watched.clear();
    this.#lists.clear();
  }

  protected override link(events: LinkEvents): void {
    if (this.away === null) events.opened();
    else events.closed({ code: 1006, reason: "", opened: false });
  }

  protected cancel(id: string): void {
    this.#watched.delete(id);
  }

  /** The sessions that are watched. */
  get watched(): string[] {
    return [...this.#watched.values()].map(({ session }) => session);
  }

  /** Tell who watches a session; all of it comes at once. */
  async tell(id: string, ...events: Event[]): Promise<void> {
    for (const event of events)
      for (const [request, watched] of this.#watched)
        if (watched.session === id) this.#item(request, watched, event);
    await settled();
  }

  /** Tell an event whose number isn't the next one. */
  async tellLater(id: string, event: Event): Promise<void> {
    for (const watched of this.#watched.values()) if (watched.session === id) watched.n += 1;
    await this.tell(id, event);
  }

  /** A session is like this from now on. */
  async change(id: string, changes: Partial<ChatSessionInfo>): Promise<void> {
    const found = this.#session(id);
    found.info = { ...found.info, ...changes };
    await this.tell(id, { event: "session", session: found.info });
    await this.list();
  }

  /** Something is said, or is another now. */
  async tells(message: Message, id = "s"): Promise<void> {
    const { messages } = this.#session(id);
    const at = messages.findIndex((each) => each.id === message.id);
    messages[at < 0 ? messages.length : at] = message;
    await this.tell(id, { event: "said", message });
  }

  /** Tell all sessions. */
  async list(): Promise<void> {
    for (const request of this.#lists) this.#listTo(request);
    await settled();
  }

  #session(id: string): Session {
    const found = this.sessions.get(id);
    if (!found) throw new Error(`no session ${id}`);
    return found;
  }

  #item(request: string, watched: { n: number }, event: Event): void {
    watched.n += 1;
    this.say("item", { value: { n: watched.n, event } }, request);
  }

  #listTo(request: string): void {
    const sessions = [...this.sessions.values()].map(({ info }) => info);
    this.say("item", { value: { sessions } }, request);
  }

  protected request(id: string, method: string, params: Record<string, unknown>): void {
    const known = this.sessions.get(String(params.session));
    const unknown = { code: "unknown_session", message: "There is no such session." };
    const refusal =
      this.refuses[method] ??
      ("session" in params && !known ? unknown : this.#refused(method, String(params.message)));
    if (!READS.has(method)) this.asked.push([method, params]);
    if (this.silent.has(method)) return;
    if (refusal) this.say("failed", refusal, id);
    else if (method === "watch_sessions") {
      this.#lists.add(id);
      this.#listTo(id);
    } else if (method === "watch" && known) this.#watch(id, known, unknown);
    else this.say("result", { value: this.#done(method, params, known) }, id);
  }

  #refused(method: string, message: string): { code: string; message: string } | undefined {
    const found = { picture: this.pictures, source: this.sources }[method]?.[message];
    return found instanceof Error ? { code: "not_allowed", message: found.message } : undefined;
  }

  #watch(id: string, { info, messages }: Session, unknown: object): void {
    if (!info.live) {
      this.say("failed", unknown, id);
      return;
    }
    const watched = { session: info.id, n: 0 };
    this.#watched.set(id, watched);
    const kept = info.kept > 0 ? messages.slice(-info.kept) : [];
    this.#item(id, watched, { event: "begin", session: info, messages: kept });
  }

  #done(method: string, params: Record<string, unknown>, known?: Session): unknown {
    const { session: id, ...changes } = params;
    switch (method) {
      case "create": {
        const made = session({ id: `s${this.sessions.size + 1}` });
        this.sessions.set(made.info.id, made);
        return made.info;
      }
      case "open":
        if (known) known.info = { ...known.info, live: true };
        return known?.info;
      case "set":
        if (known) known.info = { ...known.info, ...changes };
        return known?.info;
      case "remove":
        this.sessions.delete(String(id));
        return null;
      case "send":
        return said("sent", { role: "user", content: String(params.content) });
      case "earlier": {
        const all = known?.messages ?? [];
        const at = all.findIndex((each) => each.id === params.before);
        const from = Math.max(0, at - Number(params.limit));
        return { messages: all.slice(from, at), more: from > 0 };
      }
      case "picture":
        return (
          this.pictures[String(params.message)] ?? { media_type: "image/png", data: "iVBORw0KGgo=" }
        );
      case "source":
        return { text: this.sources[String(params.message)] ?? "print()" };
      default:
        return null;
    }
  }
}

const READS = new Set(["watch", "watch_sessions", "earlier", "picture", "source"]);
