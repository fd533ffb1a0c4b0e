/** The line to a chat's interpreter. */
import { Line } from "../client/line";
import type { AskChat, ChatTells } from "../protocol/chat.gen";

/** What is asked, with that for which nothing has to be said. */
export interface Asks extends AskChat {
  watch_sessions: Record<string, never>;
}

/** What is answered, with that to which there is nothing to say. */
export interface Tells extends ChatTells {
  stop: null;
  remove: null;
}

export class ChatLine extends Line<Asks, Tells, "watch" | "watch_sessions"> {}

/** The chat's service, by its name on a line. */
export const SERVICE = "chat";
