/** A body as a person reads it. */
import type { Row } from "../../model/model";
import { FIRST_ALONE } from "../fold";
import { pretty } from "../json/print";
import type { Reading } from "../read/types";
import type { Shape } from "../shape";
import { figuresOf, ShownAnswer } from "./answer";
import { LongText } from "./long_text";
import { type Known, ShownPrompt } from "./prompt";
import { Entries, ShownArguments } from "./value";

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
