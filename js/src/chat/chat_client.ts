/** The line to a chat: what goes over it, read exactly, and the list of its sessions. */

import { signal } from "@preact/signals";
import { RpcClient } from "../client/rpc_client";
import { tokens } from "../inspector/json/print";
import type { ChatRequestTypes, ChatResultTypes, ChatSessionInfo } from "../protocol/chat.gen";
import type { Envelope } from "../protocol/messages";

/** What is asked, with that for which nothing has to be said. */
export interface ChatRequests extends ChatRequestTypes {
  watch_sessions: Record<string, never>;
}

/** What is answered, with that to which there is nothing to say. */
export interface ChatResults extends ChatResultTypes {
  stop: null;
  remove: null;
}

export class ChatClient extends RpcClient<ChatRequests, ChatResults, "watch" | "watch_sessions"> {}

/** The chat's service, by its name on a line. */
export const SERVICE = "chat";

// ---- JSON whose whole numbers stay what they are: JavaScript rounds those of more than 15 digits.

/** Most texts have none, and are read by the browser alone. */
const LARGE = /\d{16}/;
const WHOLE = /^-?\d{16,}$/;
/** The one name of an object that stands for a number. Whoever else writes it means that number. */
const MARK = "\u0000whole";

/** The value of a JSON text; whole numbers that JavaScript would round are bigints. Throws SyntaxError. */
export function parseLossless(text: string): unknown {
  return LARGE.test(text)
    ? JSON.parse(markLargeNumbers(text), reviveLargeNumber)
    : JSON.parse(text);
}

/** The text with each such number in an object. */
function markLargeNumbers(text: string): string {
  const out: string[] = [];
  let from = 0;
  for (const { kind, start, end } of tokens(text)) {
    if (kind !== "literal" || end - start < 16) continue;
    const literal = text.slice(start, end);
    if (!WHOLE.test(literal) || Number.isSafeInteger(Number(literal))) continue;
    out.push(text.slice(from, start), JSON.stringify({ [MARK]: literal }));
    from = end;
  }
  return out.join("") + text.slice(from);
}

function reviveLargeNumber(_: string, value: unknown): unknown {
  if (typeof value !== "object" || value === null || !(MARK in value)) return value;
  const literal = value[MARK];
  return typeof literal === "string" && WHOLE.test(literal) ? BigInt(literal) : value;
}

/** A message's envelope, as `decode` of protocol/messages.ts; null where it is none. */
export function decodeLossless(text: string): Envelope | null {
  try {
    const envelope = parseLossless(text) as Partial<Envelope> | null;
    return typeof envelope?.type === "string" && "body" in envelope ? (envelope as Envelope) : null;
  } catch {
    return null;
  }
}

// ---- The list of sessions: those that are live, and those that are kept and can be opened again.

export class SessionList {
  /** The newest first; null until they were told, and where a view may see only one. */
  readonly all = signal<readonly ChatSessionInfo[] | null>(null);
  /** Whether the list is in sight. */
  readonly shown = signal(false);
  /** The session whose deletion waits for a second word. */
  readonly confirmingDelete = signal<string | null>(null);
  /** What went wrong here, until it is dismissed or something else is asked. */
  readonly error = signal<string | null>(null);
  readonly #client: ChatClient;
  #unsubscribe = () => {};

  constructor(client: ChatClient) {
    this.#client = client;
  }

  watch(): void {
    this.#unsubscribe = this.#client.subscribe(
      "watch_sessions",
      {},
      ({ sessions }) => {
        this.all.value = sessions;
      },
      () => {
        this.all.value = null;
      },
    );
  }

  close(): void {
    this.#unsubscribe();
  }

  find(id: string): ChatSessionInfo | undefined {
    return this.all.peek()?.find((each) => each.id === id);
  }

  /** Begin one; gives back its id, null where that was refused. */
  async create(): Promise<string | null> {
    return (await this.#run(() => this.#client.request("create", {})))?.id ?? null;
  }

  /** Make a kept one live again; whether it is. */
  async open(session: string): Promise<boolean> {
    return (await this.#run(() => this.#client.request("open", { session }))) !== null;
  }

  /** Delete one, with all that was said in it. */
  async remove(session: string): Promise<void> {
    this.confirmingDelete.value = null;
    await this.#run(() => this.#client.request("remove", { session }));
  }

  async #run<T>(act: () => Promise<T>): Promise<T | null> {
    this.error.value = null;
    try {
      return await act();
    } catch (error) {
      this.error.value = (error as Error).message;
      return null;
    }
  }
}
