/** An answer: what the model said and which tools it calls, with what it cost. */
import type { Row } from "../../model/model";
import { costFigure, tokenFigure, tokensBySize } from "../../view/figures";
import { duration } from "../../view/words";
import type { Reading, Tokens } from "../read/types";
import { ShownMessage } from "./message";

type Answer = Extract<Reading, { kind: "answer" }>;

/** Endings that a person should know of: the answer isn't whole. */
const ENDINGS: Record<string, string> = {
  length: "Cut off: the limit of tokens was reached.",
  max_tokens: "Cut off: the limit of tokens was reached.",
  incomplete: "Cut off before its end.",
  content_filter: "Cut off by the provider's content filter.",
  refusal: "The model refused.",
};

export function ShownAnswer({ answer, row }: { answer: Answer; row: Row }) {
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
export function figuresOf(row: Row, told?: Tokens): string {
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
