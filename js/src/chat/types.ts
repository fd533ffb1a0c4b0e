/** What the transcript of a chat is drawn from, and what can be done there. `ChatModel` is one. */
import type { ReadonlySignal } from "@preact/signals";
import type { ChatImage, ChatSessionInfo, ChatSourceText, Message } from "../protocol/chat.gen";

export type {
  ChatAgentInfo,
  ChatImage,
  ChatSessionInfo,
  ChatSourceText,
  Message,
} from "../protocol/chat.gen";

/** A message as it is so far. The same object as long as nothing of it has changed. */
export interface ShownMessage extends Message {
  /** Whether more of it is on its way: it isn't final, and its session is answering. */
  readonly streaming: boolean;
}

export interface TranscriptModel {
  /** The messages of the session that is looked at, oldest first; the fetched earlier ones before them. */
  readonly messages: ReadonlySignal<readonly ShownMessage[]>;
  /** The session that is looked at; null until it was told. */
  readonly info: ReadonlySignal<ChatSessionInfo | null>;
  /** Why nothing can be changed from here now: no connection, or watching only; null where it can. */
  readonly readOnlyReason: ReadonlySignal<string | null>;
  /** Whether the transcript has messages before the first one. */
  readonly hasEarlier: ReadonlySignal<boolean>;
  /** Whether these are on their way. */
  readonly loadingEarlier: ReadonlySignal<boolean>;
  /** How many messages were sent from here. */
  readonly sent: ReadonlySignal<number>;

  /** Answer a CONFIRMATION; gives back why that was refused, null where it was taken. */
  choose(messageId: string, choice: string): Promise<string | null>;
  /** The bytes of an IMAGE, base64. Rejects with an Error whose text is for a person. */
  loadImage(messageId: string): Promise<ChatImage>;
  /** The text of a CODE that names a file. Rejects likewise. */
  loadSource(messageId: string): Promise<ChatSourceText>;
  /** Fetch a page of earlier messages. What goes wrong is said by the model, below the transcript. */
  loadEarlier(): Promise<void>;
}
