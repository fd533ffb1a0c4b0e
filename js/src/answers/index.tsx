/** What answers a halt point beyond going on: skip, raise, guide, an edit rule; and what was said so. */

import { useId, useLayoutEffect, useRef, useState } from "preact/hooks";
import { Icon } from "../icons/icon";
import { LongText } from "../inspector/components/long_text";
import { readOnlyReason } from "../model/controls";
import type { Debugger } from "../model/debugger";
import { addEditRuleLike, type EditRuleDraft } from "../model/edit_rule_draft";
import type { MessageBody, Model, TimelineRow } from "../model/model";
import { Button } from "../view/button";
import { escapeInvisible } from "../view/format";
import { AnswerForm, type AnswerName } from "./forms";
import { changedPlace } from "./place";

export { default as styles } from "../styles/answers.css";

export interface RowAnswersProps {
  model: Model;
  row: TimelineRow;
  /** Undefined until it is here. */
  body: MessageBody | undefined;
  /** Whether the row is being edited: then only what was said so is shown. */
  edits: boolean;
}

export function RowAnswers({ model, row, body, edits }: RowAnswersProps) {
  const answers = row.pending && !edits && model.control.value;
  return (
    <>
      {body && <Said model={model} body={body} />}
      {answers && <AnswerBar key={row.id} model={model} row={row} body={body} />}
    </>
  );
}

// ---- What was said: a result in the call's place, an exception, guides, and rules that edited.

function Said({ model, body }: { model: Model; body: MessageBody }) {
  const { supplied, raised, guides = [], edit_rules: rules = [] } = body;
  if (supplied === undefined && !raised && guides.length + rules.length === 0) return null;
  return (
    <section class="as-Foot as-Answered" aria-label="Said by a person">
      {supplied !== undefined && (
        <>
          <p class="as-Small">
            <Icon name="undo" small class="as-You" /> The call wasn’t made. Its result was given:
          </p>
          <div class="as-Answered-text">
            <LongText text={supplied} code />
          </div>
        </>
      )}
      {raised && (
        <p class="as-Small">
          <Icon name="cross" small class="as-Bad" /> The agent’s code saw{" "}
          <code>{escapeInvisible(raised.type)}</code>: <bdi>{escapeInvisible(raised.message)}</bdi>
        </p>
      )}
      {guides.map((guide, at) => (
        <p key={at} class="as-Small as-Answered-guide">
          <Icon name="note" small class="as-You" /> Guide: <bdi>{escapeInvisible(guide)}</bdi>
        </p>
      ))}
      {rules.length > 0 && (
        <p class="as-Small">
          <Icon name="pencil" small class="as-You" /> Edited by the edit rule{" "}
          {model.breakpoints.editRules.describe(rules)}
        </p>
      )}
    </section>
  );
}

// ---- The buttons, and the form of the one that was pressed.

const HINTS: Record<AnswerName, string> = {
  skip: "Give the result: the call isn’t made",
  raise: "Choose the exception that the agent’s code sees",
  guide: "Add a message to this prompt",
  resample: "Ask this query again, to see what else the model might have said",
};
const LABELS: Record<AnswerName, string> = {
  skip: "Skip…",
  raise: "Raise…",
  guide: "Guide…",
  resample: "Resample…",
};

function AnswerBar({ model, row, body }: Omit<RowAnswersProps, "edits">) {
  const bar = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState<AnswerName | null>(null);
  const formId = useId();
  const names = answersOf(row);
  const before = useRef(open);
  // Who leaves a form is back at the button that opened it.
  useLayoutEffect(() => {
    if (before.current && !open)
      bar.current?.querySelector<HTMLElement>(`.as-mod-${before.current}`)?.focus();
    before.current = open;
  }, [open]);
  if (names.length === 0) return null;
  const disabledReason = answerReason(model, row);
  return (
    <section class="as-Foot as-AnswerBar" aria-label="Answer otherwise">
      <div ref={bar} class="as-AnswerBar-acts">
        {names.map((name) => (
          <Button
            key={name}
            outline
            class={`as-mod-${name}`}
            hint={HINTS[name]}
            pressed={open === name}
            disabledReason={disabledReason}
            onClick={() => setOpen(open === name ? null : name)}
          >
            {LABELS[name]}
          </Button>
        ))}
        <span class="as-Spring" />
        <Button
          hint="Make an edit by itself wherever it matches: an edit rule"
          disabledReason={disabledReason ?? (body ? null : "The contents are on their way")}
          onClick={() => body && addEditRuleLike(model as Debugger, row, placeOf(model, row, body))}
        >
          Edit rule…
        </Button>
      </div>
      {open && (
        <AnswerForm
          key={open}
          id={formId}
          name={open}
          model={model}
          row={row}
          onClose={() => setOpen(null)}
        />
      )}
    </section>
  );
}

/** What a row can be answered with: nothing where nothing is called. */
function answersOf({ kind, side }: TimelineRow): AnswerName[] {
  if (kind === "program_started") return [];
  if (side === "end") return kind === "llm_query" ? ["raise", "resample"] : ["raise"];
  return kind === "llm_query" ? ["skip", "raise", "guide", "resample"] : ["skip", "raise"];
}

function answerReason(model: Model, row: TimelineRow): string | null {
  return (
    readOnlyReason(model) ?? (model.sent.value.has(row.id) ? "Your answer is on its way" : null)
  );
}

/** Where the person has edited already, a rule goes on from it. */
function placeOf(model: Model, row: TimelineRow, body: MessageBody): Partial<EditRuleDraft> {
  const edited = model.draft(row.id).peek()?.text ?? body.edit;
  const found = changedPlace(body.data, edited);
  if (found) return { change: "set", ...found };
  return { path: row.kind === "tool_invocation" && row.side === "begin" ? "/Argument/" : "/" };
}
