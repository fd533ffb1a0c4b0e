/** A body as a person reads it. */
import type { Row } from "../../model/model";
import { costFigure, tokenFigure, tokensBySize } from "../../view/figures";
import { duration } from "../../view/words";
import { FIRST_ALONE } from "../fold";
import { pretty } from "../json/print";
import type { Reading, Tokens } from "../read/types";
import type { Shape } from "../shape";
import { LongText } from "./long_text";
import { ShownMessage } from "./message";
import { type Known, ShownPrompt } from "./prompt";
import { Entries, ShownArguments } from "./value";

// ---- An answer: what the model said and which tools it calls, with what it cost.

type Answer = Extract<Reading, { kind: "answer" }>;

/** Endings that a person should know of: the answer isn't whole. */
const ENDINGS: Record<string, string> = {
  length: "Cut off: the limit of tokens was reached.",
  max_tokens: "Cut off: the limit of tokens was reached.",
  incomplete: "Cut off before its end.",
  content_filter: "Cut off by the provider's content filter.",
  refusal: "The model refused.",
};

function ShownAnswer({ answer, row }: { answer: Answer; row: Row }) {
  const ending = answer.ended === undefined ? undefined : ENDINGS[answer.ended];
  return (
    <>
      {answer.messages.map((message, at) => (
        <ShownMessage
          key={at}
          message={message}
          figure={at === 0 ? figuresOf(row, answer.tokens) : undefined}
        />
      ))}
      {ending && <p class="as-Note as-Bad">{ending}</p>}
    </>
  );
}

/**
 * What an answer took: "1,204 → 96 tok · $0.0021 · 1.93 s".
 *
 * @param told The tokens that stand in the answer itself.
 */
function figuresOf(row: Row, told?: Tokens): string {
  const input = row.usage?.input_tokens?.toLocaleString("en") ?? told?.input;
  const output = row.usage?.output_tokens?.toLocaleString("en") ?? told?.output;
  const tokens = [input, output].filter(Boolean).join(" → ");
  const figures = [
    tokens ? `${tokens} tok` : `≈${tokenFigure(tokensBySize(row.size))} tok`,
    costFigure(row.usage),
    row.duration != null && duration(row.duration),
  ];
  return figures.filter(Boolean).join(" · ");
}

interface ShownReadingProps {
  row: Row;
  shape: Shape;
  reading: Reading;
  known: Known | undefined;
}

export function ShownReading(props: ShownReadingProps) {
  const { row, shape, reading } = props;
  return (
    <>
      {shape === "answer" && reading.kind !== "answer" && row.duration !== null && (
        <p class="as-Note as-Small">{figuresOf(row)}</p>
      )}
      <Contents {...props} />
    </>
  );
}

function Contents({ row, shape, reading, known }: ShownReadingProps) {
  switch (reading.kind) {
    case "prompt":
      return <ShownPrompt prompt={reading} known={known} />;
    case "answer":
      return <ShownAnswer answer={reading} row={row} />;
    case "call":
      return (
        <div class="as-Alone">
          <ShownArguments args={reading.args} />
        </div>
      );
    case "entries":
      return (
        <div class="as-Alone">
          <Entries entries={reading.entries} />
        </div>
      );
    case "text":
      return <AloneText shape={shape} text={reading.text} />;
    case "data":
      return (
        <div class="as-Alone">
          <LongText text={pretty(reading.value.literal)} code limit={FIRST_ALONE} />
        </div>
      );
  }
}

function AloneText({ shape, text }: { shape: Shape; text: string }) {
  if (text === "") return <p class="as-Note">{`An empty text (0 characters)`}</p>;
  return (
    <div class="as-Alone">
      <LongText text={text} code={shape === "result"} limit={FIRST_ALONE} />
    </div>
  );
}
