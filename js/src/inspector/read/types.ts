/** What the readers make of a body: the same few parts, whichever API the agent speaks. */

import type { Value } from "../json/node";

/** A named value: an argument, a setting, a member of a result. */
export interface Entry {
  readonly name: string;
  readonly value: Value;
}

/** A tool call's arguments: by name, or as the one value or the broken text that they are. */
export type Arguments =
  | { readonly kind: "entries"; readonly entries: readonly Entry[] }
  | { readonly kind: "value"; readonly value: Value }
  | { readonly kind: "broken"; readonly text: string };

export type Part =
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "thinking"; readonly text: string }
  | { readonly kind: "refusal"; readonly text: string }
  | { readonly kind: "call"; readonly name: string; readonly args: Arguments }
  | {
      readonly kind: "result";
      readonly name: string | undefined;
      readonly failed: boolean;
      readonly parts: readonly Part[];
    }
  /** An image, a sound, a file: named, never fetched. */
  | {
      readonly kind: "media";
      readonly words: string;
      /** The bytes of an image, where they are in the message. */
      readonly image?: string;
    }
  /** What no reader knows: the JSON as it stands. */
  | { readonly kind: "data"; readonly value: Value };

export interface Message {
  readonly role: string;
  readonly name: string | undefined;
  readonly parts: readonly Part[];
  /** The JSON text it was read from: what tells a new message from one that was sent before. */
  readonly source: string;
}

export interface Tool {
  readonly name: string;
  readonly about: string | undefined;
  readonly value: Value;
}

/** What a query cost, where the body says so. */
export interface Tokens {
  readonly input: string | undefined;
  readonly output: string | undefined;
}

export type Reading =
  | {
      readonly kind: "prompt";
      readonly messages: readonly Message[];
      readonly settings: readonly Entry[];
      readonly tools: readonly Tool[];
    }
  | {
      readonly kind: "answer";
      readonly messages: readonly Message[];
      readonly tokens: Tokens | undefined;
      /** Why the model stopped, in the API's own word. */
      readonly ended: string | undefined;
    }
  | { readonly kind: "call"; readonly name: string; readonly args: Arguments }
  | { readonly kind: "text"; readonly text: string }
  | { readonly kind: "entries"; readonly entries: readonly Entry[] }
  | { readonly kind: "data"; readonly value: Value };
