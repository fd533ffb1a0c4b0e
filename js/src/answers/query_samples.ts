/** The answers of a query that was asked again, by what the agent would do next. */
import { signal } from "@preact/signals";
import type { Inspection } from "../model/inspection";
import type { SampledAnswer, Usage } from "../protocol/types.gen";

/** Answers by which the agent does the same next. */
export interface AnswerGroup {
  action: string;
  answers: SampledAnswer[];
}

/** The answers in groups, the largest first; of equal ones the earlier. */
export function groupAnswers(answers: readonly SampledAnswer[]): AnswerGroup[] {
  const groups = new Map<string, AnswerGroup>();
  for (const answer of answers) {
    const group = groups.get(answer.action) ?? { action: answer.action, answers: [] };
    group.answers.push(answer);
    groups.set(answer.action, group);
  }
  return [...groups.values()].sort((one, other) => other.answers.length - one.answers.length);
}

/** What answers cost together; null where nobody said so. */
export function sumUsage(answers: readonly SampledAnswer[]): Usage | null {
  const told = answers.flatMap(({ usage }) => (usage ? [usage] : []));
  if (told.length === 0) return null;
  return {
    input_tokens: sum(told.map((usage) => usage.input_tokens)),
    output_tokens: sum(told.map((usage) => usage.output_tokens)),
    cost: sum(told.map((usage) => usage.cost)),
    estimated: told.some((usage) => usage.estimated),
  };
}

function sum(numbers: readonly (number | null)[]): number | null {
  const known = numbers.filter((each) => each !== null);
  return known.length === 0 ? null : known.reduce((one, other) => one + other);
}

/** How far the asking is. */
export interface Asking {
  done: number;
  of: number;
  /** Whether the person wants no more; the one that is on its way still comes. */
  ends: boolean;
}

/** The samples of one halt point: they outlive the look at it, and so does the asking. */
export class QuerySamples {
  readonly answers = signal<readonly SampledAnswer[]>([]);
  readonly asking = signal<Asking | null>(null);
  readonly problem = signal<string | null>(null);

  /** Ask so many times, one after the other. */
  async ask(inspection: Inspection, row: string, times: number): Promise<void> {
    if (this.asking.peek()) return;
    this.problem.value = null;
    this.asking.value = { done: 0, of: times, ends: false };
    try {
      for (let done = 1; done <= times && !this.asking.peek()?.ends; done += 1) {
        const answer = await inspection.sample(row);
        this.answers.value = [...this.answers.peek(), answer];
        this.asking.value = { of: times, ends: this.asking.peek()?.ends ?? false, done };
      }
    } catch (error) {
      this.problem.value = error instanceof Error ? error.message : String(error);
    } finally {
      this.asking.value = null;
    }
  }

  cancel(): void {
    const asking = this.asking.peek();
    if (asking) this.asking.value = { ...asking, ends: true };
  }
}

const samplesByRow = new Map<string, QuerySamples>();

/** The samples of a halt point. */
export function samplesOf(row: string): QuerySamples {
  const samples = samplesByRow.get(row) ?? new QuerySamples();
  samplesByRow.set(row, samples);
  return samples;
}
