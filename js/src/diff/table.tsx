/** Hunks as a table: side by side or one under the other, in pieces where there are many. */

import type { ComponentChildren, RefObject } from "preact";
import { useMemo, useState } from "preact/hooks";
import { escapeInvisible, formatCount, formatSize } from "../view/format";
import { cx } from "../view/hooks";
import { useNarrow } from "../view/split";
import {
  changedWords,
  type Hunk,
  type Line,
  type Pair,
  sideBySideLines,
  type TextSegment,
  unifiedLines,
} from "./lines";

export type Sides = "split" | "unified";

/** A heading over hunks, or nothing but what it says. */
export interface Block {
  readonly head?: ComponentChildren;
  readonly hunks: readonly Hunk[];
  /** Lines of prose wrap in the view's own font. */
  readonly prose?: boolean;
}

interface DiffTableProps {
  label: string;
  blocks: readonly Block[];
  sides: Sides;
  /** Numbers of lines: of files, not of messages. */
  numbered?: boolean;
}

/** As many rows are put on the page at once. */
const FIRST = 400;
const MORE_LINES = 2000;
/** A longer line is cut: it is no line that anybody reads. */
const LONGEST = 2000;

type TableRow =
  | { readonly kind: "head"; readonly words: ComponentChildren }
  | { readonly kind: "pair"; readonly pair: Pair; readonly prose: boolean }
  | {
      readonly kind: "line";
      readonly line: Line;
      readonly beside: Line | undefined;
      readonly prose: boolean;
    };

export function DiffTable({ label, blocks, sides, numbered = false }: DiffTableProps) {
  const rows = useMemo(() => blocks.flatMap((one) => rowsOf(one, sides)), [blocks, sides]);
  const [shown, setShown] = useState(FIRST);
  const rest = rows.length - shown;
  return (
    <>
      <table
        class={cx("as-Diff", `as-mod-${sides}`, numbered ? "as-mod-numbered" : "as-mod-text")}
        aria-label={label}
      >
        <Columns sides={sides} digits={numbered ? digitsOf(blocks) : 0} />
        <tbody>
          {rows.slice(0, shown).map((row, at) => (
            <ShownRow key={at} row={row} columns={columnsOf(sides, numbered)} />
          ))}
        </tbody>
      </table>
      {rest > 0 && (
        <button type="button" class="as-Fold" onClick={() => setShown(shown + MORE_LINES)}>
          {`Show ${rest > MORE_LINES ? `${MORE_LINES.toLocaleString("en")} of ` : ""}${formatCount(rest, "more line")}`}
        </button>
      )}
    </>
  );
}

/** Columns of numbers are as wide as the longest; without numbers only their edge is left. */
function Columns({ sides, digits }: { sides: Sides; digits: number }) {
  const width = digits > 0 ? `calc(${digits}ch + 20px)` : "4px";
  const number = <col style={{ width }} />;
  if (sides === "unified") {
    return (
      <colgroup>
        {number}
        {digits > 0 && number}
        <col />
      </colgroup>
    );
  }
  return (
    <colgroup>
      {number}
      <col />
      {number}
      <col />
    </colgroup>
  );
}

function digitsOf(blocks: readonly Block[]): number {
  const lines = blocks.flatMap((block) => block.hunks.map((hunk) => hunk.lines.at(-1)));
  const last = Math.max(1, ...lines.map((line) => Math.max(line?.old ?? 0, line?.now ?? 0)));
  return Math.max(2, String(last).length);
}

function columnsOf(sides: Sides, numbered: boolean): number {
  return sides === "split" ? 4 : numbered ? 3 : 2;
}

function rowsOf(block: Block, sides: Sides): TableRow[] {
  const prose = block.prose ?? false;
  const rows: TableRow[] = block.head === undefined ? [] : [{ kind: "head", words: block.head }];
  for (const hunk of block.hunks) {
    const gap = gapText(hunk, block);
    if (gap !== undefined) rows.push({ kind: "head", words: gap });
    if (sides === "split")
      rows.push(
        ...sideBySideLines(hunk.lines).map((pair): TableRow => ({ kind: "pair", pair, prose })),
      );
    else
      rows.push(
        ...unifiedLines(hunk.lines).map((one): TableRow => ({ kind: "line", ...one, prose })),
      );
  }
  return rows;
}

/** "Lines 10 to 18, in def total(self):"; of a short text only where lines are left out. */
function gapText(hunk: Hunk, block: Block): ComponentChildren {
  const numbers = hunk.lines.map((line) => line.now ?? line.old ?? 1);
  const [from, to] = [numbers[0] ?? 1, numbers.at(-1) ?? 1];
  const first = hunk === block.hunks[0];
  if (block.head !== undefined && first && from === 1) return undefined;
  const lines = from === to ? `Line ${from}` : `Lines ${from} to ${to}`;
  if (!hunk.enclosing) return lines;
  return (
    <>
      {`${lines}, in `}
      <code class="as-Code">{hunk.enclosing}</code>
    </>
  );
}

function ShownRow({ row, columns }: { row: TableRow; columns: number }) {
  if (row.kind === "head") {
    return (
      <tr class="as-Diff-head">
        <td colSpan={columns}>{row.words}</td>
      </tr>
    );
  }
  if (row.kind === "pair") return <PairRow pair={row.pair} prose={row.prose} />;
  return <LineRow line={row.line} beside={row.beside} prose={row.prose} />;
}

function PairRow({ pair: { left, right }, prose }: { pair: Pair; prose: boolean }) {
  const marks = marksOf(left, right);
  return (
    <tr class={prose ? "as-mod-prose" : undefined}>
      <NumberCell line={left} number={left?.old} />
      <TextCell line={left} pieces={marks?.[0]} />
      <NumberCell line={right} number={right?.now} />
      <TextCell line={right} pieces={marks?.[1]} />
    </tr>
  );
}

function LineRow({
  line,
  beside,
  prose,
}: {
  line: Line;
  beside: Line | undefined;
  prose: boolean;
}) {
  const marks = line.kind === "del" ? marksOf(line, beside)?.[0] : marksOf(beside, line)?.[1];
  return (
    <tr class={prose ? "as-mod-prose" : undefined}>
      <NumberCell line={line} number={line.old} />
      <NumberCell line={line} number={line.now} second />
      <TextCell line={line} pieces={marks} />
    </tr>
  );
}

function marksOf(
  left: Line | undefined,
  right: Line | undefined,
): [TextSegment[], TextSegment[]] | undefined {
  if (!left || !right || left.kind !== "del" || right.kind !== "add") return undefined;
  return changedWords(left.text, right.text);
}

/** Nothing stands on this side. */
const NONE = "x";
const LETTERS = { same: undefined, del: "d", add: "a" } as const;
const SIGNS = { same: undefined, del: "−", add: "+" } as const;
const SAID = { same: undefined, del: "removed: ", add: "added: " } as const;

interface NumberProps {
  line: Line | undefined;
  number: number | undefined;
  /** The second number of a line that stands alone: there only where lines are numbered. */
  second?: boolean;
}

function NumberCell({ line, number, second }: NumberProps) {
  return (
    <td class={cx("n", second && "as-Diff-second", line ? LETTERS[line.kind] : NONE)}>{number}</td>
  );
}

function TextCell({ line, pieces }: { line: Line | undefined; pieces: TextSegment[] | undefined }) {
  if (!line) return <td class={cx("t", NONE)} />;
  return (
    <td class={cx("t", LETTERS[line.kind])} data-s={SIGNS[line.kind]}>
      {SAID[line.kind] && <span class="as-Hidden">{SAID[line.kind]}</span>}
      {pieces ? (
        pieces.map((one, at) =>
          one.changed ? (
            <mark key={at}>{escapeInvisible(one.text)}</mark>
          ) : (
            escapeInvisible(one.text)
          ),
        )
      ) : (
        <Cut text={line.text} />
      )}
    </td>
  );
}

function Cut({ text }: { text: string }) {
  if (text.length <= LONGEST) return <>{escapeInvisible(text)}</>;
  return (
    <>
      {escapeInvisible(text.slice(0, LONGEST))}
      <span class="as-Muted">{`… ${formatSize(text.length - LONGEST)} more`}</span>
    </>
  );
}

// ---- Whether a pane has room for two columns.

/** Side by side is worth it above this width, in pixels: about 30 characters of code a side. */
const ROOM = 460;

export function useSides(element: RefObject<HTMLElement | null>): Sides {
  return useNarrow(element, ROOM) ? "unified" : "split";
}
