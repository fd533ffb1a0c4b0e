/** The session that is looked at: its newest steps, kept up. */
import { signal } from "@preact/signals";
import type { AgentState, AgentStep, Notice } from "../protocol/runtime.gen";
import type { RuntimeLine } from "./line";

/** Iterations that are shown: what is older is asked for by programs. */
export const SHOWN = 50;

export interface FollowedOptions {
  line: RuntimeLine;
  /** What a session's topic tells of the session itself. */
  tell(notice: Notice): void;
  trouble(error: Error): void;
}

export class Followed {
  readonly id = signal<string | null>(null);
  /** The newest steps, oldest first. */
  readonly steps = signal<readonly AgentStep[]>([]);
  /** Whether the first of them are on their way. */
  readonly loading = signal(false);
  readonly #options: FollowedOptions;
  #leave = () => {};

  constructor(options: FollowedOptions) {
    this.#options = options;
  }

  /** Look at another session; null: at none. */
  follow(id: string | null): void {
    if (id === this.id.peek()) return;
    this.close();
    this.id.value = id;
    this.steps.value = [];
    this.loading.value = id !== null;
    if (id !== null)
      this.#leave = this.#options.line.watch("watch", { topic: `session:${id}` }, (notice) =>
        this.#hear(id, notice),
      );
  }

  close(): void {
    this.#leave();
    this.#leave = () => {};
  }

  #hear(id: string, notice: Notice): void {
    this.#options.tell(notice);
    this.#add(notice.steps);
    if (notice.event === "begin") void this.#catchUp(id, notice.states[0]);
  }

  /** What was said before, or while nobody heard. */
  async #catchUp(id: string, state: AgentState | undefined): Promise<void> {
    const min_iteration = Math.max(0, (state?.iteration ?? 0) - SHOWN);
    try {
      const { steps } = await this.#options.line.ask("steps", {
        session_id: id,
        min_iteration,
        limit: 1000,
      });
      if (this.id.peek() === id) this.#add(steps);
    } catch (error) {
      this.#options.trouble(error as Error);
    }
    if (this.id.peek() === id) this.loading.value = false;
  }

  #add(more: readonly AgentStep[]): void {
    if (more.length > 0) this.steps.value = newest(this.steps.peek(), more);
  }
}

/** Both, each step once, in order, and no more than are shown. */
function newest(known: readonly AgentStep[], more: readonly AgentStep[]): AgentStep[] {
  const all = new Map(known.map((step) => [place(step), step]));
  for (const step of more) all.set(place(step), step);
  const steps = [...all.values()].sort(
    (a, b) => a.iteration - b.iteration || a.event_seq - b.event_seq,
  );
  const last = steps.at(-1)?.iteration ?? 0;
  return steps.filter(({ iteration }) => iteration > last - SHOWN);
}

const place = ({ iteration, event_seq }: AgentStep) => `${iteration} ${event_seq}`;
