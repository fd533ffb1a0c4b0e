/** The rows that are in sight are asked for, and those a little above and below. */
import { useLayoutEffect, useRef } from "preact/hooks";
import type { Debugger } from "../../model/debugger";
import { nextFrame } from "../../model/inbox";
import type { Lines } from "./lines";

/** @param indexes Of the lines that are drawn. */
export function useSight(model: Debugger, lines: Lines, indexes: readonly number[]): void {
  const latest = useRef({ lines, indexes });
  latest.current = { lines, indexes };
  const asked = useRef(false);
  useLayoutEffect(() => {
    if (asked.current) return;
    asked.current = true;
    // When the timeline stands where it will be seen: the first lines drawn aren't, where it begins at its end.
    nextFrame(() => {
      asked.current = false;
      const { lines, indexes } = latest.current;
      const seqs = new Set(indexes.flatMap((index) => lines.at(index)?.seq ?? []));
      model.window.see({ seqs: [...seqs], dense: lines.filter === "" });
    });
  });
}
