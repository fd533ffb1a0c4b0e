/** What a call's content is read into, and how its parts are read. */

import { formatSize } from "../../view/format";
import { parse, Value } from "../json/parse";
import { type Call, type Result, readBlock, readCall } from "./message_shapes";

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
  readonly json: string;
}

export interface Tool {
  readonly name: string;
  readonly description: string | undefined;
  readonly value: Value;
}

/** What a query cost, where the body says so. */
export interface Tokens {
  readonly input: string | undefined;
  readonly output: string | undefined;
}

export type ParsedContent =
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

// ---- Contents of messages: blocks, parts and plain text.

/** Names of tool calls by their ids, so that a result can say whose it is. */
export type Calls = Map<string, string>;

/** A message's content: a text, a list of blocks, or something else. */
export function parseParts(content: Value | undefined, calls: Calls): Part[] {
  if (content === undefined || content.isNull) return [];
  const text = content.string;
  if (text !== undefined) return text === "" ? [] : [{ kind: "text", text }];
  const items = content.items;
  if (items) return items.flatMap((item) => parseBlock(item, calls));
  return parseBlock(content, calls);
}

/** One block of a list. */
export function parseBlock(value: Value, calls: Calls): Part[] {
  const text = value.string;
  if (text !== undefined) return [{ kind: "text", text }];
  const block = readBlock(value);
  switch (block.kind) {
    case "text":
    case "refusal":
      return [{ kind: block.kind, text: block.text?.string ?? "" }];
    case "thinking":
      return [parseThinking(value, block.text?.string)];
    case "call":
      return [callPart(block, calls)];
    case "result":
      return [parseResult(block, calls)];
    case "content":
      return parseParts(block.content, calls);
    case "media":
      return [parseMedia(value, block.type, block.source)];
    case "other":
      return [{ kind: "data", value }];
  }
}

function parseThinking(block: Value, said: string | undefined): Part {
  const summary = block.get("summary")?.items?.map((item) => item.str("text") ?? "");
  const text = said ?? summary?.join("\n\n") ?? block.str("reasoning") ?? "";
  return { kind: "thinking", text: text || "(kept back by the model)" };
}

/** A tool call of any API, from the JSON that it is. */
export function parseCall(call: Value, calls: Calls): Part {
  return callPart(readCall(call), calls);
}

function callPart({ name = "?", args, id }: Call, calls: Calls): Part {
  if (id !== undefined) calls.set(id, name);
  return { kind: "call", name, args: parseArguments(args?.isNull ? undefined : args) };
}

/** Arguments: an object, or a text that holds one (OpenAI's), or a text that doesn't. */
export function parseArguments(args: Value | undefined): Arguments {
  if (args === undefined) return { kind: "entries", entries: [] };
  const text = args.string;
  if (text === undefined) return entriesOf(args) ?? { kind: "value", value: args };
  if (text.trim() === "") return { kind: "entries", entries: [] };
  const parsed = parse(text);
  if ("problem" in parsed) return { kind: "broken", text };
  const inner = new Value(text, parsed.root);
  return entriesOf(inner) ?? { kind: "value", value: inner };
}

function entriesOf(value: Value): Arguments | undefined {
  const members = value.members;
  return (
    members && { kind: "entries", entries: members.map(([name, one]) => ({ name, value: one })) }
  );
}

function parseResult({ name, id, content, failed }: Result, calls: Calls): Part {
  const known = name ?? (id === undefined ? undefined : calls.get(id));
  return { kind: "result", name: known, failed, parts: resultParts(content, calls) };
}

/** What a tool gave: texts and images, or the data that it is. */
function resultParts(content: Value | undefined, calls: Calls): Part[] {
  const parts = parseParts(content, calls);
  return content && parts.some(({ kind }) => kind === "data")
    ? [{ kind: "data", value: content }]
    : parts;
}

function parseMedia(block: Value, type: string, source: Value): Part {
  const first = (...names: string[]) =>
    names.map((name) => source.str(name)).find((one) => one !== undefined);
  const url = first("url", "image_url", "fileUri", "file_uri") ?? block.str("image_url");
  const data = first("data", "file_data", "base64");
  const what =
    first("media_type", "mime_type", "mimeType", "filename", "displayName", "format") ?? type;
  const inline = url?.startsWith("data:") ? url : data;
  if (inline?.startsWith("b'") || inline?.startsWith('b"')) return { kind: "media", words: what };
  if (inline !== undefined) {
    const words = `${mediaType(inline) ?? what}, ${sizeOf(inline)}`;
    const isImage = /image/.test(type) || (mediaType(inline) ?? what).startsWith("image/");
    const bytes = isImage ? base64Of(inline) : undefined;
    return { kind: "media", words, ...(bytes !== undefined && { image: bytes }) };
  }
  if (url !== undefined) return { kind: "media", words: `${what} at ${url}` };
  return { kind: "media", words: what };
}

function mediaType(data: string): string | undefined {
  return /^data:([^;,]+)/.exec(data)?.[1];
}

/** The base64 in a data URL, or the text that is base64 itself. */
function base64Of(data: string): string | undefined {
  if (!data.startsWith("data:")) return data;
  const comma = data.indexOf(",");
  return /;base64$/i.test(data.slice(0, comma)) ? data.slice(comma + 1) : undefined;
}

/** The size of base64, decoded. */
function sizeOf(data: string): string {
  return formatSize(Math.floor(((data.length - data.indexOf(",") - 1) * 3) / 4));
}
