/** Runs as files of the browser: saved, and read to be sent. */
import type { RunExported } from "../protocol/types.gen";

/** What a file of each format is called and made of. */
const KINDS = {
  run: { end: ".run", type: "application/octet-stream" },
  archive: { end: ".agentstepper.zip", type: "application/zip" },
} as const;

/** How every zip begins. */
const ZIP = [0x50, 0x4b, 0x03, 0x04];

/** The name that an exported run's file gets: without what a folder can't have in a name. */
export function fileName({ name, format }: Pick<RunExported, "name" | "format">): string {
  const { end } = KINDS[format];
  const whole = name.endsWith(end) ? name.slice(0, -end.length) : name;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it is for
  const stem = whole.replace(/[\0-\x1f\x7f/\\:*?"<>|]+/g, "_").replace(/^[ .]+|[ .]+$/g, "");
  return `${stem.slice(0, 120) || "run"}${end}`;
}

/** Let the browser save an exported run. */
export function save(exported: RunExported): void {
  const { data, format } = exported;
  const parts = format === "archive" ? bytesOf(data) : data;
  const url = URL.createObjectURL(new Blob([parts], { type: KINDS[format].type }));
  const link = document.createElement("a");
  link.href = url;
  link.download = fileName(exported);
  link.click();
  // The browser has begun to read it by then; kept on, it would hold the memory.
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

/** A file as it travels: an archive in base64, a `.run` file as the text that it is. */
export async function wireText(file: Blob): Promise<string> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  if (ZIP.every((byte, at) => bytes[at] === byte)) return base64(bytes);
  return new TextDecoder().decode(bytes).trim();
}

const SLICE = 0x8000;

/** In slices: a call takes only so many arguments. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let at = 0; at < bytes.length; at += SLICE) {
    text += String.fromCharCode(...bytes.subarray(at, at + SLICE));
  }
  return btoa(text);
}

export function bytesOf(text: string): Uint8Array<ArrayBuffer> {
  return Uint8Array.from(atob(text), (char) => char.charCodeAt(0));
}
