/** A line of the agent's code, in words. */
import type { SourceLocation } from "../protocol/types.gen";
import { escapeInvisible } from "./format";

/** `agent.py:42`; of a notebook's cell: `cell [3]:4`. */
export function shortLocation({ file, line, cell }: SourceLocation): string {
  if (cell !== undefined) return `cell [${cell}]:${line}`;
  return `${escapeInvisible(file.slice(file.lastIndexOf("/") + 1))}:${line}`;
}

/** The same in full, for a tooltip. */
export function longLocation({ file, line, cell, function: name }: SourceLocation): string {
  const place = cell === undefined ? escapeInvisible(file) : `cell [${cell}]`;
  const inside = name && name !== "<module>" ? `, in ${escapeInvisible(name)}` : "";
  return `${place}, line ${line}${inside}`;
}
