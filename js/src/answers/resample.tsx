/** Ask a halted query again: how often, what came, by what the agent would do next, and taking one. */

import { useMemo, useState } from "preact/hooks";
import { ContentView } from "../inspector/components/content";
import { FoldRow, LongText } from "../inspector/components/long_text";
import { documentOf, parseContent } from "../inspector/parsed/content";
import { readOnlyReason } from "../model/controls";
import type { Model, TimelineRow } from "../model/model";
import type { SampledAnswer } from "../protocol/types.gen";
import { Button } from "../view/button";
import { usageText } from "../view/figures";
import { escapeInvisible, formatCount } from "../view/format";
import { useLoaded } from "../view/lazy";
import {
  type AnswerGroup,
  groupAnswers,
  type QuerySamples,
  samplesOf,
  sumUsage,
} from "./query_samples";

interface ResampleProps {
  model: Model;
  row: TimelineRow;
  onClose(): void;
}

/** How often a query is asked again where the person chooses nothing else. */
const FIRST_COUNT = 5;

export function ResampleForm({ model, row, onClose }: ResampleProps) {
  const samples = samplesOf(row.id);
  const offer = useLoaded(model, row.id, () => model.inspection.sampling(row.id));
  const answers = samples.answers.value;
  if (offer.kind === "loading") return <p class="as-Small as-Muted">Asking the agent…</p>;
  if (offer.kind === "failed" && answers.length === 0)
    return (
      <p class="as-Small" role="status">
        {offer.message}
      </p>
    );
  const first = offer.kind === "ready" ? offer.value.left : 0;
  const left = answers.at(-1)?.left ?? first;
  return (
    <>
      <AskBar model={model} row={row} samples={samples} left={left} onClose={onClose} />
      {answers.length > 0 && <Groups model={model} row={row} answers={answers} />}
    </>
  );
}

// ---- How often, what that costs, and how far it is.

interface AskProps extends ResampleProps {
  samples: QuerySamples;
  /** How often it can still be asked. */
  left: number;
}

function AskBar({ model, row, samples, left, onClose }: AskProps) {
  const [text, setText] = useState(String(Math.min(FIRST_COUNT, Math.max(1, left))));
  const asking = samples.asking.value;
  const problem = countProblem(text, left);
  const count = Number(text);
  const disabledReason = readOnlyReason(model) ?? problem;
  const ask = () => {
    if (disabledReason === null && !asking) void samples.ask(model.inspection, row.id, count);
  };
  return (
    <>
      <div class="as-AnswerForm-head">
        <input
          class="as-Input as-Resample-count"
          type="number"
          aria-label="How often to ask again"
          aria-invalid={problem ? true : undefined}
          min={1}
          max={Math.max(1, left)}
          value={text}
          onInput={({ currentTarget }) => setText(currentTarget.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            event.preventDefault();
            ask();
          }}
        />
        <Button
          outline
          hint="Send this query again so often, by the agent’s own client"
          disabledReason={asking ? "The model is being asked" : disabledReason}
          onClick={ask}
        >
          {problem ? "Ask" : `Ask ${formatCount(count, "time")}`}
        </Button>
        <span class="as-Spring" />
        {asking ? (
          <Button
            hint="Ask no more; the answer that is on its way still comes"
            disabledReason={asking.ends ? "The last answer is on its way" : null}
            onClick={() => samples.cancel()}
          >
            Stop asking
          </Button>
        ) : (
          <Button hint="Close; the answers stay until the agent goes on (Esc)" onClick={onClose}>
            Close
          </Button>
        )}
      </div>
      <p class="as-Small as-Muted" role="status">
        {statusText(samples, problem, count)}
      </p>
    </>
  );
}

function countProblem(text: string, left: number): string | null {
  const count = Number(text);
  if (left === 0) return "This query was asked 20 times again, which is the most for one halt";
  if (Number.isInteger(count) && count >= 1 && count <= left) return null;
  return left === 1 ? "Only one more is possible" : `Write a number from 1 to ${left}`;
}

function statusText(samples: QuerySamples, problem: string | null, count: number): string {
  const asking = samples.asking.value;
  if (asking) return `${asking.done} of ${asking.of} answered…`;
  if (samples.problem.value !== null) return samples.problem.value;
  if (problem !== null) return problem;
  const queries = count === 1 ? "1 LLM query" : `${count} LLM queries`;
  return `This makes ${queries}, which cost as the agent’s own and count in the run’s cost.`;
}

// ---- What came.

interface GroupsProps {
  model: Model;
  row: TimelineRow;
  answers: readonly SampledAnswer[];
}

function Groups({ model, row, answers }: GroupsProps) {
  const groups = groupAnswers(answers);
  const usage = sumUsage(answers);
  return (
    <section class="as-Resample" aria-label="Answers">
      <p class="as-Small as-Resample-total">
        {`${formatCount(answers.length, "answer")}, ${formatCount(groups.length, "kind")}`}
        <span class="as-Muted">{usage && ` · ${usageText(usage)}`}</span>
      </p>
      <ul class="as-Resample-groups">
        {groups.map((group) => (
          <li key={group.action}>
            <Group model={model} row={row} group={group} />
          </li>
        ))}
      </ul>
    </section>
  );
}

function Group({ model, row, group }: Omit<GroupsProps, "answers"> & { group: AnswerGroup }) {
  const [at, setAt] = useState(0);
  const { answers } = group;
  const answer = answers[at] ?? answers[0];
  if (!answer) return null;
  const summary = escapeInvisible(answer.summary);
  return (
    <FoldRow label={`${answers.length} ×`} note={summary}>
      {() => (
        <div class="as-Resample-answer">
          <div class="as-AnswerForm-foot">
            {answers.length > 1 && (
              <Button
                outline
                hint="Show the next answer of these"
                onClick={() => setAt((at + 1) % answers.length)}
              >
                {`${at + 1} of ${answers.length}`}
              </Button>
            )}
            <span class="as-Spring" />
            <TakeButton model={model} row={row} answer={answer} />
          </div>
          <Answer row={row} answer={answer} />
        </div>
      )}
    </FoldRow>
  );
}

function Answer({ row, answer }: { row: TimelineRow; answer: SampledAnswer }) {
  const { data, failure } = answer;
  const reading = useMemo(() => {
    const value = documentOf(data);
    return value && parseContent("answer", value);
  }, [data]);
  if (failure) return <LongText text={failure.message} code />;
  if (!reading) return <LongText text={data} code />;
  const asRow = { ...row, usage: answer.usage, duration: null };
  return <ContentView row={asRow} shape="answer" reading={reading} known={undefined} />;
}

/** At the begin the call isn't made; at the end the answer becomes an edit, which Step sends. */
function TakeButton({
  model,
  row,
  answer,
}: Omit<GroupsProps, "answers"> & { answer: SampledAnswer }) {
  const begins = row.side === "begin";
  const draft = model.draft(row.id);
  // A draft that is one of the answers isn't lost: it can be taken again.
  const isAnswer = samplesOf(row.id).answers.value.some(({ data }) => data === draft.value?.text);
  const overwrites = !begins && draft.value !== null && !isAnswer;
  const take = () => {
    if (begins) void model.skip(row, answer.data);
    else draft.value = { text: answer.data, revision: row.revision };
  };
  return (
    <Button
      outline
      hint={
        begins
          ? "The agent goes on with this answer; the query isn’t sent again"
          : "Edit the answer to be this one; Step sends it"
      }
      disabledReason={
        answer.failure
          ? "This query failed: it has no answer"
          : (readOnlyReason(model) ??
            (overwrites ? "Step or discard your edit first: it would be overwritten" : null))
      }
      onClick={take}
    >
      Take this answer
    </Button>
  );
}
