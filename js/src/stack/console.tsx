/** A line in which expressions are written, completed and evaluated in a frame; what they came to above it. */
import { useEffect, useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import type { Inspection } from "../model/inspection";
import type { CompletionList, Evaluation } from "../protocol/types.gen";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { VariableLine } from "./variables";

interface Entry {
  key: number;
  frame: number;
  expression: string;
  /** Null while it runs. */
  outcome: Evaluation | { problem: string } | null;
}

interface ConsoleProps {
  inspection: Inspection;
  row: string;
  frame: number;
}

export function Console({ inspection, row, frame }: ConsoleProps) {
  const [entries, setEntries] = useState<readonly Entry[]>([]);
  const [text, setText] = useState("");
  const [offers, setOffers] = useState<CompletionList | null>(null);
  const [chosen, setChosen] = useState(0);
  const back = useRef(0); // how far back in what was written
  const field = useRef<HTMLInputElement>(null);
  const [caret, setCaret] = useState({ at: 0 }); // after a completion
  const end = useRef<HTMLDivElement>(null);
  const list = useId();
  useEffect(() => {
    if (entries.length > 0) end.current?.scrollIntoView({ block: "nearest" });
  }, [entries]);
  // With the text: a frame later, the person may have typed on.
  useLayoutEffect(() => {
    if (caret.at === 0) return;
    field.current?.focus();
    field.current?.setSelectionRange(caret.at, caret.at);
  }, [caret]);

  const evaluate = async () => {
    const expression = text.trim();
    if (expression === "") return;
    const entry: Entry = { key: Date.now() + Math.random(), frame, expression, outcome: null };
    setEntries((before) => [...before, entry]);
    setText("");
    setOffers(null);
    back.current = 0;
    const outcome = await inspection.evaluate(row, frame, expression).catch((error: unknown) => ({
      problem: error instanceof Error ? error.message : `${error}`,
    }));
    setEntries((before) =>
      before.map((one) => (one.key === entry.key ? { ...one, outcome } : one)),
    );
  };
  const complete = async () => {
    const at = field.current?.selectionStart ?? text.length;
    const found = await inspection.complete(row, frame, text, at).catch(() => null);
    if (field.current?.value !== text || !found || found.matches.length === 0) return;
    if (found.matches.length === 1) return take(found, 0);
    setOffers(found);
    setChosen(0);
  };
  const take = (found: CompletionList, index: number) => {
    const match = found.matches[index] ?? "";
    setText(text.slice(0, found.start) + match + text.slice(found.end));
    setOffers(null);
    setCaret({ at: found.start + match.length });
  };
  const recall = (step: number) => {
    const next = Math.min(entries.length, Math.max(0, back.current + step));
    back.current = next;
    setText(next === 0 ? "" : (entries[entries.length - next]?.expression ?? ""));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.isComposing) return;
    const { key } = event;
    if (offers && (key === "ArrowDown" || key === "ArrowUp")) {
      const count = offers.matches.length;
      setChosen((chosen + (key === "ArrowDown" ? 1 : count - 1)) % count);
    } else if (offers && (key === "Enter" || key === "Tab") && !event.shiftKey)
      take(offers, chosen);
    else if (offers && key === "Escape") setOffers(null);
    else if (key === "Enter") void evaluate();
    // Tab leads on from an empty field, as from any other.
    else if (key === "Tab" && !event.shiftKey && text !== "") void complete();
    else if (key === "ArrowUp") recall(1);
    else if (key === "ArrowDown") recall(-1);
    else return event.stopPropagation();
    event.preventDefault();
    event.stopPropagation();
  };
  return (
    <section class="as-Stack-part as-Console" aria-label="Console">
      <h4 class="as-Stack-head">Console</h4>
      <div class="as-Console-log" role="log" aria-label="Results">
        {entries.map((entry) => (
          <ConsoleEntry key={entry.key} entry={entry} inspection={inspection} row={row} />
        ))}
      </div>
      <div class="as-Console-line" ref={end}>
        <span class="as-Console-prompt as-Muted" aria-hidden>
          &gt;
        </span>
        <input
          ref={field}
          class="as-Input as-Console-field"
          role="combobox"
          aria-label="Expression"
          aria-expanded={offers !== null}
          aria-controls={list}
          aria-autocomplete="list"
          aria-activedescendant={offers ? `${list}-${chosen}` : undefined}
          placeholder="An expression in this frame; Tab completes"
          spellcheck={false}
          autocomplete="off"
          value={text}
          onInput={(event) => {
            setText(event.currentTarget.value);
            setOffers(null);
          }}
          onKeyDown={onKeyDown}
        />
        <Button outline hint="Evaluate the expression (Enter)" onClick={() => void evaluate()}>
          Evaluate
        </Button>
      </div>
      <div class="as-Offers" role="listbox" id={list} aria-label="Completions" hidden={!offers}>
        {offers?.matches.map((match, index) => (
          // biome-ignore lint/a11y/useKeyWithClickEvents: the field takes the keys
          <div
            key={match}
            id={`${list}-${index}`}
            role="option"
            tabIndex={-1}
            class="as-Offer"
            aria-selected={index === chosen}
            onClick={() => take(offers, index)}
          >
            {match}
          </div>
        ))}
      </div>
    </section>
  );
}

interface ConsoleEntryProps {
  entry: Entry;
  inspection: Inspection;
  row: string;
}

function ConsoleEntry({ entry, inspection, row }: ConsoleEntryProps) {
  const { frame, expression, outcome } = entry;
  return (
    <div class="as-Console-entry">
      <code class="as-Console-said">{`> ${escapeInvisible(expression)}`}</code>
      {!outcome && <p class="as-Note as-Late">Evaluating…</p>}
      {outcome && "problem" in outcome && <p class="as-Note as-Bad">{outcome.problem}</p>}
      {outcome && "kind" in outcome && (
        <>
          {outcome.output && <pre class="as-Console-output">{escapeInvisible(outcome.output)}</pre>}
          {outcome.error && <p class="as-Note as-Bad">{escapeInvisible(outcome.error)}</p>}
          {outcome.value && (
            <ul class="as-Variables">
              <VariableLine
                inspection={inspection}
                row={row}
                place={{ frame, ...(outcome.result && { result: outcome.result }), path: [] }}
                level={0}
                variable={{ ...outcome.value, name: "" }}
              />
            </ul>
          )}
        </>
      )}
    </div>
  );
}
