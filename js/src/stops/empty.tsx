/** What the Stops tab says where there is none: what they are for, and four to begin with. */
import type { Debugger } from "../model/debugger";
import { Button } from "../view/button";
import { freshDraft, type StopDraft } from "./draft";

const EXAMPLES: { label: string; hint: string; fields: Partial<StopDraft> }[] = [
  {
    label: "A tool fails",
    hint: "Halt after any tool that ended with an exception",
    fields: { side: "end", on_error: true },
  },
  {
    label: "Going in circles",
    hint: "Halt where the same tool is called with the same arguments for the third time in a row",
    fields: { watch: "repeated", amount: "3" },
  },
  {
    label: "The same call again",
    hint: "Halt where the same tool is called with the same arguments for the third time in the run, whatever was called between",
    fields: { watch: "recurring", amount: "3" },
  },
  {
    label: "Over budget",
    hint: "Halt once the run has used more than 50,000 tokens",
    fields: { kind: null, side: null, watch: "tokens", amount: "50,000" },
  },
];

export function NoStops({ model }: { model: Debugger }) {
  return (
    <div class="as-Empty as-Scroll">
      <h3>No stop is set yet</h3>
      <p>
        A stop says what is worth halting at, so that you can press Continue and miss nothing.
        Describe one below: before it is set you see where it would have hit in this run and in past
        ones. Or begin with one of these:
      </p>
      <div class="as-Empty-actions">
        {EXAMPLES.map(({ label, hint, fields }) => (
          <Button
            key={label}
            outline
            hint={hint}
            onClick={() => {
              model.stops.draft.value = freshDraft(fields);
            }}
          >
            {label}
          </Button>
        ))}
      </div>
    </div>
  );
}
