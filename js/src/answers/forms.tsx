/** The forms of answers: a result, an exception, a guide. */

import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { encode, parse } from "../inspector/json/parse";
import { pretty } from "../inspector/json/print";
import { documentOf } from "../inspector/parsed/content";
import type { Model, TimelineRow } from "../model/model";
import { Button, Segments } from "../view/button";
import { ResampleForm } from "./resample";

export type AnswerName = "skip" | "raise" | "guide" | "resample";

interface FormProps {
  model: Model;
  row: TimelineRow;
  onClose(): void;
}

/** What was written and not sent, by row and answer: a look elsewhere loses nothing. */
const unsentTexts = new Map<string, string>();

export function AnswerForm({ name, id, ...props }: FormProps & { name: AnswerName; id: string }) {
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key !== "Escape" || event.isComposing) return;
    props.onClose();
    event.preventDefault();
    event.stopPropagation();
  };
  const Form = { skip: SkipForm, raise: RaiseForm, guide: GuideForm, resample: ResampleForm }[name];
  return (
    <form
      id={id}
      class="as-AnswerForm"
      aria-label={FORM_NAMES[name]}
      onSubmit={(event) => event.preventDefault()}
      onKeyDown={onKeyDown}
    >
      <Form {...props} />
    </form>
  );
}

const FORM_NAMES: Record<AnswerName, string> = {
  skip: "Result in the call’s place",
  raise: "Exception for the agent’s code",
  guide: "Message to add to the prompt",
  resample: "Answers of the same query, asked again",
};

/** A text that outlives the form, and the field that has it. */
function useKept(row: TimelineRow, name: string, initial = "") {
  const key = `${row.id} ${name}`;
  const [text, setText] = useState(unsentTexts.get(key) ?? initial);
  const onText = (next: string) => {
    unsentTexts.set(key, next);
    setText(next);
  };
  return {
    text,
    onText,
    isKept: () => unsentTexts.has(key),
    forget: () => unsentTexts.delete(key),
  };
}

interface TextProps {
  label: string;
  placeholder: string;
  value: string;
  code?: boolean;
  invalid?: string | null;
  onText(text: string): void;
  onSend(): void;
}

/** A text area that takes the focus; Ctrl+Enter sends. */
function TextArea({ label, placeholder, value, code, invalid, onText, onSend }: TextProps) {
  const field = useRef<HTMLTextAreaElement>(null);
  useLayoutEffect(() => field.current?.focus({ preventScroll: true }), []);
  return (
    <textarea
      ref={field}
      class={code ? "as-Input as-mod-code" : "as-Input"}
      rows={Math.min(8, Math.max(2, value.split("\n", 9).length))}
      aria-label={label}
      aria-invalid={invalid ? true : undefined}
      placeholder={placeholder}
      spellcheck={!code}
      value={value}
      onInput={({ currentTarget }) => onText(currentTarget.value)}
      onKeyDown={(event) => {
        if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
        event.preventDefault();
        event.stopPropagation();
        onSend();
      }}
    />
  );
}

interface FootProps {
  send: string;
  hint: string;
  disabledReason: string | null;
  note: string;
  onSend(): void;
  onClose(): void;
}

function FormFoot({ send, hint, disabledReason, note, onSend, onClose }: FootProps) {
  return (
    <div class="as-AnswerForm-foot">
      <span class="as-Muted as-Small" role="status">
        {note}
      </span>
      <span class="as-Spring" />
      <Button hint="Close without an answer (Esc)" onClick={onClose}>
        Cancel
      </Button>
      <Button
        outline
        hint={`${hint} (Ctrl+Enter)`}
        disabledReason={disabledReason}
        onClick={onSend}
      >
        {send}
      </Button>
    </div>
  );
}

type As = "text" | "json";

function SkipForm({ model, row, onClose }: FormProps) {
  const { text, isKept, ...result } = useKept(row, "skip");
  const notation = useKept(row, "skip as", row.kind === "llm_query" ? "json" : "text");
  const as = notation.text as As;
  const write = (next: string, nextAs = as) => {
    result.onText(next);
    notation.onText(nextAs);
  };
  const forget = () => {
    result.forget();
    notation.forget();
  };
  const like = useTemplate(model, row, (found, foundAs) => {
    if (isKept()) return;
    write(found, foundAs);
    forget(); // it is nobody's writing yet
  });
  const problem = as === "json" ? jsonProblem(text) : null;
  const send = async () => {
    if (problem === null && (await model.skip(row, as === "json" ? text : encode(text)))) forget();
  };
  return (
    <>
      <div class="as-AnswerForm-head">
        <b class="as-Small">Result</b>
        {like !== null && <span class="as-Muted as-Small">as in event {like}</span>}
        <span class="as-Spring" />
        <Segments
          label="Write the result as"
          segments={[
            { key: "text", label: "Text" },
            { key: "json", label: "JSON" },
          ]}
          selected={as}
          onSelect={(next: As) => write(converted(text, next), next)}
        />
      </div>
      <TextArea
        key={as}
        label="Result"
        placeholder={as === "json" ? '{"ok": true}' : "What the agent receives"}
        value={text}
        code={as === "json"}
        invalid={problem}
        onText={write}
        onSend={() => void send()}
      />
      <FormFoot
        send="Skip the call"
        hint="Don’t make the call; give this result"
        disabledReason={problem}
        note={problem ?? "The call isn’t made"}
        onSend={() => void send()}
        onClose={onClose}
      />
    </>
  );
}

const jsonProblem = (text: string): string | null => {
  const parsed = parse(text);
  return "problem" in parsed ? `Not JSON: ${parsed.problem.words}` : null;
};

/** The same result in the other notation, as far as it has one. */
function converted(text: string, to: As): string {
  if (to === "json") return text === "" ? '""' : jsonProblem(text) ? encode(text) : text;
  return documentOf(text)?.string ?? text;
}

/** What the same tool or model gave last in this run stands in the form to begin with. */
function useTemplate(
  model: Model,
  row: TimelineRow,
  onFound: (text: string, as: As) => void,
): number | null {
  const [seq, setSeq] = useState<number | null>(null);
  useEffect(() => {
    const last = model.rows
      .peek()
      .findLast(
        (each) =>
          each.kind === row.kind &&
          each.side === "end" &&
          each.name === row.name &&
          each.outcome !== "error" &&
          each.seq < row.seq,
      );
    if (!last) return;
    let isCurrent = true;
    model.body(last).then(
      ({ data }) => {
        if (!isCurrent) return;
        const said = documentOf(data)?.string;
        onFound(said ?? pretty(data), said === undefined ? "json" : "text");
        setSeq(last.seq);
      },
      () => undefined, // the form begins empty
    );
    return () => {
      isCurrent = false;
    };
  }, []);
  return seq;
}

/** Exceptions that tools and services raise most. */
const COMMON_ERRORS = [
  "ConnectionError",
  "FileNotFoundError",
  "KeyError",
  "PermissionError",
  "RuntimeError",
  "TimeoutError",
  "ValueError",
];

function RaiseForm({ model, row, onClose }: FormProps) {
  const { text, onText, forget } = useKept(row, "raise");
  const type = useKept(row, "type");
  const seen = model.rows.value.flatMap(({ failure }) => (failure ? [failure.type] : []));
  const listId = `as-errors-${row.id}`;
  const disabledReason = problemOfError(text, type.text);
  const send = async () => {
    if (disabledReason !== null) return;
    if (await model.raise(row, text.trim(), type.text.trim())) {
      forget();
      type.forget();
    }
  };
  return (
    <>
      <div class="as-AnswerForm-head">
        <input
          class="as-Input as-mod-code as-AnswerForm-type"
          aria-label="Exception type"
          placeholder="InjectedError"
          title="A builtin, or module.Class of a module that the agent has loaded"
          list={listId}
          spellcheck={false}
          value={type.text}
          onInput={({ currentTarget }) => type.onText(currentTarget.value)}
        />
        <datalist id={listId}>
          {[...new Set([...seen, ...COMMON_ERRORS])].map((each) => (
            <option key={each} value={each} />
          ))}
        </datalist>
      </div>
      <TextArea
        label="Message"
        placeholder="The exception’s message"
        value={text}
        onText={onText}
        onSend={() => void send()}
      />
      <FormFoot
        send="Raise"
        hint="Let the agent’s code see this exception"
        disabledReason={disabledReason}
        note={row.side === "end" ? "In the result’s place" : "The call isn’t made"}
        onSend={() => void send()}
        onClose={onClose}
      />
    </>
  );
}

const TYPE = /^[^\W\d]\w*(\.[^\W\d]\w*)*$/;

function problemOfError(message: string, type: string): string | null {
  if (type.trim() !== "" && !TYPE.test(type.trim()))
    return "The type is a name like ValueError or httpx.ReadTimeout";
  return message.trim() === "" ? "Write the exception’s message" : null;
}

function GuideForm({ model, row, onClose }: FormProps) {
  const { text, onText, forget } = useKept(row, "guide");
  const disabledReason = text.trim() === "" ? "Write the message" : null;
  const send = async () => {
    if (disabledReason === null && (await model.guide(row, text.trim()))) {
      forget();
      onClose();
    }
  };
  return (
    <>
      <TextArea
        label="Guide"
        placeholder="What the model is to know or do"
        value={text}
        onText={onText}
        onSend={() => void send()}
      />
      <FormFoot
        send="Add to the prompt"
        hint="Add the message at the prompt’s end; Step sends it"
        disabledReason={disabledReason}
        note="A user’s message at the end; Step sends it"
        onSend={() => void send()}
        onClose={onClose}
      />
    </>
  );
}
